/* Fences of the NPU program between two threads of this process, and in one that is stepped: what a signal says,
 * numbers that wrap, the time limit. The emulated calls do nothing here, except telling the time. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "htp/fence.h"
#include "htp/platform/hap.h"
#include "htp/platform/machine.h"
#include "tests/support/need.h"

enum { ROUNDS = 20000 };

static npu_fence slots[2] __attribute__((aligned(128)));

uint64_t HAP_perf_get_time_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}
void npu_emu_dccleaninva(const void *address) {
    (void)address;
}
uint32_t npu_emu_line(void) {
    return 128;
}
void npu_emu_line_wait(const void *line, uint32_t value, uint32_t timeout_us) {
    (void)line, (void)value, (void)timeout_us;
}
void npu_emu_line_wake(const void *line) {
    (void)line;
}
void *npu_emu_low_alloc(uint32_t bytes, uint32_t align) {
    (void)bytes, (void)align;
    return NULL;
}
void npu_emu_low_free(void *memory) {
    (void)memory;
}

/* The status of round |i|: another one each time. */
static uint32_t status_of(uint32_t i) {
    return 1 + i % 1000;
}

static void *answer(void *argument) {
    uint32_t first = *(uint32_t *)argument;
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        if (htp_fence_wait(&slots[1], first + i, 20000000) != NPU_WIRE_OK) return NULL;
        htp_fence_signal(&slots[0], first + i, status_of(i));
    }
    return argument;
}

/* Who finds the number finds the status that was written before it, also where numbers wrap. */
static void order(void **state) {
    (void)state;
    uint32_t first = 0u - ROUNDS / 2;
    void *ended;
    pthread_t thread;
    slots[0] = slots[1] = (npu_fence){.sequence = first};
    assert_int_equal(pthread_create(&thread, NULL, answer, &first), 0);
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        htp_fence_signal(&slots[1], first + i, NPU_WIRE_OK);
        assert_int_equal(htp_fence_wait(&slots[0], first + i, 20000000), status_of(i));
    }
    pthread_join(thread, &ended);
    assert_ptr_equal(ended, &first);
}

/* A line that a live owner and the host write by turns: the host's last word, and the owner's number before it. */
static void *write_by_turns(void *stop) {
    while (!__atomic_load_n((const bool *)stop, __ATOMIC_RELAXED)) {
        __atomic_store_n(&slots[0].word, npu_fence_word(9, NPU_WIRE_PEER_LOST), __ATOMIC_RELEASE);
        htp_fence_signal(&slots[0], 1, NPU_WIRE_OK);
    }
    return NULL;
}

/* The number of the one is never taken with the status of the other. */
static void both_at_once(void **state) {
    (void)state;
    bool stop = false;
    pthread_t thread;
    slots[0] = (npu_fence){.sequence = 1};
    assert_int_equal(pthread_create(&thread, NULL, write_by_turns, &stop), 0);
    for (uint32_t i = 0; i < 10 * ROUNDS; i++)
        assert_int_equal(htp_fence_wait(&slots[0], 9, 20000000), NPU_WIRE_PEER_LOST);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

enum { NO_TRACE = 2 };

/* A process that stops, and then signals 9 with a failure in |slot|. */
static pid_t begin_signal(npu_fence *slot) {
    pid_t child = fork();
    if (child) return child;
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL)) _exit(NO_TRACE);
    htp_fence_signal(&slots[0], 9, NPU_WIRE_OK); /* what only the first call does need not be stepped through */
    raise(SIGSTOP);
    htp_fence_signal(slot, 9, NPU_WIRE_PEER_LOST);
    _exit(0);
}

/* The same for the writer, whatever the machine does beside: after each of its instructions others find the old pair or
 * the new one. */
static void in_one_store(void **state) {
    (void)state;
    const uint64_t before = npu_fence_word(1, NPU_WIRE_OK), after = npu_fence_word(9, NPU_WIRE_PEER_LOST);
    npu_fence *slot = mmap(NULL, sizeof *slot, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(slot, MAP_FAILED);
    slot->word = before;
    pid_t child = begin_signal(slot);
    int ended = 0, others = 0;
    while (waitpid(child, &ended, 0) == child && WIFSTOPPED(ended)) {
        uint64_t found = __atomic_load_n(&slot->word, __ATOMIC_ACQUIRE);
        others += found != before && found != after;
        assert_int_equal(ptrace(found == after ? PTRACE_CONT : PTRACE_SINGLESTEP, child, NULL, NULL), 0);
    }
    assert_true(WIFEXITED(ended));
    if (WEXITSTATUS(ended) == NO_TRACE) npu_skip_test("ptrace");
    assert_int_equal(WEXITSTATUS(ended), 0);
    assert_int_equal(others, 0);
    assert_true(slot->word == after);
    munmap(slot, sizeof *slot);
}

static void wraps(void **state) {
    (void)state;
    slots[0] = (npu_fence){.sequence = 0xFFFFFFFE};
    assert_int_equal(htp_fence_wait(&slots[0], 3, 1000), NPU_WIRE_NO_FENCE); /* not reached yet */
    slots[0] = (npu_fence){.sequence = 4};
    assert_int_equal(htp_fence_wait(&slots[0], 0xFFFFFFFF, 1000), NPU_WIRE_OK); /* long ago */
}

static void fails(void **state) {
    (void)state;
    static const uint32_t base = NPU_FENCE_FIRST + 3 * NPU_FENCE_MOST + 50, next = NPU_FENCE_FIRST + 4 * NPU_FENCE_MOST;
    htp_fences f = {.slots = slots, .own = 1, .base = base, .timeout_us = 1000};
    slots[1] = (npu_fence){.sequence = base};
    htp_fences_fail(&f, NPU_WIRE_BAD_ROW_ID);
    assert_int_equal(htp_fence_wait(&slots[1], next - 1, 1000), NPU_WIRE_BAD_ROW_ID); /* whatever it is */
    assert_int_equal(htp_fence_wait(&slots[1], next, 1000), NPU_WIRE_NO_FENCE);       /* not of the next batch */
    npu_wire_sync wait = {.kind = NPU_SYNC_WAIT, .slot = 1, .number = 3};
    f.own = 0;
    assert_int_equal(htp_fences_sync(&f, &wait), NPU_WIRE_PEER_FAILED);
    assert_int_equal(f.peer, 1);
    assert_int_equal(f.peer_code, NPU_WIRE_BAD_ROW_ID);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(order), cmocka_unit_test(both_at_once),
                                       cmocka_unit_test(in_one_store), cmocka_unit_test(wraps),
                                       cmocka_unit_test(fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
