/* The target against an emulated device that fails, beside the catalogue tests/faults/hexagon.json: kills at random
 * points that leave nothing behind, the name of every result code, settings. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/random.h"
#include "target/target.h"
#include "wire/format.h"

extern const npu_target_ops npu_target_hexagon;

enum { K = 64, ROWS = 5 };

/* Doubles rows of a compute buffer |times| times in one session; returns the first failure. */
static npu_status session(const char *const *emu, double timeout_s, int times, npu_error *err) {
    npu_target_params params = {.driver = "sim", .timeout_s = timeout_s, .emu = emu, .n_threads = 1};
    npu_target *target;
    npu_buffer *buffer = NULL;
    memset(err, 0, sizeof *err);
    npu_status status = npu_target_hexagon.open(&params, NULL, NULL, &target, err);
    if (status != NPU_OK) {
        assert_null(target);
        return status;
    }
    status = target->ops->buffer_alloc(target, 1 << 16, NPU_BUFFER_COMPUTE, &buffer, err);
    npu_tensor x = {.nb = {4, K * 4, K * 4 * ROWS, K * 4 * ROWS}, .ne = {K, ROWS, 1, 1}, .type = NPU_TYPE_F32}, y = x;
    y.offset = 1 << 15;
    npu_tensor tensors[2] = {x, y};
    npu_op op;
    memset(&op, 0xFF, sizeof op);
    op.code = NPU_OP_ADD, op.flags = 0, op.reserved = 0, op.src[0] = op.src[1] = 0, op.dst[0] = 1;
    for (int i = 0; i < times && status == NPU_OK; i++) {
        float *from = (float *)(void *)buffer->data, *to = (float *)(void *)(buffer->data + y.offset);
        for (int j = 0; j < K * ROWS; j++) from[j] = (float)(i * 1000 + j);
        npu_batch batch = {.image_id = (uint64_t)i % 3,
                           .tensors = tensors,
                           .ops = &op,
                           .buffers = &buffer,
                           .n_tensors = 2,
                           .n_ops = 1,
                           .n_buffers = 1};
        npu_event event;
        status = target->ops->submit(target, &batch, &event, err);
        if (status == NPU_OK) status = target->ops->wait(target, event, err);
        for (int j = 0; j < K * ROWS && status == NPU_OK; j++)
            if (to[j] != (float)(2 * (i * 1000 + j))) fail_msg("batch %d, value %d: %f", i, j, (double)to[j]);
    }
    target->ops->buffer_free(target, buffer);
    target->ops->close(target);
    return status;
}

/* The session is lost with |fault|, which is seen and not waited for, and the next one works. */
static void expect_loss(const char *fault) {
    char setting[160];
    snprintf(setting, sizeof setting, "fault=%s", fault);
    const char *const emu[] = {setting, NULL}, *const off[] = {"fault=off", NULL};
    npu_error err;
    npu_status status = session(emu, 60, 8, &err);
    if (status != NPU_DEVICE_LOST) fail_msg("%s: %s (%s)", fault, npu_status_name(status), err.text);
    status = session(off, 60, 8, &err);
    if (status != NPU_OK) fail_msg("after %s: %s", fault, err.text);
}

/* What a session could leave behind: descriptors, NPU processes, mappings of shared memory. */
typedef struct belongings {
    int files, processes, mappings;
} belongings;

static belongings count_belongings(void) {
    belongings b = {0};
    char line[512];
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d)) b.files++;
    if (d) closedir(d);
    d = opendir("/proc/self/task");
    for (const struct dirent *e; d && (e = readdir(d));) {
        snprintf(line, sizeof line, "/proc/self/task/%.20s/children", e->d_name);
        FILE *f = fopen(line, "r");
        for (int c; f && (c = fgetc(f)) != EOF;) b.processes += c == ' '; /* behind each number */
        if (f) fclose(f);
    }
    if (d) closedir(d);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) b.mappings += strstr(line, "memfd:") != NULL;
    if (maps) fclose(maps);
    return b;
}

static void killed_at_random(void **state) {
    (void)state;
    static const char *const points[] = {"dsp:op", "dsp:dspqueue_read", "dsp:dspqueue_write", "dsp:HAP_mmap"};
    const char *full = getenv("NPU_FULL");
    uint64_t seed = 20261130;
    belongings before = {0};
    for (unsigned i = 0; i < (full && *full == '1' ? 100u : 10u); i++) {
        char fault[64];
        uint32_t at = (uint32_t)(npu_random_next(&seed) >> 33), point = at / 8 % 4;
        snprintf(fault, sizeof fault, "%s@%u=die", points[point], point == 3 ? 1 + at % 2 : 1 + at % 8);
        expect_loss(fault);
        belongings now = count_belongings();
        if (!i) before = now; /* what the library keeps once it was used */
        if (now.files != before.files || now.processes || now.mappings != before.mappings)
            fail_msg("kill %u (%s) left %d descriptors (%d), %d processes, %d mappings (%d)", i, fault, now.files,
                     before.files, now.processes, now.mappings, before.mappings);
    }
}

