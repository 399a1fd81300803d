/* Filters: "value | name(arguments)". */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chat/interp.h"

typedef npu__value *filter_fn(npu__interp *in, npu__value *v, npu__args *args);

static npu__value *new_int(npu__interp *in, int64_t i) {
    return npu__made(in, npu__new_int(&in->arena, i));
}

static bool flag(const npu__args *args, size_t i, const char *name, bool missing) {
    const npu__value *v = npu__arg(args, i, name);
    return v ? npu__truth(v) : missing;
}

/* What map, select and their like run over: nothing for any value that is false, None too. */
static npu__list *sequence(npu__interp *in, npu__value *v) {
    if (npu__truth(v)) return npu__iterate(in, v);
    npu__list *empty = npu__arena_alloc(&in->arena, sizeof *empty);
    return empty ? empty : npu__fail_memory(in);
}

static npu__value *lazy_list(npu__interp *in) {
    npu__value *list = npu__new_list(&in->arena, NPU__LIST);
    if (!list) return npu__fail_memory(in);
    list->u.list->lazy = true;
    return list;
}

static bool add(npu__interp *in, npu__value *list, npu__value *v) {
    return npu__step(in, 1) && (npu__list_add(&in->arena, list->u.list, v) || npu__fail_memory(in) != NULL);
}

static npu__value *f_length(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    if (v->type == NPU__STRING) return new_int(in, (int64_t)npu__chars(v->u.string.s, v->u.string.n));
    if (npu__is_list(v) && !v->u.list->lazy) return new_int(in, (int64_t)v->u.list->n);
    if (v->type == NPU__DICT) return new_int(in, (int64_t)v->u.dict->n);
    if (v->type == NPU__UNDEFINED) return new_int(in, 0);
    return npu__fail(in, "%s has no length", v->type == NPU__LIST ? "generator" : npu__type_name(v));
}

static npu__value *f_default(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *other = npu__arg(args, 0, "default_value");
    bool missing = v->type == NPU__UNDEFINED || (flag(args, 1, "boolean", false) && !npu__truth(v));
    if (!missing) return v;
    return other ? other : npu__made(in, npu__new_string(&in->arena, "", 0));
}

static npu__value *f_string(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    return npu__to_text(in, v);
}

static npu__value *f_safe(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    npu__value *text = npu__to_text(in, v);
    npu__value *safe = text ? npu__part(in, text, 0, text->u.string.n) : NULL;
    if (safe) safe->u.string.markup = true;
    return safe;
}

static npu__value *f_trim(npu__interp *in, npu__value *v, npu__args *args) {
    v = npu__to_text(in, v);
    return v ? npu__strip(in, v, npu__arg(args, 0, "chars"), true, true) : NULL;
}

static npu__value *cased(npu__interp *in, npu__value *v, char how) {
    v = npu__to_text(in, v);
    return v ? npu__change_case(in, v, how) : NULL;
}
static npu__value *f_lower(npu__interp *in, npu__value *v, npu__args *args) {
    return (void)args, cased(in, v, 'l');
}
static npu__value *f_upper(npu__interp *in, npu__value *v, npu__args *args) {
    return (void)args, cased(in, v, 'u');
}
static npu__value *f_title(npu__interp *in, npu__value *v, npu__args *args) {
    return (void)args, cased(in, v, 'w');
}
static npu__value *f_capitalize(npu__interp *in, npu__value *v, npu__args *args) {
    return (void)args, cased(in, v, 'c');
}

static npu__value *f_replace(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *from = npu__arg(args, 0, "old"), *to = npu__arg(args, 1, "new"), *count = npu__arg(args, 2, "count");
    if (!from || !to) return npu__fail(in, "replace needs two strings");
    v = npu__to_text(in, v);
    from = v ? npu__to_text(in, from) : NULL;
    to = from ? npu__to_text(in, to) : NULL;
    return to ? npu__replace(in, v, from, to, count && count->type == NPU__INT ? count->u.integer : -1) : NULL;
}

