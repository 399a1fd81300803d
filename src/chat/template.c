/* Templates from outside: parsing once, rendering with JSON variables. */
#include "chat/template.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "chat/interp.h"

enum { SOURCE_MAX = 16 << 20, JSON_DEPTH_MAX = 200 };

struct npu_template {
    npu__arena arena;
    npu__node *body;
};

static npu_status check_source(const char *s, size_t n, npu_error *err) {
    if (n > SOURCE_MAX) return npu_fail(err, NPU_RANGE, "chat.limit", "chat template of %zu bytes: too long", n);
    uint32_t line = 1;
    for (size_t at = 0; at < n;) {
        uint32_t cp;
        size_t len = npu_utf8_decode(s + at, n - at, &cp);
        if (cp == UINT32_MAX) return npu_fail(err, NPU_INVALID, "chat.utf8", "chat template, line %u: not UTF-8", line);
        line += cp == '\n';
        at += len;
    }
    return NPU_OK;
}

/* A copy with line feeds only, and without the last one, as the language has it. */
static char *normal_lines(npu__arena *arena, const char *s, size_t *n) {
    char *copy = npu__arena_alloc(arena, *n + 1);
    size_t used = 0;
    if (!copy) return NULL;
    for (size_t i = 0; i < *n; i++) {
        if (s[i] == '\r' && i + 1 < *n && s[i + 1] == '\n') continue;
        copy[used++] = s[i] == '\r' ? '\n' : s[i];
    }
    if (used && copy[used - 1] == '\n') used--;
    *n = used;
    return copy;
}

npu_status npu_template_create(const char *source, size_t size, npu_template **out, npu_error *err) {
    *out = NULL;
    NPU_TRY(check_source(source, size, err));
    npu_template *t = calloc(1, sizeof *t);
    if (!t) return npu_fail(err, NPU_NO_MEMORY, "chat.no_memory", "no memory for the chat template");
    t->arena.limit = (size_t)1 << 30;
    char *copy = normal_lines(&t->arena, source, &size);
    npu__tokens tokens = {0};
    npu_status status = copy ? npu__lex(&t->arena, copy, size, &tokens, err)
                             : npu_fail(err, NPU_NO_MEMORY, "chat.no_memory", "no memory for the chat template");
    if (status == NPU_OK) {
        npu__parser p = {.arena = &t->arena, .at = tokens.list, .err = err};
        t->body = npu__parse_template(&p);
        status = p.status;
    }
    if (status != NPU_OK) {
        npu_template_free(t);
        return status;
    }
    *out = t;
    return NPU_OK;
}

void npu_template_free(npu_template *t) {
    if (!t) return;
    npu__arena_free(&t->arena);
    free(t);
}

static npu__value *from_json(npu__arena *a, const json_t *json, unsigned depth);

static npu__value *marked_string(npu__arena *a, const char *s, size_t n) {
    npu__value *v = npu__copy_string(a, s, n);
    char *marks = v ? npu__arena_alloc(a, n + 1) : NULL;
    if (!marks) return NULL;
    v->u.string.mark = memset(marks, 1, n);
    return v;
}

/* A role is chosen by the program that talks, not typed, and templates such as "<|" ~ role ~ "|>" rely on it. */
static bool is_role(const char *key, const json_t *value) {
    static const char *const roles[] = {"system",   "developer", "user",        "assistant", "tool",
                                        "function", "model",     "environment", "ipython",   "observation"};
    if (strcmp(key, "role") != 0 || !json_is_string(value)) return false;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (!strcmp(json_string_value(value), roles[i])) return true;
    return false;
}

static npu__value *list_from_json(npu__arena *a, const json_t *json, unsigned depth) {
    npu__value *list = npu__new_list(a, NPU__LIST);
    for (size_t i = 0; list && i < json_array_size(json); i++)
        if (!npu__list_add(a, list->u.list, from_json(a, json_array_get(json, i), depth))) return NULL;
    return list;
}

static npu__value *dict_from_json(npu__arena *a, const json_t *json, unsigned depth) {
    npu__value *dict = npu__new_dict(a, NPU__DICT);
    const char *key;
    const json_t *member;
    json_object_foreach((json_t *)(uintptr_t)json, key, member) {
        npu__value *k = marked_string(a, key, strlen(key)), *v = k ? from_json(a, member, depth) : NULL;
        if (v && is_role(key, member)) v->u.string.mark = NULL;
        if (!dict || !v || !npu__dict_append(a, dict->u.dict, k, v)) return NULL;
    }
    return dict;
}

static npu__value *from_json(npu__arena *a, const json_t *json, unsigned depth) {
    if (depth > JSON_DEPTH_MAX) return NULL;
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return dict_from_json(a, json, depth + 1);
    case JSON_ARRAY:
        return list_from_json(a, json, depth + 1);
    case JSON_STRING:
        return marked_string(a, json_string_value(json), json_string_length(json));
    case JSON_INTEGER:
        return npu__new_int(a, json_integer_value(json));
    case JSON_REAL:
        return npu__new_float(a, json_real_value(json));
    case JSON_NULL:
        return npu__new(a, NPU__NONE);
    default:
        return npu__new_bool(a, json_is_true(json));
    }
}

static bool is_token(const char *name, const npu__value *v) {
    size_t n = strlen(name);
    return v->type == NPU__STRING && n > 6 && !strcmp(name + n - 6, "_token");
}

static bool set_variables(npu__interp *in, const json_t *variables) {
    const char *key;
    const json_t *member;
    in->scope = npu__push_scope(in, NULL);
    json_object_foreach((json_t *)(uintptr_t)variables, key, member) {
        npu__value *name = npu__copy_string(&in->arena, key, strlen(key)),
                   *v = name ? from_json(&in->arena, member, 0) : NULL;
        if (!v) return npu__fail_limit(in, "the variables are too large or nested too deeply") != NULL;
        if (is_token(key, v)) v->u.string.mark = NULL;
        if (!in->scope || !npu__assign(in, name->u.string.s, v)) return false;
    }
    in->scope = in->scope ? npu__push_scope(in, in->scope) : NULL;
    return in->scope != NULL;
}

npu_status npu_template_render(const npu_template *t, const json_t *variables, const npu_render_params *params,
                               char **text, size_t *size, char **marks, npu_error *err) {
    static const npu_render_params defaults = {0};
    const npu_render_params *p = params ? params : &defaults;
    npu__interp in = {.err = err, .at = t->body, .max_steps = p->max_steps ? p->max_steps : 20000000};
    in.arena.limit = p->max_memory ? p->max_memory : (size_t)256 << 20;
    in.out.limit = p->max_output ? p->max_output : (size_t)64 << 20;
    time_t now = time(NULL);
    if (p->now)
        in.now = *p->now;
    else
        localtime_r(&now, &in.now);
    *text = NULL;
    *size = 0;
    if (marks) *marks = NULL;
    bool ok = set_variables(&in, variables) && npu__exec(&in, t->body) != NPU__FLOW_FAIL && npu__write(&in, "", 0);
    npu__arena_free(&in.arena);
    if (!ok) {
        free(in.out.data);
        free(in.out.marks);
        return in.status != NPU_OK ? in.status
                                   : npu_fail(err, NPU_INTERNAL, "chat.internal", "rendering failed without a reason");
    }
    in.out.data[in.out.n] = 0;
    *text = in.out.data;
    *size = in.out.n;
    if (marks)
        *marks = in.out.marks;
    else
        free(in.out.marks);
    return NPU_OK;
}