/* An engine that stops before, in or after some transfer of an op is a lost device by its own name: no result of half
 * the data, and no time-out, whichever transfer it is and however many are behind it. */
static void engine_stops(void **state) {
    (void)state;
    static const char *const actions[] = {"short", "code:8"};
    static const char *const strict[] = {"strict=0", "strict=1"};
    const char *sanitize = getenv("NPU_SANITIZE"); /* there is no strict program then */
    const char *const off[] = {"fault=off", "strict=0", NULL};
    npu_error err;
    for (unsigned i = 0; i < 14; i++) {
        static const unsigned at[] = {1, 2, 3, 8, 15, 31, 100};
        char setting[64];
        snprintf(setting, sizeof setting, "fault=dsp:dma@%u=%s", at[i / 2], actions[i % 2]);
        const char *const emu[] = {setting, strict[sanitize && *sanitize ? 0 : i / 2 % 2], NULL};
        npu_status status = session(emu, 10, 8, &err);
        if (status != NPU_DEVICE_LOST || strcmp(err.code, "htp.dma_failed") != 0 || !strstr(err.text, "op 0"))
            fail_msg("%s, %s: %s (%s) [%s]", emu[0], emu[1], npu_status_name(status), err.text, err.code);
        status = session(off, 60, 8, &err);
        if (status != NPU_OK) fail_msg("after %s: %s", setting, err.text);
    }
}

/* A program that can't read its queue any more, or not write to it, says so with the code at once, or ends where it
 * can't say so: nobody waits for the end of the time-out. */
static void queue_fails(void **state) {
    (void)state;
    static const char *const faults[] = {
        "dspqueue_read@2=code:2",  "dspqueue_read@3=code:2",  "dspqueue_read@6=code:2",  "dspqueue_write@2=code:2",
        "dspqueue_write@3=code:2", "dspqueue_write@6=code:2", "dspqueue_write@3+=code:2"};
    const char *const off[] = {"fault=off", NULL};
    npu_error err;
    for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        char setting[64];
        snprintf(setting, sizeof setting, "fault=dsp:%s", faults[i]);
        const char *const emu[] = {setting, NULL};
        npu_status status = session(emu, 60, 8, &err);
        if (status != NPU_DEVICE_LOST || !strstr(err.text, strchr(faults[i], '+') ? "lost" : "AEE_ENOMEMORY (0x2)"))
            fail_msg("%s: %s (%s) [%s]", setting, npu_status_name(status), err.text, err.code);
        status = session(off, 60, 8, &err);
        if (status != NPU_OK) fail_msg("after %s: %s", setting, err.text);
    }
}

/* Every code that FastRPC is known to give, raised by the host's library and by the DSP, is decoded by name. */
static void codes_have_names(void **state) {
    (void)state;
    static const struct {
        uint32_t code;
        const char *name;
        npu_status status;
    } codes[] = {
#define HEX_AEE(code, name, status) {code, "AEE_" #name, NPU_##status},
#include "target/hexagon/hexagon_aee.def"
        {0x3FF, "unknown AEE code", NPU_INTERNAL},
    };
    static const char *const calls[] = {"remote_handle64_open", "fastrpc_mmap"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        char setting[96];
        npu_error err;
        uint32_t code = codes[i].code + (i % 2 ? 0x80000400u : 0);
        snprintf(setting, sizeof setting, "fault=%s=code:0x%x", calls[i / 2 % 2], (unsigned)code);
        const char *const emu[] = {setting, NULL};
        npu_status status = session(emu, 60, 1, &err);
        if (status != codes[i].status || !strstr(err.text, codes[i].name))
            fail_msg("%s: %s (%s), not %s with %s", setting, npu_status_name(status), err.text,
                     npu_status_name(codes[i].status), codes[i].name);
        snprintf(setting, sizeof setting, "(0x%x)", (unsigned)code);
        if (!strstr(err.text, setting)) fail_msg("%s does not say %s", err.text, setting);
    }
    const char *const off[] = {"fault=off", NULL};
    npu_error err;
    assert_int_equal(session(off, 60, 3, &err), NPU_OK);
}

static void settings(void **state) {
    (void)state;
    npu_error err;
    const char *const bad[] = {"no_such=1", NULL};
    assert_int_equal(session(bad, 5, 1, &err), NPU_REFUSED);
    npu_target_params params = {.driver = "fax"};
    npu_caps caps;
    assert_int_equal(npu_target_hexagon.probe(&params, &caps, &err), NPU_REFUSED);
    params.driver = NULL; /* auto never takes an emulator */
    assert_int_equal(npu_target_hexagon.probe(&params, &caps, &err), NPU_NO_DEVICE);
    assert_non_null(strstr(err.text, "libcdsprpc.so"));
    params.arch = "v79";
    assert_int_equal(npu_target_hexagon.probe(&params, &caps, &err), NPU_OK);
    assert_int_equal(caps.hw.arch, 79);
    params.arch = "v70";
    assert_int_equal(npu_target_hexagon.probe(&params, &caps, &err), NPU_REFUSED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_at_random), cmocka_unit_test(engine_stops), cmocka_unit_test(queue_fails),
        cmocka_unit_test(codes_have_names), cmocka_unit_test(settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
