/* Hashes of the weight cache, XXH3 by chunks, so that threads share the work. For telling content apart, not against
 * attackers: who can write the cache folder can do anything with it. */
#ifndef NPU_CACHE_HASH_H
#define NPU_CACHE_HASH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/status.h"

typedef struct npu_hash128 {
    uint64_t low, high;
} npu_hash128;

/* Whether long work is to end; asked from the thread that began it alone. asked NULL = never. */
typedef struct npu_cache_stop {
    bool (*asked)(void *user);
    void *user;
} npu_cache_stop;

/* A part of what is hashed: the mapping of a file. */
typedef struct npu_cache_span {
    const uint8_t *data;
    uint64_t bytes;
} npu_cache_span;

uint64_t npu_cache_hash64(const void *data, uint64_t bytes);
npu_hash128 npu_cache_hash128(const void *data, uint64_t bytes);

/* The |index|-th chunk's share in the hash of something: shares are added up, in any order. */
uint64_t npu_cache_hash_chunk(const void *data, uint64_t bytes, uint64_t index);

/* The sum of all shares of packed weights, with all threads of |pool|. */
uint64_t npu_cache_hash_packed(const uint8_t *data, uint64_t bytes, npu_pool *pool);

/* Of |n| mappings, one after the other, with all threads of |pool|; their pages are given back on the way. |stop| is
 * asked at each MiB. With |may_shrink| the bytes are copied first, which costs more: a file that no longer has them is
 * an error then, and a signal without. NO_MEMORY, CANCELLED; REFUSED: it no longer has them. */
npu_status npu_cache_hash_files(const npu_cache_span *files, uint32_t n, bool may_shrink, npu_pool *pool,
                                const npu_cache_stop *stop, npu_hash128 *out, npu_error *err);

/* On each thread of a run: the next of |n| pieces of work that nobody has taken, |n| when there are none or the run has
 * stopped. The thread that began the run asks |stop|. */
typedef struct npu_cache_work {
    uint64_t n;
    const npu_cache_stop *stop;
    _Atomic uint64_t next;
    atomic_int failed; /* an errno; ECANCELED: stopped */
} npu_cache_work;
uint64_t npu_cache_work_next(npu_cache_work *work, unsigned ith);

#endif
