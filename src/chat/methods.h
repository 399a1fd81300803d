/* What the files of methods share. */
#ifndef NPU_CHAT_METHODS_H
#define NPU_CHAT_METHODS_H

#include <string.h>

#include "base/utf8.h"
#include "chat/interp.h"

/* Rows as of filters. A method without a function exists, but would change the value. */
extern const npu__filter_row npu__text_methods[], npu__search_methods[], npu__class_methods[];

/* The last place of |part| in the |n| bytes at |s|; NULL: none, or a failure. */
const char *npu__last_of(npu__interp *in, const char *s, size_t n, const npu__value *part);

static inline bool npu__is_string(const npu__value *v) {
    return v && v->type == NPU__STRING;
}

static inline npu__value *npu__need_string(npu__interp *in, const npu__args *args, size_t i) {
    npu__value *v = npu__arg(in, args, i, NULL);
    return npu__is_string(v) ? v : npu__fail(in, "a string is needed as argument %zu", i + 1);
}

static inline int64_t npu__int_arg(npu__interp *in, const npu__args *args, size_t i, const char *name,
                                   int64_t missing) {
    const npu__value *v = npu__arg(in, args, i, name);
    return v && v->type == NPU__INT ? v->u.integer : missing;
}

static inline npu__value *npu__bool(npu__interp *in, bool b) {
    return npu__made(in, npu__new_bool(&in->arena, b));
}

/* Adds the |n| bytes at |s|, which points into the string |of|. */
static inline bool npu__add_part(npu__interp *in, npu__value *list, const npu__value *of, const char *s, size_t n) {
    npu__value *part = npu__step(in, 1) ? npu__part(in, of, (size_t)(s - of->u.string.s), n) : NULL;
    return part && (npu__list_add(&in->arena, list->u.list, part) || npu__fail_memory(in) != NULL);
}

static inline bool npu__begins(const npu__value *s, const npu__value *part, bool at_end) {
    size_t n = s->u.string.n, len = part->u.string.n;
    return len <= n && (!len || memcmp(s->u.string.s + (at_end ? n - len : 0), part->u.string.s, len) == 0);
}

#endif
