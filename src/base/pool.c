/* The pool of threads: a generation number starts a run, a count of finished threads ends it.
 *
 * Waiting is in three steps: a short spin (a decode step has several hundred barriers a few microseconds apart), then
 * yielding, and for idle workers sleep on a condition variable. The spin is left out when there are more threads than
 * cores, where it would only take time from the thread that is waited for. Waits inside a run never sleep: all threads
 * of a run are at work.
 *
 * When other programs keep the cores busy, threads that wait for each other a thousand times a second get nothing done:
 * whenever one has a core, another has lost its own (measured: two threads at a tenth of the speed of one). Waits that
 * outlast the spin are therefore added up, and a run that mostly waits goes on with the calling thread alone, as do the
 * runs of a while after it; then all threads are tried again.
 */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cgroup.h"
#include "base/clock.h"

enum { SPINS = 4000, YIELDS = 50, LINE = 128 };

/* In nanoseconds: waits that are put up with in a run, and how long threads are left out, doubled each time. */
enum { PATIENCE = 4000000, ALONE_FIRST = 100000000, ALONE_LAST = 1600000000 };

typedef struct worker {
    npu_pool *pool;
    pthread_t thread;
    unsigned ith;
} worker;

struct npu_pool {
    _Alignas(LINE) atomic_uint generation; /* of the current or last run */
    _Alignas(LINE) atomic_uint running;    /* workers that have not finished it */
    _Alignas(LINE) atomic_uint arrived;    /* threads at the barrier */
    _Alignas(LINE) atomic_uint phase;      /* barriers passed */
    _Alignas(LINE) atomic_uint sleepers;
    _Alignas(LINE) atomic_ullong waited; /* in this run, all threads, beyond the spin */
    atomic_int stop;
    void (*fn)(void *context, unsigned ith, unsigned nth);
    void *context;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    unsigned n_threads, spins;
    unsigned width;                          /* threads in this run; written when no other thread runs */
    uint64_t started, alone_until, alone_ns; /* alone_until 0: all threads run */
    worker workers[NPU_POOL_MOST];
};

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Until |*word| differs from |old|; returns it. */
static unsigned wait_change(npu_pool *pool, atomic_uint *word, unsigned old) {
    unsigned now;
    for (unsigned i = 0; i < pool->spins; i++) {
        if ((now = atomic_load_explicit(word, memory_order_acquire)) != old) return now;
        relax();
    }
    uint64_t since = npu_clock_ns();
    while ((now = atomic_load_explicit(word, memory_order_acquire)) == old) sched_yield();
    atomic_fetch_add_explicit(&pool->waited, npu_clock_ns() - since, memory_order_relaxed);
    return now;
}

/* Until the next run; sleeps after a while. */
static unsigned wait_generation(npu_pool *pool, unsigned old) {
    unsigned now;
    for (unsigned i = 0; i < pool->spins + YIELDS; i++) {
        if ((now = atomic_load_explicit(&pool->generation, memory_order_acquire)) != old) return now;
        if (i < pool->spins) {
            relax();
        } else {
            sched_yield();
        }
    }
    pthread_mutex_lock(&pool->mutex);
    /* Sequentially consistent with npu_pool_run: it sees the sleeper, or the sleeper sees the new generation. */
    atomic_fetch_add(&pool->sleepers, 1);
    while ((now = atomic_load(&pool->generation)) == old) pthread_cond_wait(&pool->wake, &pool->mutex);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->mutex);
    return now;
}

static void start_run(npu_pool *pool) {
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->sleepers) == 0) return;
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
}

static void *work(void *arg) {
    worker *w = arg;
    npu_pool *pool = w->pool;
    unsigned generation = 0;
    for (;;) {
        generation = wait_generation(pool, generation);
        if (atomic_load_explicit(&pool->stop, memory_order_relaxed)) return NULL;
        pool->fn(pool->context, w->ith, pool->width);
        atomic_fetch_sub_explicit(&pool->running, 1, memory_order_release);
    }
}

unsigned npu_pool_cores(void) {
    cpu_set_t set;
    unsigned cores = 1;
    if (sched_getaffinity(0, sizeof set, &set) == 0) cores = (unsigned)CPU_COUNT(&set);
    unsigned paid = npu_cgroup_cores("");
    if (paid && paid < cores) cores = paid;
    return cores ? cores : 1;
}

