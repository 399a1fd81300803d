/* Formatting: "%5.2f" % values and "{:>5}".format(values), as Python does it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "chat/interp.h"

enum { WIDTH_MAX = 10000, PRECISION_MAX = 100, NUMBER_MAX = 512 };

typedef struct spec {
    const char *fill; /* one character */
    size_t fill_n;
    char align; /* < > ^ =, or 0 */
    char sign;  /* + or space, or 0 */
    char group; /* , or _, or 0 */
    char kind;  /* 0: as the value is */
    bool alternate;
    int64_t width, precision; /* -1: none */
} spec;

static bool bad(npu__interp *in) {
    return npu__fail(in, "a format that is not supported") != NULL;
}

static int64_t whole(const npu__value *v) {
    return v->type == NPU__BOOL ? v->u.boolean : v->type == NPU__FLOAT ? (int64_t)v->u.number : v->u.integer;
}

/* Digits of |i| without a sign. */
static void digits_of(uint64_t i, char kind, char out[72]) {
    unsigned base = kind == 'b' ? 2 : kind == 'o' ? 8 : kind == 'x' || kind == 'X' ? 16 : 10;
    char reversed[72];
    size_t n = 0;
    do reversed[n++] = (kind == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[i % base];
    while (i /= base);
    for (size_t k = 0; k < n; k++) out[k] = reversed[n - 1 - k];
    out[n] = 0;
}

/* A digit separator every three digits before the point. */
static void group_digits(char *s, char with) {
    size_t n = strspn(s, "0123456789"), rest = strlen(s) - n, more = n ? (n - 1) / 3 : 0;
    memmove(s + n + more, s + n, rest + 1);
    for (size_t from = n, to = n + more, k = 0; from-- > 0; k++) {
        if (k && k % 3 == 0) s[--to] = with;
        s[--to] = s[from];
    }
}

/* What a float of no kind, but perhaps a precision, is written as: like 'g', but never without a point or exponent. */
static void general(double x, const spec *f, char *out) {
    snprintf(out, NUMBER_MAX, "%.*g", (int)(f->precision < 0 ? 17 : f->precision ? f->precision : 1), x);
    if (!strpbrk(out, ".en")) strcat(out, ".0");
}

/* The number without its sign; |prefix| is "0x" and the like. */
static bool number_text(npu__interp *in, const npu__value *v, const spec *f, const char **prefix, char *out) {
    static const char *const prefixes[] = {"0b", "0o", "0x", "0X"};
    const char *kinds = "boxX", *k = f->kind ? strchr(kinds, f->kind) : NULL;
    *prefix = f->alternate && k ? prefixes[k - kinds] : "";
    if (v->type != NPU__FLOAT && (!f->kind || f->kind == 'd' || k)) {
        int64_t i = whole(v);
        if (f->precision > 70) return bad(in);
        digits_of(i < 0 ? 0 - (uint64_t)i : (uint64_t)i, f->kind, out);
        size_t n = strlen(out), least = f->precision > 0 ? (size_t)f->precision : 0;
        if (n < least) {
            memmove(out + least - n, out, n + 1);
            memset(out, '0', least - n);
        }
    } else {
        char format[8] = "%.*f";
        double x = fabs(npu__as_double(v));
        if (f->kind && !strchr("eEfFgG%", f->kind)) return npu__fail(in, "a whole number is needed to format") != NULL;
        format[3] = f->kind == '%' || !f->kind ? 'f' : f->kind;
        if (f->alternate) memcpy(format, (const char[]){'%', '#', '.', '*', format[3], 0}, 6);
        if (f->kind)
            snprintf(out, NUMBER_MAX, format, (int)(f->precision < 0 ? 6 : f->precision), f->kind == '%' ? x * 100 : x);
        else
            general(x, f, out);
        if (f->kind == '%') strcat(out, "%");
    }
    if (f->group) group_digits(out, f->group);
    return true;
}

static bool fill(npu__interp *in, const spec *f, const npu__value *format, size_t place, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!npu__write_as(in, format, place, f->fill, f->fill_n)) return false;
    return true;
}

/* |head| (a sign, a prefix) and |text| in the width; the filling gets the marks of |format| at |place|. */
static bool write_padded(npu__interp *in, const char *head, const npu__value *text, const spec *f, char align,
                         const npu__value *format, size_t place) {
    size_t chars = npu__chars(text->u.string.s, text->u.string.n) + strlen(head);
    size_t pad = f->width > (int64_t)chars ? (size_t)f->width - chars : 0;
    size_t before = align == '<' ? 0 : align == '^' ? pad / 2 : pad;
    if (align != '=' && !fill(in, f, format, place, before)) return false;
    if (!npu__write_str(in, head)) return false;
    if (align == '=' && !fill(in, f, format, place, before)) return false;
    return npu__write_part(in, text, 0, text->u.string.n) && fill(in, f, format, place, pad - before);
}

