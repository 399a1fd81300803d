/* Every variant of the host target at every CPU level of this machine against the plain reference, in default and in
 * exact mode, and whether the harness itself notices what it is there to notice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cpu.h"
#include "conform/conform.h"
#include "conform/conform_check.h"

enum { CASES = 600, EXACT_CASES = 200, SEED = 20260 };

static void print_failure(void *user, const npu_conform_report *r) {
    (void)user;
    if (r->verdict != NPU_CONFORM_FAIL) return;
    print_message("%s %s seed %llu\n    %s\n    %s\n", r->op, r->type, (unsigned long long)r->seed, r->shapes, r->why);
}

static npu_target *open_host(const char *level, npu_mode mode, unsigned n_threads) {
    npu_target *target;
    npu_error err = {0};
    npu_target_params params = {.cpu_level = level, .mode = mode, .n_threads = n_threads};
    npu_status status = npu_target_host.open(&params, NULL, NULL, &target, &err);
    assert_true(status == NPU_OK || status == NPU_UNSUPPORTED);
    return target;
}

static void run_level(const char *level, npu_mode mode) {
    npu_target *target = open_host(level, mode, 2);
    if (!target) return;
    npu_conform_totals totals;
    npu_error err = {0};
    const char *seed = getenv("NPU_SEED");
    npu_conform_params params = {.target = target,
                                 .cases = mode == NPU_MODE_EXACT ? EXACT_CASES : CASES,
                                 .seed = seed ? strtoull(seed, NULL, 0) : SEED};
    npu_status status = npu_conform_run(&params, print_failure, NULL, &totals, &err);
    if (status != NPU_OK) print_message("%s: %s\n", err.code, err.text);
    print_message("level %s, %s mode, seed %llu: %u passed, %u failed, %u skipped\n", level,
                  mode == NPU_MODE_EXACT ? "exact" : "default", (unsigned long long)params.seed, totals.passed,
                  totals.failed, totals.skipped);
    assert_int_equal(status, NPU_OK);
    assert_int_equal(totals.failed, 0);
    assert_int_equal(totals.skipped, 0);
    npu_target_host.close(target);
}

static void every_level_equals_the_reference(void **state) {
    (void)state;
    for (unsigned i = 0; npu_cpu_level_at(i); i++) run_level(npu_cpu_level_at(i), NPU_MODE_DEFAULT);
}

static void every_level_equals_the_reference_in_exact_mode(void **state) {
    (void)state;
    for (unsigned i = 0; npu_cpu_level_at(i); i++) run_level(npu_cpu_level_at(i), NPU_MODE_EXACT);
}

typedef struct record {
    char shapes[512];
    uint32_t n;
} record;

static void keep(void *user, const npu_conform_report *r) {
    record *out = user;
    out->n++;
    strncpy(out->shapes, r->shapes, sizeof out->shapes - 1);
}

/* The 41st case of a run is the only case of a run with its op, type and seed. */
static void a_case_repeats_alone(void **state) {
    (void)state;
    npu_target *target = open_host("ref", NPU_MODE_DEFAULT, 1);
    npu_conform_totals totals;
    npu_error err = {0};
    record in_run = {0}, alone = {0};
    npu_conform_params params = {.target = target, .op = "mul_mat", .type = "q4_0", .cases = 41, .seed = 5};
    assert_int_equal(npu_conform_run(&params, keep, &in_run, &totals, &err), NPU_OK);
    params.cases = 1;
    params.seed = 45;
    assert_int_equal(npu_conform_run(&params, keep, &alone, &totals, &err), NPU_OK);
    assert_int_equal(in_run.n, 41);
    assert_string_equal(in_run.shapes, alone.shapes);
    params.op = "no_such_op";
    assert_int_equal(npu_conform_run(&params, NULL, NULL, &totals, &err), NPU_INVALID);
    params.op = "rms_norm";
    assert_int_equal(npu_conform_run(&params, NULL, NULL, &totals, &err), NPU_INVALID);
    npu_target_host.close(target);
}

static void differences_are_seen(void **state) {
    (void)state;
    float want[64], got[64], nan = __builtin_nanf("");
    char why[128];
    double nmse = 0;
    uint8_t map[sizeof want];
    for (int i = 0; i < 64; i++) want[i] = got[i] = (float)i;
    npu_tensor t = {.nb = {4, 64, 128, 128}, .ne = {5, 2, 1, 1}, .offset = 16};
    assert_true(npu_check_result(&t, (uint8_t *)got, (uint8_t *)want, true, 0, &nmse, why, sizeof why));
    got[4 + 16 + 4] += 1e-5f; /* the last element */
    assert_false(npu_check_result(&t, (uint8_t *)got, (uint8_t *)want, true, 0, &nmse, why, sizeof why));
    assert_true(npu_check_result(&t, (uint8_t *)got, (uint8_t *)want, false, 1e-6, &nmse, why, sizeof why));
    assert_true(npu_check_untouched(&t, (uint8_t *)got, (uint8_t *)want, sizeof got, map, why, sizeof why));
    assert_false(npu_check_untouched(NULL, (uint8_t *)got, (uint8_t *)want, sizeof got, map, why, sizeof why));
    got[4] = nan;
    assert_false(npu_check_result(&t, (uint8_t *)got, (uint8_t *)want, false, 1, &nmse, why, sizeof why));
    want[4] = -nan;
    assert_true(npu_check_result(&t, (uint8_t *)got, (uint8_t *)want, false, 1e-6, &nmse, why, sizeof why));
    got[9] += 1; /* between the rows */
    assert_false(npu_check_untouched(&t, (uint8_t *)got, (uint8_t *)want, sizeof got, map, why, sizeof why));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_are_seen),
        cmocka_unit_test(a_case_repeats_alone),
        cmocka_unit_test(every_level_equals_the_reference),
        cmocka_unit_test(every_level_equals_the_reference_in_exact_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
