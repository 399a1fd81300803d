/* Hashes of the weight cache, XXH3 by chunks, so that threads share the work. For telling content apart, not against
 * attackers: who can write the cache folder can do anything with it. */
#ifndef NPU_CACHE_HASH_H
#define NPU_CACHE_HASH_H

#include <stdint.h>

#include "base/pool.h"
#include "base/status.h"

typedef struct npu_hash128 {
    uint64_t low, high;
} npu_hash128;

/* A part of what is hashed: the mapping of a file. */
typedef struct npu_cache_span {
    const uint8_t *data;
    uint64_t bytes;
} npu_cache_span;

uint64_t npu_cache_hash64(const void *data, uint64_t bytes);
npu_hash128 npu_cache_hash128(const void *data, uint64_t bytes);

/* The |index|-th chunk's share in the hash of something: shares are added up, in any order. */
uint64_t npu_cache_hash_chunk(const void *data, uint64_t bytes, uint64_t index);

/* Of |n| mappings, one after the other, with all threads of |pool|; their pages are given back on the way. NO_MEMORY.
 */
npu_status npu_cache_hash_files(const npu_cache_span *files, uint32_t n, npu_pool *pool, npu_hash128 *out,
                                npu_error *err);

#endif
