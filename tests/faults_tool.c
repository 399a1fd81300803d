/* Two requests in one process, for tests/faults.py: the first with a fault, the second after it.
 *     faults_tool MODEL TARGET DRIVER TIMEOUT STATUS TEXT  SETTING… -- RECOVER… [--]
 * The first must end with STATUS and with TEXT in its message, in reasonable time; the second must give the CPU's
 * bytes or, with the last --, those of the device before the fault. STATUS "any": it may end with any, OK only with the
 * right bytes; prints which, and the seconds of the slowest decode. FAULTS_DEVICES and FAULTS_SPLIT in the environment:
 * a set of devices. A failure that leaves the device alive is then tried
 * again in the same context, after RECOVER. Exit code 0 when both do, else 1 with what was wrong. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "npu/npu.h"
#include "target/target.h"

enum { PROMPT = 6, STEPS = 9, SETTINGS = 32, SECONDS = 60 };

static double slowest; /* decode of the last request, seconds */
static bool spoiled;

static npu_status timed_decode(npu_context *context, const npu_row *rows, uint32_t n, npu_error *err) {
    uint64_t start = npu_clock_ns();
    npu_status status = npu_decode(context, rows, n, err);
    double seconds = (double)(npu_clock_ns() - start) / 1e9;
    if (seconds > slowest) slowest = seconds;
    return status;
}

static uint32_t vocabulary(const npu_model *model) {
    npu_model_info info;
    npu_model_get_info(model, &info);
    return info.n_vocab;
}

/* A prompt and single steps from the start on. Logits after each go to |out|. */
static npu_status steps(npu_model *model, npu_context *context, float *out, npu_error *err) {
    uint32_t n = vocabulary(model);
    npu_row rows[PROMPT];
    for (int i = 0; i < PROMPT; i++) rows[i] = (npu_row){.token = 3 + i, .logits = i == PROMPT - 1};
    slowest = 0;
    npu_status status = timed_decode(context, rows, PROMPT, err);
    for (int i = 0; i < STEPS && status == NPU_OK; i++) {
        memcpy(out + (size_t)i * n, npu_logits(context, 0), n * sizeof *out);
        npu_row row = {.token = 20 + i, .logits = true};
        if (i + 1 < STEPS) status = timed_decode(context, &row, 1, err);
    }
    return status;
}

/* A batch that failed and left the device alive must not spoil the context: after |recover|, settings of the emulated
 * device that end the fault, the same succeeds in it. */
static npu_status retry(npu_model *model, const npu_context_params *params, npu_context *context,
                        const char *const *recover, float *out, npu_error *err) {
    npu_caps caps;
    const npu_target_ops *target;
    npu_target_params probe = {.driver = params->driver, .emu = recover};
    NPU_TRY(npu_target_find(params->npu_target, &target, err));
    NPU_TRY(target->probe(&probe, &caps, err));
    NPU_TRY(npu_context_reset(context, err));
    return steps(model, context, out, err);
}

/* |recover|: NULL = a failure is not tried again. */
static npu_status request(npu_model *model, const npu_context_params *params, const char *const *recover, float *out,
                          npu_error *err) {
    npu_context *context;
    npu_error again = {0};
    NPU_TRY(npu_context_open(model, params, &context, err));
    npu_status status = steps(model, context, out, err);
    bool alive = status != NPU_OK && status != NPU_TIMEOUT && status != NPU_DEVICE_LOST;
    if (recover && alive && retry(model, params, context, recover, out, &again) != NPU_OK) {
        fprintf(stderr, "a failed batch spoiled its context: %s\n", again.text);
        spoiled = true;
    }
    npu_context_close(context);
    return status;
}

static int wrong(const char *what, npu_status status, const npu_error *err) {
    fprintf(stderr, "%s: %s, \"%s\" [%s]\n", what, npu_status_name(status), err->text, err->code);
    return 1;
}

static void use_device(npu_context_params *params, char **argv, const char *const *settings, double timeout_s) {
    params->npu_target = argv[2];
    params->driver = argv[3];
    params->timeout_s = timeout_s;
    params->emu = settings;
    params->cache_dir = getenv("XDG_CACHE_HOME");
    params->npu_devices = getenv("FAULTS_DEVICES");
    params->split = getenv("FAULTS_SPLIT");
}

static int compare(npu_model *model, const char *const *settings, const char *const *recover, bool same, char **argv) {
    size_t bytes = (size_t)vocabulary(model) * STEPS * sizeof(float);
    float *here = calloc(1, bytes), *there = calloc(1, bytes);
    npu_context_params params = {.ctx = 64};
    npu_error err = {0};
    if (same) use_device(&params, argv, recover, SECONDS);
    npu_status status = here && there ? request(model, &params, NULL, here, &err) : NPU_NO_MEMORY;
    int bad = status == NPU_OK ? 0 : wrong("the reference", status, &err);
    use_device(&params, argv, settings, strtod(argv[4], NULL));
    uint64_t start = npu_clock_ns();
    if (!bad) {
        memset(&err, 0, sizeof err);
        bool any = !strcmp(argv[5], "any");
        status = request(model, &params, any ? recover : NULL, there, &err);
        if (any) printf("%s %.3f %s\n", npu_status_name(status), slowest, err.code);
        if (!any && strcmp(npu_status_name(status), argv[5]) != 0) bad = wrong("with the fault", status, &err);
        if (!bad && !strstr(err.text, argv[6])) bad = wrong("the message", status, &err);
        if (!bad && status == NPU_OK && memcmp(here, there, bytes) != 0) bad = wrong("other bytes", status, &err);
        if (!bad && npu_clock_ns() - start > SECONDS * 1000000000ull) bad = wrong("too late", status, &err);
    }
    if (!bad) {
        use_device(&params, argv, recover, SECONDS);
        memset(there, 0, bytes);
        status = request(model, &params, NULL, there, &err);
        if (status != NPU_OK) bad = wrong("after the fault", status, &err);
        if (!bad && memcmp(here, there, bytes) != 0) bad = wrong("other bytes after the fault", status, &err);
    }
    free(here);
    free(there);
    return bad || spoiled;
}

int main(int argc, char **argv) {
    const char *lists[2][SETTINGS + 1] = {{NULL}};
    int list = 0, n = 0;
    bool same = false;
    if (argc < 8) return fputs("faults_tool MODEL TARGET DRIVER TIMEOUT STATUS TEXT SETTING… -- RECOVER…\n", stderr), 2;
    for (int i = 7; i < argc; i++) {
        if (!strcmp(argv[i], "--")) {
            same = list == 1;
            list = 1;
            n = 0;
        } else if (n < SETTINGS) {
            lists[list][n++] = argv[i];
        }
    }
    npu_model *model;
    npu_error err = {0};
    npu_status status = npu_model_open(argv[1], NULL, &model, &err);
    if (status != NPU_OK) return wrong("the model", status, &err);
    int bad = compare(model, lists[0], lists[1], same, argv);
    npu_model_close(model);
    return bad;
}
