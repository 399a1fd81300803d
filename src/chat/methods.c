/* Methods of strings, lists, dicts and loops. Those that would change a value are known and refused, as the sandbox
 * does. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "chat/interp.h"
#include "tokenizer/unicode.h"

typedef npu__value *method_fn(npu__interp *in, npu__value *self, npu__args *args);

static bool is_string(const npu__value *v) {
    return v && v->type == NPU__STRING;
}

static npu__value *need_string(npu__interp *in, const npu__args *args, size_t i) {
    npu__value *v = npu__arg(args, i, NULL);
    return is_string(v) ? v : npu__fail(in, "a string is needed as argument %zu", i + 1);
}

static int64_t int_arg(const npu__args *args, size_t i, const char *name, int64_t missing) {
    const npu__value *v = npu__arg(args, i, name);
    return v && v->type == NPU__INT ? v->u.integer : missing;
}

static npu__value *new_bool(npu__interp *in, bool b) {
    return npu__made(in, npu__new_bool(&in->arena, b));
}

/* Adds the |n| bytes at |s|, which points into the string |of|. */
static bool add_part(npu__interp *in, npu__value *list, const npu__value *of, const char *s, size_t n) {
    npu__value *part = npu__step(in, 1) ? npu__part(in, of, (size_t)(s - of->u.string.s), n) : NULL;
    return part && (npu__list_add(&in->arena, list->u.list, part) || npu__fail_memory(in) != NULL);
}

static npu__value *split_space(npu__interp *in, npu__value *self, npu__value *list, int64_t most) {
    const char *s = self->u.string.s;
    size_t n = self->u.string.n, at = 0;
    for (;;) {
        uint32_t cp;
        size_t len;
        while (at < n && (len = npu_utf8_decode(s + at, n - at, &cp), npu__is_space(cp))) at += len;
        if (at == n) return list;
        size_t begin = at;
        if (most-- == 0) {
            npu__value *rest = npu__part(in, self, begin, n - begin);
            npu__value *r = rest ? npu__strip(in, rest, NULL, false, true) : NULL;
            return r && add_part(in, list, self, r->u.string.s, r->u.string.n) ? list : NULL;
        }
        while (at < n && (len = npu_utf8_decode(s + at, n - at, &cp), !npu__is_space(cp))) at += len;
        if (!add_part(in, list, self, s + begin, at - begin)) return NULL;
    }
}

static npu__value *s_split(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *sep = npu__arg(args, 0, "sep"), *list = npu__new_list(&in->arena, NPU__LIST);
    int64_t most = int_arg(args, 1, "maxsplit", -1);
    if (!list) return npu__fail_memory(in);
    if (!sep || sep->type == NPU__NONE) return split_space(in, self, list, most);
    if (sep->type != NPU__STRING || !sep->u.string.n) return npu__fail(in, "split needs a separator that is not empty");
    const char *s = self->u.string.s, *end = s + self->u.string.n, *hit;
    while (most-- != 0 && (hit = memmem(s, (size_t)(end - s), sep->u.string.s, sep->u.string.n)) != NULL) {
        if (!add_part(in, list, self, s, (size_t)(hit - s))) return NULL;
        s = hit + sep->u.string.n;
    }
    return add_part(in, list, self, s, (size_t)(end - s)) ? list : NULL;
}

static const char *last_of(const char *s, size_t n, const npu__value *part) {
    size_t len = part->u.string.n;
    for (size_t at = n + 1; at-- > 0;)
        if (n - at >= len && memcmp(s + at, part->u.string.s, len) == 0) return s + at;
    return NULL;
}

static npu__value *s_rsplit(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *sep = npu__arg(args, 0, "sep"), *list = npu__new_list(&in->arena, NPU__LIST);
    int64_t most = int_arg(args, 1, "maxsplit", -1);
    if (most < 0) return s_split(in, self, args);
    if (!is_string(sep) || !sep->u.string.n) return npu__fail(in, "rsplit needs a separator that is not empty");
    size_t n = self->u.string.n;
    const char *s = self->u.string.s, *hit;
    while (list && most-- > 0 && (hit = last_of(s, n, sep)) != NULL) {
        size_t after = (size_t)(hit - s) + sep->u.string.n;
        if (!add_part(in, list, self, s + after, n - after)) return NULL;
        n = (size_t)(hit - s);
    }
    if (!list || !add_part(in, list, self, s, n)) return npu__fail_memory(in);
    for (size_t i = 0, k = list->u.list->n; i + 1 < k; i++) {
        npu__value *x = list->u.list->items[i];
        list->u.list->items[i] = list->u.list->items[--k];
        list->u.list->items[k] = x;
    }
    return list;
}

