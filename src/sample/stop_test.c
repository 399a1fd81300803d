#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sample/rng.h"
#include "sample/stop.h"

typedef struct out {
    char text[4096];
    size_t n;
} out;

static void collect(void *context, const char *text, size_t n) {
    out *o = context;
    assert_true(n > 0 && o->n + n <= sizeof o->text);
    memcpy(o->text + o->n, text, n);
    o->n += n;
}

static npu_stop *create(const char *const *strings, size_t n) {
    size_t lengths[8] = {0};
    npu_stop *s;
    npu_error err;
    for (size_t i = 0; i < n; i++) lengths[i] = strlen(strings[i]);
    assert_int_equal(npu_stop_create(strings, lengths, n, &s, &err), NPU_OK);
    return s;
}

static void check(const out *o, const char *text) {
    assert_int_equal(o->n, strlen(text));
    assert_memory_equal(o->text, text, o->n);
}

static void holds_back_until_decided(void **state) {
    (void)state;
    static const char *const strings[] = {"</s>", "User:"};
    npu_stop *s = create(strings, 2);
    out o = {.n = 0};
    assert_false(npu_stop_push(s, "hi <", 4, collect, &o));
    check(&o, "hi ");
    assert_false(npu_stop_push(s, "/", 1, collect, &o));
    check(&o, "hi ");
    assert_false(npu_stop_push(s, "b> Use", 6, collect, &o));
    check(&o, "hi </b> ");
    assert_true(npu_stop_push(s, "r: no", 5, collect, &o));
    check(&o, "hi </b> ");
    assert_int_equal(npu_stop_which(s), 1);
    assert_true(npu_stop_push(s, "more", 4, collect, &o));
    npu_stop_finish(s, collect, &o);
    check(&o, "hi </b> ");
    assert_int_equal(npu_stop_which(s), -1);
    assert_false(npu_stop_push(s, "x</", 3, collect, &o));
    npu_stop_finish(s, collect, &o);
    check(&o, "hi </b> x</");
    npu_stop_free(s);
}

/* Any cutting of the input gives what one look at the whole text gives. */
static void cuts_do_not_matter(void **state) {
    (void)state;
    static const char *const strings[] = {"aab", "abab", "bb", "ca"};
    npu_rng rng;
    npu_rng_seed(&rng, 12);
    for (int round = 0; round < 3000; round++) {
        char text[24];
        size_t n = npu_rng_next(&rng) % sizeof text, expected = n, end = n + 1;
        for (size_t i = 0; i < n; i++) text[i] = "abcd"[npu_rng_next(&rng) & 3];
        for (size_t k = 0; k < 4; k++) {
            size_t len = strlen(strings[k]);
            for (size_t i = 0; i + len <= n; i++)
                if (memcmp(text + i, strings[k], len) == 0 && (i + len < end || (i + len == end && i < expected))) {
                    expected = i;
                    end = i + len;
                }
        }
        npu_stop *s = create(strings, 4);
        out o = {.n = 0};
        bool stopped = false;
        for (size_t at = 0, step; at < n; at += step) {
            step = 1 + npu_rng_next(&rng) % 4;
            if (step > n - at) step = n - at;
            stopped = npu_stop_push(s, text + at, step, collect, &o);
        }
        assert_int_equal(stopped, end <= n);
        npu_stop_finish(s, collect, &o);
        assert_int_equal(o.n, expected);
        assert_memory_equal(o.text, text, expected);
        npu_stop_free(s);
    }
}

static void nothing_to_stop_at(void **state) {
    (void)state;
    npu_stop *s = create(NULL, 0);
    out o = {.n = 0};
    assert_false(npu_stop_push(s, "all", 3, collect, &o));
    assert_false(npu_stop_push(s, "", 0, collect, &o));
    check(&o, "all");
    npu_stop_free(s);
    npu_error err;
    const char *empty = "";
    size_t zero = 0;
    assert_int_equal(npu_stop_create(&empty, &zero, 1, &s, &err), NPU_INVALID);
    assert_string_equal(err.code, "stop.empty");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_back_until_decided),
        cmocka_unit_test(cuts_do_not_matter),
        cmocka_unit_test(nothing_to_stop_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
