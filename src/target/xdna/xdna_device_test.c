/* The device layer on the emulated device: every driver version, queues, contexts, kernels. What it refuses
 * and gives back: xdna_limits_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "support/need.h"
#include "support/xclbin_build.h"
#include "support/xdna_session.h"
#include "target/xdna/xdna_sys.h"

static void works_on_each_driver(void **state) {
    static const char *const rows[][4] = {{"kernel=6.14", "generation=xdna1", "direction=strict"},
                                          {"kernel=6.14", "evict=1"},
                                          {"kernel=7.0", "generation=xdna1", "evict=1"},
                                          {"kernel=7.0", "iova=1", "order=seeded"},
                                          {"kernel=0.16", "node=3"},
                                          {"kernel=1.0", "direction=strict", "evict=1"},
                                          {"fault=cmd=delay:2000"},
                                          {"fault=exec_cmd@2=code:4;wait@3=code:4;sync_bo@5=code:4"}};
    npu_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        session s;
        OK(session_open(&s, rows[i], 0, &err));
        OK(session_context(&s, &err));
        for (unsigned seed = 1; seed <= 3; seed++) {
            OK(session_run(&s, seed, &err));
            if (session_wrong(&s, 16)) fail_msg("row %zu, seed %u: wrong values", i, seed);
        }
        npu_xdna_counters counters;
        npu_xdna_count(s.dev, &counters);
        assert_int_equal(counters.commands, 3);
        assert_int_equal(counters.syncs_to, 9);
        assert_int_equal(counters.syncs_from, 3);
        assert_int_equal(counters.sync_bytes_from, 3 * s.c->bytes);
        assert_int_equal(counters.buffers, 3);
        npu_xdna_buffer_free(s.b);
        npu_xdna_context_destroy(s.context);
        npu_xdna_close(s.dev); /* frees the rest */
    }
}

static void says_what_it_is(void **state) {
    static const char *const emu[] = {"generation=xdna1", "firmware=1.5.2.380", "kernel=0.16", "node=0", NULL};
    npu_xdna_params params = {.driver = "emu", .emu = emu};
    npu_error err = {0};
    npu_xdna_info info;
    const char *text;
    (void)state;
    OK(npu_xdna_probe(&params, &info, &err));
    assert_string_equal(info.generation, "xdna1");
    assert_string_equal(info.firmware, "1.5.2.380");
    assert_string_equal(info.driver, "amdxdna 0.16");
    assert_string_equal(info.node, "/dev/accel/accel0");
    assert_string_equal(info.device, "emulated XDNA (xdna1, 5 columns)");
    assert_true(info.emulated && info.caps_known && info.contexts == 6 && info.core_rows == 4);
    OK(npu_xdna_describe_emu(&params, &text, &err));
    assert_non_null(strstr(text, "watchdog"));
    static const char *const bad_key[] = {"colour=red", NULL}, *const bad_value[] = {"kernel=5.0", NULL},
                             *const no_value[] = {"kernel", NULL};
    params.emu = bad_key;
    REFUSED(npu_xdna_probe(&params, &info, &err), NPU_REFUSED, "xdna.emu_setting");
    params.emu = bad_value;
    REFUSED(npu_xdna_probe(&params, &info, &err), NPU_REFUSED, "xdna.emu_setting");
    params.emu = no_value;
    REFUSED(npu_xdna_probe(&params, &info, &err), NPU_REFUSED, "xdna.emu_setting");
    static const char *const new_driver[] = {"kernel=2.0", NULL}, *const old_driver[] = {"kernel=7.0", NULL};
    params.emu = new_driver;
    REFUSED(npu_xdna_probe(&params, &info, &err), NPU_REFUSED, "xdna.driver_version");
    params.emu = old_driver;
    params.node = "/dev/accel/accel9";
    REFUSED(npu_xdna_probe(&params, &info, &err), NPU_NO_DEVICE, "xdna.no_device");
}

static void queue(void **state) {
    session s;
    npu_xdna_ticket t[5];
    npu_error err = {0};
    (void)state;
    OK(session_open(&s, NULL, 0, &err));
    OK(session_context(&s, &err));
    OK(session_fill(&s, 9, &err));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) OK(session_submit(&s, &t[i], &err));
        REFUSED(session_submit(&s, &t[4], &err), NPU_REFUSED, "xdna.queue_full");
        for (int i = 3; i >= 0; i--) OK(npu_xdna_wait(s.context, t[i], &err));
        REFUSED(npu_xdna_wait(s.context, t[0], &err), NPU_RANGE, "xdna.range");
    }
    OK(npu_xdna_buffer_sync(s.c, NPU_XDNA_FROM_DEVICE, 0, s.c->bytes, &err));
    assert_int_equal(session_wrong(&s, 16), 0);
    npu_xdna_close(s.dev);
}

