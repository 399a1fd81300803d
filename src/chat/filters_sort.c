/* Filters that order or compare items: sort, unique, groupby, min and their like. */
#include <string.h>

#include "chat/filters_list.h"

/* What an item is sorted or grouped by; text without its case unless |sensitive|. */
static npu__value *sort_key(npu__interp *in, npu__value *v, const npu__value *attribute, bool sensitive) {
    if (attribute && attribute->type != NPU__NONE) v = npu__path(in, v, attribute);
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
    npu__value *attribute = npu__arg(in, args, 2, "attribute"), *list = npu__list_of(in, v, args);
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
    npu__value *attribute = npu__arg(in, args, 1, "attribute"), *list = npu__lazy_list(in), *seen = npu__lazy_list(in);
    npu__list *items = list && seen ? npu__iterate(in, v) : NULL;
    for (size_t i = 0; items && i < items->n; i++) {
        npu__value *key = sort_key(in, items->items[i], attribute, npu__flag(in, args, 0, "case_sensitive", false));
        bool found = false;
        if (!key || !npu__step(in, seen->u.list->n)) return NULL;
        for (size_t k = 0; k < seen->u.list->n && !found; k++)
            found = npu__equal(&in->arena, seen->u.list->items[k], key);
        if (!found && (!npu__add(in, seen, key) || !npu__add(in, list, items->items[i]))) return NULL;
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

/* Groups of neighbours after sorting, as pairs of grouper and list; the grouper as the first of them writes it. */
static npu__value *f_groupby(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *attribute = npu__arg(in, args, 0, "attribute"), *missing = npu__arg(in, args, 1, "default");
    bool sensitive = npu__flag(in, args, 2, "case_sensitive", false);
    npu__value *list = npu__list_of(in, v, args), *groups = npu__new_list(&in->arena, NPU__LIST), *last = NULL;
    if (!list || !groups) return NULL;
    if (!attribute) return npu__fail(in, "groupby needs an attribute");
    size_t n = list->u.list->n;
    npu__value **keys = npu__arena_alloc(&in->arena, (n + 1) * sizeof *keys);
    if (!keys) return npu__fail_memory(in);
    for (size_t i = 0; i < n; i++) {
        npu__value *x = npu__path(in, list->u.list->items[i], attribute);
        if (x && x->type == NPU__UNDEFINED && missing) x = missing;
        if (!x || !(keys[i] = sort_key(in, x, NULL, sensitive))) return NULL;
    }
    if (!npu__sort_pairs(in, keys, list->u.list->items, n, false)) return NULL;
    for (size_t i = 0; i < n; i++) {
        if (!i || !npu__equal(&in->arena, keys[i - 1], keys[i])) {
            npu__value *pair = npu__new_list(&in->arena, NPU__TUPLE);
            npu__value *x = npu__path(in, list->u.list->items[i], attribute);
            if (x && x->type == NPU__UNDEFINED && missing) x = missing;
            last = npu__new_list(&in->arena, NPU__LIST);
            if (!pair || !x || !npu__add(in, pair, x) || !last || !npu__add(in, pair, last) ||
                !npu__add(in, groups, pair))
                return NULL;
            pair->u.list->kind = NPU__GROUP;
        }
        if (!npu__add(in, last, list->u.list->items[i])) return NULL;
    }
    return groups;
}

const npu__filter_row npu__sort_filters[] = {
    {"sort", f_sort}, {"dictsort", f_dictsort}, {"unique", f_unique}, {"groupby", f_groupby},
    {"min", f_min},   {"max", f_max},           {NULL, NULL},
};
