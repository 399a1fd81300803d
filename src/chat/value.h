/* Values of the template language, all in one arena that is dropped after rendering. Strings are UTF-8; their lengths
 * and indices are counted in characters where the language does so.
 */
#ifndef NPU_CHAT_VALUE_H
#define NPU_CHAT_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct npu__block npu__block;
typedef struct npu__arena {
    npu__block *blocks;
    size_t used, limit;
    uint64_t work; /* values compared: bounded too, for a few lists that hold each other compare like millions */
} npu__arena;

enum { NPU__WORK_MAX = 200000000 };

/* NULL: out of memory or above the limit. Zeroed, aligned for any value. */
void *npu__arena_alloc(npu__arena *a, size_t bytes);
void npu__arena_free(npu__arena *a);

typedef enum npu__type {
    NPU__UNDEFINED,
    NPU__NONE,
    NPU__BOOL,
    NPU__INT,
    NPU__FLOAT,
    NPU__STRING,
    NPU__LIST,
    NPU__TUPLE,
    NPU__DICT,
    NPU__NAMESPACE,
    NPU__LOOP,
    NPU__MACRO,
    NPU__METHOD,
    NPU__FUNCTION,
    NPU__TURNS,
} npu__type;

typedef struct npu__value npu__value;

/* What a list stands for. A generator is always true and has no length; the others only look different. */
typedef enum npu__list_kind {
    NPU__PLAIN,
    NPU__LAZY,
    NPU__RANGE,
    NPU__KEYS,
    NPU__VALUES,
    NPU__ITEMS,
    NPU__GROUP, /* a pair with the attributes grouper and list */
} npu__list_kind;

typedef struct npu__list {
    npu__value **items;
    size_t n, capacity;
    npu__list_kind kind;
} npu__list;

/* In order of insertion. */
typedef struct npu__dict {
    npu__value **keys, **values;
    size_t n, capacity;
} npu__dict;

typedef struct npu__loop {
    npu__list *items;
    size_t index, depth;         /* depth: loops of the same tag around this one, by recursion */
    const struct npu__node *tag; /* of a recursive loop, else NULL */
    struct npu__scope *scope;    /* around a recursive loop */
    npu__value *last_changed;
} npu__loop;

/* cycler(…) and joiner(…): what they give, one after the other. */
typedef struct npu__turns {
    npu__list *items; /* NULL: a joiner, which gives "" first */
    npu__value *text;
    size_t index;
} npu__turns;

struct npu__node;
struct npu__scope;

struct npu__value {
    npu__type type;
    union {
        bool boolean;
        int64_t integer;
        double number;
        struct {
            const char *s;
            size_t n;
            const char *mark; /* NULL, or n bytes: not 0 where text from the variables stands, not the template's own */
            bool markup;      /* came from "safe": adding other text to it escapes that */
        } string;
        struct {
            const char *name; /* of an undefined value: what was looked for; of a method or function: its name */
            npu__value *self; /* of a method */
            bool unsafe;      /* of an undefined value: forbidden rather than missing */
        } ref;
        npu__list *list; /* also of a tuple */
        npu__dict *dict; /* also of a namespace */
        npu__loop *loop;
        npu__turns *turns;
        struct {
            const struct npu__node *node;
            struct npu__scope *scope;
        } macro;
    } u;
};

npu__value *npu__new(npu__arena *a, npu__type type);
npu__value *npu__new_bool(npu__arena *a, bool b);
npu__value *npu__new_int(npu__arena *a, int64_t i);
npu__value *npu__new_float(npu__arena *a, double f);
/* Keeps the pointer; |s| must live as long as the arena. */
npu__value *npu__new_string(npu__arena *a, const char *s, size_t n);
npu__value *npu__copy_string(npu__arena *a, const char *s, size_t n);
npu__value *npu__new_list(npu__arena *a, npu__type list_or_tuple);
npu__value *npu__new_dict(npu__arena *a, npu__type dict_or_namespace);
npu__value *npu__new_undefined(npu__arena *a, const char *name);

bool npu__list_add(npu__arena *a, npu__list *list, npu__value *v); /* false: no memory */
bool npu__dict_set(npu__arena *a, npu__dict *dict, npu__value *key, npu__value *v);
bool npu__dict_append(npu__arena *a, npu__dict *dict, npu__value *key, npu__value *v);  /* a key that is new */
npu__value *npu__dict_get(npu__arena *a, const npu__dict *dict, const npu__value *key); /* NULL: not there */
npu__value *npu__dict_find(npu__arena *a, const npu__dict *dict, const char *key, size_t n);

bool npu__is_list(const npu__value *v);   /* list or tuple */
bool npu__is_number(const npu__value *v); /* bool, int, float */
double npu__as_double(const npu__value *v);
bool npu__truth(const npu__value *v);
bool npu__is_lazy(const npu__value *v); /* a generator */
bool npu__is_key(const npu__value *v);  /* may be a dict's key */
bool npu__equal(npu__arena *arena, const npu__value *a, const npu__value *b);

/* Orders numbers, strings and lists: -1, 0, 1 in *order; false if the types can't be ordered. */
bool npu__compare(npu__arena *arena, const npu__value *a, const npu__value *b, int *order);

const char *npu__type_name(const npu__value *v); /* as Python calls it */

/* Characters in a string, and the byte where character |index| begins (its length in bytes when past the end). */
size_t npu__chars(const char *s, size_t n);
size_t npu__char_offset(const char *s, size_t n, size_t index);

#endif
