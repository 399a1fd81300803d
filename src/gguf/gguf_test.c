#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "gguf/gguf.h"
#include "support/gguf_sound.h"

static void reads_a_sound_file(void **state) {
    (void)state;
    gguf_build b = {0};
    npu_gguf *g;
    void *copy;
    npu_error err;
    build_sound(&b);
    assert_int_equal(open_copy(b.data, b.size, &g, &copy, &err), NPU_OK);
    assert_int_equal(npu_gguf_version(g), 3);
    assert_int_equal(npu_gguf_key_count(g), 10);
    assert_memory_equal(npu_gguf_key_at(g, 0)->key.data, "general.name", 12);
    assert_null(npu_gguf_key_at(g, 10));
    assert_null(npu_gguf_find(g, "general.nam"));
    assert_null(npu_gguf_find(g, "general.name2"));
    assert_int_equal(npu_gguf_file_at(g, 0)->size, b.size);
    assert_null(npu_gguf_file_at(g, 1));

    const npu_gguf_tensor *t = npu_gguf_tensor_find(g, "a.weight");
    assert_ptr_equal(t, npu_gguf_tensor_at(g, 0));
    assert_int_equal(t->type, NPU_TYPE_Q4_0);
    assert_int_equal(t->bytes, 36);
    assert_int_equal(t->nb[0], 18);
    assert_int_equal(t->nb[1], 18);
    assert_int_equal(t->nb[2], 36);
    assert_int_equal(t->ne[2] * t->ne[3], 1);
    t = npu_gguf_tensor_find(g, "b.weight");
    assert_int_equal(t->data - (uint8_t *)copy, t->file_offset);
    assert_int_equal(t->file_offset + t->bytes, b.size);
    assert_null(npu_gguf_tensor_find(g, "c.weight"));
    assert_null(npu_gguf_tensor_at(g, 2));
    npu_gguf_close(g);
    free(copy);
    gb_free(&b);
}

static void getters_convert_or_name_the_key(void **state) {
    (void)state;
    gguf_build b = {0};
    npu_gguf *g;
    void *copy;
    npu_error err;
    uint32_t u = 7;
    int32_t i;
    uint64_t wide;
    float f;
    bool yes;
    npu_gguf_str s;
    build_sound(&b);
    assert_int_equal(open_copy(b.data, b.size, &g, &copy, &err), NPU_OK);
    assert_int_equal(npu_gguf_get_u32(g, "n.u8", &u, &err), NPU_OK);
    assert_int_equal(u, 200);
    assert_int_equal(npu_gguf_get_i32(g, "n.i16", &i, &err), NPU_OK);
    assert_int_equal(i, -5);
    assert_int_equal(npu_gguf_get_u64(g, "n.u64", &wide, &err), NPU_OK);
    assert_true(wide == UINT64_MAX);
    assert_int_equal(npu_gguf_get_f32(g, "n.f64", &f, &err), NPU_OK);
    assert_true(f == 1.5f);
    assert_int_equal(npu_gguf_get_bool(g, "n.yes", &yes, &err), NPU_OK);
    assert_true(yes);
    assert_int_equal(npu_gguf_get_str(g, "general.name", &s, &err), NPU_OK);
    assert_int_equal(s.size, 4);
    assert_memory_equal(s.data, "tiny", 4);

    u = 7;
    assert_int_equal(npu_gguf_get_u32(g, "n.none", &u, &err), NPU_NOT_FOUND);
    assert_string_equal(err.code, "gguf.key_missing");
    assert_int_equal(npu_gguf_get_u32(g, "n.i16", &u, &err), NPU_INVALID);
    assert_string_equal(err.text, "key n.i16 is -5: out of range (0 to 4294967295)");
    assert_int_equal(npu_gguf_get_u32(g, "n.u64", &u, &err), NPU_INVALID);
    assert_string_equal(err.text, "key n.u64 is 18446744073709551615: out of range (0 to 4294967295)");
    assert_int_equal(npu_gguf_get_i32(g, "n.u64", &i, &err), NPU_INVALID);
    assert_int_equal(npu_gguf_get_u32(g, "n.f64", &u, &err), NPU_INVALID);
    assert_string_equal(err.text, "key n.f64 has the wrong type: f64, expected an integer");
    assert_int_equal(npu_gguf_get_u32(g, "heads", &u, &err), NPU_INVALID);
    assert_int_equal(npu_gguf_get_f32(g, "n.u8", &f, &err), NPU_INVALID);
    assert_int_equal(npu_gguf_get_bool(g, "n.two", &yes, &err), NPU_INVALID);
    assert_int_equal(npu_gguf_get_bool(g, "n.u8", &yes, &err), NPU_INVALID);
    assert_int_equal(npu_gguf_get_str(g, "words", &s, &err), NPU_INVALID);
    assert_int_equal(u, 7);

    assert_int_equal(npu_gguf_get_u32_at(g, "n.u8", 99, &u, &err), NPU_OK);
    assert_int_equal(u, 200);
    assert_int_equal(npu_gguf_get_u32_at(g, "heads", 0, &u, &err), NPU_OK);
    assert_int_equal(u, 4);
    assert_int_equal(npu_gguf_get_u32_at(g, "heads", 1, &u, &err), NPU_INVALID);
    assert_int_equal(npu_gguf_get_u32_at(g, "heads", 2, &u, &err), NPU_INVALID);
    assert_string_equal(err.code, "gguf.key_count");
    assert_int_equal(npu_gguf_get_u32_at(g, "words", 0, &u, &err), NPU_INVALID);
    assert_int_equal(npu_gguf_get_u32_at(g, "nested", 0, &u, &err), NPU_INVALID);
    npu_gguf_close(g);
    free(copy);
    gb_free(&b);
}

