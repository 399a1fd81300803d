/* Schemas against texts, byte by byte; limits of numbers exhaustively; what the machine forgets and takes as near. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "grammar/machine.h"
#include "grammar/schema.h"

enum { REACH = 4 };

typedef struct grammar {
    npu__program program;
    npu__machine *machine;
    uint32_t start;
} grammar;

static void open_grammar(grammar *g, const char *schema) {
    npu_error err = {0};
    if (npu__schema_compile(schema, strlen(schema), &g->program, &err) != NPU_OK) fail_msg("%s: %s", schema, err.text);
    assert_int_equal(npu__machine_create(&g->program, REACH, &g->machine, &err), NPU_OK);
    assert_int_equal(npu__machine_start(g->machine, &g->start, &err), NPU_OK);
}

static void close_grammar(grammar *g) {
    npu__machine_free(g->machine);
    npu__program_free(&g->program);
}

/* 'w'hole, 'b'eginning of something, 'n'either. |forget|: drops all other states after each byte. */
static char judge(grammar *g, const char *text, bool forget) {
    uint32_t s = g->start;
    npu_error err = {0};
    for (; *text; text++) {
        assert_int_equal(npu__machine_step(g->machine, s, (uint8_t)*text, &s, &err), NPU_OK);
        if (forget) assert_int_equal(npu__machine_forget(g->machine, &s, &err), NPU_OK);
    }
    char verdict = s == NPU__STATE_DEAD ? 'n' : npu__machine_may_end(g->machine, s) ? 'w' : 'b';
    if (forget) assert_int_equal(npu__machine_start(g->machine, &g->start, &err), NPU_OK);
    return verdict;
}

static void check(const char *schema, const char *text, char verdict) {
    grammar g;
    open_grammar(&g, schema);
    for (int forget = 0; forget < 2; forget++) {
        char found = judge(&g, text, forget);
        if (found != verdict) fail_msg("%s: %s is '%c', not '%c' (forget %d)", schema, text, found, verdict, forget);
    }
    close_grammar(&g);
}

static void texts_are_judged(void **state) {
    (void)state;
    const char *object =
        "{\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"null\"},\"c\":{\"enum\":[1,12]}},"
        "\"required\":[\"b\"]}";
    check(object, "{\"b\":null}", 'w');
    check(object, "{\n  \"a\": -10,\n  \"b\": null,\n  \"c\": 12\n}", 'w');
    check(object, "{\"a\":1,\"c\":1", 'n');
    check(object, "{\"a\":1}", 'n');
    check(object, "{\"b\":null,\"c\":1", 'b');
    check(object, "{}", 'n');
    check(object, "{\"b\":null,}", 'n');
    check("{\"type\":\"object\"}", "{\"x\":[1,{\"y\":\"\\u00e9\\n\"},[]],\"z\":true}", 'w');
    check("{\"type\":\"object\"}", "[", 'n');
    check("{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"\xC3\xA9\\u0041\"", 'w');
    check("{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"a\"", 'n');
    check("{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"abcd", 'n');
    check("{\"type\":\"string\"}", "\"\xC3(", 'n');
    check("{\"type\":\"string\"}", "\"\xED\xA0", 'n');
    check("{\"type\":\"string\"}", "\"\\ud8", 'n');
    check("{\"type\":\"string\"}", "\"\n", 'n');
    check("{\"type\":\"array\",\"items\":{\"type\":\"boolean\"},\"minItems\":2,\"maxItems\":3}", "[true, false]", 'w');
    check("{\"type\":\"array\",\"items\":{\"type\":\"boolean\"},\"minItems\":2,\"maxItems\":3}", "[true]", 'n');
    check("{\"type\":\"array\",\"items\":{\"type\":\"boolean\"},\"minItems\":2,\"maxItems\":3}", "[true,true,true,",
          'n');
    check("{\"$ref\":\"#/$defs/"
          "l\",\"$defs\":{\"l\":{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"array\",\"items\":{\"$ref\":"
          "\"#/$defs/l\"}}]}}}",
          "[[null,[[]]],[]]", 'w');
    check("{\"type\":\"number\"}", "-0.5e+10", 'w');
    check("{\"type\":\"number\"}", "01", 'n');
    check("{\"type\":\"number\"}", "1.", 'b');
}

static void whole_numbers_are_within_their_limits(void **state) {
    (void)state;
    static const int limits[][2] = {{0, 0}, {17, 1203}, {-5, 5}, {-1203, -17}, {-999, 1000}, {99, 100}, {-1, 0}};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        char schema[100], text[20];
        grammar g;
        snprintf(schema, sizeof schema, "{\"type\":\"integer\",\"minimum\":%d,\"maximum\":%d}", limits[i][0],
                 limits[i][1]);
        open_grammar(&g, schema);
        for (int n = -1300; n <= 1300; n++) {
            snprintf(text, sizeof text, "%d", n);
            bool in = n >= limits[i][0] && n <= limits[i][1];
            if ((judge(&g, text, false) == 'w') != in) fail_msg("%s: %s", schema, text);
        }
        close_grammar(&g);
    }
}

