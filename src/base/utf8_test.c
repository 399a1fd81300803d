#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/utf8.h"
#include "base/status.h"

static void decodes_only_shortest_valid_forms(void **state) {
    (void)state;
    static const struct {
        const char *s;
        size_t used;
        uint32_t cp;
    } rows[] = {
        {"A", 1, 'A'},
        {"\xC3\xA9", 2, 0xE9},
        {"\xE2\x82\xAC", 3, 0x20AC},
        {"\xF0\x9F\x98\x80", 4, 0x1F600},
        {"\xC0\x80", 1, UINT32_MAX},
        {"\xE0\x80\x80", 1, UINT32_MAX},
        {"\xED\xA0\x80", 1, UINT32_MAX},
        {"\xF4\x90\x80\x80", 1, UINT32_MAX},
        {"\x80", 1, UINT32_MAX},
        {"\xE2\x82", 1, UINT32_MAX},
        {"\xFF", 1, UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t cp;
        assert_int_equal(npu_utf8_decode(rows[i].s, strlen(rows[i].s), &cp), rows[i].used);
        assert_int_equal(cp, rows[i].cp);
    }
}

static void every_code_point_round_trips(void **state) {
    (void)state;
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
        if (cp >= 0xD800 && cp <= 0xDFFF) continue;
        char s[4];
        uint32_t back;
        size_t n = npu_utf8_encode(cp, s);
        assert_int_equal(npu_utf8_decode(s, n, &back), n);
        assert_int_equal(back, cp);
        for (size_t cut = 1; cut < n; cut++) assert_int_equal(npu_utf8_incomplete_tail(s, cut), cut);
        assert_int_equal(npu_utf8_incomplete_tail(s, n), 0);
    }
}

static void error_texts_are_one_clean_line(void **state) {
    (void)state;
    npu_error err;
    char long_name[2000];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    assert_int_equal(npu_fail(&err, NPU_INVALID, "a.b", "key %s", "evil\x1B[2J\n\xFF"), NPU_INVALID);
    assert_string_equal(err.text, "key evil?[2J??");
    npu_fail(&err, NPU_INVALID, "a.b", "%s", long_name);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_string_equal(err.text + sizeof err.text - 4, "...");
    assert_string_equal(npu_status_name(NPU_DEVICE_LOST), "device_lost");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_only_shortest_valid_forms),
        cmocka_unit_test(every_code_point_round_trips),
        cmocka_unit_test(error_texts_are_one_clean_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
