/* Methods of strings that make other strings. */
#include "chat/methods.h"

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
            return npu__add_part(in, list, self, s + begin, n - begin) ? list : NULL;
        }
        while (at < n && (len = npu_utf8_decode(s + at, n - at, &cp), !npu__is_space(cp))) at += len;
        if (!npu__add_part(in, list, self, s + begin, at - begin)) return NULL;
    }
}

static npu__value *s_split(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *sep = npu__arg(in, args, 0, "sep"), *list = npu__new_list(&in->arena, NPU__LIST);
    int64_t most = npu__int_arg(in, args, 1, "maxsplit", -1);
    if (!list) return npu__fail_memory(in);
    if (!sep || sep->type == NPU__NONE) return split_space(in, self, list, most);
    if (sep->type != NPU__STRING || !sep->u.string.n) return npu__fail(in, "split needs a separator that is not empty");
    const char *s = self->u.string.s, *end = s + self->u.string.n, *hit;
    while (most-- != 0 && (hit = memmem(s, (size_t)(end - s), sep->u.string.s, sep->u.string.n)) != NULL) {
        if (!npu__add_part(in, list, self, s, (size_t)(hit - s))) return NULL;
        s = hit + sep->u.string.n;
    }
    return npu__add_part(in, list, self, s, (size_t)(end - s)) ? list : NULL;
}

/* rsplit at white space, at most |most| times. */
static npu__value *rsplit_space(npu__interp *in, npu__value *self, npu__value *list, int64_t most) {
    npu__value *rest = npu__strip(in, self, NULL, false, true);
    for (; rest && rest->u.string.n && most > 0; most--) {
        const char *s = rest->u.string.s;
        size_t at = rest->u.string.n, before = at;
        while (before) {
            uint32_t cp;
            for (before--; before && ((uint8_t)s[before] & 0xC0) == 0x80;) before--;
            npu_utf8_decode(s + before, rest->u.string.n - before, &cp);
            if (npu__is_space(cp)) break;
            at = before;
        }
        if (!npu__add_part(in, list, rest, s + at, rest->u.string.n - at)) return NULL;
        npu__value *left = npu__part(in, rest, 0, at);
        rest = left ? npu__strip(in, left, NULL, false, true) : NULL;
    }
    if (!rest) return NULL;
    npu__value *whole = rest->u.string.n ? rest : NULL;
    return !whole || npu__add_part(in, list, whole, whole->u.string.s, whole->u.string.n) ? list : NULL;
}

static void reverse(npu__list *list) {
    for (size_t i = 0, k = list->n; i + 1 < k; i++) {
        npu__value *x = list->items[i];
        list->items[i] = list->items[--k];
        list->items[k] = x;
    }
}

static npu__value *s_rsplit(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *sep = npu__arg(in, args, 0, "sep"), *list = npu__new_list(&in->arena, NPU__LIST);
    int64_t most = npu__int_arg(in, args, 1, "maxsplit", -1);
    if (most < 0) return s_split(in, self, args);
    if (!list) return npu__fail_memory(in);
    if (!sep || sep->type == NPU__NONE) {
        if (rsplit_space(in, self, list, most)) reverse(list->u.list);
        return in->status == NPU_OK ? list : NULL;
    }
    if (!npu__is_string(sep) || !sep->u.string.n) return npu__fail(in, "rsplit needs a separator that is not empty");
    size_t n = self->u.string.n;
    const char *s = self->u.string.s, *hit;
    while (most-- > 0 && (hit = npu__last_of(in, s, n, sep)) != NULL) {
        size_t after = (size_t)(hit - s) + sep->u.string.n;
        if (!npu__add_part(in, list, self, s + after, n - after)) return NULL;
        n = (size_t)(hit - s);
    }
    if (in->status != NPU_OK || !npu__add_part(in, list, self, s, n)) return NULL;
    reverse(list->u.list);
    return list;
}

static bool ends_line(uint32_t cp) {
    return (cp >= '\n' && cp <= '\r') || (cp >= 0x1C && cp <= 0x1E) || cp == 0x85 || cp == 0x2028 || cp == 0x2029;
}

npu__value *npu__splitlines(npu__interp *in, npu__value *v, bool keep_ends) {
    npu__value *list = npu__new_list(&in->arena, NPU__LIST);
    const char *s = v->u.string.s;
    size_t n = v->u.string.n, begin = 0;
    if (!list) return npu__fail_memory(in);
    for (size_t at = 0; at < n;) {
        uint32_t cp;
        size_t len = npu_utf8_decode(s + at, n - at, &cp), end = at;
        at += len;
        if (!ends_line(cp)) continue;
        if (cp == '\r' && at < n && s[at] == '\n') at++;
        if (!npu__add_part(in, list, v, s + begin, (keep_ends ? at : end) - begin)) return NULL;
        begin = at;
    }
    return begin == n || npu__add_part(in, list, v, s + begin, n - begin) ? list : NULL;
}

static npu__value *s_splitlines(npu__interp *in, npu__value *self, npu__args *args) {
    return npu__splitlines(in, self, npu__flag(in, args, 0, "keepends", false));
}

static npu__value *s_strip(npu__interp *in, npu__value *self, npu__args *args) {
    return npu__strip(in, self, npu__arg(in, args, 0, NULL), true, true);
}
static npu__value *s_lstrip(npu__interp *in, npu__value *self, npu__args *args) {
    return npu__strip(in, self, npu__arg(in, args, 0, NULL), true, false);
}
static npu__value *s_rstrip(npu__interp *in, npu__value *self, npu__args *args) {
    return npu__strip(in, self, npu__arg(in, args, 0, NULL), false, true);
}