/* The attribute "a", "a.b" or "0" of each filter that takes one. */
static npu__value *path(npu__interp *in, npu__value *v, const npu__value *attribute) {
    if (attribute->type == NPU__INT) {
        npu__value index = *attribute;
        return npu__item(in, v, &index);
    }
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
    npu__value *attribute = npu__dict_find(&args->named, "attribute", 9), *list = lazy_list(in);
    npu__value *missing = npu__dict_find(&args->named, "default", 7), *name = npu__arg(args, 0, NULL);
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
    if (by_attribute && (!(attribute = npu__arg(args, 0, NULL)) || attribute->type != NPU__STRING))
        return npu__fail(in, "an attribute's name is needed");
    npu__value *test = npu__arg(args, at, NULL);
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
    npu__value *between = npu__arg(args, 0, "d"), *attribute = npu__arg(args, 1, "attribute");
    npu__list *items = npu__iterate(in, v);
    size_t from = in->out.n;
    for (size_t i = 0; items && i < items->n; i++) {
        npu__value *x = attribute ? path(in, items->items[i], attribute) : items->items[i];
        if (!x || !npu__step(in, 1) || (i && between && !npu__write_text(in, between)) || !npu__write_text(in, x))
            return NULL;
    }
    return items ? npu__captured(in, from) : NULL;
}

static npu__value *f_list(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    npu__list *items = npu__iterate(in, v);
    npu__value *list = items ? npu__new_list(&in->arena, NPU__LIST) : NULL;
    for (size_t i = 0; list && i < items->n; i++)
        if (!add(in, list, items->items[i])) return NULL;
    return items ? npu__made(in, list) : NULL;
}

static npu__value *f_items(npu__interp *in, npu__value *v, npu__args *args) {
    if (v->type == NPU__UNDEFINED) return lazy_list(in);
    if (v->type != NPU__DICT) return npu__fail(in, "items needs a dict, not %s", npu__type_name(v));
    v = npu__method(in, v, "items", args);
    if (v) v->u.list->lazy = true;
    return v;
}

/* What an item is sorted by; text without its case unless |sensitive|. */
static npu__value *sort_key(npu__interp *in, npu__value *v, const npu__value *attribute, bool sensitive) {
    if (attribute) v = path(in, v, attribute);
    return v && v->type == NPU__STRING && !sensitive ? npu__change_case(in, v, 'l') : v;
}

/* A stable merge sort: keys and values move together. False after a failure. */
static bool sort_pairs(npu__interp *in, npu__value **keys, npu__value **values, size_t n, bool reverse) {
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
                if (both && !npu__compare(keys[a], keys[b], &order))
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
    npu__value *attribute = npu__arg(args, 2, "attribute"), *list = f_list(in, v, args);
    if (!list) return NULL;
    size_t n = list->u.list->n;
    npu__value **keys = npu__arena_alloc(&in->arena, (n + 1) * sizeof *keys);
    if (!keys) return npu__fail_memory(in);
    for (size_t i = 0; i < n; i++)
        if (!(keys[i] = sort_key(in, list->u.list->items[i], attribute, flag(args, 1, "case_sensitive", false))))
            return NULL;
    return sort_pairs(in, keys, list->u.list->items, n, flag(args, 0, "reverse", false)) ? list : NULL;
}

static npu__value *f_dictsort(npu__interp *in, npu__value *v, npu__args *args) {
    npu__args none = {0};
    npu__value *by = npu__arg(args, 1, "by"), *list;
    if (v->type != NPU__DICT) return npu__fail(in, "dictsort needs a dict, not %s", npu__type_name(v));
    if (!(list = npu__method(in, v, "items", &none))) return NULL;
    size_t n = list->u.list->n, what = by && by->type == NPU__STRING && by->u.string.n == 5;
    npu__value **keys = npu__arena_alloc(&in->arena, (n + 1) * sizeof *keys);
    if (!keys) return npu__fail_memory(in);
    for (size_t i = 0; i < n; i++) {
        npu__value *x = list->u.list->items[i]->u.list->items[what];
        if (!(keys[i] = sort_key(in, x, NULL, flag(args, 0, "case_sensitive", false)))) return NULL;
    }
    return sort_pairs(in, keys, list->u.list->items, n, flag(args, 2, "reverse", false)) ? list : NULL;
}

static npu__value *f_unique(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *attribute = npu__arg(args, 1, "attribute"), *list = lazy_list(in), *seen = lazy_list(in);
    npu__list *items = list && seen ? npu__iterate(in, v) : NULL;
    for (size_t i = 0; items && i < items->n; i++) {
        npu__value *key = sort_key(in, items->items[i], attribute, flag(args, 0, "case_sensitive", false));
        bool found = false;
        if (!key || !npu__step(in, seen->u.list->n)) return NULL;
        for (size_t k = 0; k < seen->u.list->n && !found; k++) found = npu__equal(seen->u.list->items[k], key);
        if (!found && (!add(in, seen, key) || !add(in, list, items->items[i]))) return NULL;
    }
    return items ? list : NULL;
}

