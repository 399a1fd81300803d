/* Opening contexts through the public interface, on a tiny model: parameters out of range, what is said of devices and
 * cores, what a context needs.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "api/memory.h"
#include "base/status.h"
#include "npu/npu.h"
#include "support/fake_root.h"
#include "support/tiny_llama.h"

static int set_up(void **state) {
    *state = tiny_llama_open(-1);
    return 0;
}

static int tear_down(void **state) {
    npu_model_close(*state);
    return 0;
}

static void refused(npu_model *model, npu_context_params params, npu_status status, const char *code) {
    npu_context *context;
    npu_error err = {0};
    assert_int_equal(npu_context_open(model, &params, &context, &err), status);
    assert_null(context);
    assert_string_equal(err.code, code);
}

static void parameters_are_checked(void **state) {
    npu_model *model = *state;
    refused(model, (npu_context_params){.kv = "q4_0"}, NPU_INVALID, "context.kv");
    refused(model, (npu_context_params){.kv = "q8_0"}, NPU_REFUSED, "context.kv_type"); /* heads of 8 values */
    refused(model, (npu_context_params){.ctx = 1u << 31}, NPU_INVALID, "context.too_large");
    refused(model, (npu_context_params){.ctx = 1 << 20, .n_seq = 1 << 16}, NPU_INVALID, "context.too_large");
    refused(model, (npu_context_params){.n_seq = 1 << 20}, NPU_INVALID, "context.n_seq");
    refused(model, (npu_context_params){.prefill_rows = 1 << 20}, NPU_INVALID, "context.prefill_rows");
    refused(model, (npu_context_params){.mode = (npu_mode)7}, NPU_INVALID, "context.mode");
    static const double no_times[] = {INFINITY, -INFINITY, NAN, -1, 1000001, 1e300};
    for (size_t i = 0; i < sizeof no_times / sizeof no_times[0]; i++)
        refused(model, (npu_context_params){.timeout_s = no_times[i]}, NPU_INVALID, "context.timeout");
    refused(model, (npu_context_params){.threads = NPU_THREADS_MAX + 1}, NPU_INVALID, "pool.threads");
    refused(model, (npu_context_params){.cpu_level = "sse9"}, NPU_INVALID, "cpu.level_unknown");
    refused(model, (npu_context_params){.npu_target = "no-such"}, NPU_REFUSED, "target.unknown");
    refused(model, (npu_context_params){.plan_path = "/no/such/plan"}, NPU_IO, "plan.open");
    npu_memory need;
    npu_error err = {0};
    npu_context_params params = {.ctx = 64, .n_seq = 2};
    assert_int_equal(npu_context_estimate(model, &params, &need, &err), NPU_OK);
    assert_int_equal(need.state_bytes, 2 * 64 * KV * 2 * 2);
    assert_true(need.weights_bytes > 0 && need.compute_bytes > 0);
    params.kv = "q8_0";
    assert_int_equal(npu_context_estimate(model, &params, &need, &err), NPU_REFUSED);
    assert_memory_equal(&need, &(npu_memory){0}, sizeof need);
}

/* What is said of a device is not passed over where none is used, and its name is told. */
static void devices_need_a_target(void **state) {
    npu_model *model = *state;
    const char *const emu[] = {"seed=1", NULL}, *const none[] = {NULL};
    const struct {
        npu_context_params params;
        const char *name;
    } rows[] = {{{.driver = "sim"}, "`driver` "},
                {{.emu = emu}, "`emu` "},
                {{.npu_devices = "0:0"}, "`npu_devices` "},
                {{.split = "row"}, "`split` "}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        npu_memory need;
        npu_error err = {0};
        refused(model, rows[i].params, NPU_INVALID, "context.no_target");
        assert_int_equal(npu_context_estimate(model, &rows[i].params, &need, &err), NPU_INVALID);
        assert_memory_equal(err.text, rows[i].name, strlen(rows[i].name));
    }
    npu_memory need;
    assert_int_equal(npu_context_estimate(model, &(npu_context_params){.emu = none}, &need, NULL), NPU_OK);
}

