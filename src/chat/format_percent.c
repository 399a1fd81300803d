/* "%5.2f" % values. */
#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "chat/format.h"

/* The values of "%": a tuple's items one after the other, any other value once, a dict's members by their keys. */
typedef struct percent {
    npu__interp *in;
    npu__value *values;
    npu__list *list;
    size_t next;
} percent;

static npu__value *next_value(percent *p) {
    return p->next < p->list->n ? p->list->items[p->next++] : npu__fail(p->in, "not enough values to format");
}

static bool star(percent *p, const char *s, size_t n, size_t *at, int64_t most, int64_t *out) {
    if (*at == n || s[*at] != '*') return npu__read_number(s, n, at, most, out) || npu__bad_format(p->in);
    ++*at;
    npu__value *v = next_value(p);
    if (!v) return false;
    if (v->type != NPU__INT || v->u.integer < 0 || v->u.integer > most) return npu__bad_format(p->in);
    *out = v->u.integer;
    return true;
}

static bool write_percent(percent *p, npu__value *v, npu__spec *f, const npu__value *format, size_t place) {
    npu__interp *in = p->in;
    size_t from = in->out.n;
    if (f->kind == 'c' && v->type == NPU__INT) {
        char c[4];
        if (v->u.integer < 0 || v->u.integer > 0x10FFFF || (v->u.integer >= 0xD800 && v->u.integer < 0xE000))
            return npu__bad_format(in);
        v = npu__write(in, c, npu_utf8_encode((uint32_t)v->u.integer, c)) ? npu__captured(in, from) : NULL;
        if (!v) return false;
    } else if (f->kind == 'r' || f->kind == 'a') {
        v = npu__write_repr(in, v) ? npu__captured(in, from) : NULL;
        if (!v) return false;
    }
    if (strchr("sra", f->kind) || f->kind == 'c') {
        bool one = v->type == NPU__STRING && npu__chars(v->u.string.s, v->u.string.n) == 1;
        if (f->kind == 'c' && !one) return npu__fail(in, "one character is needed to format") != NULL;
        f->kind = 's';
        f->sign = 0;
        f->fill = " ";
        if (f->align != '<') f->align = '>';
        return npu__write_value(in, v, f, format, place);
    }
    if (!npu__is_number(v)) return npu__fail(in, "a number is needed to format, not %s", npu__type_name(v)) != NULL;
    if (strchr("iu", f->kind)) f->kind = 'd';
    npu__value cut = {.type = NPU__INT};
    if (f->kind == 'd' && v->type == NPU__FLOAT) {
        if (!(fabs(v->u.number) < 9e18)) return npu__fail(in, "a number is too large") != NULL;
        cut.u.integer = (int64_t)v->u.number;
        v = &cut;
    }
    return npu__write_value(in, v, f, format, place);
}

/* One "%…" whose text begins at *at; the place of the "%" is before it. */
static bool conversion(percent *p, const npu__value *format, size_t *at) {
    const char *s = format->u.string.s;
    size_t n = format->u.string.n, place = *at - 1;
    npu__spec f = {.fill = " ", .fill_n = 1, .width = -1, .precision = -1};
    npu__value *v = NULL;
    if (*at < n && s[*at] == '(') {
        const char *end = memchr(s + *at, ')', n - *at);
        if (!end || p->values->type != NPU__DICT) return npu__fail(p->in, "a format needs a dict") != NULL;
        v = npu__dict_find(&p->in->arena, p->values->u.dict, s + *at + 1, (size_t)(end - s) - *at - 1);
        if (!v) return npu__fail(p->in, "a format names a key that is not there") != NULL;
        *at = (size_t)(end - s) + 1;
    }
    for (; *at < n && s[*at] && strchr("-+ #0", s[*at]); ++*at) {
        if (s[*at] == '-') f.align = '<';
        if (s[*at] == '+' || (s[*at] == ' ' && !f.sign)) f.sign = s[*at];
        f.alternate |= s[*at] == '#';
        if (s[*at] == '0' && f.align != '<') f.align = '=';
    }
    if (f.align == '=') f.fill = "0";
    if (!star(p, s, n, at, NPU__WIDTH_MAX, &f.width)) return false;
    if (*at < n && s[*at] == '.') {
        ++*at;
        f.precision = 0;
        if (!star(p, s, n, at, NPU__PRECISION_MAX, &f.precision)) return false;
    }
    while (*at < n && s[*at] && strchr("hlL", s[*at])) ++*at;
    if (*at == n) return npu__fail(p->in, "a format ends in the middle") != NULL;
    f.kind = s[(*at)++];
    if (f.kind == '%') return npu__write_part(p->in, format, *at - 1, 1);
    if (!f.kind || !strchr("diouxXeEfFgGcrsa", f.kind)) return npu__bad_format(p->in);
    if (!v && !(v = next_value(p))) return false;
    return write_percent(p, v, &f, format, place);
}

bool npu__percent(npu__interp *in, const npu__value *format, npu__value *values) {
    npu__value *one[1] = {values};
    npu__list single = {.items = one, .n = 1};
    percent p = {.in = in, .values = values, .list = values->type == NPU__TUPLE ? values->u.list : &single};
    const char *s = format->u.string.s;
    size_t n = format->u.string.n;
    for (size_t at = 0; at < n;) {
        bool ok = s[at] == '%' ? (at++, conversion(&p, format, &at)) : npu__write_part(in, format, at++, 1);
        if (!ok) return false;
    }
    bool may_rest = values->type == NPU__DICT || values->type == NPU__LIST;
    return may_rest || p.next == p.list->n || npu__fail(in, "too many values to format") != NULL;
}
