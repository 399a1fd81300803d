#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/pool.h"

enum { N = 64, ROUNDS = 200 };

typedef struct shared {
    npu_pool *pool;
    unsigned seen[N];
    int bad[N];
} shared;

static void mark(void *context, unsigned ith, unsigned nth) {
    shared *s = context;
    s->seen[ith] += nth;
}

/* Every thread writes, waits, and reads what its neighbour wrote: only right when the barrier holds all of them. */
static void neighbours(void *context, unsigned ith, unsigned nth) {
    shared *s = context;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        s->seen[ith] = round;
        npu_pool_barrier(s->pool);
        if (s->seen[(ith + 1) % nth] != round) s->bad[ith] = 1;
        npu_pool_barrier(s->pool);
    }
}

static void every_thread_runs_once(void **state) {
    (void)state;
    for (unsigned n = 1; n <= 5; n++) {
        shared s = {0};
        npu_error err = {0};
        assert_int_equal(npu_pool_create(n, &s.pool, &err), NPU_OK);
        assert_int_equal(npu_pool_threads(s.pool), n);
        for (int round = 0; round < ROUNDS; round++) npu_pool_run(s.pool, mark, &s);
        for (unsigned i = 0; i < N; i++) assert_int_equal(s.seen[i], i < n ? n * ROUNDS : 0);
        npu_pool_destroy(s.pool);
    }
}

static void the_barrier_holds(void **state) {
    (void)state;
    for (unsigned n = 1; n <= 4; n++) {
        shared s = {0};
        npu_error err = {0};
        assert_int_equal(npu_pool_create(n, &s.pool, &err), NPU_OK);
        npu_pool_run(s.pool, neighbours, &s);
        for (unsigned i = 0; i < N; i++) assert_int_equal(s.bad[i], 0);
        npu_pool_destroy(s.pool);
    }
}

typedef struct steps {
    npu_pool *pool;
    unsigned n, done[N], shrunk; /* steps; how often each was done; at which it shrank */
    bool slow;
} steps;

/* A share of each step for each thread. Thread 1 is slow, as one is whose core another program has. */
static void do_steps(void *context, unsigned ith, unsigned nth) {
    steps *s = context;
    for (unsigned i = 0; i < s->n; i++) {
        if (s->slow && ith == 1) usleep(6000);
        if (ith == 0) s->done[i] = nth;
        unsigned left = npu_pool_regroup(s->pool);
        if (ith == 0 && left < nth) s->shrunk = i + 1;
        if (ith >= left) return;
        nth = left;
    }
}

/* A run that waits too much goes on alone, so do the next ones, and after a while all threads are back. */
static void busy_cores(void **state) {
    (void)state;
    steps s = {.n = 20, .slow = true};
    npu_error err = {0};
    assert_int_equal(npu_pool_create(2, &s.pool, &err), NPU_OK);
    npu_pool_run(s.pool, do_steps, &s);
    assert_in_range(s.shrunk, 1, 10);
    assert_int_equal(s.done[0], 2);
    assert_int_equal(s.done[s.n - 1], 1);
    s.n = 1;
    npu_pool_run(s.pool, do_steps, &s);
    assert_int_equal(s.done[0], 1);
    s.slow = false;
    for (int i = 0; i < 200 && s.done[0] == 1; i++) {
        usleep(10000);
        npu_pool_run(s.pool, do_steps, &s);
    }
    assert_int_equal(s.done[0], 2);
    npu_pool_destroy(s.pool);
}

static void sleepers_wake(void **state) {
    (void)state;
    shared s = {0};
    npu_error err = {0};
    assert_int_equal(npu_pool_create(2, &s.pool, &err), NPU_OK);
    for (int round = 0; round < 5; round++) {
        usleep(20000);
        npu_pool_run(s.pool, mark, &s);
    }
    assert_int_equal(s.seen[1], 10);
    npu_pool_destroy(s.pool);
}

static void odd_sizes(void **state) {
    (void)state;
    npu_pool *pool = NULL;
    npu_error err = {0};
    assert_int_equal(npu_pool_create(65, &pool, &err), NPU_INVALID);
    assert_null(pool);
    assert_int_equal(npu_pool_create(0, &pool, &err), NPU_OK);
    assert_true(npu_pool_threads(pool) == npu_pool_cores());
    npu_pool_destroy(pool);
    npu_pool_destroy(NULL);
}

/* Printed, not asserted: a loaded machine must not fail the test. */
static void cost_of_a_run(void **state) {
    (void)state;
    shared s = {0};
    npu_error err = {0};
    assert_int_equal(npu_pool_create(2, &s.pool, &err), NPU_OK);
    double best = 1;
    for (int trial = 0; trial < 20; trial++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        for (int i = 0; i < 1000; i++) npu_pool_run(s.pool, mark, &s);
        clock_gettime(CLOCK_MONOTONIC, &b);
        double seconds = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
        if (seconds / 1000 < best) best = seconds / 1000;
    }
    print_message("a run on two threads: %.2f us (best of 20 x 1000)\n", best * 1e6);
    npu_pool_destroy(s.pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_thread_runs_once), cmocka_unit_test(the_barrier_holds), cmocka_unit_test(busy_cores),
        cmocka_unit_test(sleepers_wake),          cmocka_unit_test(odd_sizes),         cmocka_unit_test(cost_of_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
