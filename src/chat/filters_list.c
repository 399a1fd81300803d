/* Filters of lists and dicts, but for those that order them. */
#include "chat/filters_list.h"

#include <stdlib.h>
#include <string.h>

/* What map, select and their like run over: nothing for any value that is false, None too. */
static npu__list *sequence(npu__interp *in, npu__value *v) {
    if (npu__truth(v)) return npu__iterate(in, v);
    npu__list *empty = npu__arena_alloc(&in->arena, sizeof *empty);
    return empty ? empty : npu__fail_memory(in);
}

npu__value *npu__lazy_list(npu__interp *in) {
    npu__value *list = npu__new_list(&in->arena, NPU__LIST);
    if (!list) return npu__fail_memory(in);
    list->u.list->kind = NPU__LAZY;
    return list;
}

bool npu__add(npu__interp *in, npu__value *list, npu__value *v) {
    return npu__step(in, 1) && (npu__list_add(&in->arena, list->u.list, v) || npu__fail_memory(in) != NULL);
}

/* The attribute "a", "a.b" or "0" of each filter that takes one. */
npu__value *npu__path(npu__interp *in, npu__value *v, const npu__value *attribute) {
    if (attribute->type == NPU__INT || attribute->type == NPU__BOOL) {
        npu__value index = *attribute;
        return npu__item(in, v, &index);
    }
    if (attribute->type != NPU__STRING) return npu__fail(in, "an attribute's name is needed");
    const char *s = attribute->u.string.s, *end = s + attribute->u.string.n;
    while (v && s <= end) {
        const char *dot = memchr(s, '.', (size_t)(end - s));
        size_t n = (size_t)((dot ? dot : end) - s);
        npu__value *key = npu__copy_string(&in->arena, s, n);
        if (!key) return npu__fail_memory(in);
        if (n && n < 10 && strspn(key->u.string.s, "0123456789") == n)
            key = npu__new_int(&in->arena, strtol(key->u.string.s, NULL, 10));
        v = key ? npu__item(in, v, key) : npu__fail_memory(in);
        s += n + 1;
    }
    return v;
}

static npu__value *f_map(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *attribute = npu__dict_find(&in->arena, &args->named, "attribute", 9), *list = npu__lazy_list(in);
    npu__value *missing = npu__dict_find(&in->arena, &args->named, "default", 7), *name = npu__arg(in, args, 0, NULL);
    npu__list *items = list ? sequence(in, v) : NULL;
    if (!items) return NULL;
    if (!attribute && (!name || name->type != NPU__STRING)) return npu__fail(in, "map needs a filter or an attribute");
    if (attribute && attribute->type != NPU__STRING && attribute->type != NPU__INT)
        return npu__fail(in, "a bad attribute");
    npu__args rest = {.named = args->named};
    if (!attribute) {
        rest.list = (npu__list){.items = args->list.items + 1, .n = args->list.n - 1};
        name = npu__copy_string(&in->arena, name->u.string.s, name->u.string.n);
        if (!name) return npu__fail_memory(in);
    }
    for (size_t i = 0; i < items->n; i++) {
        npu__value *x = attribute ? npu__path(in, items->items[i], attribute)
                                  : npu__filter(in, name->u.string.s, items->items[i], &rest);
        if (x && attribute && missing && x->type == NPU__UNDEFINED) x = missing;
        if (!x || !npu__add(in, list, x)) return NULL;
    }
    return list;
}

/* select, reject, selectattr and rejectattr. */
static npu__value *chosen(npu__interp *in, npu__value *v, npu__args *args, bool by_attribute, bool wanted) {
    npu__value *list = npu__lazy_list(in), *attribute = NULL;
    npu__list *items = list ? sequence(in, v) : NULL;
    size_t at = by_attribute ? 1 : 0;
    if (!items) return NULL;
    if (by_attribute && (!(attribute = npu__arg(in, args, 0, NULL)) || attribute->type != NPU__STRING))
        return npu__fail(in, "an attribute's name is needed");
    npu__value *test = npu__arg(in, args, at, NULL);
    if (test && test->type != NPU__STRING) return npu__fail(in, "a test's name is needed");
    if (test && !(test = npu__copy_string(&in->arena, test->u.string.s, test->u.string.n))) return npu__fail_memory(in);
    npu__args rest = {.named = args->named};
    if (args->list.n > at + 1) rest.list = (npu__list){.items = args->list.items + at + 1, .n = args->list.n - at - 1};
    for (size_t i = 0; i < items->n; i++) {
        npu__value *x = attribute ? npu__path(in, items->items[i], attribute) : items->items[i];
        int is = !x ? -1 : test ? npu__test(in, test->u.string.s, x, &rest) : npu__truth(x);
        if (is < 0 || (is == wanted && !npu__add(in, list, items->items[i]))) return NULL;
    }
    return list;
}
static npu__value *f_select(npu__interp *in, npu__value *v, npu__args *a) {
    return chosen(in, v, a, false, true);
}
static npu__value *f_reject(npu__interp *in, npu__value *v, npu__args *a) {
    return chosen(in, v, a, false, false);
}
static npu__value *f_selectattr(npu__interp *in, npu__value *v, npu__args *a) {
    return chosen(in, v, a, true, true);
}
static npu__value *f_rejectattr(npu__interp *in, npu__value *v, npu__args *a) {
    return chosen(in, v, a, true, false);
}

