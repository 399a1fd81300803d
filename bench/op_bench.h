/* What the benchmarks of one op share: which variants they run, one run of one on all threads of a pool, memory, time.
 * They are programs for a person; what fails ends them with 2.
 */
#ifndef NPU_BENCH_OP_BENCH_H
#define NPU_BENCH_OP_BENCH_H

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "target/host/host_op.h"

/* The clock's seconds, or with |cpu_time| those of the process: all its threads' together. */
static inline double bench_seconds(int cpu_time) {
    struct timespec t;
    clock_gettime(cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* |bytes| that are all |fill|, so that every page is there; for free(). */
static inline void *bench_memory(uint64_t bytes, int fill) {
    void *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!p) exit(2);
    memset(p, fill, bytes);
    return p;
}

/* Whether variant |v| is here and was asked for: |level| is its name, or NULL for all but the reference. */
static inline int bench_takes(const npu_host_variant *v, const char *level) {
    if ((v->features & npu_cpu_features()) != v->features) return 0;
    return level ? strcmp(level, v->name) == 0 : v->features != 0;
}

typedef struct bench_job {
    const npu_host_variant *variant;
    npu_host_call call; /* but ith and nth */
} bench_job;

static inline void bench_run_one(void *context, unsigned ith, unsigned nth) {
    const bench_job *j = context;
    npu_host_call call = j->call;
    npu_error err;
    call.ith = ith;
    call.nth = nth;
    if (j->variant->run(&call, &err) != NPU_OK) exit(2);
}

static inline void bench_run(bench_job *job) {
    npu_pool_run(job->call.pool, bench_run_one, job);
}

#endif
