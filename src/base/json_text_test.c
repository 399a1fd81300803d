#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/json_text.h"

/* Longer than what is got at once, and the text of jansson itself; memory that can't be had: the "no_memory" rows of
 * tests/faults/host.json. */
static void as_jansson(void **state) {
    (void)state;
    json_t *all = json_object();
    for (int i = 0; i < 300; i++) {
        char key[16];
        snprintf(key, sizeof key, "key %d", i);
        json_object_set_new(all, key, json_pack("[i, s, {s:f}]", i, "a\"b\n", "x", i / 7.0));
    }
    static const size_t flags[] = {0, JSON_COMPACT, JSON_INDENT(1), JSON_SORT_KEYS | JSON_COMPACT};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        char *want = json_dumps(all, flags[i]), *got = npu_json_text(all, flags[i]);
        assert_non_null(got);
        assert_string_equal(got, want);
        free(want);
        free(got);
    }
    json_decref(all);
}

static void what_can_not_be_told(void **state) {
    (void)state;
    json_t *one = json_integer(1);
    assert_null(npu_json_text(one, 0)); /* no object or list, without JSON_ENCODE_ANY */
    assert_null(npu_json_text(NULL, 0));
    char *text = npu_json_text(one, JSON_ENCODE_ANY);
    assert_string_equal(text, "1");
    free(text);
    json_decref(one);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_jansson), cmocka_unit_test(what_can_not_be_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