static npu__value *f_join(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *between = npu__arg(in, args, 0, "d"), *attribute = npu__arg(in, args, 1, "attribute");
    npu__list *items = npu__iterate(in, v);
    size_t from = in->out.n;
    for (size_t i = 0; items && i < items->n; i++) {
        npu__value *x = attribute ? npu__path(in, items->items[i], attribute) : items->items[i];
        if (!x || !npu__step(in, 1) || (i && between && !npu__write_text(in, between)) || !npu__write_text(in, x))
            return NULL;
    }
    return items ? npu__captured(in, from) : NULL;
}

npu__value *npu__list_of(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    npu__list *items = npu__iterate(in, v);
    npu__value *list = items ? npu__new_list(&in->arena, NPU__LIST) : NULL;
    for (size_t i = 0; list && i < items->n; i++)
        if (!npu__add(in, list, items->items[i])) return NULL;
    return items ? npu__made(in, list) : NULL;
}

static npu__value *f_items(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    if (v->type == NPU__UNDEFINED) return npu__lazy_list(in);
    if (v->type != NPU__DICT) return npu__fail(in, "items needs a dict, not %s", npu__type_name(v));
    v = npu__dict_list(in, v->u.dict, NPU__ITEMS);
    if (v) v->u.list->kind = NPU__LAZY;
    return v;
}

static npu__value *f_sum(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *attribute = npu__arg(in, args, 0, "attribute"), *total = npu__arg(in, args, 1, "start");
    npu__list *items = npu__iterate(in, v);
    if (!total) total = npu__made(in, npu__new_int(&in->arena, 0));
    for (size_t i = 0; items && total && i < items->n; i++) {
        npu__value *x = attribute ? npu__path(in, items->items[i], attribute) : items->items[i];
        total = x ? npu__binary(in, '+', total, x) : NULL;
    }
    return items ? total : NULL;
}

/* |count| fillers of |list|. */
static bool filled(npu__interp *in, npu__value *list, npu__value *filler, int64_t count) {
    for (; filler && filler->type != NPU__NONE && count > 0; count--)
        if (!npu__add(in, list, filler)) return false;
    return true;
}

static npu__value *f_batch(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *size = npu__arg(in, args, 0, "linecount"), *filler = npu__arg(in, args, 1, "fill_with");
    npu__value *rows = npu__lazy_list(in), *row = NULL;
    npu__list *items = rows ? npu__iterate(in, v) : NULL;
    if (!size || size->type != NPU__INT) return npu__fail(in, "batch needs a number");
    for (size_t i = 0; items && i < items->n; i++) {
        if (!row || (int64_t)row->u.list->n == size->u.integer) {
            row = npu__new_list(&in->arena, NPU__LIST);
            if (!row || !npu__add(in, rows, row)) return npu__fail_memory(in);
        }
        if (!npu__add(in, row, items->items[i])) return NULL;
    }
    if (!items) return NULL;
    return !row || filled(in, row, filler, size->u.integer - (int64_t)row->u.list->n) ? rows : NULL;
}

static npu__value *f_slice(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *count = npu__arg(in, args, 0, "slices"), *filler = npu__arg(in, args, 1, "fill_with");
    npu__value *rows = npu__lazy_list(in);
    npu__list *items = rows ? npu__iterate(in, v) : NULL;
    if (!count || count->type != NPU__INT || count->u.integer < 1) return npu__fail(in, "slice needs a number");
    if (!items) return NULL;
    int64_t n = (int64_t)items->n, each = n / count->u.integer, longer = n % count->u.integer;
    size_t at = 0;
    for (int64_t i = 0; i < count->u.integer; i++) {
        npu__value *row = npu__new_list(&in->arena, NPU__LIST);
        if (!row || !npu__add(in, rows, row)) return npu__fail_memory(in);
        for (int64_t k = 0; k < each + (i < longer); k++)
            if (!npu__add(in, row, items->items[at++])) return NULL;
        if (i >= longer && !filled(in, row, filler, 1)) return NULL;
    }
    return rows;
}

static npu__value *end_of(npu__interp *in, npu__value *v, bool last) {
    npu__list *items = npu__iterate(in, v);
    if (!items) return NULL;
    if (!items->n) return npu__made(in, npu__new_undefined(&in->arena, "an item of an empty list"));
    return items->items[last ? items->n - 1 : 0];
}
static npu__value *f_first(npu__interp *in, npu__value *v, npu__args *args) {
    return (void)args, end_of(in, v, false);
}
static npu__value *f_last(npu__interp *in, npu__value *v, npu__args *args) {
    return (void)args, end_of(in, v, true);
}

static npu__value *f_reverse(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    npu__value step = {.type = NPU__INT, .u.integer = -1}, *parts[3] = {NULL, NULL, &step};
    if (v->type == NPU__DICT) v = npu__list_of(in, v, args);
    npu__value *r = v ? npu__slice(in, v, parts) : NULL;
    if (r && npu__is_list(r)) r->u.list->kind = NPU__LAZY;
    return r;
}

const npu__filter_row npu__list_filters[] = {
    {"map", f_map},
    {"select", f_select},
    {"reject", f_reject},
    {"selectattr", f_selectattr},
    {"rejectattr", f_rejectattr},
    {"join", f_join},
    {"list", npu__list_of},
    {"items", f_items},
    {"batch", f_batch},
    {"slice", f_slice},
    {"sum", f_sum},
    {"first", f_first},
    {"last", f_last},
    {"reverse", f_reverse},
    {NULL, NULL},
};
