/* Making values: the memory that they live in until a rendering ends, lists and dicts. */
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