/* Signals that somebody sends go to the program's own threads; a worker takes only those that it causes itself. */
static int start_worker(worker *w) {
    static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int failed = pthread_create(&w->thread, NULL, work, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

npu_status npu_pool_create(unsigned n_threads, npu_pool **out, npu_error *err) {
    *out = NULL;
    unsigned cores = npu_pool_cores();
    if (!n_threads) n_threads = cores < NPU_POOL_MOST ? cores : NPU_POOL_MOST;
    if (n_threads > NPU_POOL_MOST) {
        return npu_fail(err, NPU_INVALID, "pool.threads", "`threads` %u: at most %d", n_threads, NPU_POOL_MOST);
    }
    npu_pool *pool = aligned_alloc(LINE, (sizeof *pool + LINE - 1) / LINE * LINE);
    if (!pool) return npu_fail(err, NPU_NO_MEMORY, "pool.memory", "no memory for a pool of %u threads", n_threads);
    *pool = (npu_pool){.n_threads = 1, .spins = n_threads <= cores ? SPINS : 0};
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    for (unsigned i = 1; i < n_threads; i++) {
        pool->workers[i] = (worker){.pool = pool, .ith = i};
        if (start_worker(&pool->workers[i])) {
            npu_pool_destroy(pool);
            return npu_fail(err, NPU_NO_MEMORY, "pool.thread", "thread %u of %u can't be started", i + 1, n_threads);
        }
        pool->n_threads++; /* workers read it only in a run */
    }
    *out = pool;
    return NPU_OK;
}

void npu_pool_destroy(npu_pool *pool) {
    if (!pool) return;
    atomic_store(&pool->stop, 1);
    start_run(pool);
    for (unsigned i = 1; i < pool->n_threads; i++) pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

unsigned npu_pool_threads(const npu_pool *pool) {
    return pool->n_threads;
}

void npu_pool_run(npu_pool *pool, void (*fn)(void *context, unsigned ith, unsigned nth), void *context) {
    pool->width = 1;
    if (pool->n_threads == 1 || (pool->alone_until && npu_clock_ns() < pool->alone_until)) {
        fn(context, 0, 1);
        return;
    }
    bool tried_again = pool->alone_until != 0;
    pool->fn = fn;
    pool->context = context;
    pool->width = pool->n_threads;
    pool->started = npu_clock_ns();
    pool->alone_until = 0;
    atomic_store_explicit(&pool->waited, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->running, pool->n_threads - 1, memory_order_relaxed);
    start_run(pool);
    fn(context, 0, pool->width);
    unsigned left = atomic_load_explicit(&pool->running, memory_order_acquire);
    while (left) left = wait_change(pool, &pool->running, left);
    if (tried_again && !pool->alone_until) pool->alone_ns = 0;
}

/* Threads that wait most of the time are worth less than one that never does. */
static bool waits_too_much(npu_pool *pool) {
    uint64_t waited = atomic_load_explicit(&pool->waited, memory_order_relaxed);
    if (waited < PATIENCE) return false;
    return 2 * waited > (2 * pool->width - 3) * (npu_clock_ns() - pool->started);
}

static void go_on_alone(npu_pool *pool) {
    pool->alone_ns = pool->alone_ns ? pool->alone_ns * 2 : ALONE_FIRST;
    if (pool->alone_ns > ALONE_LAST) pool->alone_ns = ALONE_LAST;
    pool->alone_until = npu_clock_ns() + pool->alone_ns;
    pool->width = 1;
}

static void meet(npu_pool *pool, bool may_shrink) {
    unsigned width = pool->width; /* before this thread has arrived: the last one may change it */
    if (width == 1) return;
    unsigned phase = atomic_load_explicit(&pool->phase, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&pool->arrived, 1, memory_order_acq_rel) + 1 == width) {
        if (may_shrink && waits_too_much(pool)) go_on_alone(pool);
        atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&pool->phase, phase + 1, memory_order_release);
        return;
    }
    wait_change(pool, &pool->phase, phase);
}

void npu_pool_barrier(npu_pool *pool) {
    meet(pool, false);
}

unsigned npu_pool_regroup(npu_pool *pool) {
    meet(pool, true);
    return pool->width;
}
