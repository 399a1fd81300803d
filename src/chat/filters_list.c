/* Filters of lists and dicts. */
#include <stdlib.h>
#include <string.h>

#include "chat/interp.h"

/* What map, select and their like run over: nothing for any value that is false, None too. */
static npu__list *sequence(npu__interp *in, npu__value *v) {
    if (npu__truth(v)) return npu__iterate(in, v);
    npu__list *empty = npu__arena_alloc(&in->arena, sizeof *empty);
    return empty ? empty : npu__fail_memory(in);
}

static npu__value *lazy_list(npu__interp *in) {
    npu__value *list = npu__new_list(&in->arena, NPU__LIST);
    if (!list) return npu__fail_memory(in);
    list->u.list->kind = NPU__LAZY;
    return list;
}

static bool add(npu__interp *in, npu__value *list, npu__value *v) {
    return npu__step(in, 1) && (npu__list_add(&in->arena, list->u.list, v) || npu__fail_memory(in) != NULL);
}

/* The attribute "a", "a.b" or "0" of each filter that takes one. */
static npu__value *path(npu__interp *in, npu__value *v, const npu__value *attribute) {
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
    npu__value *attribute = npu__dict_find(&in->arena, &args->named, "attribute", 9), *list = lazy_list(in);
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
        npu__value *x = attribute ? path(in, items->items[i], attribute)
                                  : npu__filter(in, name->u.string.s, items->items[i], &rest);
        if (x && attribute && missing && x->type == NPU__UNDEFINED) x = missing;
        if (!x || !add(in, list, x)) return NULL;
    }
    return list;
}

/* select, reject, selectattr and rejectattr. */
static npu__value *chosen(npu__interp *in, npu__value *v, npu__args *args, bool by_attribute, bool wanted) {
    npu__value *list = lazy_list(in), *attribute = NULL;
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
        npu__value *x = attribute ? path(in, items->items[i], attribute) : items->items[i];
        int is = !x ? -1 : test ? npu__test(in, test->u.string.s, x, &rest) : npu__truth(x);
        if (is < 0 || (is == wanted && !add(in, list, items->items[i]))) return NULL;
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
        npu__value *x = attribute ? path(in, items->items[i], attribute) : items->items[i];
        if (!x || !npu__step(in, 1) || (i && between && !npu__write_text(in, between)) || !npu__write_text(in, x))
            return NULL;
    }
    return items ? npu__captured(in, from) : NULL;
}

static npu__value *list_of(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    npu__list *items = npu__iterate(in, v);
    npu__value *list = items ? npu__new_list(&in->arena, NPU__LIST) : NULL;
    for (size_t i = 0; list && i < items->n; i++)
        if (!add(in, list, items->items[i])) return NULL;
    return items ? npu__made(in, list) : NULL;
}

static npu__value *f_items(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    if (v->type == NPU__UNDEFINED) return lazy_list(in);
    if (v->type != NPU__DICT) return npu__fail(in, "items needs a dict, not %s", npu__type_name(v));
    v = npu__dict_list(in, v->u.dict, NPU__ITEMS);
    if (v) v->u.list->kind = NPU__LAZY;
    return v;
}

/* What an item is sorted or grouped by; text without its case unless |sensitive|. */
static npu__value *sort_key(npu__interp *in, npu__value *v, const npu__value *attribute, bool sensitive) {
    if (attribute && attribute->type != NPU__NONE) v = path(in, v, attribute);
    return v && v->type == NPU__STRING && !sensitive ? npu__change_case(in, v, 'l') : v;
}

/* The same for a list of attributes, "a,b": a list of keys. */
static npu__value *sort_keys(npu__interp *in, npu__value *v, npu__value *attributes, bool sensitive) {
    if (!attributes || attributes->type != NPU__STRING || !memchr(attributes->u.string.s, ',', attributes->u.string.n))
        return sort_key(in, v, attributes, sensitive);
    npu__value *keys = npu__new_list(&in->arena, NPU__LIST);
    const char *s = attributes->u.string.s, *end = s + attributes->u.string.n;
    while (keys && s <= end) {
        const char *comma = memchr(s, ',', (size_t)(end - s));
        npu__value *one =
            npu__part(in, attributes, (size_t)(s - attributes->u.string.s), (size_t)((comma ? comma : end) - s));
        npu__value *key = one ? sort_key(in, v, one, sensitive) : NULL;
        if (!key || !npu__list_add(&in->arena, keys->u.list, key)) return NULL;
        s = comma ? comma + 1 : end + 1;
    }
    return npu__made(in, keys);
}

