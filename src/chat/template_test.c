/* The language piece by piece (expectations as Python's jinja2 gives them), errors with their places, and the limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "chat/template.h"

static const char variables[] = "{\"a\":[1,2,3],\"d\":{\"b\":1,\"A\":2,\"items\":\"mine\",\"c\":null},\"s\":\"Hello "
                                "W\\u00f6rld\",\"n\":5,\"f\":2.5,"
                                "\"t\":true,\"z\":null,\"m\":[{\"r\":\"user\",\"c\":\"x\"},{\"r\":\"tool\"}]}";

static npu_status render(const char *source, size_t size, const npu_render_params *params, char **text,
                         npu_error *err) {
    npu_template *t;
    size_t n;
    *text = NULL;
    npu_status status = npu_template_create(source, size, &t, err);
    if (status != NPU_OK) return status;
    json_t *json = json_loads(variables, 0, NULL);
    status = npu_template_render(t, json, params, text, &n, NULL, err);
    if (status == NPU_OK) assert_int_equal(strlen(*text), n);
    json_decref(json);
    npu_template_free(t);
    return status;
}

static void gives(const char *source, const char *wanted) {
    char *text;
    npu_error err = {0};
    if (render(source, strlen(source), NULL, &text, &err) != NPU_OK) fail_msg("%s: %s", source, err.text);
    assert_string_equal(text, wanted);
    free(text);
}

static void fails(const char *source, const char *code, const char *names) {
    char *text;
    npu_error err = {0};
    npu_status status = render(source, strlen(source), NULL, &text, &err);
    if (status == NPU_OK) fail_msg("%s gives %s", source, text);
    assert_string_equal(err.code, code);
    if (!strstr(err.text, names)) fail_msg("%s: %s", source, err.text);
}

static void values_print_as_in_python(void **state) {
    (void)state;
    gives("{{ [a, d, (1,), none, true, 'it\\'s', \"\\n\"] }}",
          "[[1, 2, 3], {'b': 1, 'A': 2, 'items': 'mine', 'c': None}, (1,), None, True, \"it's\", '\\n']");
    gives("{{ f }} {{ 1e16 }} {{ 1e15 }} {{ 0.1 + 0.2 }} {{ 7 / 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 2 ** 10 }}",
          "2.5 1e+16 1000000000000000.0 0.30000000000000004 3.5 -4 2 1024");
    gives("{{ d | tojson }}{{ {'x': []} | tojson(indent=2) }}{{ s | tojson(ensure_ascii=true) }}",
          "{\"b\": 1, \"A\": 2, \"items\": \"mine\", \"c\": null}{\n  \"x\": []\n}\"Hello W\\u00f6rld\"");
    gives("{{ d | tojson(separators=(',', ':'), sort_keys=true) }}", "{\"A\":2,\"b\":1,\"c\":null,\"items\":\"mine\"}");
}

static void strings_count_characters(void **state) {
    (void)state;
    gives("{{ s | length }} {{ s[6:8] }} {{ s[::-1] }} {{ s[-4:] }} {{ s | upper }}",
          "11 W\xC3\xB6 dlr\xC3\xB6W olleH \xC3\xB6rld"
          " "
          "HELLO W\xC3\x96RLD");
    gives("{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a b c'.rsplit(' ', 1) }}",
          "['a', 'b', '', 'c'] ['a', 'b'] ['a b', 'c']");
    gives("{{ ' x '.strip() }}{{ 'xxaxx'.rstrip('x') }} {{ 'abab'.replace('b', 'X', 1) }} {{ '%05.1f|%-3s|%s' % (2.25, "
          "'a', 1) }}",
          "xxxa aXab 002.2|a  |1");
    gives("{{ '{}-{0}-{x:>3}'.format(1, x=2) if false else '{0}-{x:>3}'.format(1, x=2) }}", "1-  2");
}

static void scopes_are_as_in_jinja(void **state) {
    (void)state;
    gives("{% set q = 1 %}{% for i in a %}{% set q = 2 %}{{ q }}{% endfor %}{{ q }}", "2221");
    gives("{% set ns = namespace(x=0) %}{% for i in a %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}", "6");
    gives("{% macro f(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{{ varargs }}{% endmacro %}{{ f(1) }} {{ f(1, 2, 3, 4) }}",
          "121() 123(4,)");
    gives("{% macro w() %}<{{ caller(7) }}>{% endmacro %}{% call(x) w() %}in{{ x }}{% endcall %}", "<in7>");
    gives("{% set b | upper %}up{{ n }}{% endset %}{{ b }}{% filter upper %}f{% endfilter %}", "UP5F");
    gives("{% for x in a if x != 2 %}{{ loop.index }}/{{ loop.length }}{{ x }}{% else %}none{% endfor %}", "1/212/23");
    gives("{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i "
          "}}{% endfor %}",
          "0134");
}

static void attributes_items_and_filters(void **state) {
    (void)state;
    gives("{{ d['items'] }} {{ d.b }}{{ d.nope }} {{ d.get('x', 'y') }} {{ m[1].c is defined }} {{ a[9] is defined }}",
          "mine 1 y False False");
    gives("{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "b=1;A=2;items=mine;c=None;");
    gives("{{ m | map(attribute='r') | join('/') }} {{ m | selectattr('c', 'defined') | list | length }} {{ d | "
          "dictsort | first }}",
          "user/tool 1 ('A', 2)");
    gives("{{ x | default('d') }} {{ '' | default('e', true) }} {{ ['b', 'A', 'c'] | sort | join }} {{ a | reverse | "
          "list }}",
          "d e Abc [3, 2, 1]");
    gives("{{ 1 in a }} {{ 'ell' in s }} {{ 5 not in a }} {{ 1 < 2 < 3 }} {{ 'a' if n > 3 else 'b' }}",
          "True True True True a");
}

static void white_space_is_trimmed(void **state) {
    (void)state;
    gives("a\n  {% if true %}\nb\n  {% endif %}\nc\n", "a\nb\nc");
    gives("{% if true -%}  b  {%- endif %}\n x {{- n -}} y", "b x5y");
    gives("  {%+ if true %}a{% endif +%}\nb", "  a\nb");
    gives("{{ n }}  {# c #}\nx\r\ny", "5  x\ny");
    gives("{% raw %}{{ n }}{% endraw %}", "{{ n }}");
}

static void errors_say_where(void **state) {
    (void)state;
    fails("ab\n {{ 1 + }}", "chat.syntax", "line 2, column 9");
    fails("{% if n %}", "chat.syntax", "inside a block");
    fails("{% foo %}", "chat.syntax", "unknown tag");
    fails("\n\n{{ n + 'a' }}", "chat.render", "line 3, column");
    fails("{{ nope.x }}", "chat.render", "'nope' is undefined");
    fails("{{ a.append(4) }}", "chat.render", "append");
    fails("{{ n | nofilter }}", "chat.render", "nofilter");
    fails("{{ raise_exception('no ' ~ n) }}", "chat.raised", "no 5");
    fails("\xFF{{ n }}", "chat.utf8", "line 1");
}

static void limits_hold(void **state) {
    (void)state;
    enum { N = 100000 };
    static char deep[2 * N + 16];
    size_t n = 0;
    char *text;
    npu_error err = {0};
    n += (size_t)sprintf(deep, "{{ ");
    memset(deep + n, '(', N);
    n += N;
    deep[n++] = '1';
    memset(deep + n, ')', N);
    n += N;
    n += (size_t)sprintf(deep + n, " }}");
    assert_int_equal(render(deep, n, NULL, &text, &err), NPU_RANGE);
    assert_string_equal(err.code, "chat.limit");
    memset(deep + 3, '-', 2 * N);
    deep[3 + 2 * N] = '1';
    deep[4 + 2 * N] = ' ';
    assert_int_equal(render(deep, n, NULL, &text, &err), NPU_RANGE);
    fails("{% for i in range(1000000000) %}x{% endfor %}", "chat.limit", "range");
    fails("{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}", "chat.limit", "line 1");
    fails("{{ 'x' * 1000000000 }}", "chat.limit", "too long");
    fails("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "chat.limit", "nested");
    fails("{% set ns = namespace(x=[]) %}{% for i in range(50000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
          "chat.limit", "nested");
    gives("{% set p = namespace(x=[]) %}{% set q = namespace(x=[]) %}{% for i in range(50000) %}{% set p.x = [p.x] %}"
          "{% set q.x = [q.x] %}{% endfor %}{{ p.x == q.x }}",
          "False");
    const npu_render_params small = {.max_output = 10};
    assert_int_equal(render("{{ s }}", 7, &small, &text, &err), NPU_RANGE);
    assert_string_equal(err.code, "chat.limit");
}

/* Renders and writes "[" and "]" around what is marked as coming from the variables. */
static void marks(const char *source, const char *wanted) {
    npu_template *t;
    npu_error err = {0};
    char *text, *mark, shown[512];
    size_t n, used = 0;
    assert_int_equal(npu_template_create(source, strlen(source), &t, &err), NPU_OK);
    json_t *json = json_pack("{s:[{s:s,s:s},{s:s,s:s}],s:s,s:s,s:{s:s}}", "m", "role", "user", "c", "a<|b'\n", "role",
                             "<x>", "c", "", "bos_token", "<s>", "v", "V,w", "d", "k<", "x&");
    if (npu_template_render(t, json, NULL, &text, &n, &mark, &err) != NPU_OK) fail_msg("%s: %s", source, err.text);
    for (size_t i = 0; i <= n; i++) {
        bool before = i && mark[i - 1], now = i < n && mark[i];
        if (before && !now) shown[used++] = ']';
        if (now && !before) shown[used++] = '[';
        if (i < n) shown[used++] = text[i];
    }
    shown[used] = 0;
    assert_string_equal(shown, wanted);
    free(text);
    free(mark);
    json_decref(json);
    npu_template_free(t);
}