static npu__value *s_splitlines(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *list = npu__new_list(&in->arena, NPU__LIST), *keep = npu__arg(args, 0, "keepends");
    const char *s = self->u.string.s;
    size_t n = self->u.string.n, begin = 0;
    if (!list) return npu__fail_memory(in);
    for (size_t at = 0; at < n;) {
        uint32_t cp;
        size_t len = npu_utf8_decode(s + at, n - at, &cp), end = at;
        at += len;
        if (!(cp >= '\n' && cp <= '\r') && !(cp >= 0x1C && cp <= 0x1E) && cp != 0x85 && cp != 0x2028 && cp != 0x2029)
            continue;
        if (cp == '\r' && at < n && s[at] == '\n') at++;
        if (!add_part(in, list, self, s + begin, (keep && npu__truth(keep) ? at : end) - begin)) return NULL;
        begin = at;
    }
    return begin == n || add_part(in, list, self, s + begin, n - begin) ? list : NULL;
}

static npu__value *s_strip(npu__interp *in, npu__value *self, npu__args *args) {
    return npu__strip(in, self, npu__arg(args, 0, NULL), true, true);
}
static npu__value *s_lstrip(npu__interp *in, npu__value *self, npu__args *args) {
    return npu__strip(in, self, npu__arg(args, 0, NULL), true, false);
}
static npu__value *s_rstrip(npu__interp *in, npu__value *self, npu__args *args) {
    return npu__strip(in, self, npu__arg(args, 0, NULL), false, true);
}

static bool begins(const npu__value *s, const npu__value *part, bool at_end) {
    size_t n = s->u.string.n, len = part->u.string.n;
    return len <= n && (!len || memcmp(s->u.string.s + (at_end ? n - len : 0), part->u.string.s, len) == 0);
}

/* The argument is a string or a tuple of strings. */
static npu__value *begins_any(npu__interp *in, npu__value *self, npu__args *args, bool at_end) {
    npu__value *v = npu__arg(args, 0, NULL);
    if (is_string(v)) return new_bool(in, begins(self, v, at_end));
    if (!v || v->type != NPU__TUPLE) return npu__fail(in, "a string or a tuple of strings is needed");
    for (size_t i = 0; i < v->u.list->n; i++)
        if (is_string(v->u.list->items[i]) && begins(self, v->u.list->items[i], at_end)) return new_bool(in, true);
    return new_bool(in, false);
}

static npu__value *s_startswith(npu__interp *in, npu__value *self, npu__args *args) {
    return begins_any(in, self, args, false);
}
static npu__value *s_endswith(npu__interp *in, npu__value *self, npu__args *args) {
    return begins_any(in, self, args, true);
}

static npu__value *removed(npu__interp *in, npu__value *self, npu__args *args, bool at_end) {
    npu__value *part = need_string(in, args, 0);
    if (!part || !begins(self, part, at_end)) return part ? self : NULL;
    size_t len = part->u.string.n;
    return npu__part(in, self, at_end ? 0 : len, self->u.string.n - len);
}

static npu__value *s_removeprefix(npu__interp *in, npu__value *self, npu__args *args) {
    return removed(in, self, args, false);
}
static npu__value *s_removesuffix(npu__interp *in, npu__value *self, npu__args *args) {
    return removed(in, self, args, true);
}

static npu__value *s_replace(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *from = need_string(in, args, 0), *to = from ? need_string(in, args, 1) : NULL;
    return to ? npu__replace(in, self, from, to, int_arg(args, 2, "count", -1)) : NULL;
}

static npu__value *s_upper(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return npu__change_case(in, self, 'u');
}
static npu__value *s_lower(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return npu__change_case(in, self, 'l');
}
static npu__value *s_title(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return npu__change_case(in, self, 't');
}
static npu__value *s_capitalize(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return npu__change_case(in, self, 'c');
}

static npu__value *found_at(npu__interp *in, const npu__value *self, const char *hit) {
    int64_t at = hit ? (int64_t)npu__chars(self->u.string.s, (size_t)(hit - self->u.string.s)) : -1;
    return npu__made(in, npu__new_int(&in->arena, at));
}

