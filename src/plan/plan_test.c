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

#include "plan/plan_hash.h"

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

/* A plan that has something in every list, and its JSON. */
static json_t *whole_plan(void) {
    npu_plan *p = empty_plan();
    npu_error err = {0};
    uint16_t index;
    npu_plan_kernel k = kernel(NPU_ROLE_QKV, 16, "a");
    npu_plan_design d = {.role = NPU_ROLE_QKV,
                         .n_splits = 3,
                         .splits = {30, 30, 30},
                         .K = 64,
                         .N = 96,
                         .real_k = 60,
                         .real_n = 90,
                         .bytes = 6144,
                         .prefill_kernel = NPU_PLAN_NO_KERNEL};
    assert_int_equal(npu_plan_add_kernel(p, &k, &index, &err), NPU_OK);
    for (int i = 0; i < 2; i++) { /* the second has no weights: its type is "" */
        npu_plan_entry *e = &p->entries[i];
        *e = (npu_plan_entry){.layer = (uint16_t)i, .role = NPU_ROLE_QKV, .code = NPU_OP_MUL_MAT, .n_splits = 3};
        e->real_k = 60, e->real_n = 90, e->K = 64, e->N = 96, e->n_tensors = (uint16_t)!i, e->type = 1;
        for (int j = 0; j < 3; j++) e->splits[j] = 30;
        snprintf(e->tensors[0], sizeof e->tensors[0], "w");
        assert_int_equal(npu_plan_add_design(p, e, &d, &err), NPU_OK);
    }
    npu_plan_leave_on_host(&p->entries[1], "a reason");
    p->facts = calloc(1, sizeof *p->facts);
    assert_non_null(p->facts);
    p->n_facts = 1;
    p->version = NPU_PLAN_VERSION;
    p->n_layers = 2;
    p->settings.kv_type = 1;
    assert_int_equal(npu_plan_hash(p, p->hash, &err), NPU_OK);
    char *text = npu_plan_to_json(p);
    assert_non_null(text);
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    free(text);
    npu_plan_free(p);
    return root;
}

static bool is_taken(const json_t *root) {
    npu_error err = {0};
    npu_plan *p;
    npu_status status = npu_plan_parse(root, "plan", true, &p, &err);
    npu_plan_free(p);
    assert_true(status == NPU_OK || (status == NPU_REFUSED && !strncmp(err.code, "plan.", 5)));
    return status == NPU_OK;
}

/* Another value of the same type, one of another type, or a neighbour; NULL when there is none. */
static json_t *another(const json_t *v, int way) {
    if (way == 1) return json_is_string(v) ? json_integer(0) : json_string("x");
    if (way == 2) return json_is_integer(v) ? json_real((double)json_integer_value(v)) : json_null();
    if (json_is_string(v)) return json_sprintf("%sx", json_string_value(v));
    if (json_is_integer(v)) return json_integer(json_integer_value(v) + 1);
    return json_is_boolean(v) ? json_boolean(!json_is_true(v)) : NULL;
}

static unsigned change_all(const json_t *root, json_t *at);

/* Each change of |*value|, which is in |in| under |key| or, without, at |i|, and of all inside it. */
static unsigned change(const json_t *root, json_t *in, const char *key, size_t i, json_t *value) {
    unsigned n = 0;
    json_incref(value);
    for (int way = 0; way < 3; way++) {
        json_t *other = another(value, way);
        if (!other) continue;
        assert_int_equal(key ? json_object_set_new(in, key, other) : json_array_set_new(in, i, other), 0);
        if (is_taken(root)) fail_msg("%s[%zu] changed in way %d is taken", key ? key : "", i, way);
        n++;
        assert_int_equal(key ? json_object_set(in, key, value) : json_array_set(in, i, value), 0);
    }
    json_decref(value);
    return n + change_all(root, value);
}

static unsigned change_all(const json_t *root, json_t *at) {
    unsigned n = 0;
    void *next;
    const char *key;
    json_t *value;
    for (size_t i = 0; i < json_array_size(at); i++) n += change(root, at, NULL, i, json_array_get(at, i));
    json_object_foreach_safe(at, next, key, value) n += change(root, at, key, 0, value);
    if (!json_is_object(at)) return n;
    assert_int_equal(json_object_set_new(at, "more", json_true()), 0);
    assert_false(is_taken(root));
    assert_int_equal(json_object_del(at, "more"), 0);
    return n + 1;
}

static void every_change_of_a_file_is_refused(void **state) {
    (void)state;
    json_t *root = whole_plan();
    assert_true(is_taken(root));
    assert_true(change_all(root, root) > 250);
    assert_true(is_taken(root));
    json_decref(root);
}

static void a_change_that_the_hash_does_not_see_is_named(void **state) {
    (void)state;
    json_t *root = whole_plan(), *entry = json_array_get(json_object_get(root, "entries"), 1);
    npu_error err = {0};
    npu_plan *p;
    assert_int_equal(json_object_set_new(entry, "type", json_string("npu")), 0);
    assert_int_equal(npu_plan_parse(root, "plan", true, &p, &err), NPU_REFUSED);
    assert_string_equal(err.code, "plan.field");
    assert_non_null(strstr(err.text, "plan: entries[1].type is not what"));
    assert_int_equal(json_object_set_new(entry, "type", json_string("")), 0);
    json_t *design = json_array_get(json_object_get(entry, "designs"), 0);
    assert_int_equal(json_object_set_new(design, "residency", json_string("9/qkv/")), 0);
    assert_int_equal(npu_plan_parse(root, "plan", true, &p, &err), NPU_REFUSED);
    assert_non_null(strstr(err.text, "entries[1].designs[0].residency"));
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_ones_are_kept_once),
        cmocka_unit_test(the_host_gets_a_reason),
        cmocka_unit_test(manifests_are_compared),
        cmocka_unit_test(every_difference_of_a_kernel),
        cmocka_unit_test(roles_have_names),
        cmocka_unit_test(every_change_of_a_file_is_refused),
        cmocka_unit_test(a_change_that_the_hash_does_not_see_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
