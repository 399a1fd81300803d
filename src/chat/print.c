/* The output, and values as text in it: str() and repr(), as Python writes them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "chat/interp.h"
#include "tokenizer/unicode.h"

enum { DEPTH_MAX = 100 };

static bool room_for(npu__interp *in, size_t n) {
    npu__out *o = &in->out;
    if (n > o->limit - o->n) return npu__fail_limit(in, "the output is too long") != NULL;
    if (o->n + n + 1 <= o->capacity) return true;
    size_t capacity = (o->n + n + 1) * 2;
    char *data = realloc(o->data, capacity);
    if (data) o->data = data;
    char *marks = data ? realloc(o->marks, capacity) : NULL;
    if (!marks) return npu__fail_memory(in) != NULL;
    o->marks = marks;
    o->capacity = capacity;
    return true;
}

/* |mark| is NULL (nothing is marked), a byte for each of |s|, or, with |one|, the byte for all of them. */
static bool write_marked(npu__interp *in, const char *s, size_t n, const char *mark, bool one) {
    npu__out *o = &in->out;
    if (!room_for(in, n)) return false;
    if (!n) return true;
    memcpy(o->data + o->n, s, n);
    if (mark && !one)
        memcpy(o->marks + o->n, mark, n);
    else
        memset(o->marks + o->n, mark ? *mark : 0, n);
    o->n += n;
    return true;
}

bool npu__write(npu__interp *in, const char *s, size_t n) {
    return write_marked(in, s, n, NULL, true);
}

bool npu__write_part(npu__interp *in, const npu__value *v, size_t at, size_t n) {
    return write_marked(in, v->u.string.s + at, n, v->u.string.mark ? v->u.string.mark + at : NULL, false);
}

bool npu__write_as(npu__interp *in, const npu__value *v, size_t at, const char *s, size_t n) {
    return write_marked(in, s, n, v->u.string.mark ? v->u.string.mark + at : NULL, true);
}

npu__value *npu__part(npu__interp *in, const npu__value *v, size_t at, size_t n) {
    npu__value *part = npu__made(in, npu__new_string(&in->arena, v->u.string.s + at, n));
    if (part && v->u.string.mark) part->u.string.mark = v->u.string.mark + at;
    return part;
}

bool npu__write_str(npu__interp *in, const char *s) {
    return npu__write(in, s, strlen(s));
}

/* The shortest digits that give the same number back; an exponent from 1e16 on and below 1e-4. */
bool npu__write_float(npu__interp *in, double x, bool json) {
    char s[40];
    if (isnan(x)) return npu__write_str(in, json ? "NaN" : "nan");
    if (isinf(x)) return npu__write_str(in, x < 0 ? (json ? "-Infinity" : "-inf") : json ? "Infinity" : "inf");
    int precision = 0;
    do snprintf(s, sizeof s, "%.*e", precision, x);
    while (strtod(s, NULL) != x && ++precision < 17);
    int exponent = (int)strtol(strchr(s, 'e') + 1, NULL, 10);
    if (exponent >= -4 && exponent < 16) {
        snprintf(s, sizeof s, "%.*f", precision > exponent ? precision - exponent : 1, x);
    }
    return npu__write_str(in, s);
}

static bool write_escape(npu__interp *in, const npu__value *v, size_t at, uint32_t cp) {
    char s[16];
    snprintf(s, sizeof s, cp < 0x100 ? "\\x%02x" : cp < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)cp);
    return npu__write_as(in, v, at, s, strlen(s));
}

static bool write_string_repr(npu__interp *in, const npu__value *v) {
    const char *s = v->u.string.s;
    size_t n = v->u.string.n;
    char quote = memchr(s, '\'', n) && !memchr(s, '"', n) ? '"' : '\'';
    if ((v->u.string.markup && !npu__write_str(in, "Markup(")) || !npu__write(in, &quote, 1)) return false;
    for (size_t at = 0; at < n;) {
        uint32_t cp;
        size_t len = npu_utf8_decode(s + at, n - at, &cp);
        const char *escape = cp == '\n' ? "\\n" : cp == '\r' ? "\\r" : cp == '\t' ? "\\t" : cp == '\\' ? "\\\\" : NULL;
        bool ok;
        enum { HIDDEN = NPU__UC_CONTROL | NPU__UC_UNASSIGNED | NPU__UC_SEPARATOR };
        if (escape)
            ok = npu__write_as(in, v, at, escape, strlen(escape));
        else if (cp == (uint32_t)quote)
            ok = npu__write_as(in, v, at, "\\", 1) && npu__write_as(in, v, at, &quote, 1);
        else if (cp != ' ' && npu__unicode_class_of(cp) & HIDDEN)
            ok = write_escape(in, v, at, cp);
        else
            ok = npu__write_part(in, v, at, len);
        if (!ok) return false;
        at += len;
    }
    return npu__write(in, &quote, 1) && (!v->u.string.markup || npu__write_str(in, ")"));
}

