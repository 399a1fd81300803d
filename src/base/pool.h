/* One pool of threads per context. The caller's thread is thread 0 and takes part; the others spin for a short while,
 * then sleep. No work is queued: npu_pool_run gives the same function to all threads and returns when all have
 * returned. When other programs keep the cores busy, it gives the function to the calling thread alone for a while.
 */
#ifndef NPU_BASE_POOL_H
#define NPU_BASE_POOL_H

#include "base/status.h"

enum { NPU_POOL_MOST = 64 };

typedef struct npu_pool npu_pool;

/* Cores that this process may use: its affinity mask, cut to the quota of its cgroup (rounded up); at least 1. */
unsigned npu_pool_cores(void);

/* |n_threads| 0 = one per core that this process may use (affinity and cgroup quota respected), at most NPU_POOL_MOST;
 * more is INVALID. */
npu_status npu_pool_create(unsigned n_threads, npu_pool **out, npu_error *err);
void npu_pool_destroy(npu_pool *pool); /* NULL is fine */
unsigned npu_pool_threads(const npu_pool *pool);

/* Calls fn(context, ith, nth) on all threads, or on one: nth says how many. Not reentrant; from one thread at a time.
 * No allocation. */
void npu_pool_run(npu_pool *pool, void (*fn)(void *context, unsigned ith, unsigned nth), void *context);

/* Inside fn: waits until all threads of the run have come here. */
void npu_pool_barrier(npu_pool *pool);

/* The same at a point where the work can be divided anew: returns how many threads go on, |nth| or 1. A thread whose
 * number is not below it must return from fn. */
unsigned npu_pool_regroup(npu_pool *pool);

#endif
