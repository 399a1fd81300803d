/* Persistent worker threads of a session. The calling thread is thread 0.
 *
 * One task at a time: a run ends only after every worker, also one that had no part in it, has said that it saw the
 * task. So a worker sees each task exactly once, and no late one can meet the next task's words.
 */
#ifndef HTP_POOL_H
#define HTP_POOL_H

#include <stdint.h>

#include "htp/platform/qurt.h"
#include "htp/trace.h"
#include "wire/opplan.h"

typedef void htp_pool_fn(void *job, unsigned thread);

typedef struct htp_pool {
    unsigned threads; /* with the caller's */
    htp_pool_fn *fn;
    void *job;
    unsigned parts;
    htp_tracer *tracer;
    int quit;
    int task; /* counts tasks; futex of the workers */
    int left; /* workers that have not seen the task yet; futex of the caller */
    struct htp_worker {
        struct htp_pool *pool;
        unsigned thread;
        qurt_thread_t id;
        void *stack;
    } workers[NPU_MAX_THREADS];
} htp_pool;

/* 1 on success; after failure nothing is left. */
int htp_pool_start(htp_pool *pool, unsigned threads, int priority, htp_tracer *tracer);
void htp_pool_stop(htp_pool *pool);

/* fn(job, 0 .. parts - 1), at most |threads| of them, all at once; returns when all have returned. */
void htp_pool_run(htp_pool *pool, htp_pool_fn *fn, void *job, unsigned parts);

#endif