static npu__value *removed(npu__interp *in, npu__value *self, npu__args *args, bool at_end) {
    npu__value *part = npu__need_string(in, args, 0);
    if (!part || !npu__begins(self, part, at_end)) return part ? self : NULL;
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
    npu__value *from = npu__need_string(in, args, 0), *to = from ? npu__need_string(in, args, 1) : NULL;
    return to ? npu__replace(in, self, from, to, npu__int_arg(in, args, 2, "count", -1)) : NULL;
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

static npu__value *s_swapcase(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return npu__change_case(in, self, 's');
}

/* |before| and |after| fillers around the string from byte |head| on; what stands before that stays in front. */
static npu__value *filled(npu__interp *in, npu__value *self, npu__args *args, size_t head, int64_t before,
                          int64_t after) {
    npu__value space = {.type = NPU__STRING, .u.string = {.s = " ", .n = 1}}, *fill = npu__arg(in, args, 1, "fillchar");
    size_t from = in->out.n;
    if (!fill) fill = &space;
    if (fill->type != NPU__STRING || npu__chars(fill->u.string.s, fill->u.string.n) != 1)
        return npu__fail(in, "the filling is one character");
    if (!npu__write_part(in, self, 0, head)) return NULL;
    for (int64_t i = 0; i < before; i++)
        if (!npu__write_text(in, fill)) return NULL;
    if (!npu__write_part(in, self, head, self->u.string.n - head)) return NULL;
    for (int64_t i = 0; i < after; i++)
        if (!npu__write_text(in, fill)) return NULL;
    return npu__captured(in, from);
}

/* How many characters the string is short of the width in argument 0. */
static int64_t missing(npu__interp *in, const npu__value *self, const npu__args *args) {
    int64_t width = npu__int_arg(in, args, 0, "width", 0), n = (int64_t)npu__chars(self->u.string.s, self->u.string.n);
    return width > n ? width - n : 0;
}
static npu__value *s_ljust(npu__interp *in, npu__value *self, npu__args *args) {
    return filled(in, self, args, 0, 0, missing(in, self, args));
}
static npu__value *s_rjust(npu__interp *in, npu__value *self, npu__args *args) {
    return filled(in, self, args, 0, missing(in, self, args), 0);
}
static npu__value *s_center(npu__interp *in, npu__value *self, npu__args *args) {
    int64_t pad = missing(in, self, args), left = pad / 2 + (pad & npu__int_arg(in, args, 0, "width", 0) & 1);
    return filled(in, self, args, 0, left, pad - left);
}
static npu__value *s_zfill(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value zero = {.type = NPU__STRING, .u.string = {.s = "0", .n = 1}},
               *items[2] = {npu__arg(in, args, 0, "width"), &zero};
    npu__args both = {.list = {.items = items, .n = 2}};
    if (!items[0]) return npu__fail(in, "zfill needs a width");
    bool sign = self->u.string.n && (self->u.string.s[0] == '-' || self->u.string.s[0] == '+');
    return filled(in, self, &both, sign, missing(in, self, &both), 0);
}

static npu__value *s_expandtabs(npu__interp *in, npu__value *self, npu__args *args) {
    int64_t size = npu__int_arg(in, args, 0, "tabsize", 8), column = 0;
    size_t from = in->out.n;
    for (size_t at = 0, len; at < self->u.string.n; at += len) {
        const char *s = self->u.string.s + at;
        len = npu__char_offset(s, self->u.string.n - at, 1);
        if (*s != '\t') {
            if (!npu__write_part(in, self, at, len)) return NULL;
            column = *s == '\n' || *s == '\r' ? 0 : column + 1;
            continue;
        }
        for (int64_t i = size > 0 ? size - column % size : 0; i > 0; i--, column++)
            if (!npu__write_as(in, self, at, " ", 1)) return NULL;
    }
    return npu__captured(in, from);
}

static npu__value *s_join(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *v = npu__arg(in, args, 0, NULL);
    npu__list *items = v ? npu__iterate(in, v) : npu__fail(in, "join needs a list");
    size_t from = in->out.n;
    for (size_t i = 0; items && i < items->n; i++) {
        if (!npu__is_string(items->items[i]))
            return npu__fail(in, "join needs strings, not %s", npu__type_name(items->items[i]));
        if ((i && !npu__write_text(in, self)) || !npu__write_text(in, items->items[i])) return NULL;
    }
    return items ? npu__captured(in, from) : NULL;
}

static npu__value *s_format(npu__interp *in, npu__value *self, npu__args *args) {
    size_t from = in->out.n;
    return npu__format(in, self, args) ? npu__captured(in, from) : NULL;
}

const npu__filter_row npu__text_methods[] = {
    {"split", s_split},
    {"rsplit", s_rsplit},
    {"splitlines", s_splitlines},
    {"strip", s_strip},
    {"lstrip", s_lstrip},
    {"rstrip", s_rstrip},
    {"removeprefix", s_removeprefix},
    {"removesuffix", s_removesuffix},
    {"replace", s_replace},
    {"upper", s_upper},
    {"lower", s_lower},
    {"title", s_title},
    {"capitalize", s_capitalize},
    {"swapcase", s_swapcase},
    {"ljust", s_ljust},
    {"rjust", s_rjust},
    {"center", s_center},
    {"zfill", s_zfill},
    {"expandtabs", s_expandtabs},
    {"join", s_join},
    {"format", s_format},
    {NULL, NULL},
};