/* All decimals with three digits after the point, the shorter ones too. */
static void real_numbers_are_within_their_limits(void **state) {
    (void)state;
    static const double limits[][2] = {{0, 1}, {-2.75, 3.125}, {0.15, 0.175}, {-0.5, -0.25}, {1.5, 1.5}, {-3, 0}};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        char schema[100], text[20];
        grammar g;
        snprintf(schema, sizeof schema, "{\"minimum\":%.17g,\"maximum\":%.17g}", limits[i][0], limits[i][1]);
        open_grammar(&g, schema);
        for (int n = -4000; n <= 4000; n++) {
            snprintf(text, sizeof text, "%.3f", n / 1000.0);
            if (n % 10 == 0) text[strlen(text) - 1] = 0;
            if (n % 1000 == 0) *strchr(text, '.') = 0;
            double x = strtod(text, NULL);
            bool in = x >= limits[i][0] && x <= limits[i][1], taken = judge(&g, text, false) == 'w';
            bool end = x == limits[i][0] || x == limits[i][1]; /* a limit with zeros after it may be left out */
            if (taken != in && !(end && in && n % 100 == 0)) fail_msg("%s: %s", schema, text);
        }
        close_grammar(&g);
    }
}

/* From a state and the one that is near it, the same strings of REACH bytes go on. */
static void near_states_allow_the_same(void **state) {
    (void)state;
    grammar g;
    npu_error err = {0};
    open_grammar(&g,
                 "{\"type\":\"array\",\"minItems\":20,\"maxItems\":40,\"items\":{\"type\":\"string\",\"minLength\":9,"
                 "\"maxLength\":30}}");
    uint64_t random = 1;
    uint32_t s = g.start, same = 0;
    for (int i = 0; i < 4000; i++) {
        uint32_t near, a = s, b;
        assert_int_equal(npu__machine_near(g.machine, s, &near, &err), NPU_OK);
        same += near != s;
        b = near;
        for (int k = 0; k < REACH; k++) {
            uint8_t byte = (uint8_t) "ab\",[] \n\\n"[(npu_random_next(&random) >> 33) % 10];
            assert_int_equal(npu__machine_step(g.machine, a, byte, &a, &err), NPU_OK);
            assert_int_equal(npu__machine_step(g.machine, b, byte, &b, &err), NPU_OK);
            assert_int_equal(a == NPU__STATE_DEAD, b == NPU__STATE_DEAD);
            if (k == 0 && a != NPU__STATE_DEAD) s = a;
        }
        if (npu__machine_may_end(g.machine, s)) s = g.start;
    }
    assert_true(same > 100);
    close_grammar(&g);
}

static void large_schemas_have_limits(void **state) {
    (void)state;
    enum { N = 2000000 };
    char *schema = malloc(N);
    npu_error err = {0};
    npu__program program;
    size_t n = (size_t)sprintf(schema, "{\"enum\":[0");
    while (n < N - 100) n += (size_t)sprintf(schema + n, ",%zu", n * 7919);
    n += (size_t)sprintf(schema + n, "]}");
    assert_int_equal(npu__schema_compile(schema, n, &program, &err), NPU_RANGE);
    npu__program_free(&program);
    n = (size_t)sprintf(schema, "{\"properties\":{");
    for (int i = 0; i < 3000; i++) n += (size_t)sprintf(schema + n, "%s\"p%d\":{}", i ? "," : "", i);
    sprintf(schema + n, "}}");
    check(schema, "{\"p7\":1,\"p2999\":[]}", 'w');
    check(schema, "{\"p7\":1,\"p6\"", 'n');
    free(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_judged),
        cmocka_unit_test(whole_numbers_are_within_their_limits),
        cmocka_unit_test(real_numbers_are_within_their_limits),
        cmocka_unit_test(near_states_allow_the_same),
        cmocka_unit_test(large_schemas_have_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