static npu__value *s_find(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *part = need_string(in, args, 0);
    if (!part || !npu__step(in, 1 + self->u.string.n / 64)) return NULL;
    return found_at(in, self, memmem(self->u.string.s, self->u.string.n, part->u.string.s, part->u.string.n));
}

static npu__value *s_rfind(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *part = need_string(in, args, 0);
    if (!part || !npu__step(in, 1 + self->u.string.n / 64)) return NULL;
    return found_at(in, self, last_of(self->u.string.s, self->u.string.n, part));
}

static npu__value *s_index(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *v = s_find(in, self, args);
    return v && v->u.integer < 0 ? npu__fail(in, "the part is not in the string") : v;
}

static npu__value *s_count(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *part = need_string(in, args, 0);
    int64_t count = 0;
    if (!part) return NULL;
    if (!part->u.string.n) return npu__fail(in, "an empty string can't be counted");
    const char *s = self->u.string.s, *end = s + self->u.string.n;
    for (; (s = memmem(s, (size_t)(end - s), part->u.string.s, part->u.string.n)) != NULL; s += part->u.string.n)
        count++;
    return npu__made(in, npu__new_int(&in->arena, count));
}

static npu__value *s_join(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *v = npu__arg(args, 0, NULL);
    npu__list *items = v ? npu__iterate(in, v) : npu__fail(in, "join needs a list");
    size_t from = in->out.n;
    for (size_t i = 0; items && i < items->n; i++) {
        if (!is_string(items->items[i]))
            return npu__fail(in, "join needs strings, not %s", npu__type_name(items->items[i]));
        if ((i && !npu__write_text(in, self)) || !npu__write_text(in, items->items[i])) return NULL;
    }
    return items ? npu__captured(in, from) : NULL;
}

static npu__value *s_format(npu__interp *in, npu__value *self, npu__args *args) {
    size_t from = in->out.n;
    return npu__format(in, self, args) ? npu__captured(in, from) : NULL;
}

/* Whether the string is not empty and all its characters are of the classes. */
static npu__value *all_of(npu__interp *in, const npu__value *self, unsigned classes) {
    size_t n = self->u.string.n;
    for (size_t at = 0; at < n;) {
        uint32_t cp;
        at += npu_utf8_decode(self->u.string.s + at, n - at, &cp);
        if (!(npu__unicode_class_of(cp) & classes)) return new_bool(in, false);
    }
    return new_bool(in, n != 0);
}

static npu__value *s_isdigit(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return all_of(in, self, NPU__UC_NUMBER);
}
static npu__value *s_isalpha(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return all_of(in, self, NPU__UC_LETTER);
}
static npu__value *s_isalnum(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return all_of(in, self, NPU__UC_LETTER | NPU__UC_NUMBER);
}
static npu__value *s_isspace(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return all_of(in, self, NPU__UC_SPACE);
}

static npu__value *changed_case(npu__interp *in, npu__value *self, char how) {
    npu__value *other = npu__change_case(in, self, how),
               *back = other ? npu__change_case(in, self, how == 'u' ? 'l' : 'u') : NULL;
    return back ? new_bool(in, npu__equal(self, other) && !npu__equal(self, back)) : NULL;
}
static npu__value *s_isupper(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return changed_case(in, self, 'u');
}
static npu__value *s_islower(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return changed_case(in, self, 'l');
}

static npu__value *d_get(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *key = npu__arg(args, 0, "key"), *missing = npu__arg(args, 1, "default");
    if (!key) return npu__fail(in, "get needs a key");
    if (!npu__step(in, 1 + self->u.dict->n / 16)) return NULL;
    npu__value *v = npu__dict_get(self->u.dict, key);
    return v ? v : missing ? missing : npu__made(in, npu__new(&in->arena, NPU__NONE));
}

/* Keys (k), values (v) or pairs (p) as a list. */
static npu__value *dict_list(npu__interp *in, const npu__dict *dict, char what) {
    npu__value *list = npu__new_list(&in->arena, NPU__LIST);
    if (!npu__step(in, dict->n)) return NULL;
    for (size_t i = 0; i < dict->n; i++) {
        npu__value *x = what == 'k'   ? dict->keys[i]
                        : what == 'v' ? dict->values[i]
                                      : npu__new_list(&in->arena, NPU__TUPLE);
        bool made = list && x;
        if (made && what == 'p')
            made = npu__list_add(&in->arena, x->u.list, dict->keys[i]) &&
                   npu__list_add(&in->arena, x->u.list, dict->values[i]);
        if (!made || !npu__list_add(&in->arena, list->u.list, x)) return npu__fail_memory(in);
    }
    return npu__made(in, list);
}

