#include "htp/pool.h"

#include "htp/memory.h"
#include "htp/platform/machine.h"
#include "wire/guard.h"

enum { STACK_BYTES = 65536, SPINS = 400 };

/* Waits until *word is not |value|: a short spin, then sleep. */
static void wait_change(int *word, int value) {
    for (int i = 0; i < SPINS; i++) {
        if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) return;
        htp_machine_pause();
    }
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value) {
        qurt_futex_wait(word, value);
        if (!NPU_GUARD(POOL_RECHECK)) break;
    }
}

static void run_part(htp_pool *pool, unsigned thread) {
    htp_trace *trace = htp_trace_of(pool->tracer, thread);
    uint64_t begin = HTP_TRACED(trace) ? htp_trace_time() : 0;
    pool->fn(pool->job, thread);
    if (HTP_TRACED(trace)) htp_trace_add(trace, NPU_TRACE_WORK, begin, 0);
}

static void work(void *argument) {
    struct htp_worker *w = argument;
    htp_pool *pool = w->pool;
    for (int seen = 0;; seen++) {
        wait_change(&pool->task, seen);
        int quit = pool->quit;
        if (!quit && w->thread < pool->parts) run_part(pool, w->thread);
        if (__atomic_sub_fetch(&pool->left, 1, __ATOMIC_ACQ_REL) == 0) qurt_futex_wake(&pool->left, 1);
        if (quit) break;
    }
    qurt_thread_exit(0);
}

static void give_task(htp_pool *pool) {
    __atomic_store_n(&pool->left, (int)pool->threads - 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&pool->task, 1, __ATOMIC_RELEASE);
    qurt_futex_wake(&pool->task, NPU_MAX_THREADS);
}

static void wait_task(htp_pool *pool) {
    for (int left; (left = __atomic_load_n(&pool->left, __ATOMIC_ACQUIRE)) > 0;) wait_change(&pool->left, left);
}

void htp_pool_run(htp_pool *pool, htp_pool_fn *fn, void *job, unsigned parts) {
    pool->fn = fn;
    pool->job = job;
    pool->parts = parts;
    if (parts <= 1 || pool->threads <= 1) {
        run_part(pool, 0);
        return;
    }
    htp_trace *trace = htp_trace_of(pool->tracer, 0);
    give_task(pool);
    run_part(pool, 0);
    uint64_t begin = HTP_TRACED(trace) ? htp_trace_time() : 0;
    if (NPU_GUARD(POOL_WAIT)) wait_task(pool);
    if (HTP_TRACED(trace)) htp_trace_add(trace, NPU_TRACE_FENCE, begin, 0);
}

int htp_pool_start(htp_pool *pool, unsigned threads, int priority, htp_tracer *tracer) {
    *pool = (htp_pool){.threads = 1, .tracer = tracer};
    for (unsigned i = 1; i < threads; i++) {
        struct htp_worker *w = &pool->workers[i];
        *w = (struct htp_worker){.pool = pool, .thread = i, .stack = htp_alloc(STACK_BYTES)};
        qurt_thread_attr_t attr;
        qurt_thread_attr_init(&attr);
        static const char name[] = "npu-worker";
        for (unsigned c = 0; c < sizeof name; c++) attr.name[c] = name[c];
        attr.stack_addr = w->stack;
        attr.stack_size = STACK_BYTES;
        attr.priority = (unsigned short)priority;
        if (!w->stack || qurt_thread_create(&w->id, &attr, work, w) != QURT_EOK) {
            htp_free(w->stack);
            htp_pool_stop(pool);
            return 0;
        }
        pool->threads++;
    }
    return 1;
}

void htp_pool_stop(htp_pool *pool) {
    if (pool->threads > 1) {
        pool->quit = 1;
        give_task(pool);
        wait_task(pool);
    }
    for (unsigned i = 1; i < pool->threads; i++) {
        int status;
        qurt_thread_join(pool->workers[i].id, &status);
        htp_free(pool->workers[i].stack);
    }
    pool->threads = 0;
}
