/* What values are as conditions, keys and numbers, and how they compare: as in Python. */
#include <string.h>

#include "chat/value.h"

bool npu__is_list(const npu__value *v) {
    return v->type == NPU__LIST || v->type == NPU__TUPLE;
}
bool npu__is_lazy(const npu__value *v) {
    return v->type == NPU__LIST && v->u.list->kind == NPU__LAZY;
}
bool npu__is_number(const npu__value *v) {
    return v->type == NPU__BOOL || v->type == NPU__INT || v->type == NPU__FLOAT;
}

/* What can't change: tuples of such values too, but not deeper, so that keys compare quickly. */
bool npu__is_key(const npu__value *v) {
    if (v->type != NPU__TUPLE) return v->type != NPU__LIST && v->type != NPU__DICT;
    for (size_t i = 0; i < v->u.list->n; i++)
        if (npu__is_list(v->u.list->items[i]) || v->u.list->items[i]->type == NPU__DICT) return false;
    return true;
}

double npu__as_double(const npu__value *v) {
    return v->type == NPU__FLOAT ? v->u.number : v->type == NPU__BOOL ? (double)v->u.boolean : (double)v->u.integer;
}

bool npu__truth(const npu__value *v) {
    switch (v->type) {
    case NPU__UNDEFINED:
    case NPU__NONE:
        return false;
    case NPU__BOOL:
        return v->u.boolean;
    case NPU__INT:
        return v->u.integer != 0;
    case NPU__FLOAT:
        return v->u.number != 0;
    case NPU__STRING:
        return v->u.string.n != 0;
    case NPU__LIST:
    case NPU__TUPLE:
        return npu__is_lazy(v) || v->u.list->n != 0;
    case NPU__DICT:
        return v->u.dict->n != 0;
    default:
        return true;
    }
}

enum { DEPTH_MAX = 1000 }; /* deeper values are never equal: templates can nest without end */

static bool equal(npu__arena *arena, const npu__value *a, const npu__value *b, unsigned depth);

static bool lists_equal(npu__arena *arena, const npu__list *a, const npu__list *b, unsigned depth) {
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++)
        if (!equal(arena, a->items[i], b->items[i], depth)) return false;
    return true;
}

static bool dicts_equal(npu__arena *arena, const npu__dict *a, const npu__dict *b, unsigned depth) {
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++) {
        const npu__value *other = npu__dict_get(arena, b, a->keys[i]);
        if (!other || !equal(arena, a->values[i], other, depth)) return false;
    }
    return true;
}

/* Python compares whole numbers with floats exactly, not as rounded to a float. */
static int whole_against(int64_t i, double d) {
    if (!(d >= -9223372036854775808.0)) return 1;
    if (d >= 9223372036854775808.0) return -1;
    int64_t t = (int64_t)d;
    return i != t ? (i > t) - (i < t) : ((double)t > d) - ((double)t < d);
}

/* -1, 0, 1; 2 when one is not a number. */
static int numbers(const npu__value *a, const npu__value *b) {
    int64_t x = a->type == NPU__BOOL ? a->u.boolean : a->u.integer;
    int64_t y = b->type == NPU__BOOL ? b->u.boolean : b->u.integer;
    if ((a->type == NPU__FLOAT && a->u.number != a->u.number) || (b->type == NPU__FLOAT && b->u.number != b->u.number))
        return 2;
    if (a->type == NPU__FLOAT && b->type == NPU__FLOAT)
        return (a->u.number > b->u.number) - (a->u.number < b->u.number);
    if (b->type == NPU__FLOAT) return whole_against(x, b->u.number);
    if (a->type == NPU__FLOAT) return -whole_against(y, a->u.number);
    return (x > y) - (x < y);
}

static bool equal(npu__arena *arena, const npu__value *a, const npu__value *b, unsigned depth) {
    if (a == b) return true;
    arena->work += 1 + (a->type == NPU__STRING ? a->u.string.n / 64 : 0);
    if (depth > DEPTH_MAX || arena->work > NPU__WORK_MAX) return false;
    if (npu__is_number(a) && npu__is_number(b)) return numbers(a, b) == 0;
    if (a->type != b->type) return false;
    switch (a->type) {
    case NPU__UNDEFINED:
    case NPU__NONE:
        return true;
    case NPU__STRING:
        return a->u.string.n == b->u.string.n &&
               (!a->u.string.n || !memcmp(a->u.string.s, b->u.string.s, a->u.string.n));
    case NPU__LIST:
    case NPU__TUPLE:
        return lists_equal(arena, a->u.list, b->u.list, depth + 1);
    case NPU__DICT:
        return dicts_equal(arena, a->u.dict, b->u.dict, depth + 1);
    default:
        return false;
    }
}

bool npu__equal(npu__arena *arena, const npu__value *a, const npu__value *b) {
    return equal(arena, a, b, 0);
}

static bool compare(npu__arena *arena, const npu__value *a, const npu__value *b, int *order, unsigned depth) {
    if (depth > DEPTH_MAX) return false;
    if (npu__is_number(a) && npu__is_number(b)) {
        *order = numbers(a, b);
        return true;
    }
    if (a->type != b->type) return false;
    if (a->type == NPU__STRING) { /* UTF-8 sorts as its code points do */
        size_t n = a->u.string.n < b->u.string.n ? a->u.string.n : b->u.string.n;
        arena->work += n / 64;
        int c = n ? memcmp(a->u.string.s, b->u.string.s, n) : 0;
        *order = c ? (c > 0) - (c < 0) : (a->u.string.n > b->u.string.n) - (a->u.string.n < b->u.string.n);
        return true;
    }
    if (!npu__is_list(a)) return false;
    const npu__list *x = a->u.list, *y = b->u.list;
    for (size_t i = 0; i < x->n && i < y->n; i++)
        if (!equal(arena, x->items[i], y->items[i], depth))
            return compare(arena, x->items[i], y->items[i], order, depth + 1);
    *order = (x->n > y->n) - (x->n < y->n);
    return true;
}

bool npu__compare(npu__arena *arena, const npu__value *a, const npu__value *b, int *order) {
    return compare(arena, a, b, order, 0);
}
