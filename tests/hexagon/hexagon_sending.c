/* A set of devices of which one can't be reached: its process is gone, the library refuses a message or a buffer. Those
 * who have their part of the batch already wait for it inside the batch. They must be let go at once, the failure must
 * name the device, and the next request must give the bytes of a request without a fault.
 *
 *     hexagon_sending SPLIT
 *
 * The quick tier takes every few of the points at which something can fail; the full tier (NPU_FULL=1) all of them.
 * Where each device has to be met, the steps are no multiple of their number, and batches have six points or more.
 *
 * At once: in less than half of a time-out that nothing else here comes near. */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "npu/npu.h"
#include "support/need.h"

enum { TIMEOUT_S = 60, PROMPT = 6, STEPS = 3, LOGITS = 40, DEVICES = 3, MOST_POINTS = 1000 };
enum { SENT = DEVICES + 1 /* the first message of a batch: each device had one when it was opened */ };

static const char *const names[DEVICES] = {"NPU 0:0", "NPU 0:1", "NPU 1:0"};
static const char *split = "row";
static npu_model *model;
static float want[STEPS][LOGITS], got[STEPS][LOGITS];
static double slowest; /* seconds, of the decodes of the last request */
static bool under_way; /* it came to a decode */
static bool full;      /* the tier */
static npu_counters counted;

/* Ends the |which|-th of this process's children: the NPU processes, in the order in which they were started. */
static void kill_child(int which) {
    int children[DEVICES], n = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (const struct dirent *e; (e = readdir(tasks));) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/task/%.20s/children", e->d_name);
        FILE *f = fopen(path, "r");
        for (int pid; f && n < DEVICES && fscanf(f, "%d", &pid) == 1;) children[n++] = pid;
        if (f) fclose(f);
    }
    closedir(tasks);
    assert_int_equal(n, DEVICES);
    assert_int_equal(kill(children[which], SIGKILL), 0);
}

/* So small that a batch has several parts. */
static const char *small_window(void) {
    return strcmp(split, "tensor") ? "window=3M" : "window=4200K";
}

static npu_status timed_decode(npu_context *context, const npu_row *rows, uint32_t n, npu_error *err) {
    uint64_t start = npu_clock_ns();
    under_way = true;
    npu_status status = npu_decode(context, rows, n, err);
    double seconds = (double)(npu_clock_ns() - start) / 1e9;
    if (seconds > slowest) slowest = seconds;
    return status;
}

/* A prompt and steps with |setting| of the emulated devices; |killed|: whose process ends between the first two steps,
 * -1 = nobody's. */
static npu_status request(const char *setting, const char *more, int killed, npu_error *err) {
    const char *emu[] = {"cdsps=2", more ? more : "window=3328M", setting, NULL};
    npu_context_params params = {.ctx = 64, .npu_target = "hexagon", .driver = "sim", .emu = emu};
    npu_row rows[PROMPT];
    npu_context *context;
    params.timeout_s = TIMEOUT_S;
    params.npu_devices = "0:0,0:1,1:0";
    params.split = split;
    slowest = 0;
    under_way = false;
    memset(err, 0, sizeof *err);
    npu_status status = npu_context_open(model, &params, &context, err);
    if (status != NPU_OK) return status;
    for (int i = 0; i < PROMPT; i++) rows[i] = (npu_row){.token = 3 + i, .logits = i == PROMPT - 1};
    status = timed_decode(context, rows, PROMPT, err);
    for (int i = 0; i < STEPS && status == NPU_OK; i++) {
        npu_row row = {.token = 20 + i, .logits = true};
        memcpy(got[i], npu_logits(context, 0), sizeof got[i]);
        if (!i && killed >= 0) kill_child(killed);
        if (i + 1 < STEPS) status = timed_decode(context, &row, 1, err);
    }
    npu_context_counters(context, &counted);
    npu_context_close(context);
    return status;
}

/* The number of the device that |err| names. */
static unsigned named(const char *fault, npu_status status, const npu_error *err) {
    for (unsigned d = 0; d < DEVICES; d++)
        if (strstr(err->text, names[d])) return d;
    fail_msg("%s: %s, \"%s\" [%s] names no device", fault, npu_status_name(status), err->text, err->code);
    return DEVICES;
}

static void expect_sound(const char *fault, const char *more) {
    npu_error err;
    npu_status status = request("fault=off", more, -1, &err);
    if (status != NPU_OK) fail_msg("after %s: %s, \"%s\"", fault, npu_status_name(status), err.text);
    if (memcmp(got, want, sizeof got) != 0) fail_msg("after %s: other bytes", fault);
    if (more && counted.messages < 2 * STEPS * DEVICES)
        fail_msg("%s: %llu messages: batches of one part", more, (unsigned long long)counted.messages);
}

/* The |k|-th time that something is done with the fault |format|, every |stride|-th, until a request comes to its end
 * without it: at least one has met it by then. Returns the devices that were named, as bits, of failures of batches. */