static void count_lines(void *user, npu_log_level level, const char *text) {
    (void)level;
    *(int *)user += strstr(text, "64 threads for 65 cores") != NULL;
}

/* Cores that stay idle are told, unless so many threads were asked for. */
static void idle_cores_are_told(void **state) {
    (void)state;
    int lines = 0;
    npu_context_params p = {.logger = {count_lines, &lines, NPU_LOG_WARN}};
    npu__api_tell_cores(&p, NPU_THREADS_MAX);
    assert_int_equal(lines, 0);
    npu__api_tell_cores(&p, NPU_THREADS_MAX + 1);
    assert_int_equal(lines, 1);
    p.threads = NPU_THREADS_MAX;
    npu__api_tell_cores(&p, NPU_THREADS_MAX + 1);
    assert_int_equal(lines, 1);
}

/* What a device keeps of the weights in its own layout is part of what a context needs. */
static void copies_of_weights_count(void **state) {
    npu_model *model = *state;
    const npu_target_ops *target;
    npu_memory host = {0}, need = {0};
    npu_error err = {0};
    char cache[] = "/tmp/npu-context-XXXXXX", command[64];
    if (npu_target_find("xdna", &target, &err) != NPU_OK) return;
    assert_non_null(mkdtemp(cache));
    npu_context_params params = {.ctx = 64, .npu_target = "xdna", .driver = "emu", .cache_dir = cache};
    assert_int_equal(npu_context_estimate(model, &(npu_context_params){.ctx = 64}, &host, &err), NPU_OK);
    if (npu_context_estimate(model, &params, &need, &err) != NPU_OK) fail_msg("%s", err.text);
    assert_int_equal(host.device_bytes, 0);
    npu_plan *plan;
    assert_int_equal(npu_api_plan(model, &params, NULL, &plan, &err), NPU_OK);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan->n_entries; i++) bytes += plan->entries[i].n_designs ? plan->entries[i].bytes : 0;
    npu_plan_free(plan);
    assert_true(bytes > 0 && need.device_bytes > bytes);
    need.available_bytes = need.state_bytes + need.compute_bytes + need.device_bytes;
    assert_int_equal(npu__api_check_memory(&need, &err), NPU_OK);
    need.available_bytes--;
    assert_int_equal(npu__api_check_memory(&need, &err), NPU_NO_MEMORY);
    snprintf(command, sizeof command, "rm -r %s", cache);
    assert_int_equal(system(command), 0);
}

/* What there is for a context is what the process's control group leaves, also where the machine has more. */
static void a_group_limits_contexts(void **state) {
    npu_model *model = *state;
    npu_context *context;
    npu_error err = {0};
    assert_int_equal(npu_context_open(model, &(npu_context_params){.ctx = 64}, &context, &err), NPU_OK);
    assert_int_equal(make_root(NULL), 0);
    put("/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 6000000 kB\n");
    npu_memory need = npu__api_memory(model, &context->instance, root);
    assert_int_equal(need.available_bytes, 6000000ull * 1024);
    assert_int_equal(npu__api_check_memory(&need, &err), NPU_OK);
    put("/sys/fs/cgroup/memory.max", "4096000\n");
    put("/sys/fs/cgroup/memory.current", "4095000\n");
    need = npu__api_memory(model, &context->instance, root);
    assert_int_equal(need.available_bytes, 1000);
    assert_int_equal(npu__api_check_memory(&need, &err), NPU_NO_MEMORY);
    assert_int_equal(remove_root(NULL), 0);
    npu_context_close(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_checked),  cmocka_unit_test(devices_need_a_target),
        cmocka_unit_test(idle_cores_are_told),     cmocka_unit_test(copies_of_weights_count),
        cmocka_unit_test(a_group_limits_contexts),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
