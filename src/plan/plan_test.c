/* What targets do with plans: kernels and designs are added once and counted, entries left to the host say why, and a
 * manifest that lacks a kernel or has another one is refused. Files and the command line: tests/plan_refusals.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/plan.h"

static npu_plan_kernel kernel(uint16_t role, uint32_t m, const char *file) {
    npu_plan_kernel k = {.role = role, .M = m, .K = 64, .N = 96};
    snprintf(k.kind, sizeof k.kind, "int8");
    snprintf(k.layout, sizeof k.layout, "4x8");
    snprintf(k.file, sizeof k.file, "%s", file);
    memset(k.sha256, 'a', NPU_PLAN_HASH_LEN);
    return k;
}

static npu_plan *empty_plan(void) {
    npu_plan *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->entries = calloc(2, sizeof *p->entries);
    assert_non_null(p->entries);
    p->n_entries = 2;
    for (uint16_t i = 0; i < 2; i++) {
        p->entries[i] =
            (npu_plan_entry){.layer = i, .role = NPU_ROLE_QKV, .K = 60, .N = 90, .bytes = 7, .on_device = true};
        p->entries[i].n_splits = 3;
    }
    return p;
}

static void equal_ones_are_kept_once(void **state) {
    (void)state;
    npu_plan *p = empty_plan();
    npu_error err = {0};
    uint16_t first, again, other;
    npu_plan_kernel k = kernel(NPU_ROLE_QKV, 16, "a"), l = kernel(NPU_ROLE_QKV, 128, "a");
    assert_int_equal(npu_plan_add_kernel(p, &k, &first, &err), NPU_OK);
    assert_int_equal(npu_plan_add_kernel(p, &l, &other, &err), NPU_OK);
    assert_int_equal(npu_plan_add_kernel(p, &k, &again, &err), NPU_OK);
    assert_true(first == 0 && again == 0 && other == 1 && p->n_kernels == 2);

    npu_plan_design d = {
        .role = NPU_ROLE_QKV, .n_splits = 3, .K = 64, .N = 96, .real_k = 60, .real_n = 90, .bytes = 6144};
    snprintf(d.image, sizeof d.image, "int8");
    for (int i = 0; i < 2; i++) assert_int_equal(npu_plan_add_design(p, &p->entries[i], &d, &err), NPU_OK);
    assert_int_equal(p->n_designs, 1);
    for (int i = 0; i < 2; i++) {
        const npu_plan_entry *e = &p->entries[i];
        assert_true(e->K == 64 && e->N == 96 && e->bytes == 6144 && e->n_designs == 1 && e->designs[0] == 0);
        assert_string_equal(e->image, "int8");
    }
    assert_true(npu_plan_residency(&p->entries[0], &d) != npu_plan_residency(&p->entries[1], &d));
    d.role = NPU_ROLE_Q;
    assert_int_equal(npu_plan_add_design(p, &p->entries[0], &d, &err), NPU_OK);
    assert_true(p->n_designs == 2 && p->entries[0].N == 192 && p->entries[0].bytes == 2 * 6144);
    assert_true(npu_plan_residency(&p->entries[0], &p->designs[0]) !=
                npu_plan_residency(&p->entries[0], &p->designs[1]));
    while (p->entries[0].n_designs < NPU_PLAN_MAX_SPLITS)
        assert_int_equal(npu_plan_add_design(p, &p->entries[0], &d, &err), NPU_OK);
    assert_int_equal(npu_plan_add_design(p, &p->entries[0], &d, &err), NPU_REFUSED);
    assert_string_equal(err.code, "plan.designs");
    npu_plan_free(p);
}

static void the_host_gets_a_reason(void **state) {
    (void)state;
    npu_plan *p = empty_plan();
    npu_plan_leave_on_host(&p->entries[1], "no kernel of K %u in the manifest", 60);
    assert_false(p->entries[1].on_device);
    assert_string_equal(p->entries[1].why, "no kernel of K 60 in the manifest");
    npu_plan_free(p);
}

static void manifests_are_compared(void **state) {
    (void)state;
    npu_plan *p = empty_plan();
    npu_error err = {0};
    uint16_t index;
    npu_plan_kernel want[] = {kernel(NPU_ROLE_QKV, 16, "a"), kernel(NPU_ROLE_O, 128, "b")};
    for (int i = 0; i < 2; i++) assert_int_equal(npu_plan_add_kernel(p, &want[i], &index, &err), NPU_OK);
    npu_plan_kernel have[3] = {want[1], kernel(NPU_ROLE_D, 1, "c"), want[0]}; /* in any order, with others beside */
    assert_int_equal(npu_plan_check_kernels(p, have, 3, &err), NPU_OK);
    assert_int_equal(npu_plan_check_kernels(p, have, 2, &err), NPU_REFUSED);
    assert_string_equal(err.code, "plan.kernel_missing");
    assert_non_null(strstr(err.text, "kernel a (int8 for qkv, M 16, K 64, N 96)"));
    npu_plan_free(p);
}

static void every_difference_of_a_kernel(void **state) {
    (void)state;
    for (int i = 0; i < 7; i++) {
        npu_plan *p = empty_plan();
        npu_error err = {0};
        uint16_t index;
        npu_plan_kernel k = kernel(NPU_ROLE_O, 128, "b");
        assert_int_equal(npu_plan_add_kernel(p, &k, &index, &err), NPU_OK);
        k.role = i == 0 ? NPU_ROLE_D : k.role;
        k.M += i == 1;
        k.K += i == 2;
        k.N += i == 3;
        k.kind[0] ^= (char)(i == 4);
        k.layout[0] ^= (char)(i == 5);
        k.sha256[63] ^= (char)(i == 6);
        assert_int_equal(npu_plan_check_kernels(p, &k, 1, &err), NPU_REFUSED);
        assert_string_equal(err.code, i == 6 ? "plan.kernel_hash" : "plan.kernel_shape");
        assert_non_null(strstr(err.text, "kernel b"));
        npu_plan_free(p);
    }
}

static void roles_have_names(void **state) {
    (void)state;
    for (int i = 0; i < NPU_ROLE_COUNT; i++) assert_int_equal(npu_role_named(npu_role_name((unsigned)i)), i);
    assert_string_equal(npu_role_name(NPU_ROLE_COUNT), "none");
    assert_int_equal(npu_role_named("frob"), -1);
    static const char *const needed[] = {"qkv",    "o",     "gu",      "g",        "u",        "d",
                                         "qkvlin", "z",     "gdn_out", "qa",       "qb",       "kva",
                                         "head",   "exp_d", "shexp_d", "ple_proj", "ple_gate", "router"};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) assert_true(npu_role_named(needed[i]) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_ones_are_kept_once), cmocka_unit_test(the_host_gets_a_reason),
        cmocka_unit_test(manifests_are_compared),   cmocka_unit_test(every_difference_of_a_kernel),
        cmocka_unit_test(roles_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