bool npu__enter_value(npu__interp *in) {
    if (++in->depth <= DEPTH_MAX * 10) return npu__step(in, 1);
    return npu__fail_limit(in, "values are nested too deeply") != NULL;
}

static bool write_range(npu__interp *in, const npu__list *list) {
    char s[80];
    int64_t first = list->n ? list->items[0]->u.integer : 0;
    int64_t step = list->n > 1 ? list->items[1]->u.integer - first : 1, end = first + step * (int64_t)list->n;
    snprintf(s, sizeof s, step == 1 ? "range(%lld, %lld)" : "range(%lld, %lld, %lld)", (long long)first, (long long)end,
             (long long)step);
    return npu__write_str(in, s);
}

static bool write_items(npu__interp *in, const npu__list *list, bool tuple) {
    if (!npu__write_str(in, tuple ? "(" : "[")) return false;
    for (size_t i = 0; i < list->n; i++)
        if ((i && !npu__write_str(in, ", ")) || !npu__write_repr(in, list->items[i])) return false;
    return npu__write_str(in, tuple ? (list->n == 1 ? ",)" : ")") : "]");
}

static bool write_list(npu__interp *in, const npu__value *v) {
    static const char *const names[] = {
        [NPU__KEYS] = "dict_keys(", [NPU__VALUES] = "dict_values(", [NPU__ITEMS] = "dict_items("};
    const npu__list *list = v->u.list;
    if (list->kind == NPU__RANGE) return write_range(in, list);
    if (list->kind == NPU__LAZY) return npu__write_str(in, "<generator>");
    if (list->kind == NPU__PLAIN || list->kind == NPU__GROUP) return write_items(in, list, v->type == NPU__TUPLE);
    return npu__write_str(in, names[list->kind]) && write_items(in, list, false) && npu__write_str(in, ")");
}

static bool write_dict(npu__interp *in, const npu__dict *dict) {
    if (!npu__write_str(in, "{")) return false;
    for (size_t i = 0; i < dict->n; i++)
        if ((i && !npu__write_str(in, ", ")) || !npu__write_repr(in, dict->keys[i]) || !npu__write_str(in, ": ") ||
            !npu__write_repr(in, dict->values[i]))
            return false;
    return npu__write_str(in, "}");
}

static bool write_other(npu__interp *in, const npu__value *v) {
    char s[64];
    switch (v->type) {
    case NPU__NONE:
        return npu__write_str(in, "None");
    case NPU__BOOL:
        return npu__write_str(in, v->u.boolean ? "True" : "False");
    case NPU__INT:
        snprintf(s, sizeof s, "%lld", (long long)v->u.integer);
        return npu__write_str(in, s);
    case NPU__FLOAT:
        return npu__write_float(in, v->u.number, false);
    case NPU__LIST:
    case NPU__TUPLE:
        return write_list(in, v);
    case NPU__DICT:
        return write_dict(in, v->u.dict);
    case NPU__NAMESPACE:
        return npu__write_str(in, "<Namespace ") && write_dict(in, v->u.dict) && npu__write_str(in, ">");
    case NPU__LOOP:
        snprintf(s, sizeof s, "<LoopContext %zu/%zu>", v->u.loop->index + 1, v->u.loop->items->n);
        return npu__write_str(in, s);
    default:
        snprintf(s, sizeof s, "<%s>", npu__type_name(v));
        return npu__write_str(in, s);
    }
}

bool npu__write_repr(npu__interp *in, const npu__value *v) {
    if (!npu__enter_value(in)) return false;
    bool ok = v->type == NPU__STRING      ? write_string_repr(in, v)
              : v->type == NPU__UNDEFINED ? npu__write_str(in, "Undefined")
                                          : write_other(in, v);
    in->depth--;
    return ok;
}

bool npu__write_text(npu__interp *in, const npu__value *v) {
    if (v->type == NPU__STRING) return npu__write_part(in, v, 0, v->u.string.n);
    if (v->type == NPU__UNDEFINED)
        return !v->u.ref.unsafe || npu__fail(in, "'%s' is unsafe here", v->u.ref.name) != NULL;
    return npu__write_repr(in, v);
}

npu__value *npu__captured(npu__interp *in, size_t from) {
    size_t n = in->out.n - from;
    npu__value *v = npu__copy_string(&in->arena, n ? in->out.data + from : "", n);
    in->out.n = from;
    if (!v || !n || !memchr(in->out.marks + from, 1, n)) return npu__made(in, v);
    char *marks = npu__arena_alloc(&in->arena, n);
    if (!marks) return npu__fail_memory(in);
    v->u.string.mark = memcpy(marks, in->out.marks + from, n);
    return v;
}

npu__value *npu__to_text(npu__interp *in, npu__value *v) {
    if (v->type == NPU__STRING) return v;
    size_t from = in->out.n;
    return npu__write_text(in, v) ? npu__captured(in, from) : NULL;
}
