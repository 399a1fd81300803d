/* The device layer against an emulated device that fails: every failure has the status and code of its row, inside its
 * time-out, and the next session gives the right bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "support/need.h"
#include "support/xdna_session.h"

static const struct row {
    const char *emu[4];
    npu_status status;
    const char *code, *says;
    uint32_t right_rows; /* of C, for a command that succeeds and wrote too little */
    double timeout_s;    /* 0: long, so that a busy machine changes nothing */
} rows[] = {
    /* The wait succeeds, the command did not. */
    {{"fault=cmd@2=code:1"}, NPU_DEVICE_LOST, "xdna.command", "NEW", 0},
    {{"fault=cmd@2=code:5"}, NPU_DEVICE_LOST, "xdna.command", "ERROR", 0},
    {{"fault=cmd@2=code:6"}, NPU_DEVICE_LOST, "xdna.context_lost", "ABORT", 0},
    {{"fault=cmd@2=code:8"}, NPU_TIMEOUT, "xdna.timeout", "watchdog", 0},
    {{"fault=cmd@2=code:9"}, NPU_DEVICE_LOST, "xdna.command", "NORESPONSE", 0},
    {{"fault=cmd@1=code:15", "kernel=6.14"}, NPU_DEVICE_LOST, "xdna.command", "state 15", 0},
    {{"fault=cmd@1=code:0", "kernel=6.14"}, NPU_DEVICE_LOST, "xdna.command", "NEW", 0},
    /* The first command has sequence number 0. */
    {{"fault=cmd@1=code:5"}, NPU_DEVICE_LOST, "xdna.command", "ERROR", 0},
    {{"fault=cmd@1=hang", "watchdog=300"}, NPU_TIMEOUT, "xdna.timeout", "watchdog", 0},
    /* Time-outs: the driver's, in all its ways, and our own. */
    {{"fault=cmd@2=hang", "watchdog=300", "kernel=0.16"}, NPU_TIMEOUT, "xdna.timeout", "watchdog", 0},
    {{"fault=cmd@2=hang", "watchdog=300", "kernel=6.14"}, NPU_DEVICE_LOST, "xdna.command", "NEW", 0},
    {{"fault=cmd@2=hang", "watchdog=0"}, NPU_TIMEOUT, "xdna.timeout", "no answer", 0, 2},
    {{"fault=cmd@2=delay:60000000"}, NPU_TIMEOUT, "xdna.timeout", "no answer", 0, 2},
    {{"fault=wait@2=code:62", "watchdog=0"}, NPU_OK, "", "", 16}, /* too early, but the command is done soon */
    /* A context or the device is gone. */
    {{"fault=cmd@2=restart"}, NPU_DEVICE_LOST, "xdna.context_lost", "ABORT", 0},
    {{"fault=cmd@2=die"}, NPU_DEVICE_LOST, "xdna.context_lost", "", 0},
    {{"fault=cmd@1=die"}, NPU_DEVICE_LOST, "xdna.context_lost", "", 0},
    {{"fault=sync_bo@9=die"}, NPU_DEVICE_LOST, "xdna.context_lost", "", 0},
    {{"fault=exec_cmd@3=code:22"}, NPU_DEVICE_LOST, "xdna.context_lost", "EXEC_CMD", 0},
    {{"fault=exec_cmd@2=code:19"}, NPU_DEVICE_LOST, "xdna.context_lost", "EXEC_CMD", 0},
    {{"fault=wait@2=code:19"}, NPU_DEVICE_LOST, "xdna.context_lost", "TIMELINE_WAIT", 0},
    /* Rows that were not written, and bytes that a sync did not move. */
    {{"fault=cmd@3=short:15"}, NPU_OK, "", "", 15},
    {{"fault=cmd@3=short:0"}, NPU_OK, "", "", 0},
    {{"fault=sync_bo=code:0"}, NPU_DEVICE_LOST, "xdna.command", "ERROR", 0}, /* the kernel itself never arrived */
    /* Refused calls. */
    {{"fault=open=code:13"}, NPU_NO_DEVICE, "xdna.no_device", "Permission denied", 0},
    {{"fault=version=code:22"}, NPU_INTERNAL, "xdna.ioctl", "VERSION", 0},
    {{"fault=get_info@1=code:95"}, NPU_REFUSED, "xdna.ioctl", "metadata", 0},
    {{"fault=get_info@2=code:19"}, NPU_DEVICE_LOST, "xdna.context_lost", "firmware", 0},
    {{"fault=get_info@1=code:0"}, NPU_REFUSED, "xdna.unknown_device", "0 columns", 0},
    {{"fault=create_bo@1=code:12"}, NPU_NO_MEMORY, "xdna.no_memory", "heap", 0},
    {{"fault=create_bo@1=code:16"}, NPU_REFUSED, "xdna.ioctl", "heap", 0},
    {{"fault=mmap@1=code:12"}, NPU_NO_MEMORY, "xdna.map", "heap", 0},
    {{"fault=create_hwctx@1=code:22"}, NPU_NO_DEVICE, "xdna.no_context", "Invalid argument", 0},
    {{"fault=create_hwctx@1=code:19"}, NPU_NO_DEVICE, "xdna.no_context", "No such device", 0},
    {{"fault=create_hwctx@1=code:11"}, NPU_NO_MEMORY, "xdna.no_memory", "CREATE_HWCTX", 0},
    {{"fault=create_bo@2=code:28"}, NPU_NO_MEMORY, "xdna.no_memory", "left in the heap", 0},
    {{"fault=create_bo@3=code:22"}, NPU_INTERNAL, "xdna.ioctl", "CREATE_BO", 0},
    {{"fault=config_hwctx@1=code:22"}, NPU_INTERNAL, "xdna.ioctl", "CONFIG_HWCTX", 0},
    {{"fault=config_hwctx@1=code:0"}, NPU_DEVICE_LOST, "xdna.command", "NEW", 0},
    {{"fault=create_bo@9=code:12"}, NPU_NO_MEMORY, "xdna.no_memory", "for a buffer", 0},
    {{"fault=get_bo_info@3=code:2"}, NPU_INTERNAL, "xdna.ioctl", "GET_BO_INFO", 0},
    {{"fault=mmap@4=code:11"}, NPU_NO_MEMORY, "xdna.map", "4096 bytes", 0},
    {{"fault=mmap@7=code:12"}, NPU_NO_MEMORY, "xdna.map", "2048 bytes", 0},
    {{"fault=sync_bo@1=code:2"}, NPU_INTERNAL, "xdna.ioctl", "SYNC_BO", 0},
    {{"fault=sync_bo@6=code:22"}, NPU_INTERNAL, "xdna.ioctl", "SYNC_BO", 0},
    /* An interrupted call is made again, up to the time-out. */
    {{"fault=exec_cmd@2=code:4;wait@1=code:4;create_bo@4=code:4"}, NPU_OK, "", "", 16},
    {{"fault=exec_cmd=code:4"}, NPU_CANCELLED, "xdna.ioctl", "EXEC_CMD", 0, 2},
};