static unsigned each_point(const char *format, unsigned k, unsigned stride, const char *more, const char *code) {
    unsigned seen = 0, first = k;
    for (;; k += stride) {
        if (k > MOST_POINTS) fail_msg("%s: no request comes to its end", format);
        char fault[160], setting[176];
        npu_error err;
        snprintf(fault, sizeof fault, format, k); /* NOLINT: formats of this file */
        snprintf(setting, sizeof setting, "fault=%s", fault);
        npu_status status = request(setting, more, -1, &err);
        if (status == NPU_OK) break;
        if (slowest > TIMEOUT_S / 2.0) fail_msg("%s: a batch took %g s: \"%s\"", fault, slowest, err.text);
        unsigned device = named(fault, status, &err);
        if (under_way) {
            seen |= 1u << device;
            if (strcmp(err.code, code) != 0) fail_msg("%s: \"%s\" [%s]", fault, err.text, err.code);
        }
        expect_sound(fault, more);
    }
    if (k == first) fail_msg("%s: never met", format);
    printf("%s by %s: up to %u%s%s\n", format, split, k, more ? ", " : "", more ? more : "");
    return seen;
}

static void messages_not_sent(void **state) {
    (void)state;
    assert_int_equal(each_point("dspqueue_write@%u=code:46", SENT, full ? 1 : 2, NULL, "hexagon.lost"), 7);
    /* Batches of many parts: devices are at work on some when the next can't be sent. */
    assert_int_equal(each_point("dspqueue_write@%u=code:46", SENT, full ? 1 : 5, small_window(), "hexagon.lost"), 7);
}

static void invocations_fail(void **state) {
    (void)state;
    if (!strcmp(split, "layer"))
        assert_int_equal(each_point("dspqueue_create=code:14;remote_handle64_invoke@%u=code:0x8000040D", 1,
                                    full ? 1 : 2, NULL, "hexagon.lost"),
                         7);
}

static void processes_end_between_batches(void **state) {
    (void)state;
    for (int d = 0; d < DEVICES; d++) {
        npu_error err;
        npu_status status = request("fault=off", NULL, d, &err);
        if (status != NPU_DEVICE_LOST || strcmp(err.code, "hexagon.lost") != 0)
            fail_msg("killed device %d: %s, \"%s\" [%s]", d, npu_status_name(status), err.text, err.code);
        if (slowest > TIMEOUT_S / 2.0) fail_msg("killed device %d: a batch took %g s", d, slowest);
        assert_int_equal(named("a kill", status, &err), d);
        expect_sound("a kill", NULL);
    }
}

/* Nothing is sent yet; the device is named all the same. */
static void sessions_not_opened(void **state) {
    (void)state;
    each_point("remote_handle64_open@%u=code:0x80000406", 1, 1, NULL, "");
    each_point("remote_handle64_invoke@%u=code:0x27", 1, 1, NULL, "");
}

static void buffers_not_announced(void **state) {
    (void)state;
    each_point("fastrpc_mmap@%u=code:46", 1, full ? 1 : 7, NULL, "hexagon.lost");
    each_point("fastrpc_mmap@%u=code:0x80000402", 2, full ? 1 : 7, NULL, "hexagon.announce");
}

static void processes_end_while_mapping(void **state) {
    static const int domains[DEVICES] = {3, 11, 4};
    (void)state;
    for (int d = 0; d < DEVICES; d++) {
        char fault[64];
        snprintf(fault, sizeof fault, "dsp%d:map@%%u=die", domains[d]);
        each_point(fault, 1, full ? 1 : 5, NULL, "hexagon.lost");
        snprintf(fault, sizeof fault, "dsp%d:HAP_mmap@%%u=die", domains[d]);
        each_point(fault, 1, full ? 1 : 4, NULL, "hexagon.lost");
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_not_sent),
        cmocka_unit_test(invocations_fail),
        cmocka_unit_test(processes_end_between_batches),
        cmocka_unit_test(sessions_not_opened),
        cmocka_unit_test(buffers_not_announced),
        cmocka_unit_test(processes_end_while_mapping),
    };
    char path[512];
    npu_error err = {0};
    if (!npu_shared_dir()) return npu_not_available("the reference cases");
    if (argc > 1) split = argv[1];
    const char *tier = getenv("NPU_FULL");
    full = tier && !strcmp(tier, "1");
    snprintf(path, sizeof path, "%s/refs/a/gemma3-w16-q4_k_m/model.gguf", npu_shared_dir());
    if (npu_model_open(path, NULL, &model, &err) != NPU_OK) return npu_not_available(err.text);
    if (request("fault=off", NULL, -1, &err) != NPU_OK) return fprintf(stderr, "%s\n", err.text), 1;
    memcpy(want, got, sizeof want);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    npu_model_close(model);
    return failed;
}
