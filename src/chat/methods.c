/* Methods of lists, dicts and loops, and the search for those of all values. Those that would change a value are known
 * and refused, as the sandbox does.
 */
#include "chat/methods.h"

static npu__value *d_get(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *key = npu__arg(in, args, 0, "key"), *missing = npu__arg(in, args, 1, "default");
    if (!key) return npu__fail(in, "get needs a key");
    if (!npu__step(in, 1 + self->u.dict->n / 16)) return NULL;
    npu__value *v = npu__dict_get(&in->arena, self->u.dict, key);
    return v ? v : missing ? missing : npu__made(in, npu__new(&in->arena, NPU__NONE));
}

npu__value *npu__dict_list(npu__interp *in, const npu__dict *dict, npu__list_kind kind) {
    npu__value *list = npu__new_list(&in->arena, NPU__LIST);
    if (!npu__step(in, dict->n)) return NULL;
    for (size_t i = 0; i < dict->n; i++) {
        npu__value *x = kind == NPU__KEYS     ? dict->keys[i]
                        : kind == NPU__VALUES ? dict->values[i]
                                              : npu__new_list(&in->arena, NPU__TUPLE);
        bool made = list && x;
        if (made && kind == NPU__ITEMS)
            made = npu__list_add(&in->arena, x->u.list, dict->keys[i]) &&
                   npu__list_add(&in->arena, x->u.list, dict->values[i]);
        if (!made || !npu__list_add(&in->arena, list->u.list, x)) return npu__fail_memory(in);
    }
    if (list) list->u.list->kind = kind;
    return npu__made(in, list);
}

static npu__value *d_items(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return npu__dict_list(in, self->u.dict, NPU__ITEMS);
}
static npu__value *d_keys(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return npu__dict_list(in, self->u.dict, NPU__KEYS);
}
static npu__value *d_values(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return npu__dict_list(in, self->u.dict, NPU__VALUES);
}

static npu__value *d_copy(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    npu__value *d = npu__new_dict(&in->arena, NPU__DICT);
    for (size_t i = 0; i < self->u.dict->n; i++)
        if (!npu__step(in, 1 + i / 16) || !d ||
            !npu__dict_set(&in->arena, d->u.dict, self->u.dict->keys[i], self->u.dict->values[i]))
            return npu__fail_memory(in);
    return npu__made(in, d);
}

static npu__value *l_copy(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *copy = npu__new_list(&in->arena, NPU__LIST);
    (void)args;
    for (size_t i = 0; i < self->u.list->n; i++)
        if (!npu__step(in, 1) || !copy || !npu__list_add(&in->arena, copy->u.list, self->u.list->items[i]))
            return npu__fail_memory(in);
    return npu__made(in, copy);
}

static npu__value *l_index(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *x = npu__arg(in, args, 0, NULL);
    for (size_t i = 0; x && i < self->u.list->n; i++)
        if (npu__equal(&in->arena, self->u.list->items[i], x))
            return npu__made(in, npu__new_int(&in->arena, (int64_t)i));
    return npu__fail(in, "the value is not in the list");
}

static npu__value *l_count(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *x = npu__arg(in, args, 0, NULL);
    int64_t n = 0;
    for (size_t i = 0; x && i < self->u.list->n; i++) n += npu__equal(&in->arena, self->u.list->items[i], x);
    return npu__made(in, npu__new_int(&in->arena, n));
}

static npu__value *loop_cycle(npu__interp *in, npu__value *self, npu__args *args) {
    if (!args->list.n) return npu__fail(in, "cycle needs values");
    return args->list.items[self->u.loop->index % args->list.n];
}

static npu__value *loop_changed(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *now = npu__new_list(&in->arena, NPU__TUPLE);
    if (!now) return npu__fail_memory(in);
    *now->u.list = args->list;
    bool same = self->u.loop->last_changed && npu__equal(&in->arena, self->u.loop->last_changed, now);
    self->u.loop->last_changed = now;
    return npu__bool(in, !same);
}

/* The next of a cycler or joiner. */
npu__value *npu__turn(npu__interp *in, npu__turns *turns) {
    if (turns->items) {
        npu__value *v = turns->items->items[turns->index];
        turns->index = (turns->index + 1) % turns->items->n;
        return v;
    }
    return turns->index++ ? turns->text : npu__made(in, npu__new_string(&in->arena, "", 0));
}