/* A stable merge sort: keys and values move together. False after a failure. */
bool npu__sort_pairs(npu__interp *in, npu__value **keys, npu__value **values, size_t n, bool reverse) {
    npu__value **k = npu__arena_alloc(&in->arena, (n + 1) * sizeof *k),
               **v = npu__arena_alloc(&in->arena, (n + 1) * sizeof *v);
    if (!k || !v) return npu__fail_memory(in) != NULL;
    for (size_t width = 1; width < n; width *= 2) {
        if (!npu__step(in, n)) return false;
        for (size_t low = 0; low < n; low += 2 * width) {
            size_t middle = low + width < n ? low + width : n, high = low + 2 * width < n ? low + 2 * width : n;
            for (size_t a = low, b = middle, to = low; to < high; to++) {
                int order = 0;
                bool both = a < middle && b < high;
                if (both && !npu__compare(&in->arena, keys[a], keys[b], &order))
                    return npu__fail(in, "%s and %s can't be sorted", npu__type_name(keys[a]),
                                     npu__type_name(keys[b])) != NULL;
                size_t from = both ? ((reverse ? order >= 0 : order <= 0) ? a++ : b++) : a < middle ? a++ : b++;
                k[to] = keys[from];
                v[to] = values[from];
            }
        }
        memcpy(keys, k, n * sizeof *k);
        memcpy(values, v, n * sizeof *v);
    }
    return true;
}

static npu__value *f_sort(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *attribute = npu__arg(in, args, 2, "attribute"), *list = list_of(in, v, args);
    if (!list) return NULL;
    size_t n = list->u.list->n;
    npu__value **keys = npu__arena_alloc(&in->arena, (n + 1) * sizeof *keys);
    if (!keys) return npu__fail_memory(in);
    for (size_t i = 0; i < n; i++)
        if (!(keys[i] =
                  sort_keys(in, list->u.list->items[i], attribute, npu__flag(in, args, 1, "case_sensitive", false))))
            return NULL;
    return npu__sort_pairs(in, keys, list->u.list->items, n, npu__flag(in, args, 0, "reverse", false)) ? list : NULL;
}

static npu__value *f_dictsort(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *by = npu__arg(in, args, 1, "by"), *list;
    if (v->type != NPU__DICT) return npu__fail(in, "dictsort needs a dict, not %s", npu__type_name(v));
    if (!(list = npu__dict_list(in, v->u.dict, NPU__ITEMS))) return NULL;
    list->u.list->kind = NPU__PLAIN;
    size_t n = list->u.list->n, what = by && by->type == NPU__STRING && by->u.string.n == 5;
    npu__value **keys = npu__arena_alloc(&in->arena, (n + 1) * sizeof *keys);
    if (!keys) return npu__fail_memory(in);
    for (size_t i = 0; i < n; i++) {
        npu__value *x = list->u.list->items[i]->u.list->items[what];
        if (!(keys[i] = sort_key(in, x, NULL, npu__flag(in, args, 0, "case_sensitive", false)))) return NULL;
    }
    return npu__sort_pairs(in, keys, list->u.list->items, n, npu__flag(in, args, 2, "reverse", false)) ? list : NULL;
}

static npu__value *f_unique(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *attribute = npu__arg(in, args, 1, "attribute"), *list = lazy_list(in), *seen = lazy_list(in);
    npu__list *items = list && seen ? npu__iterate(in, v) : NULL;
    for (size_t i = 0; items && i < items->n; i++) {
        npu__value *key = sort_key(in, items->items[i], attribute, npu__flag(in, args, 0, "case_sensitive", false));
        bool found = false;
        if (!key || !npu__step(in, seen->u.list->n)) return NULL;
        for (size_t k = 0; k < seen->u.list->n && !found; k++)
            found = npu__equal(&in->arena, seen->u.list->items[k], key);
        if (!found && (!add(in, seen, key) || !add(in, list, items->items[i]))) return NULL;
    }
    return items ? list : NULL;
}

static npu__value *extreme(npu__interp *in, npu__value *v, npu__args *args, int sign) {
    npu__value *attribute = npu__arg(in, args, 1, "attribute"), *best = NULL, *best_key = NULL;
    npu__list *items = npu__iterate(in, v);
    for (size_t i = 0; items && i < items->n; i++) {
        npu__value *key = sort_key(in, items->items[i], attribute, npu__flag(in, args, 0, "case_sensitive", false));
        int order = 0;
        if (!key) return NULL;
        if (best && !npu__compare(&in->arena, key, best_key, &order))
            return npu__fail(in, "the values can't be ordered");
        if (best && order * sign <= 0) continue;
        best = items->items[i];
        best_key = key;
    }
    return !items ? NULL : best ? best : npu__made(in, npu__new_undefined(&in->arena, "the extreme of an empty list"));
}
static npu__value *f_min(npu__interp *in, npu__value *v, npu__args *args) {
    return extreme(in, v, args, -1);
}
static npu__value *f_max(npu__interp *in, npu__value *v, npu__args *args) {
    return extreme(in, v, args, 1);
}

