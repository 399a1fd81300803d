/* What is wrong with a file is said by its name, and no damage makes the reader look outside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "gguf/gguf.h"
#include "support/gguf_sound.h"

static void expect_refused(gguf_build *b, npu_status status, const char *code, const char *named) {
    npu_gguf *g;
    void *copy;
    npu_error err;
    assert_int_equal(open_copy(b->data, b->size, &g, &copy, &err), status);
    assert_null(g);
    assert_string_equal(err.code, code);
    if (!strstr(err.text, named)) fail_msg("'%s' is not named in: %s", named, err.text);
    free(copy);
    gb_free(b);
}

static void refusals_say_what_and_where(void **state) {
    (void)state;
    gguf_build b = {0};
    gb_bytes(&b, "GGUF\0\0\0\3", 8);
    gb_zeros(&b, 64);
    expect_refused(&b, NPU_REFUSED, "gguf.big_endian", "big-endian");
    gb_header(&b, 0, 1);
    gb_array(&b, "k", NPU_GGUF_ARRAY, UINT64_MAX);
    expect_refused(&b, NPU_INVALID, "gguf.value_length", "key k");
    gb_header(&b, 0, 2);
    gb_key(&b, "twice", NPU_GGUF_U8);
    gb_number(&b, 0, 1);
    gb_key(&b, "twice", NPU_GGUF_U8);
    gb_number(&b, 0, 1);
    expect_refused(&b, NPU_INVALID, "gguf.key_twice", "twice");
    gb_header(&b, 0, 1);
    gb_key(&b, "", NPU_GGUF_U32);
    gb_u32(&b, 1);
    expect_refused(&b, NPU_INVALID, "gguf.key_length", "key 0");
    gb_header(&b, 0, UINT64_MAX);
    expect_refused(&b, NPU_INVALID, "gguf.key_count", "18446744073709551615");
}

static void tensors_are_refused_by_name(void **state) {
    (void)state;
    static const struct {
        uint64_t ne0, ne1;
        uint32_t type;
        uint64_t offset;
        const char *code;
    } rows[] = {
        {33, 1, NPU_TYPE_Q4_0, 0, "gguf.tensor_block"},
        {0, 1, NPU_TYPE_F32, 0, "gguf.tensor_dims"},
        {1ull << 63, 2, NPU_TYPE_F32, 0, "gguf.tensor_size"},
        {UINT64_MAX, UINT64_MAX, NPU_TYPE_F16, 0, "gguf.tensor_size"},
        {1u << 31, 1u << 31, NPU_TYPE_F32, 0, "gguf.tensor_size"},
        {4, 1, NPU_TYPE_F32, 4, "gguf.tensor_offset"},
        {64, 1, NPU_TYPE_F32, 32, "gguf.tensor_bounds"},
        {4, 1, NPU_TYPE_F32, UINT64_MAX - 31, "gguf.tensor_bounds"},
        {4, 1, 26, 0, "gguf.tensor_type"},
        {4, 1, UINT32_MAX, 0, "gguf.tensor_type"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gguf_build b = {0};
        gb_header(&b, 1, 0);
        gb_tensor(&b, "the.tensor", rows[i].ne0, rows[i].ne1, rows[i].type, rows[i].offset);
        gb_align(&b, 32);
        gb_zeros(&b, 256);
        bool refused = strcmp(rows[i].code, "gguf.tensor_type") == 0;
        expect_refused(&b, refused ? NPU_REFUSED : NPU_INVALID, rows[i].code, "the.tensor");
    }
    gguf_build b = {0};
    gb_header(&b, 2, 0);
    gb_tensor(&b, "one", 9, 1, NPU_TYPE_F32, 0);
    gb_tensor(&b, "two", 1, 1, NPU_TYPE_F32, 32);
    gb_align(&b, 32);
    gb_zeros(&b, 64);
    expect_refused(&b, NPU_INVALID, "gguf.tensor_overlap", "one and two");
}

/* Whatever the damage, the reader answers, stays inside the copy, and all it hands out can be read. */
static uint64_t touch(const npu_gguf *g) {
    uint64_t sum = 0;
    for (size_t i = 0; i < npu_gguf_key_count(g); i++) {
        const npu_gguf_value *v = npu_gguf_key_at(g, i);
        int64_t n;
        double f;
        for (uint64_t k = 0; k < v->bytes; k++) sum += v->data[k];
        if (v->count && npu_gguf_value_int(v, v->count - 1, &n, NULL)) sum += (uint64_t)n;
        if (v->count && npu_gguf_value_float(v, v->count - 1, &f)) sum++;
    }
    npu_gguf_strings words;
    if (npu_gguf_strings_open(g, "words", &words, NULL) == NPU_OK) {
        for (uint64_t i = 0; i < words.count; i++) sum += npu_gguf_strings_at(&words, i).size;
        npu_gguf_strings_close(&words);
    }
    for (size_t i = 0; i < npu_gguf_tensor_count(g); i++) {
        const npu_gguf_tensor *t = npu_gguf_tensor_at(g, i);
        for (uint64_t k = 0; k < t->bytes; k++) sum += t->data[k];
    }
    return sum;
}

static void every_cut_is_refused(void **state) {
    (void)state;
    gguf_build b = {0};
    build_sound(&b);
    for (size_t size = 0; size < b.size; size++) {
        npu_gguf *g;
        void *copy;
        npu_error err;
        assert_int_not_equal(open_copy(b.data, size, &g, &copy, &err), NPU_OK);
        assert_int_not_equal(err.text[0], 0);
        free(copy);
    }
    gb_free(&b);
}

static void damage_never_breaks_the_reader(void **state) {
    (void)state;
    gguf_build b = {0};
    build_sound(&b);
    uint64_t random = 20240601, opened = 0; /* the seed */
    for (int round = 0; round < 20000; round++) {
        gguf_build bad = {0};
        gb_bytes(&bad, b.data, b.size);
        for (int hit = 0; hit < 1 + round % 4; hit++) {
            npu_random_next(&random);
            static const uint8_t picks[] = {0, 1, 0x7F, 0x80, 0xFF, 9, 8, 32};
            bad.data[4 + (random >> 33) % (bad.size - 84)] = picks[random >> 61];
        }
        npu_gguf *g;
        void *copy;
        npu_error err;
        if (open_copy(bad.data, bad.size, &g, &copy, &err) == NPU_OK) {
            opened += touch(g) != 0;
            npu_gguf_close(g);
        }
        free(copy);
        gb_free(&bad);
    }
    assert_true(opened > 100);
    gb_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_say_what_and_where),
        cmocka_unit_test(tensors_are_refused_by_name),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(damage_never_breaks_the_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