static void what_came_from_variables_is_marked(void **state) {
    (void)state;
    marks("{{ bos_token }}<|{{ m[0].role }}|>{{ m[0].c }}</s>", "<s><|user|>[a<|b'\n]</s>");
    marks("{{ m[1].role ~ 'x' + v }}", "[<x>]x[V,w]");
    marks("{{ m[0].c | trim }}|{{ m[0].c.strip() }}|{{ v[0] }}{{ v[1:] }}{{ v[::-1] }}", "[a<|b']|[a<|b']|[V,ww,V]");
    marks("{{ v.split(',') | join('-') }} {{ '-'.join(v.split(',')) }} {{ v | replace(',', ';') }}",
          "[V]-[w] [V]-[w] [V];[w]");
    marks("{{ v | upper }}{{ v | lower }} {{ v * 2 }} {{ '%s|%3d' % (v, 4) }} {{ '{0}:{0:>5}'.format(v) }}",
          "[V,Wv,w] [V,wV,w] [V,w]|  4 [V,w]:  [V,w]");
    marks("{{ m[0].c | tojson }} {{ d }} {{ d | tojson }} {{ m[0].c | e }} {{ v | indent(1, true) }}",
          "\"[a<|b'\\n]\" {'[k<]': '[x&]'} {\"[k<]\": \"[x&]\"} [a&lt;|b&#39;\n]  [V,w]");
    marks("{% macro f(x) %}<{{ x }}>{% endmacro %}{% set y %}({{ f(v) }}){% endset %}{{ y }}{% for ch in v %}{{ ch }}."
          "{% endfor %}{% filter upper %}q{{ v }}{% endfilter %}{{ v | safe }}{{ [v] | first | string }}",
          "(<[V,w]>)[V].[,].[w].Q[V,WV,wV,w]");
    marks("{{ v.removeprefix('V') }}{{ 'a\nb'.splitlines() | join(v) }}{{ strftime_now(v) }}{{ x | default(v) }}",
          "[,w]a[V,w]b[V,wV,w]");
    marks("{{ v.format(1) }}{{ (v ~ '%s') % 'z' }}{{ (v ~ '{:->3}').format('z') }}", "[V,wV,w]z[V,w]--z");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_print_as_in_python),
        cmocka_unit_test(strings_count_characters),
        cmocka_unit_test(scopes_are_as_in_jinja),
        cmocka_unit_test(attributes_items_and_filters),
        cmocka_unit_test(white_space_is_trimmed),
        cmocka_unit_test(errors_say_where),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(what_came_from_variables_is_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