/* Command 0 is done though the one behind it hangs: its wait must not wait for the newest point. */
static void sequence_zero(void **state) {
    static const char *const emu[] = {"watchdog=0", "fault=cmd@2=hang", NULL};
    session s;
    npu_xdna_ticket t[2];
    npu_error err = {0};
    (void)state;
    OK(session_open(&s, emu, 6, &err));
    OK(session_context(&s, &err));
    OK(session_fill(&s, 5, &err));
    OK(session_submit(&s, &t[0], &err));
    OK(session_submit(&s, &t[1], &err));
    assert_int_equal(t[0], 0);
    int64_t begin = npu__xdna_deadline_ns(0);
    OK(npu_xdna_wait(s.context, t[0], &err));
    assert_true(npu__xdna_deadline_ns(0) - begin < 5000000000);
    OK(npu_xdna_buffer_sync(s.c, NPU_XDNA_FROM_DEVICE, 0, s.c->bytes, &err));
    assert_int_equal(session_wrong(&s, 16), 0);
    REFUSED(npu_xdna_wait(s.context, t[1], &err), NPU_TIMEOUT, "xdna.timeout");
    assert_true(npu_xdna_lost(s.dev));
    REFUSED(session_submit(&s, &t[1], &err), NPU_DEVICE_LOST, "xdna.lost");
    npu_xdna_close(s.dev);
}

static void two_contexts_in_any_order(void **state) {
    static const char *const emu[] = {"order=seeded", "seed=3", "fault=cmd=delay:1000", NULL};
    npu_error err = {0};
    session s;
    (void)state;
    OK(session_open(&s, emu, 0, &err));
    OK(session_context(&s, &err));
    session other = {.dev = s.dev};
    OK(session_context(&other, &err));
    for (unsigned seed = 0; seed < 6; seed++) {
        npu_xdna_ticket t[2];
        OK(session_fill(&s, seed, &err));
        OK(session_fill(&other, seed + 20, &err));
        OK(session_submit(&s, &t[0], &err));
        OK(session_submit(&other, &t[1], &err));
        OK(npu_xdna_wait(other.context, t[1], &err));
        OK(npu_xdna_wait(s.context, t[0], &err));
        OK(npu_xdna_buffer_sync(s.c, NPU_XDNA_FROM_DEVICE, 0, s.c->bytes, &err));
        OK(npu_xdna_buffer_sync(other.c, NPU_XDNA_FROM_DEVICE, 0, other.c->bytes, &err));
        assert_int_equal(session_wrong(&s, 16) + session_wrong(&other, 16), 0);
    }
    npu_xdna_close(s.dev);
}

/* Two kernels in one context; the second is an xclbin with its instructions, loaded as a real one is. */
static void kernels_in_a_context(void **state) {
    static const char one_row[] = "npu-emu-kernel 1\nkind head\nshape 16 64 32\nlayout rows\ncolumns 2\n";
    uint8_t xclbin[XCLBIN_IMAGE + sizeof session_kernel], insts[160];
    npu_error err = {0};
    session s;
    npu_xdna_context *context;
    (void)state;
    size_t bytes = xclbin_build(xclbin, session_kernel, sizeof session_kernel - 1, 4);
    npu_xdna_kernel kernels[2] = {{"rows", (const uint8_t *)one_row, sizeof one_row - 1, NULL, 0},
                                  {"real", xclbin, bytes, insts, xclbin_stream(insts, 2)}};
    OK(session_open(&s, NULL, 0, &err));
    OK(session_context(&s, &err));
    OK(npu_xdna_context_create(s.dev, kernels, 2, &context, &err));
    for (uint32_t k = 0; k < 2; k++) {
        npu_xdna_arg args[3] = {{s.a, 0}, {s.b, 0}, {s.c, 0}};
        npu_xdna_ticket ticket;
        OK(session_fill(&s, 2 + k, &err));
        OK(npu_xdna_submit(context, k, args, 3, &ticket, &err));
        OK(npu_xdna_wait(context, ticket, &err));
        OK(npu_xdna_buffer_sync(s.c, NPU_XDNA_FROM_DEVICE, 0, s.c->bytes, &err));
        assert_int_equal(session_wrong(&s, 16) == 0, k == 1);
    }
    REFUSED(npu_xdna_submit(context, 2, NULL, 0, &(npu_xdna_ticket){0}, &err), NPU_RANGE, "xdna.range");
    npu_xdna_arg past = {s.a, s.a->bytes};
    REFUSED(npu_xdna_submit(context, 0, &past, 1, &(npu_xdna_ticket){0}, &err), NPU_RANGE, "xdna.range");
    npu_xdna_close(s.dev);
}

/* A buffer that the host never touched is as good for output as one that was synced: its zeros are not in the way. */
static void untouched_output(void **state) {
    static const char *const emu[] = {"evict=1", "direction=loose", NULL};
    npu_error err = {0};
    session s;
    npu_xdna_ticket ticket;
    (void)state;
    OK(session_open(&s, emu, 0, &err));
    OK(session_context(&s, &err));
    OK(session_fill(&s, 3, &err));
    OK(npu_xdna_buffer_alloc(s.dev, s.c->bytes, &s.c, &err));
    OK(session_submit(&s, &ticket, &err));
    OK(npu_xdna_wait(s.context, ticket, &err));
    OK(npu_xdna_buffer_sync(s.c, NPU_XDNA_FROM_DEVICE, 0, s.c->bytes, &err));
    assert_int_equal(session_wrong(&s, 16), 0);
    npu_xdna_close(s.dev);
}

int main(void) {
    if (!session_is_there()) return npu_not_available("libnpu-emu-xdna.so");
    const struct CMUnitTest tests[] = {cmocka_unit_test(works_on_each_driver),
                                       cmocka_unit_test(says_what_it_is),
                                       cmocka_unit_test(queue),
                                       cmocka_unit_test(sequence_zero),
                                       cmocka_unit_test(two_contexts_in_any_order),
                                       cmocka_unit_test(kernels_in_a_context),
                                       cmocka_unit_test(untouched_output)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
