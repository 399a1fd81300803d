#include "chat/value.h"

#include <stdlib.h>
#include <string.h>

struct npu__block {
    npu__block *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

enum { BLOCK_BYTES = 1 << 16 };

void *npu__arena_alloc(npu__arena *a, size_t bytes) {
    if (bytes > a->limit - a->used) return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    if (!a->blocks || a->blocks->size - a->blocks->used < bytes) {
        size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        npu__block *b = calloc(1, sizeof *b + size);
        if (!b) return NULL;
        b->size = size;
        b->next = a->blocks;
        a->blocks = b;
    }
    void *p = a->blocks->bytes + a->blocks->used;
    a->blocks->used += bytes;
    a->used += bytes < a->limit - a->used ? bytes : a->limit - a->used;
    return p;
}

void npu__arena_free(npu__arena *a) {
    for (npu__block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    a->blocks = NULL;
    a->used = 0;
}

npu__value *npu__new(npu__arena *a, npu__type type) {
    npu__value *v = npu__arena_alloc(a, sizeof *v);
    if (v) v->type = type;
    return v;
}

npu__value *npu__new_bool(npu__arena *a, bool b) {
    npu__value *v = npu__new(a, NPU__BOOL);
    if (v) v->u.boolean = b;
    return v;
}

npu__value *npu__new_int(npu__arena *a, int64_t i) {
    npu__value *v = npu__new(a, NPU__INT);
    if (v) v->u.integer = i;
    return v;
}

npu__value *npu__new_float(npu__arena *a, double f) {
    npu__value *v = npu__new(a, NPU__FLOAT);
    if (v) v->u.number = f;
    return v;
}

npu__value *npu__new_string(npu__arena *a, const char *s, size_t n) {
    npu__value *v = npu__new(a, NPU__STRING);
    if (!v) return NULL;
    v->u.string.s = s;
    v->u.string.n = n;
    return v;
}

npu__value *npu__copy_string(npu__arena *a, const char *s, size_t n) {
    char *copy = npu__arena_alloc(a, n + 1);
    if (!copy) return NULL;
    if (n) memcpy(copy, s, n);
    return npu__new_string(a, copy, n);
}

npu__value *npu__new_list(npu__arena *a, npu__type type) {
    npu__value *v = npu__new(a, type);
    if (!v) return NULL;
    v->u.list = npu__arena_alloc(a, sizeof *v->u.list);
    return v->u.list ? v : NULL;
}

npu__value *npu__new_dict(npu__arena *a, npu__type type) {
    npu__value *v = npu__new(a, type);
    if (!v) return NULL;
    v->u.dict = npu__arena_alloc(a, sizeof *v->u.dict);
    return v->u.dict ? v : NULL;
}

npu__value *npu__new_undefined(npu__arena *a, const char *name) {
    npu__value *v = npu__new(a, NPU__UNDEFINED);
    if (v) v->u.ref.name = name;
    return v;
}

static void *grown(npu__arena *a, const void *old, size_t n, size_t capacity) {
    void *p = npu__arena_alloc(a, capacity * sizeof(void *));
    if (p && n) memcpy(p, old, n * sizeof(void *));
    return p;
}

bool npu__list_add(npu__arena *a, npu__list *list, npu__value *v) {
    if (!v) return false;
    if (list->n == list->capacity) {
        size_t capacity = list->capacity * 2 + 4;
        npu__value **items = grown(a, list->items, list->n, capacity);
        if (!items) return false;
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->n++] = v;
    return true;
}

static size_t place_of(npu__arena *a, const npu__dict *dict, const npu__value *key) {
    size_t i = 0;
    while (i < dict->n && !npu__equal(a, dict->keys[i], key)) i++;
    return i;
}

static bool set_at(npu__arena *a, npu__dict *dict, size_t i, npu__value *key, npu__value *v) {
    if (i == dict->capacity) {
        size_t capacity = dict->capacity * 2 + 4;
        npu__value **keys = grown(a, dict->keys, dict->n, capacity);
        npu__value **values = grown(a, dict->values, dict->n, capacity);
        if (!keys || !values) return false;
        dict->keys = keys;
        dict->values = values;
        dict->capacity = capacity;
    }
    if (i == dict->n) dict->keys[dict->n++] = key;
    dict->values[i] = v;
    return true;
}

bool npu__dict_set(npu__arena *a, npu__dict *dict, npu__value *key, npu__value *v) {
    return key && v && set_at(a, dict, place_of(a, dict, key), key, v);
}

bool npu__dict_append(npu__arena *a, npu__dict *dict, npu__value *key, npu__value *v) {
    return key && v && set_at(a, dict, dict->n, key, v);
}

npu__value *npu__dict_get(npu__arena *a, const npu__dict *dict, const npu__value *key) {
    size_t i = place_of(a, dict, key);
    return i < dict->n ? dict->values[i] : NULL;
}

npu__value *npu__dict_find(npu__arena *a, const npu__dict *dict, const char *key, size_t n) {
    npu__value k = {.type = NPU__STRING, .u.string = {.s = key, .n = n}};
    return npu__dict_get(a, dict, &k);
}

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

const char *npu__type_name(const npu__value *v) {
    static const char *const names[] = {"undefined", "NoneType", "bool",   "int",      "float",
                                        "str",       "list",     "tuple",  "dict",     "Namespace",
                                        "loop",      "macro",    "method", "function", "Cycler"};
    return names[v->type];
}

size_t npu__chars(const char *s, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += ((uint8_t)s[i] & 0xC0) != 0x80;
    return count;
}

size_t npu__char_offset(const char *s, size_t n, size_t index) {
    size_t i = 0;
    while (i < n && index) {
        i++;
        while (i < n && ((uint8_t)s[i] & 0xC0) == 0x80) i++;
        index--;
    }
    return i;
}
