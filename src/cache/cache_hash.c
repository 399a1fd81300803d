/* See cache_hash.h. */
#include "cache/cache_hash.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/mapfile.h"

enum { FILE_CHUNK = 1 << 20 };

uint64_t npu_cache_hash64(const void *data, uint64_t bytes) {
    return XXH3_64bits(data, bytes);
}

npu_hash128 npu_cache_hash128(const void *data, uint64_t bytes) {
    XXH128_hash_t h = XXH3_128bits(data, bytes);
    return (npu_hash128){h.low64, h.high64};
}

uint64_t npu_cache_hash_chunk(const void *data, uint64_t bytes, uint64_t index) {
    return XXH3_64bits_withSeed(data, bytes, index);
}

typedef struct hashing {
    const npu_cache_span *file;
    npu_hash128 *chunks;
    uint64_t n;
} hashing;

static void hash_part(void *context, unsigned ith, unsigned nth) {
    const hashing *h = context;
    for (uint64_t i = h->n * ith / nth; i < h->n * (ith + 1) / nth; i++) {
        const uint8_t *data = h->file->data + i * FILE_CHUNK;
        uint64_t left = h->file->bytes - i * FILE_CHUNK, bytes = left < FILE_CHUNK ? left : FILE_CHUNK;
        h->chunks[i] = npu_cache_hash128(data, bytes);
        npu_map_drop(data, bytes);
    }
}

npu_status npu_cache_hash_files(const npu_cache_span *files, uint32_t n, npu_pool *pool, npu_hash128 *out,
                                npu_error *err) {
    uint64_t n_chunks = 0;
    for (uint32_t i = 0; i < n; i++) n_chunks += files[i].bytes / FILE_CHUNK + 1;
    npu_hash128 *chunks = calloc(n_chunks + n, sizeof *chunks), *next = chunks;
    if (!chunks) return npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory to hash %u files", n);
    for (uint32_t i = 0; i < n; i++) {
        hashing h = {&files[i], next + 1, (files[i].bytes + FILE_CHUNK - 1) / FILE_CHUNK};
        *next = (npu_hash128){files[i].bytes, 0};
        npu_pool_run(pool, hash_part, &h);
        next += 1 + h.n;
    }
    *out = npu_cache_hash128(chunks, (uint64_t)(next - chunks) * sizeof *chunks);
    free(chunks);
    return NPU_OK;
}