static npu__value *f_sum(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *attribute = npu__arg(in, args, 0, "attribute"), *total = npu__arg(in, args, 1, "start");
    npu__list *items = npu__iterate(in, v);
    if (!total) total = npu__made(in, npu__new_int(&in->arena, 0));
    for (size_t i = 0; items && total && i < items->n; i++) {
        npu__value *x = attribute ? path(in, items->items[i], attribute) : items->items[i];
        total = x ? npu__binary(in, '+', total, x) : NULL;
    }
    return items ? total : NULL;
}

/* Groups of neighbours after sorting, as pairs of grouper and list; the grouper as the first of them writes it. */
static npu__value *f_groupby(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *attribute = npu__arg(in, args, 0, "attribute"), *missing = npu__arg(in, args, 1, "default");
    bool sensitive = npu__flag(in, args, 2, "case_sensitive", false);
    npu__value *list = list_of(in, v, args), *groups = npu__new_list(&in->arena, NPU__LIST), *last = NULL;
    if (!list || !groups) return NULL;
    if (!attribute) return npu__fail(in, "groupby needs an attribute");
    size_t n = list->u.list->n;
    npu__value **keys = npu__arena_alloc(&in->arena, (n + 1) * sizeof *keys);
    if (!keys) return npu__fail_memory(in);
    for (size_t i = 0; i < n; i++) {
        npu__value *x = path(in, list->u.list->items[i], attribute);
        if (x && x->type == NPU__UNDEFINED && missing) x = missing;
        if (!x || !(keys[i] = sort_key(in, x, NULL, sensitive))) return NULL;
    }
    if (!npu__sort_pairs(in, keys, list->u.list->items, n, false)) return NULL;
    for (size_t i = 0; i < n; i++) {
        if (!i || !npu__equal(&in->arena, keys[i - 1], keys[i])) {
            npu__value *pair = npu__new_list(&in->arena, NPU__TUPLE);
            npu__value *x = path(in, list->u.list->items[i], attribute);
            if (x && x->type == NPU__UNDEFINED && missing) x = missing;
            last = npu__new_list(&in->arena, NPU__LIST);
            if (!pair || !x || !add(in, pair, x) || !last || !add(in, pair, last) || !add(in, groups, pair))
                return NULL;
            pair->u.list->kind = NPU__GROUP;
        }
        if (!add(in, last, list->u.list->items[i])) return NULL;
    }
    return groups;
}

/* |count| fillers of |list|. */
static bool filled(npu__interp *in, npu__value *list, npu__value *filler, int64_t count) {
    for (; filler && filler->type != NPU__NONE && count > 0; count--)
        if (!add(in, list, filler)) return false;
    return true;
}

static npu__value *f_batch(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *size = npu__arg(in, args, 0, "linecount"), *filler = npu__arg(in, args, 1, "fill_with");
    npu__value *rows = lazy_list(in), *row = NULL;
    npu__list *items = rows ? npu__iterate(in, v) : NULL;
    if (!size || size->type != NPU__INT) return npu__fail(in, "batch needs a number");
    for (size_t i = 0; items && i < items->n; i++) {
        if (!row || (int64_t)row->u.list->n == size->u.integer) {
            row = npu__new_list(&in->arena, NPU__LIST);
            if (!row || !add(in, rows, row)) return npu__fail_memory(in);
        }
        if (!add(in, row, items->items[i])) return NULL;
    }
    if (!items) return NULL;
    return !row || filled(in, row, filler, size->u.integer - (int64_t)row->u.list->n) ? rows : NULL;
}

static npu__value *f_slice(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *count = npu__arg(in, args, 0, "slices"), *filler = npu__arg(in, args, 1, "fill_with");
    npu__value *rows = lazy_list(in);
    npu__list *items = rows ? npu__iterate(in, v) : NULL;
    if (!count || count->type != NPU__INT || count->u.integer < 1) return npu__fail(in, "slice needs a number");
    if (!items) return NULL;
    int64_t n = (int64_t)items->n, each = n / count->u.integer, longer = n % count->u.integer;
    size_t at = 0;
    for (int64_t i = 0; i < count->u.integer; i++) {
        npu__value *row = npu__new_list(&in->arena, NPU__LIST);
        if (!row || !add(in, rows, row)) return npu__fail_memory(in);
        for (int64_t k = 0; k < each + (i < longer); k++)
            if (!add(in, row, items->items[at++])) return NULL;
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
    if (v->type == NPU__DICT) v = list_of(in, v, args);
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
    {"list", list_of},
    {"items", f_items},
    {"sort", f_sort},
    {"dictsort", f_dictsort},
    {"unique", f_unique},
    {"groupby", f_groupby},
    {"batch", f_batch},
    {"slice", f_slice},
    {"min", f_min},
    {"max", f_max},
    {"sum", f_sum},
    {"first", f_first},
    {"last", f_last},
    {"reverse", f_reverse},
    {NULL, NULL},
};
