/* Opening sessions: how long it waits for a packet queue that does not answer: a tenth of the time-out that holds, at
 * least half a second on a device and two in emulation, and all devices of a set at the same time. The times are those
 * that the driver asks the library to wait; a clock says how much of one was over. And what is said of a program that
 * FastRPC did not find. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/clock.h"
#include "target/hexagon/hexagon_session.h"

enum { READ_TAKES_US = 30000, MOST = 64 };

static npu_hex_driver driver;

/* What was asked of the queues, in its order. */
static struct {
    bool is_read;
    uint32_t us;
    uint64_t at_us;
} calls[MOST];
static uint32_t n_calls;
static uint64_t begun_us; /* before opening */

static void note(bool is_read, uint32_t us) {
    assert_true(n_calls < MOST);
    calls[n_calls].is_read = is_read;
    calls[n_calls].us = us;
    calls[n_calls++].at_us = npu_clock_us();
}

static AEEResult write_nothing(dspqueue_t queue, uint32_t flags, uint32_t n_buffers, struct dspqueue_buffer *buffers,
                               uint32_t bytes, const uint8_t *message, uint32_t us) {
    (void)queue, (void)flags, (void)n_buffers, (void)buffers, (void)bytes, (void)message;
    note(false, us);
    return 0;
}

static AEEResult read_nothing(dspqueue_t queue, uint32_t *flags, uint32_t most_buffers, uint32_t *n_buffers,
                              struct dspqueue_buffer *buffers, uint32_t most_bytes, uint32_t *bytes, uint8_t *message,
                              uint32_t us) {
    const struct timespec some = {.tv_nsec = READ_TAKES_US * 1000};
    (void)queue, (void)flags, (void)most_buffers, (void)n_buffers, (void)buffers, (void)most_bytes, (void)bytes,
        (void)message;
    note(true, us);
    nanosleep(&some, NULL);
    return AEE_EEXPIRED;
}

static void open_and_close(double timeout_s, uint32_t n) {
    static const npu_hex_place places[] = {{0, 0}, {0, 1}, {0, 2}};
    npu_target_params params = {.driver = "sim", .timeout_s = timeout_s};
    npu_hex_session *sessions[3];
    npu_error err = {0};
    n_calls = 0;
    begun_us = npu_clock_us();
    if (npu_hex_sessions_open(&driver, &params, places, n, sessions, &err)) fail_msg("%s", err.text);
    for (uint32_t i = 0; i < n; i++) assert_false(npu_hex_session_has_queue(sessions[i]));
    npu_hex_sessions_close(sessions, n);
}

static void waits_a_tenth(void **state) {
    static const struct {
        double timeout_s;
        bool emulated;
        uint32_t us;
    } rows[] = {{0, true, 6000000},    {1, true, 2000000},          {20, true, 2000000},  {25, true, 2500000},
                {900, true, 90000000}, {0.1, true, 2000000},        {0.1, false, 500000}, {5, false, 500000},
                {8, false, 800000},    {1e9, false, UINT32_MAX - 1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        driver.emulated = rows[i].emulated;
        open_and_close(rows[i].timeout_s, 1);
        assert_int_equal(n_calls, 2);
        assert_true(!calls[0].is_read && calls[1].is_read);
        /* The limit counts from shortly before the packet is written to when the wait begins. */
        uint64_t over = calls[1].at_us - begun_us, left = over < rows[i].us ? rows[i].us - over : 0;
        if (calls[0].us != rows[i].us || calls[1].us > rows[i].us || calls[1].us < left)
            fail_msg("time-out %g: waits %u us of %u", rows[i].timeout_s, calls[1].us, calls[0].us);
    }
    driver.emulated = true;
}

/* All packets are sent before any is waited for, and what one wait took is not waited again. */
static void sets_wait_once(void **state) {
    (void)state;
    open_and_close(0, 3);
    assert_int_equal(n_calls, 6);
    for (uint32_t i = 0; i < 6; i++) assert_true(calls[i].is_read == (i >= 3));
    for (uint32_t i = 3; i < 6; i++) assert_true(calls[i].us + (i - 3) * READ_TAKES_US <= 6000000);
}

static int open_nothing(const char *uri, remote_handle64 *handle) {
    (void)uri, (void)handle;
    return AEE_EUNABLETOLOAD;
}

/* On a device the folder of programs is only looked at: FastRPC may have looked elsewhere. */
static void says_where_fastrpc_looks(void **state) {
    static const npu_hex_place place = {0, 0};
    npu_target_params params = {.driver = "sim"};
    npu_hex_driver other = driver;
    npu_hex_session *session;
    npu_error err = {0};
    (void)state;
    other.emulated = false;
    other.refusal = NULL;
    other.remote_handle64_open = open_nothing;
    assert_true(npu_hex_sessions_open(&other, &params, &place, 1, &session, &err) != NPU_OK);
    if (!strstr(err.text, "DSP_LIBRARY_PATH")) fail_msg("%s", err.text);
}

int main(void) {
    npu_target_params params = {.driver = "sim"};
    npu_error err = {0};
    if (npu_hex_driver_open(&params, NULL, &driver, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    driver.dspqueue_write = write_nothing;
    driver.dspqueue_read = read_nothing;
    const struct CMUnitTest tests[] = {cmocka_unit_test(waits_a_tenth), cmocka_unit_test(sets_wait_once),
                                       cmocka_unit_test(says_where_fastrpc_looks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