/* Three commands; the first failure. |*right| gets the number of rows of C that are right at the end. */
static npu_status run(const char *const *emu, double timeout_s, uint32_t *right, npu_error *err) {
    session s;
    memset(err, 0, sizeof *err);
    npu_status status = session_open(&s, emu, timeout_s, err);
    if (status == NPU_OK) status = session_context(&s, err);
    for (unsigned seed = 1; seed <= 3 && status == NPU_OK; seed++) status = session_run(&s, seed, err);
    for (*right = 0; status == NPU_OK && *right < 16 && !session_wrong(&s, *right + 1);) ++*right;
    bool gone = status == NPU_TIMEOUT || status == NPU_DEVICE_LOST;
    if (s.dev && npu_xdna_lost(s.dev) != gone) fail_msg("%s: lost: %d", err->text, !gone);
    if (s.dev && gone && s.c) { /* whatever is asked of it now */
        npu_error after = {0};
        assert_int_equal(session_run(&s, 1, &after), NPU_DEVICE_LOST);
        assert_string_equal(after.code, "xdna.lost");
    }
    npu_xdna_close(s.dev);
    return status;
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void check(const struct row *r) {
    npu_error err;
    uint32_t right;
    double begin = seconds();
    npu_status status = run(r->emu, r->timeout_s > 0 ? r->timeout_s : 30, &right, &err);
    const char *fault = r->emu[0];
    if (status != r->status)
        fail_msg("%s: %s (%s: %s), not %s", fault, npu_status_name(status), err.code, err.text,
                 npu_status_name(r->status));
    if (status != NPU_OK && strcmp(err.code, r->code) != 0) fail_msg("%s: code %s: %s", fault, err.code, err.text);
    if (status != NPU_OK && !strstr(err.text, r->says)) fail_msg("%s: \"%s\" lacks %s", fault, err.text, r->says);
    if (status == NPU_OK && right != r->right_rows) fail_msg("%s: %u right rows", fault, right);
    if (seconds() - begin > 60) fail_msg("%s: took %.1f s", fault, seconds() - begin);
    status = run(NULL, 60, &right, &err);
    if (status != NPU_OK || right != 16) fail_msg("after %s: %s, %u right rows", fault, err.text, right);
}

static void every_row(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) check(&rows[i]);
}

/* Death of the device at any of the calls of a session, one after the other. */
static void death_at_each_sync(void **state) {
    (void)state;
    for (unsigned i = 1; i <= 17; i++) {
        char fault[48];
        const char *const emu[] = {fault, NULL};
        npu_error err;
        uint32_t right;
        snprintf(fault, sizeof fault, "fault=sync_bo@%u=die", i);
        npu_status status = run(emu, 5, &right, &err);
        if (status == NPU_OK && right == 16) continue; /* the last bytes were moved before it was noticed */
        if (status != NPU_DEVICE_LOST && status != NPU_NO_DEVICE)
            fail_msg("%s: %s: %s", fault, npu_status_name(status), err.text);
    }
    npu_error err;
    uint32_t right;
    assert_int_equal(run(NULL, 60, &right, &err), NPU_OK);
    assert_int_equal(right, 16);
}

int main(void) {
    if (!session_is_there()) return npu_not_available("libnpu-emu-xdna.so");
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_row), cmocka_unit_test(death_at_each_sync)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