static npu__value *extreme(npu__interp *in, npu__value *v, npu__args *args, int sign) {
    npu__value *attribute = npu__arg(args, 1, "attribute"), *best = NULL, *best_key = NULL;
    npu__list *items = npu__iterate(in, v);
    for (size_t i = 0; items && i < items->n; i++) {
        npu__value *key = sort_key(in, items->items[i], attribute, flag(args, 0, "case_sensitive", false));
        int order = 0;
        if (!key) return NULL;
        if (best && !npu__compare(key, best_key, &order)) return npu__fail(in, "the values can't be ordered");
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
    npu__value *attribute = npu__arg(args, 0, "attribute"), *total = npu__arg(args, 1, "start");
    npu__list *items = npu__iterate(in, v);
    if (!total) total = new_int(in, 0);
    for (size_t i = 0; items && total && i < items->n; i++) {
        npu__value *x = attribute ? path(in, items->items[i], attribute) : items->items[i];
        total = x ? npu__binary(in, '+', total, x) : NULL;
    }
    return items ? total : NULL;
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
    if (v->type == NPU__DICT) v = f_list(in, v, args);
    npu__value *r = v ? npu__slice(in, v, parts) : NULL;
    if (r && npu__is_list(r)) r->u.list->lazy = true;
    return r;
}

static npu__value *f_int(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *missing = npu__arg(args, 0, "default");
    double d = 0;
    bool good = npu__is_number(v);
    if (v->type == NPU__INT) return v;
    if (good) d = npu__as_double(v);
    if (v->type == NPU__STRING) {
        npu__value *s = npu__strip(in, v, NULL, true, true);
        char text[32], *end = text;
        if (!s) return NULL;
        if (s->u.string.n && s->u.string.n < sizeof text) {
            memcpy(text, s->u.string.s, s->u.string.n);
            text[s->u.string.n] = 0;
            if (strspn(text, "+-0123456789") == s->u.string.n && s->u.string.n < 19) {
                int64_t i = strtoll(text, &end, 10);
                if (end != text && !*end) return new_int(in, i);
            }
            if (!strpbrk(text, "xXnNiI")) d = strtod(text, &end);
        }
        good = end != text && !*end;
    }
    if (good && d > -9e18 && d < 9e18) return new_int(in, (int64_t)d);
    return missing ? missing : new_int(in, 0);
}

static npu__value *f_float(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *missing = npu__arg(args, 0, "default");
    if (npu__is_number(v)) return npu__made(in, npu__new_float(&in->arena, npu__as_double(v)));
    char text[64], *end = text;
    double d = 0;
    if (v->type == NPU__STRING && v->u.string.n && v->u.string.n < sizeof text) {
        memcpy(text, v->u.string.s, v->u.string.n);
        text[v->u.string.n] = 0;
        if (!strpbrk(text, "xX")) d = strtod(text, &end);
    }
    if (end != text && !*end) return npu__made(in, npu__new_float(&in->arena, d));
    return missing ? missing : npu__made(in, npu__new_float(&in->arena, 0));
}

static npu__value *f_abs(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    if (v->type == NPU__FLOAT) return npu__made(in, npu__new_float(&in->arena, fabs(v->u.number)));
    if (v->type != NPU__INT || v->u.integer == INT64_MIN) return npu__fail(in, "abs needs a number");
    return new_int(in, v->u.integer < 0 ? -v->u.integer : v->u.integer);
}

static npu__value *f_round(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *digits = npu__arg(args, 0, "precision"), *how = npu__arg(args, 1, "method");
    char kind = how && how->type == NPU__STRING && how->u.string.n ? how->u.string.s[0] : 'c';
    if (!npu__is_number(v)) return npu__fail(in, "round needs a number");
    double x = npu__as_double(v), scale = pow(10, digits && digits->type == NPU__INT ? (double)digits->u.integer : 0);
    x = (kind == 'f'                                  ? floor(x * scale)
         : kind == 'c' && how && how->u.string.n == 4 ? ceil(x * scale)
                                                      : rint(x * scale)) /
        scale;
    return npu__made(in, npu__new_float(&in->arena, x));
}

static npu__value *f_indent(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *width = npu__arg(args, 0, "width"), *lines, *text = npu__to_text(in, v);
    bool first = flag(args, 1, "first", false), blank = flag(args, 2, "blank", false);
    size_t from = in->out.n;
    npu__args none = {0};
    if (!text) return NULL;
    if (width && width->type != NPU__STRING && width->type != NPU__INT) return npu__fail(in, "indent needs a width");
    int64_t spaces = width && width->type == NPU__INT ? width->u.integer : 4;
    /* As in the original, a line feed at the end is added, so the text's own one is kept as an empty line. */
    if (!npu__write_text(in, text) || !npu__write(in, "\n", 1)) return NULL;
    text = npu__captured(in, from);
    lines = text ? npu__method(in, text, "splitlines", &none) : NULL;
    for (size_t i = 0; lines && i < lines->u.list->n; i++) {
        npu__value *line = lines->u.list->items[i];
        bool indented = i ? blank || line->u.string.n : first;
        if (i && !npu__write(in, "\n", 1)) return NULL;
        if (indented && width && width->type == NPU__STRING && !npu__write_text(in, width)) return NULL;
        for (int64_t k = 0; indented && !(width && width->type == NPU__STRING) && k < spaces; k++)
            if (!npu__write(in, " ", 1)) return NULL;
        if (!npu__write_text(in, line)) return NULL;
    }
    return lines ? npu__captured(in, from) : NULL;
}

static npu__value *f_tojson(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *indent = npu__arg(args, 1, "indent"), *separators = npu__arg(args, 2, "separators");
    npu__json_style style = {.ascii = flag(args, 0, "ensure_ascii", false),
                             .sorted = flag(args, 3, "sort_keys", false),
                             .indent = -1,
                             .item_separator = {.type = NPU__STRING, .u.string = {.s = ", ", .n = 2}},
                             .key_separator = {.type = NPU__STRING, .u.string = {.s = ": ", .n = 2}}};
    if (indent && (indent->type == NPU__INT || indent->type == NPU__BOOL)) {
        style.indent = indent->type == NPU__INT ? (indent->u.integer < 0 ? 0 : indent->u.integer) : indent->u.boolean;
        style.item_separator.u.string.n = 1;
    }
    if (separators && npu__is_list(separators) && separators->u.list->n == 2) {
        npu__value *const *s = separators->u.list->items;
        if (s[0]->type != NPU__STRING || s[1]->type != NPU__STRING) return npu__fail(in, "separators are two strings");
        style.item_separator = *s[0];
        style.key_separator = *s[1];
    }
    size_t from = in->out.n;
    return npu__write_json(in, v, &style, 0) ? npu__captured(in, from) : NULL;
}

static npu__value *f_escape(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    return npu__escaped(in, v);
}

static npu__value *f_format(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value tuple = {.type = NPU__TUPLE, .u.list = &args->list}, *text = npu__to_text(in, v);
    size_t from = in->out.n;
    return text && npu__percent(in, text, &tuple) ? npu__captured(in, from) : NULL;
}

static npu__value *f_attr(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *name = npu__arg(args, 0, "name"), *copy;
    if (!name || name->type != NPU__STRING) return npu__fail(in, "attr needs a name");
    if (!(copy = npu__copy_string(&in->arena, name->u.string.s, name->u.string.n))) return npu__fail_memory(in);
    if (v->type == NPU__DICT && !npu__has_method(v, copy->u.string.s))
        return npu__made(in, npu__new_undefined(&in->arena, copy->u.string.s));
    return npu__attribute(in, v, copy->u.string.s, copy->u.string.n);
}

static const struct {
    const char *name;
    filter_fn *fn;
} filters[] = {
    {"length", f_length},
    {"count", f_length},
    {"default", f_default},
    {"d", f_default},
    {"string", f_string},
    {"safe", f_safe},
    {"trim", f_trim},
    {"lower", f_lower},
    {"upper", f_upper},
    {"title", f_title},
    {"capitalize", f_capitalize},
    {"replace", f_replace},
    {"map", f_map},
    {"select", f_select},
    {"reject", f_reject},
    {"selectattr", f_selectattr},
    {"rejectattr", f_rejectattr},
    {"join", f_join},
    {"list", f_list},
    {"items", f_items},
    {"sort", f_sort},
    {"dictsort", f_dictsort},
    {"unique", f_unique},
    {"min", f_min},
    {"max", f_max},
    {"sum", f_sum},
    {"first", f_first},
    {"last", f_last},
    {"reverse", f_reverse},
    {"int", f_int},
    {"float", f_float},
    {"abs", f_abs},
    {"round", f_round},
    {"indent", f_indent},
    {"tojson", f_tojson},
    {"escape", f_escape},
    {"e", f_escape},
    {"format", f_format},
    {"attr", f_attr},
};

npu__value *npu__filter(npu__interp *in, const char *name, npu__value *v, npu__args *args) {
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        if (strcmp(filters[i].name, name) != 0) continue;
        if (++in->depth > 1000) return npu__fail_limit(in, "calls are nested too deeply");
        v = filters[i].fn(in, v, args);
        in->depth--;
        return v;
    }
    return npu__fail(in, "there is no filter '%s'", name);
}
