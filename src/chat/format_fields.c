/* "{:>5}".format(values): fields, and the specifications in them. */
#include <string.h>

#include "chat/format.h"

/* [[fill]align][sign][#][0][width][group][.precision][kind] */
static bool read_spec(npu__interp *in, const char *s, size_t n, npu__spec *f) {
    size_t at = 0, first = n ? npu__char_offset(s, n, 1) : 0;
    if (first < n && strchr("<>^=", s[first])) {
        f->fill = s;
        f->fill_n = first;
        f->align = s[first];
        at = first + 1;
    } else if (n && strchr("<>^=", s[0])) {
        f->align = s[at++];
    }
    if (at < n && s[at] && strchr("+- ", s[at])) f->sign = s[at] == '-' ? 0 : s[at], at++;
    if (at < n && s[at] == '#') f->alternate = true, at++;
    if (at < n && s[at] == '0') {
        if (f->fill_n == 1 && *f->fill == ' ') f->fill = "0";
        if (!f->align) f->align = '=';
        at++;
    }
    if (!npu__read_number(s, n, &at, NPU__WIDTH_MAX, &f->width)) return npu__bad_format(in);
    if (at < n && (s[at] == ',' || s[at] == '_')) f->group = s[at++];
    if (at < n && s[at] == '.') {
        at++;
        if (!npu__read_number(s, n, &at, NPU__PRECISION_MAX, &f->precision) || f->precision < 0)
            return npu__bad_format(in);
    }
    if (at < n) f->kind = s[at++];
    return (at == n && (!f->kind || strchr("sdboxXeEfFgG%", f->kind))) || npu__bad_format(in);
}

/* The argument that a field such as "", "0" or "name" names, with ".attributes" and "[items]" after it. */
static npu__value *field(npu__interp *in, const char *s, size_t n, size_t *next, npu__args *args) {
    size_t at = 0, index = 0;
    npu__value *v;
    while (at < n && s[at] != '.' && s[at] != '[') at++;
    if (!at) {
        v = npu__arg(in, args, (*next)++, NULL);
    } else if (strspn(s, "0123456789") >= at) {
        for (size_t i = 0; i < at && index < 100000; i++) index = index * 10 + (size_t)(s[i] - '0');
        v = npu__arg(in, args, index, NULL);
    } else {
        v = npu__dict_find(&in->arena, &args->named, s, at);
    }
    if (!v) return npu__fail(in, "format names an argument that was not given");
    while (v && at < n) {
        bool item = s[at] == '[';
        size_t begin = ++at;
        while (at < n && (item ? s[at] != ']' : s[at] != '.' && s[at] != '[')) at++;
        npu__value *name = npu__copy_string(&in->arena, s + begin, at - begin);
        if (!name) return npu__fail_memory(in);
        at += item;
        int64_t i;
        bool whole_number = item && at - 1 > begin && strspn(name->u.string.s, "0123456789") == name->u.string.n;
        if (whole_number && npu__parse_int(in, name, 10, &i)) name = npu__new_int(&in->arena, i);
        if (!name) return npu__fail_memory(in);
        v = item ? npu__item(in, v, name) : npu__attribute(in, v, name->u.string.s, name->u.string.n);
    }
    return v;
}

/* A specification may have fields of its own: "{:>{width}}". */
static npu__value *inner_fields(npu__interp *in, const npu__value *format, size_t begin, size_t n, size_t *next,
                                npu__args *args) {
    const char *s = format->u.string.s + begin;
    size_t from = in->out.n;
    for (size_t at = 0; at < n; at++) {
        const char *end = s[at] == '{' ? memchr(s + at, '}', n - at) : NULL;
        if (!end) {
            if (!npu__write(in, s + at, 1)) return NULL;
            continue;
        }
        npu__value *v = field(in, s + at + 1, (size_t)(end - s) - at - 1, next, args);
        if (!v || !npu__write_text(in, v)) return NULL;
        at = (size_t)(end - s);
    }
    return npu__captured(in, from);
}

/* The field at the "{" before |at|; gives the place after its "}", 0 after a failure. */
static size_t write_field(npu__interp *in, const npu__value *format, size_t at, size_t *next, npu__args *args) {
    const char *s = format->u.string.s;
    size_t n = format->u.string.n, depth = 1, end = at, name_end;
    while (end < n && depth) depth += (s[end] == '{') - (s[end] == '}'), end++;
    if (depth) return npu__fail(in, "a format field does not end") != NULL;
    size_t last = end - 1;
    for (name_end = at; name_end < last && s[name_end] != ':' && s[name_end] != '!';) name_end++;
    npu__value *v = field(in, s + at, name_end - at, next, args);
    if (v && name_end < last && s[name_end] == '!') {
        char how = s[name_end + 1];
        size_t from = in->out.n;
        if (how == 'r')
            v = npu__write_repr(in, v) ? npu__captured(in, from) : NULL;
        else
            v = how == 's' ? npu__to_text(in, v) : npu__fail(in, "a conversion is !r or !s");
        name_end += 2;
    }
    if (!v) return 0;
    if (name_end < last && s[name_end] != ':') return npu__bad_format(in);
    npu__spec f = {.fill = " ", .fill_n = 1, .width = -1, .precision = -1};
    npu__value *text = name_end < last ? inner_fields(in, format, name_end + 1, last - name_end - 1, next, args) : NULL;
    if (in->status != NPU_OK || (text && !read_spec(in, text->u.string.s, text->u.string.n, &f))) return 0;
    return npu__write_value(in, v, &f, format, at - 1) ? end : 0;
}

bool npu__format(npu__interp *in, const npu__value *format, npu__args *args) {
    const char *s = format->u.string.s;
    size_t n = format->u.string.n, next = 0;
    for (size_t at = 0; at < n;) {
        bool brace = s[at] == '{' || s[at] == '}';
        if (brace && at + 1 < n && s[at + 1] == s[at]) {
            if (!npu__write_part(in, format, at, 1)) return false;
            at += 2;
        } else if (s[at] == '{') {
            if (!(at = write_field(in, format, at + 1, &next, args))) return false;
        } else if (brace) {
            return npu__fail(in, "a single '}' in a format") != NULL;
        } else if (!npu__write_part(in, format, at++, 1)) {
            return false;
        }
    }
    return true;
}
