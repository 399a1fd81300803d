/* See cache_hash.h. */
#include "cache/cache_hash.h"

#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/mapfile.h"
#include "cache/cache_image.h"

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

uint64_t npu_cache_work_next(npu_cache_work *work, unsigned ith) {
    const npu_cache_stop *stop = work->stop;
    if (!ith && stop && stop->asked && stop->asked(stop->user)) atomic_store(&work->failed, ECANCELED);
    if (atomic_load(&work->failed)) return work->n;
    uint64_t i = atomic_fetch_add(&work->next, 1);
    return i < work->n ? i : work->n;
}

typedef struct packed {
    const uint8_t *data;
    uint64_t bytes;
    _Atomic uint64_t hash;
} packed;

static void hash_packed_part(void *context, unsigned ith, unsigned nth) {
    packed *p = context;
    uint64_t n = (p->bytes + NPU_CACHE_CHUNK - 1) / NPU_CACHE_CHUNK, hash = 0;
    for (uint64_t i = n * ith / nth; i < n * (ith + 1) / nth; i++) {
        uint64_t at = i * NPU_CACHE_CHUNK, left = p->bytes - at;
        hash += npu_cache_hash_chunk(p->data + at, left < NPU_CACHE_CHUNK ? left : NPU_CACHE_CHUNK, i);
    }
    atomic_fetch_add(&p->hash, hash);
}

uint64_t npu_cache_hash_packed(const uint8_t *data, uint64_t bytes, npu_pool *pool) {
    packed p = {.data = data, .bytes = bytes};
    npu_pool_run(pool, hash_packed_part, &p);
    return atomic_load(&p.hash);
}

typedef struct hashing {
    const npu_cache_span *file;
    npu_hash128 *chunks;
    bool may_shrink;
    npu_cache_work work;
} hashing;

/* An errno, or 0; |copy| holds a chunk, NULL: it is hashed where it is. */
static int hash_chunk(const npu_cache_span *file, uint64_t at, uint8_t *copy, npu_hash128 *out) {
    const uint8_t *data = file->data + at;
    uint64_t left = file->bytes - at, bytes = left < FILE_CHUNK ? left : FILE_CHUNK;
    if (copy && !npu_map_copy(copy, data, bytes)) return EFAULT;
    *out = npu_cache_hash128(copy ? copy : data, bytes);
    npu_map_drop(data, bytes);
    return 0;
}

static void hash_part(void *context, unsigned ith, unsigned nth) {
    hashing *h = context;
    uint8_t *copy = h->may_shrink ? malloc(FILE_CHUNK) : NULL;
    int why = h->may_shrink && !copy ? ENOMEM : 0;
    (void)nth;
    for (uint64_t i; !why && (i = npu_cache_work_next(&h->work, ith)) < h->work.n;)
        why = hash_chunk(h->file, i * FILE_CHUNK, copy, &h->chunks[i]);
    if (why) atomic_store(&h->work.failed, why);
    free(copy);
}

static npu_status hash_failure(int why, npu_error *err) {
    if (why == ECANCELED) return npu_fail(err, NPU_CANCELLED, "cache.cancelled", "cancelled");
    if (why == ENOMEM) return npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory to hash the model's files");
    return npu_fail(err, NPU_REFUSED, "cache.changed", "the model's files changed while they were in use");
}

npu_status npu_cache_hash_files(const npu_cache_span *files, uint32_t n, bool may_shrink, npu_pool *pool,
                                const npu_cache_stop *stop, npu_hash128 *out, npu_error *err) {
    uint64_t n_chunks = 0;
    for (uint32_t i = 0; i < n; i++) n_chunks += files[i].bytes / FILE_CHUNK + 1;
    npu_hash128 *chunks = calloc(n_chunks + n, sizeof *chunks), *next = chunks;
    if (!chunks) return npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory to hash %u files", n);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t n_here = (files[i].bytes + FILE_CHUNK - 1) / FILE_CHUNK;
        hashing h = {&files[i], next + 1, may_shrink, {.n = n_here, .stop = stop}};
        *next = (npu_hash128){files[i].bytes, 0};
        npu_pool_run(pool, hash_part, &h);
        int why = atomic_load(&h.work.failed);
        if (why) {
            free(chunks);
            return hash_failure(why, err);
        }
        next += 1 + h.work.n;
    }
    *out = npu_cache_hash128(chunks, (uint64_t)(next - chunks) * sizeof *chunks);
    free(chunks);
    return NPU_OK;
}