static void strings_are_indexed_on_demand(void **state) {
    (void)state;
    gguf_build b = {0};
    npu_gguf *g;
    void *copy;
    npu_error err;
    npu_gguf_strings words;
    build_sound(&b);
    assert_int_equal(open_copy(b.data, b.size, &g, &copy, &err), NPU_OK);
    assert_int_equal(npu_gguf_strings_open(g, "words", &words, &err), NPU_OK);
    assert_int_equal(words.count, 3);
    assert_int_equal(npu_gguf_strings_at(&words, 1).size, 0);
    assert_memory_equal(npu_gguf_strings_at(&words, 2).data, "ccc", 3);
    npu_gguf_strings_close(&words);
    assert_int_equal(npu_gguf_strings_open(g, "heads", &words, &err), NPU_INVALID);
    assert_string_equal(err.text, "key heads has the wrong type: array of i32, expected array of string");
    assert_null(words.offsets);
    npu_gguf_close(g);
    free(copy);
    gb_free(&b);
}

/* One part of a split: |tensors| in all parts, one tensor here. */
static void write_part(const char *path, uint32_t no, uint32_t count, uint32_t tensors, const char *tensor) {
    gguf_build b = {0};
    gb_header(&b, 1, 3);
    gb_key(&b, "split.no", NPU_GGUF_U16);
    gb_number(&b, no, 2);
    gb_key(&b, "split.count", NPU_GGUF_U16);
    gb_number(&b, count, 2);
    gb_key(&b, "split.tensors.count", NPU_GGUF_I32);
    gb_u32(&b, tensors);
    gb_tensor(&b, tensor, 4, 1, NPU_TYPE_F32, 0);
    gb_align(&b, 32);
    gb_zeros(&b, 16);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b.data, 1, b.size, f), b.size);
    fclose(f);
    gb_free(&b);
}

static void expect_split(const char *path, npu_status status, const char *code, const char *named) {
    npu_gguf *g;
    npu_error err = {0};
    assert_int_equal(npu_gguf_open(path, NULL, &g, &err), status);
    assert_null(g);
    assert_string_equal(err.code, code);
    if (!strstr(err.text, named)) fail_msg("'%s' is not named in: %s", named, err.text);
}

static void split_files_load_by_the_first(void **state) {
    (void)state;
    char dir[] = "/tmp/npu-gguf-test-XXXXXX", one[64], two[64], other[64];
    assert_non_null(mkdtemp(dir));
    snprintf(one, sizeof one, "%s/m-00001-of-00002.gguf", dir);
    snprintf(two, sizeof two, "%s/m-00002-of-00002.gguf", dir);
    snprintf(other, sizeof other, "%s/m.gguf", dir);

    write_part(one, 0, 2, 2, "a");
    expect_split(one, NPU_NOT_FOUND, "gguf.split_missing", "part 2 of 2");
    write_part(two, 1, 2, 2, "b");
    npu_gguf *g;
    npu_error err;
    assert_int_equal(npu_gguf_open(one, NULL, &g, &err), NPU_OK);
    assert_int_equal(npu_gguf_file_count(g), 2);
    assert_string_equal(npu_gguf_file_at(g, 1)->path, two);
    assert_int_equal(npu_gguf_tensor_find(g, "b")->file, 1);
    assert_int_equal((uintptr_t)npu_gguf_tensor_find(g, "b")->data % 32, 0);
    npu_gguf_close(g);

    expect_split(two, NPU_INVALID, "gguf.split", "part 2");
    write_part(other, 0, 2, 2, "a");
    expect_split(other, NPU_INVALID, "gguf.split", "00001-of-00002");
    write_part(two, 0, 2, 2, "b");
    expect_split(one, NPU_INVALID, "gguf.split", "m-00002-of-00002.gguf");
    write_part(two, 1, 2, 2, "a");
    expect_split(one, NPU_INVALID, "gguf.tensor_twice", "tensor a");
    write_part(one, 0, 2, 3, "b");
    expect_split(one, NPU_INVALID, "gguf.split", "split.tensors.count is 3");
    unlink(one);
    unlink(two);
    unlink(other);
    rmdir(dir);
}

/* 262144 tokens, the largest vocabulary of the models in use: opening and indexing takes milliseconds. The bound is far
 * above that, so that a loaded machine or a sanitizer doesn't fail it; a quadratic reader would. */
static void large_vocabulary_is_quick(void **state) {
    (void)state;
    enum { COUNT = 262144 };
    gguf_build b = {0};
    gb_header(&b, 0, 1);
    gb_array(&b, "words", NPU_GGUF_STRING, COUNT);
    char word[16];
    for (int i = 0; i < COUNT; i++) {
        snprintf(word, sizeof word, "token%d", i);
        gb_str(&b, word);
    }
    struct timespec from, to;
    npu_gguf *g;
    npu_error err;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    assert_int_equal(npu_gguf_open_memory(b.data, b.size, "test", NULL, &g, &err), NPU_OK);
    npu_gguf_strings words;
    assert_int_equal(npu_gguf_strings_open(g, "words", &words, &err), NPU_OK);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    assert_memory_equal(npu_gguf_strings_at(&words, COUNT - 1).data, "token262143", 11);
    double ms = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
    print_message("%d strings opened and indexed in %.2f ms\n", COUNT, ms);
    assert_true(ms < 500);
    npu_gguf_strings_close(&words);
    npu_gguf_close(g);
    gb_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_sound_file),
        cmocka_unit_test(getters_convert_or_name_the_key),
        cmocka_unit_test(strings_are_indexed_on_demand),
        cmocka_unit_test(split_files_load_by_the_first),
        cmocka_unit_test(large_vocabulary_is_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