static npu__value *turns_next(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return npu__turn(in, self->u.turns);
}

static npu__value *turns_reset(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    self->u.turns->index = 0;
    return npu__made(in, npu__new(&in->arena, NPU__NONE));
}

/* fn NULL: exists, but changes the value. */
static const struct {
    npu__type type;
    const char *name;
    npu__filter_fn *fn;
} methods[] = {
    {NPU__DICT, "get", d_get},
    {NPU__DICT, "items", d_items},
    {NPU__DICT, "keys", d_keys},
    {NPU__DICT, "values", d_values},
    {NPU__DICT, "copy", d_copy},
    {NPU__DICT, "pop", NULL},
    {NPU__DICT, "popitem", NULL},
    {NPU__DICT, "update", NULL},
    {NPU__DICT, "setdefault", NULL},
    {NPU__DICT, "clear", NULL},
    {NPU__LIST, "copy", l_copy},
    {NPU__LIST, "index", l_index},
    {NPU__LIST, "count", l_count},
    {NPU__TUPLE, "index", l_index},
    {NPU__TUPLE, "count", l_count},
    {NPU__LIST, "append", NULL},
    {NPU__LIST, "extend", NULL},
    {NPU__LIST, "insert", NULL},
    {NPU__LIST, "pop", NULL},
    {NPU__LIST, "remove", NULL},
    {NPU__LIST, "reverse", NULL},
    {NPU__LIST, "sort", NULL},
    {NPU__LIST, "clear", NULL},
    {NPU__LOOP, "cycle", loop_cycle},
    {NPU__LOOP, "changed", loop_changed},
    {NPU__TURNS, "next", turns_next},
    {NPU__TURNS, "reset", turns_reset},
};

/* *is tells whether the value has the method; NULL is one that would change it. */
static npu__filter_fn *find(const npu__value *v, const char *name, bool *is) {
    *is = true;
    const npu__filter_row *const tables[] = {npu__text_methods, npu__search_methods, npu__class_methods};
    for (size_t i = 0; v->type == NPU__STRING && i < 3; i++)
        for (const npu__filter_row *row = tables[i]; row->name; row++)
            if (!strcmp(row->name, name)) return row->fn;
    bool plain = v->type != NPU__LIST || v->u.list->kind == NPU__PLAIN;
    for (size_t i = 0; plain && i < sizeof methods / sizeof methods[0]; i++)
        if (methods[i].type == v->type && !strcmp(methods[i].name, name)) return methods[i].fn;
    *is = false;
    return NULL;
}

bool npu__has_method(const npu__value *v, const char *name) {
    bool is;
    return find(v, name, &is) || is;
}

npu__value *npu__method(npu__interp *in, npu__value *self, const char *name, npu__args *args) {
    bool is;
    npu__filter_fn *fn = find(self, name, &is);
    if (!is) return npu__fail(in, "%s has no method '%s'", npu__type_name(self), name);
    if (!fn) return npu__fail(in, "'%s' would change a %s, which templates may not", name, npu__type_name(self));
    return npu__step(in, self->type == NPU__STRING ? self->u.string.n / 64 : 0) ? fn(in, self, args) : NULL;
}

npu__list *npu__iterate(npu__interp *in, npu__value *v) {
    if (npu__is_list(v)) return v->u.list;
    if (v->type == NPU__DICT) {
        npu__value *keys = npu__dict_list(in, v->u.dict, NPU__KEYS);
        return keys ? keys->u.list : NULL;
    }
    npu__value *list = npu__new_list(&in->arena, NPU__LIST);
    if (!list) return npu__fail_memory(in);
    if (v->type == NPU__UNDEFINED) return list->u.list;
    if (v->type != NPU__STRING) return npu__fail(in, "%s can't be iterated over", npu__type_name(v));
    for (size_t at = 0, len; at < v->u.string.n; at += len) {
        len = npu__char_offset(v->u.string.s + at, v->u.string.n - at, 1);
        npu__value *part = npu__step(in, 1) ? npu__part(in, v, at, len) : NULL;
        if (!part || !npu__list_add(&in->arena, list->u.list, part)) return npu__fail_memory(in);
    }
    return list->u.list;
}