static npu__value *d_items(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return dict_list(in, self->u.dict, 'p');
}
static npu__value *d_keys(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return dict_list(in, self->u.dict, 'k');
}
static npu__value *d_values(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return dict_list(in, self->u.dict, 'v');
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

static npu__value *l_index(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *x = npu__arg(args, 0, NULL);
    for (size_t i = 0; x && i < self->u.list->n; i++)
        if (npu__equal(self->u.list->items[i], x)) return npu__made(in, npu__new_int(&in->arena, (int64_t)i));
    return npu__fail(in, "the value is not in the list");
}

static npu__value *l_count(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *x = npu__arg(args, 0, NULL);
    int64_t n = 0;
    for (size_t i = 0; x && i < self->u.list->n; i++) n += npu__equal(self->u.list->items[i], x);
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
    bool same = self->u.loop->last_changed && npu__equal(self->u.loop->last_changed, now);
    self->u.loop->last_changed = now;
    return new_bool(in, !same);
}

/* fn NULL: exists, but changes the value. */
static const struct {
    npu__type type;
    const char *name;
    method_fn *fn;
} methods[] = {
    {NPU__STRING, "split", s_split},
    {NPU__STRING, "rsplit", s_rsplit},
    {NPU__STRING, "splitlines", s_splitlines},
    {NPU__STRING, "strip", s_strip},
    {NPU__STRING, "lstrip", s_lstrip},
    {NPU__STRING, "rstrip", s_rstrip},
    {NPU__STRING, "startswith", s_startswith},
    {NPU__STRING, "endswith", s_endswith},
    {NPU__STRING, "removeprefix", s_removeprefix},
    {NPU__STRING, "removesuffix", s_removesuffix},
    {NPU__STRING, "replace", s_replace},
    {NPU__STRING, "upper", s_upper},
    {NPU__STRING, "lower", s_lower},
    {NPU__STRING, "title", s_title},
    {NPU__STRING, "capitalize", s_capitalize},
    {NPU__STRING, "find", s_find},
    {NPU__STRING, "rfind", s_rfind},
    {NPU__STRING, "index", s_index},
    {NPU__STRING, "count", s_count},
    {NPU__STRING, "join", s_join},
    {NPU__STRING, "format", s_format},
    {NPU__STRING, "isdigit", s_isdigit},
    {NPU__STRING, "isnumeric", s_isdigit},
    {NPU__STRING, "isalpha", s_isalpha},
    {NPU__STRING, "isalnum", s_isalnum},
    {NPU__STRING, "isspace", s_isspace},
    {NPU__STRING, "isupper", s_isupper},
    {NPU__STRING, "islower", s_islower},
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
};

bool npu__has_method(const npu__value *v, const char *name) {
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (methods[i].type == v->type && !strcmp(methods[i].name, name)) return true;
    return false;
}

npu__value *npu__method(npu__interp *in, npu__value *self, const char *name, npu__args *args) {
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (methods[i].type != self->type || strcmp(methods[i].name, name) != 0) continue;
        if (methods[i].fn) return methods[i].fn(in, self, args);
        return npu__fail(in, "'%s' would change a %s, which templates may not", name, npu__type_name(self));
    }
    return npu__fail(in, "%s has no method '%s'", npu__type_name(self), name);
}

npu__list *npu__iterate(npu__interp *in, npu__value *v) {
    if (npu__is_list(v)) return v->u.list;
    if (v->type == NPU__DICT) {
        npu__value *keys = dict_list(in, v->u.dict, 'k');
        return keys ? keys->u.list : NULL;
    }
    npu__value *list = npu__new_list(&in->arena, NPU__LIST);
    if (!list) return npu__fail_memory(in);
    if (v->type == NPU__UNDEFINED) return list->u.list;
    if (v->type != NPU__STRING) return npu__fail(in, "%s can't be iterated over", npu__type_name(v));
    for (size_t at = 0, len; at < v->u.string.n; at += len) {
        len = npu__char_offset(v->u.string.s + at, v->u.string.n - at, 1);
        if (!add_part(in, list, v, v->u.string.s + at, len)) return NULL;
    }
    return list->u.list;
}
