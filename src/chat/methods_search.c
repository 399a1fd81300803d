/* Methods of strings that look for a part: begins, ends, find, index, count, partition. */
#include "chat/methods.h"

const char *npu__last_of(npu__interp *in, const char *s, size_t n, const npu__value *part) {
    size_t len = part->u.string.n;
    if (!len) return s + n;
    for (size_t end = n; end >= len;) {
        const char *first = memrchr(s, part->u.string.s[0], end - len + 1);
        if (!first || !npu__step(in, 1 + len / 64)) return NULL;
        if (memcmp(first, part->u.string.s, len) == 0) return first;
        end = (size_t)(first - s) + len - 1;
    }
    return NULL;
}

/* The part of |self| from argument |i| up to argument |i| + 1, which count characters; *from is the byte of its begin.
 * NULL: a failure, or bounds that leave nothing, not even the empty string (then *from is SIZE_MAX). */
static npu__value *bounded(npu__interp *in, npu__value *self, npu__args *args, size_t i, size_t *from) {
    npu__value *begin = npu__arg(in, args, i, NULL), *end = npu__arg(in, args, i + 1, NULL);
    *from = 0;
    if (!begin && !end) return self;
    int64_t n = (int64_t)npu__chars(self->u.string.s, self->u.string.n), a = 0, b = n;
    if (begin && begin->type == NPU__INT) a = begin->u.integer;
    if (end && end->type == NPU__INT) b = end->u.integer < n ? end->u.integer : n;
    if (a < 0) a = a + n > 0 ? a + n : 0;
    if (b < 0) b = b + n > 0 ? b + n : 0;
    *from = SIZE_MAX;
    if (a > b) return NULL;
    *from = npu__char_offset(self->u.string.s, self->u.string.n, (size_t)a);
    size_t to = npu__char_offset(self->u.string.s, self->u.string.n, (size_t)b);
    return npu__part(in, self, *from, to - *from);
}

/* The argument is a string or a tuple of strings. */
static npu__value *begins_any(npu__interp *in, npu__value *self, npu__args *args, bool at_end) {
    npu__value *v = npu__arg(in, args, 0, NULL);
    size_t from;
    self = bounded(in, self, args, 1, &from);
    if (!self) return in->status == NPU_OK ? npu__bool(in, false) : NULL;
    if (npu__is_string(v)) return npu__bool(in, npu__begins(self, v, at_end));
    if (!v || v->type != NPU__TUPLE) return npu__fail(in, "a string or a tuple of strings is needed");
    for (size_t i = 0; i < v->u.list->n; i++)
        if (npu__is_string(v->u.list->items[i]) && npu__begins(self, v->u.list->items[i], at_end))
            return npu__bool(in, true);
    return npu__bool(in, false);
}

static npu__value *s_startswith(npu__interp *in, npu__value *self, npu__args *args) {
    return begins_any(in, self, args, false);
}
static npu__value *s_endswith(npu__interp *in, npu__value *self, npu__args *args) {
    return begins_any(in, self, args, true);
}

/* The character where the part that argument 0 names stands first, or last; -1. */
static npu__value *find(npu__interp *in, npu__value *self, npu__args *args, bool last) {
    npu__value *part = npu__need_string(in, args, 0);
    size_t from;
    npu__value *where = part ? bounded(in, self, args, 1, &from) : NULL;
    if (!where) return in->status == NPU_OK ? npu__made(in, npu__new_int(&in->arena, -1)) : NULL;
    const char *s = where->u.string.s, *hit;
    if (last)
        hit = npu__last_of(in, s, where->u.string.n, part);
    else
        hit = part->u.string.n ? memmem(s, where->u.string.n, part->u.string.s, part->u.string.n) : s;
    if (in->status != NPU_OK) return NULL;
    int64_t at = hit ? (int64_t)npu__chars(self->u.string.s, from + (size_t)(hit - s)) : -1;
    return npu__made(in, npu__new_int(&in->arena, at));
}

static npu__value *s_find(npu__interp *in, npu__value *self, npu__args *args) {
    return find(in, self, args, false);
}
static npu__value *s_rfind(npu__interp *in, npu__value *self, npu__args *args) {
    return find(in, self, args, true);
}

static npu__value *there(npu__interp *in, npu__value *at) {
    return at && at->u.integer < 0 ? npu__fail(in, "the part is not in the string") : at;
}
static npu__value *s_index(npu__interp *in, npu__value *self, npu__args *args) {
    return there(in, find(in, self, args, false));
}
static npu__value *s_rindex(npu__interp *in, npu__value *self, npu__args *args) {
    return there(in, find(in, self, args, true));
}

static npu__value *s_count(npu__interp *in, npu__value *self, npu__args *args) {
    npu__value *part = npu__need_string(in, args, 0);
    size_t from;
    npu__value *where = part ? bounded(in, self, args, 1, &from) : NULL;
    int64_t count = 0;
    if (!where) return in->status == NPU_OK ? npu__made(in, npu__new_int(&in->arena, 0)) : NULL;
    const char *s = where->u.string.s, *end = s + where->u.string.n;
    if (!part->u.string.n) {
        count = (int64_t)npu__chars(s, where->u.string.n) + 1;
        end = s;
    }
    for (; part->u.string.n && (s = memmem(s, (size_t)(end - s), part->u.string.s, part->u.string.n)) != NULL;
         s += part->u.string.n)
        count++;
    return npu__made(in, npu__new_int(&in->arena, count));
}

/* What stands before, at and after the first or last place of the part, as three strings. */
static npu__value *partition(npu__interp *in, npu__value *self, npu__args *args, bool last) {
    npu__value *part = npu__need_string(in, args, 0), *list = npu__new_list(&in->arena, NPU__TUPLE);
    if (!part) return NULL;
    if (!part->u.string.n) return npu__fail(in, "partition needs a separator that is not empty");
    const char *s = self->u.string.s, *hit;
    size_t n = self->u.string.n, len = part->u.string.n;
    hit = last ? npu__last_of(in, s, n, part) : memmem(s, n, part->u.string.s, len);
    if (in->status != NPU_OK) return NULL;
    size_t at = hit ? (size_t)(hit - s) : last ? 0 : n;
    if (!hit) len = 0;
    bool ok = list && npu__add_part(in, list, self, s, at) && npu__add_part(in, list, self, s + at, len) &&
              npu__add_part(in, list, self, s + at + len, n - at - len);
    return ok ? list : npu__fail_memory(in);
}
static npu__value *s_partition(npu__interp *in, npu__value *self, npu__args *args) {
    return partition(in, self, args, false);
}
static npu__value *s_rpartition(npu__interp *in, npu__value *self, npu__args *args) {
    return partition(in, self, args, true);
}

const npu__filter_row npu__search_methods[] = {
    {"startswith", s_startswith},
    {"endswith", s_endswith},
    {"find", s_find},
    {"rfind", s_rfind},
    {"index", s_index},
    {"rindex", s_rindex},
    {"count", s_count},
    {"partition", s_partition},
    {"rpartition", s_rpartition},
    {NULL, NULL},
};
