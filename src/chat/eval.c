/* Evaluation of expressions, names and calls. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "chat/interp.h"

enum { DEPTH_MAX = 1000 };

void *npu__fail(npu__interp *in, const char *format, ...) {
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (in->status == NPU_OK)
        in->status = npu_fail(in->err, NPU_INVALID, "chat.render", "chat template, line %u, column %u: %s",
                              in->at->line, in->at->column, text);
    return NULL;
}

void *npu__fail_limit(npu__interp *in, const char *what) {
    if (in->status == NPU_OK)
        in->status = npu_fail(in->err, NPU_RANGE, "chat.limit", "chat template, line %u, column %u: %s", in->at->line,
                              in->at->column, what);
    return NULL;
}

void *npu__fail_memory(npu__interp *in) {
    return npu__fail_limit(in, "values take too much memory");
}

bool npu__step(npu__interp *in, uint64_t n) {
    if (in->arena.work <= NPU__WORK_MAX && n <= in->max_steps - in->steps) {
        in->steps += n;
        return true;
    }
    return npu__fail_limit(in, "rendering takes too many steps") != NULL;
}

npu__scope *npu__push_scope(npu__interp *in, npu__scope *parent) {
    npu__scope *s = npu__arena_alloc(&in->arena, sizeof *s);
    if (!s) return npu__fail_memory(in);
    s->parent = parent;
    return s;
}

bool npu__assign(npu__interp *in, const char *name, npu__value *v) {
    npu__scope *s = in->scope;
    size_t i = 0;
    if (!npu__step(in, s->n / 16)) return false;
    while (i < s->n && strcmp(s->names[i], name) != 0) i++;
    if (i == s->capacity) {
        size_t capacity = s->capacity * 2 + 4;
        const char **names = npu__arena_alloc(&in->arena, capacity * sizeof *names);
        npu__value **values = npu__arena_alloc(&in->arena, capacity * sizeof *values);
        if (!names || !values) return npu__fail_memory(in) != NULL;
        if (s->n) {
            memcpy(names, s->names, s->n * sizeof *names);
            memcpy(values, s->values, s->n * sizeof *values);
        }
        s->names = names;
        s->values = values;
        s->capacity = capacity;
    }
    if (i == s->n) s->names[s->n++] = name;
    s->values[i] = v;
    return true;
}

npu__value *npu__lookup(npu__interp *in, const char *name) {
    for (const npu__scope *s = in->scope; s; s = s->parent) {
        if (!npu__step(in, s->n / 16)) return NULL;
        for (size_t i = 0; i < s->n; i++)
            if (strcmp(s->names[i], name) == 0) return s->values[i];
    }
    npu__value *v = npu__new(&in->arena, npu__is_function(name) ? NPU__FUNCTION : NPU__UNDEFINED);
    if (v) v->u.ref.name = name;
    return npu__made(in, v);
}

static npu__value *loop_attribute(npu__interp *in, npu__loop *loop, const char *name) {
    int64_t i = (int64_t)loop->index, n = (int64_t)loop->items->n, d = (int64_t)loop->depth;
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"index", i + 1}, {"index0", i},    {"revindex", n - i}, {"revindex0", n - i - 1},
                   {"length", n},    {"depth", d + 1}, {"depth0", d}};
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
        if (!strcmp(name, numbers[k].name)) return npu__made(in, npu__new_int(&in->arena, numbers[k].value));
    if (!strcmp(name, "first")) return npu__made(in, npu__new_bool(&in->arena, i == 0));
    if (!strcmp(name, "last")) return npu__made(in, npu__new_bool(&in->arena, i + 1 == n));
    if (!strcmp(name, "previtem") && i > 0) return loop->items->items[i - 1];
    if (!strcmp(name, "nextitem") && i + 1 < n) return loop->items->items[i + 1];
    return npu__made(in, npu__new_undefined(&in->arena, name));
}

static npu__value *macro_attribute(npu__interp *in, const npu__node *macro, const char *name) {
    if (!strcmp(name, "name")) return npu__made(in, npu__new_string(&in->arena, macro->s, macro->n));
    if (!strcmp(name, "arguments")) {
        npu__value *names = npu__new_list(&in->arena, NPU__TUPLE);
        for (size_t i = 0; names && i < macro->n_kids; i++) {
            npu__value *s = npu__new_string(&in->arena, macro->kids[i]->s, macro->kids[i]->n);
            if (!npu__list_add(&in->arena, names->u.list, s)) return npu__fail_memory(in);
        }
        return npu__made(in, names);
    }
    static const char *const uses[] = {"catch_varargs", "catch_kwargs", "caller"};
    for (unsigned i = 0; i < sizeof uses / sizeof uses[0]; i++)
        if (!strcmp(name, uses[i])) return npu__made(in, npu__new_bool(&in->arena, macro->uses >> i & 1));
    return npu__made(in, npu__new_undefined(&in->arena, name));
}

npu__value *npu__attribute(npu__interp *in, npu__value *v, const char *name, size_t n) {
    if (v->type == NPU__UNDEFINED) return npu__fail(in, "'%s' is undefined", v->u.ref.name);
    if (npu__has_method(v, name)) {
        npu__value *m = npu__new(&in->arena, NPU__METHOD);
        if (!m) return npu__fail_memory(in);
        m->u.ref.name = name;
        m->u.ref.self = v;
        return m;
    }
    npu__value *found =
        v->type == NPU__DICT || v->type == NPU__NAMESPACE ? npu__dict_find(&in->arena, v->u.dict, name, n) : NULL;
    if (v->type == NPU__DICT && !npu__step(in, 1 + v->u.dict->n / 16)) return NULL;
    if (found) return found;
    if (v->type == NPU__LOOP) return loop_attribute(in, v->u.loop, name);
    if (v->type == NPU__TUPLE && v->u.list->kind == NPU__GROUP && (!strcmp(name, "grouper") || !strcmp(name, "list")))
        return v->u.list->items[*name == 'l'];
    if (v->type == NPU__MACRO) return macro_attribute(in, v->u.macro.node, name);
    if (v->type == NPU__TURNS && v->u.turns->items && !strcmp(name, "current"))
        return v->u.turns->items->items[v->u.turns->index];
    return npu__made(in, npu__new_undefined(&in->arena, name));
}

static npu__value *collection(npu__interp *in, const npu__node *node) {
    npu__value *list = npu__new_list(&in->arena, node->kind == NPU__N_LIST ? NPU__LIST : NPU__TUPLE);
    for (size_t i = 0; i < node->n_kids; i++) {
        npu__value *v = npu__eval(in, node->kids[i]);
        if (!v) return NULL;
        if (!list || !npu__list_add(&in->arena, list->u.list, v)) return npu__fail_memory(in);
    }
    return npu__made(in, list);
}

static npu__value *dict(npu__interp *in, const npu__node *node) {
    npu__value *d = npu__new_dict(&in->arena, NPU__DICT);
    for (size_t i = 0; i < node->n_kids; i += 2) {
        npu__value *key = npu__eval(in, node->kids[i]), *v = key ? npu__eval(in, node->kids[i + 1]) : NULL;
        if (!v) return NULL;
        if (!npu__is_key(key)) return npu__fail(in, "%s can't be a key", npu__type_name(key));
        if (!npu__step(in, 1) || !d || !npu__dict_set(&in->arena, d->u.dict, key, v)) return npu__fail_memory(in);
    }
    return npu__made(in, d);
}

static npu__value *item(npu__interp *in, const npu__node *node) {
    npu__value *v = npu__eval(in, node->a), *parts[3] = {NULL, NULL, NULL};
    if (!v) return NULL;
    if (node->b->kind != NPU__N_SLICE) {
        npu__value *key = npu__eval(in, node->b);
        in->at = node;
        return key ? npu__item(in, v, key) : NULL;
    }
    for (size_t i = 0; i < 3; i++)
        if (node->b->kids[i] && !(parts[i] = npu__eval(in, node->b->kids[i]))) return NULL;
    in->at = node;
    return npu__slice(in, v, parts);
}

static npu__value *compare(npu__interp *in, const npu__node *node) {
    npu__value *a = npu__eval(in, node->a);
    for (size_t i = 0; a && i < node->n_kids; i++) {
        npu__value *b = npu__eval(in, node->kids[i]->b);
        if (!b) return NULL;
        in->at = node;
        int is = npu__related(in, node->kids[i]->op, a, b);
        if (is < 0) return NULL;
        if (!is) return npu__made(in, npu__new_bool(&in->arena, false));
        a = b;
    }
    return a ? npu__made(in, npu__new_bool(&in->arena, true)) : NULL;
}

static npu__value *sign(npu__interp *in, const npu__node *node) {
    npu__value *v = npu__eval(in, node->a);
    if (!v) return NULL;
    if (!npu__is_number(v)) return npu__fail(in, "%s has no sign", npu__type_name(v));
    npu__value minus = {.type = NPU__INT, .u.integer = node->kind == NPU__N_NEGATIVE ? -1 : 1};
    return npu__binary(in, '*', v, &minus);
}

static npu__value *filter(npu__interp *in, const npu__node *node) {
    npu__value *v = npu__eval(in, node->a);
    npu__args args = {0};
    if (!v || !npu__eval_arguments(in, node, &args)) return NULL;
    in->at = node;
    return npu__filter(in, node->s, v, &args);
}

static npu__value *test(npu__interp *in, const npu__node *node) {
    npu__value *v = npu__eval(in, node->a);
    npu__args args = {0};
    if (!v || !npu__eval_arguments(in, node, &args)) return NULL;
    in->at = node;
    int is = npu__test(in, node->s, v, &args);
    return is < 0 ? NULL : npu__made(in, npu__new_bool(&in->arena, is));
}

static npu__value *logic(npu__interp *in, const npu__node *node) {
    npu__value *a = npu__eval(in, node->kind == NPU__N_IF_ELSE ? node->b : node->a);
    if (!a) return NULL;
    switch (node->kind) {
    case NPU__N_NOT:
        return npu__made(in, npu__new_bool(&in->arena, !npu__truth(a)));
    case NPU__N_AND:
        return npu__truth(a) ? npu__eval(in, node->b) : a;
    case NPU__N_OR:
        return npu__truth(a) ? a : npu__eval(in, node->b);
    default:
        break;
    }
    if (npu__truth(a)) return npu__eval(in, node->a);
    return node->c ? npu__eval(in, node->c) : npu__made(in, npu__new_undefined(&in->arena, "the missing else part"));
}

static npu__value *operation(npu__interp *in, const npu__node *node) {
    npu__value *a = npu__eval(in, node->a), *b = a ? npu__eval(in, node->b) : NULL;
    in->at = node;
    return b ? npu__binary(in, node->op, a, b) : NULL;
}

static npu__value *attribute(npu__interp *in, const npu__node *node) {
    npu__value *v = npu__eval(in, node->a);
    in->at = node;
    return v ? npu__attribute(in, v, node->s, node->n) : NULL;
}

static npu__value *evaluate(npu__interp *in, const npu__node *node) {
    switch (node->kind) {
    case NPU__N_CONST:
        return node->value;
    case NPU__N_NAME:
        return npu__lookup(in, node->s);
    case NPU__N_LIST:
    case NPU__N_TUPLE:
        return collection(in, node);
    case NPU__N_DICT:
        return dict(in, node);
    case NPU__N_ATTR:
        return attribute(in, node);
    case NPU__N_ITEM:
        return item(in, node);
    case NPU__N_CALL:
        return npu__eval_call(in, node);
    case NPU__N_FILTER:
        return filter(in, node);
    case NPU__N_TEST:
        return test(in, node);
    case NPU__N_NEGATIVE:
    case NPU__N_POSITIVE:
        return sign(in, node);
    case NPU__N_BINARY:
        return operation(in, node);
    case NPU__N_COMPARE:
        return compare(in, node);
    case NPU__N_NOT:
    case NPU__N_AND:
    case NPU__N_OR:
    case NPU__N_IF_ELSE:
        return logic(in, node);
    default:
        return npu__fail(in, "not an expression");
    }
}

npu__value *npu__eval(npu__interp *in, const npu__node *node) {
    in->at = node;
    if (!npu__step(in, 1)) return NULL;
    if (++in->depth > DEPTH_MAX) return npu__fail_limit(in, "calls are nested too deeply");
    npu__value *v = evaluate(in, node);
    in->depth--;
    return v;
}