static bool write_number(npu__interp *in, const npu__value *v, const spec *f, const npu__value *format, size_t place) {
    char digits[NUMBER_MAX * 2], head[8] = "";
    const char *prefix;
    bool negative = v->type == NPU__FLOAT ? signbit(v->u.number) != 0 : whole(v) < 0;
    if (v->type == NPU__FLOAT && !f->kind && f->precision < 0) { /* as str() has it */
        size_t from = in->out.n;
        if (!npu__write_float(in, fabs(v->u.number), false)) return false;
        npu__value *text = npu__captured(in, from);
        if (!text) return false;
        memcpy(digits, text->u.string.s, text->u.string.n + 1);
        if (f->group) group_digits(digits, f->group);
        prefix = "";
    } else if (!number_text(in, v, f, &prefix, digits)) {
        return false;
    }
    if (negative || f->sign) head[0] = negative ? '-' : f->sign;
    strcat(head, prefix);
    npu__value text = {.type = NPU__STRING, .u.string = {.s = digits, .n = strlen(digits)}};
    return write_padded(in, head, &text, f, f->align ? f->align : '>', format, place);
}

static bool write_value(npu__interp *in, npu__value *v, const spec *f, const npu__value *format, size_t place) {
    bool plain_bool = v->type == NPU__BOOL && !f->kind && f->width <= 0;
    if (npu__is_number(v) && f->kind != 's' && !plain_bool) return write_number(in, v, f, format, place);
    if ((f->kind && f->kind != 's') || f->align == '=' || f->sign || f->group)
        return npu__fail(in, "%s can't be formatted that way", npu__type_name(v)) != NULL;
    npu__value *text = npu__to_text(in, v);
    if (text && f->precision >= 0)
        text = npu__part(in, text, 0, npu__char_offset(text->u.string.s, text->u.string.n, (size_t)f->precision));
    return text && write_padded(in, "", text, f, f->align ? f->align : '<', format, place);
}

static bool read_number(const char *s, size_t n, size_t *at, int64_t most, int64_t *out) {
    if (*at == n || s[*at] < '0' || s[*at] > '9') return true;
    for (*out = 0; *at < n && s[*at] >= '0' && s[*at] <= '9'; ++*at)
        if ((*out = *out * 10 + (s[*at] - '0')) > most) return false;
    return true;
}

/* [[fill]align][sign][#][0][width][group][.precision][kind] */
static bool read_spec(npu__interp *in, const char *s, size_t n, spec *f) {
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
    if (!read_number(s, n, &at, WIDTH_MAX, &f->width)) return bad(in);
    if (at < n && (s[at] == ',' || s[at] == '_')) f->group = s[at++];
    if (at < n && s[at] == '.') {
        at++;
        if (!read_number(s, n, &at, PRECISION_MAX, &f->precision) || f->precision < 0) return bad(in);
    }
    if (at < n) f->kind = s[at++];
    return (at == n && (!f->kind || strchr("sdboxXeEfFgG%", f->kind))) || bad(in);
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
    if (name_end < last && s[name_end] != ':') return bad(in);
    spec f = {.fill = " ", .fill_n = 1, .width = -1, .precision = -1};
    npu__value *text = name_end < last ? inner_fields(in, format, name_end + 1, last - name_end - 1, next, args) : NULL;
    if (in->status != NPU_OK || (text && !read_spec(in, text->u.string.s, text->u.string.n, &f))) return 0;
    return write_value(in, v, &f, format, at - 1) ? end : 0;
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
    if (*at == n || s[*at] != '*') return read_number(s, n, at, most, out) || bad(p->in);
    ++*at;
    npu__value *v = next_value(p);
    if (!v) return false;
    if (v->type != NPU__INT || v->u.integer < 0 || v->u.integer > most) return bad(p->in);
    *out = v->u.integer;
    return true;
}

static bool write_percent(percent *p, npu__value *v, spec *f, const npu__value *format, size_t place) {
    npu__interp *in = p->in;
    size_t from = in->out.n;
    if (f->kind == 'c' && v->type == NPU__INT) {
        char c[4];
        if (v->u.integer < 0 || v->u.integer > 0x10FFFF || (v->u.integer >= 0xD800 && v->u.integer < 0xE000))
            return bad(in);
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
        return write_value(in, v, f, format, place);
    }
    if (!npu__is_number(v)) return npu__fail(in, "a number is needed to format, not %s", npu__type_name(v)) != NULL;
    if (strchr("iu", f->kind)) f->kind = 'd';
    npu__value cut = {.type = NPU__INT};
    if (f->kind == 'd' && v->type == NPU__FLOAT) {
        if (!(fabs(v->u.number) < 9e18)) return npu__fail(in, "a number is too large") != NULL;
        cut.u.integer = (int64_t)v->u.number;
        v = &cut;
    }
    return write_value(in, v, f, format, place);
}

/* One "%…" whose text begins at *at; the place of the "%" is before it. */
static bool conversion(percent *p, const npu__value *format, size_t *at) {
    const char *s = format->u.string.s;
    size_t n = format->u.string.n, place = *at - 1;
    spec f = {.fill = " ", .fill_n = 1, .width = -1, .precision = -1};
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
    if (!star(p, s, n, at, WIDTH_MAX, &f.width)) return false;
    if (*at < n && s[*at] == '.') {
        ++*at;
        f.precision = 0;
        if (!star(p, s, n, at, PRECISION_MAX, &f.precision)) return false;
    }
    while (*at < n && s[*at] && strchr("hlL", s[*at])) ++*at;
    if (*at == n) return npu__fail(p->in, "a format ends in the middle") != NULL;
    f.kind = s[(*at)++];
    if (f.kind == '%') return npu__write_part(p->in, format, *at - 1, 1);
    if (!f.kind || !strchr("diouxXeEfFgGcrsa", f.kind)) return bad(p->in);
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
