/* Formatting one value by its specification, as Python does it: kind, sign, digits, width. */
#include "chat/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NUMBER_MAX = 512 };

bool npu__bad_format(npu__interp *in) {
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
static void general(double x, const npu__spec *f, char *out) {
    snprintf(out, NUMBER_MAX, "%.*g", (int)(f->precision < 0 ? 17 : f->precision ? f->precision : 1), x);
    if (!strpbrk(out, ".en")) strcat(out, ".0");
}

/* The number without its sign; |prefix| is "0x" and the like. */
static bool number_text(npu__interp *in, const npu__value *v, const npu__spec *f, const char **prefix, char *out) {
    static const char *const prefixes[] = {"0b", "0o", "0x", "0X"};
    const char *kinds = "boxX", *k = f->kind ? strchr(kinds, f->kind) : NULL;
    *prefix = f->alternate && k ? prefixes[k - kinds] : "";
    if (v->type != NPU__FLOAT && (!f->kind || f->kind == 'd' || k)) {
        int64_t i = whole(v);
        if (f->precision > 70) return npu__bad_format(in);
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

static bool fill(npu__interp *in, const npu__spec *f, const npu__value *format, size_t place, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!npu__write_as(in, format, place, f->fill, f->fill_n)) return false;
    return true;
}

/* |head| (a sign, a prefix) and |text| in the width; the filling gets the marks of |format| at |place|. */
static bool write_padded(npu__interp *in, const char *head, const npu__value *text, const npu__spec *f, char align,
                         const npu__value *format, size_t place) {
    size_t chars = npu__chars(text->u.string.s, text->u.string.n) + strlen(head);
    size_t pad = f->width > (int64_t)chars ? (size_t)f->width - chars : 0;
    size_t before = align == '<' ? 0 : align == '^' ? pad / 2 : pad;
    if (align != '=' && !fill(in, f, format, place, before)) return false;
    if (!npu__write_str(in, head)) return false;
    if (align == '=' && !fill(in, f, format, place, before)) return false;
    return npu__write_part(in, text, 0, text->u.string.n) && fill(in, f, format, place, pad - before);
}

static bool write_number(npu__interp *in, const npu__value *v, const npu__spec *f, const npu__value *format,
                         size_t place) {
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

bool npu__write_value(npu__interp *in, npu__value *v, const npu__spec *f, const npu__value *format, size_t place) {
    bool plain_bool = v->type == NPU__BOOL && !f->kind && f->width <= 0;
    if (npu__is_number(v) && f->kind != 's' && !plain_bool) return write_number(in, v, f, format, place);
    if ((f->kind && f->kind != 's') || f->align == '=' || f->sign || f->group)
        return npu__fail(in, "%s can't be formatted that way", npu__type_name(v)) != NULL;
    npu__value *text = npu__to_text(in, v);
    if (text && f->precision >= 0)
        text = npu__part(in, text, 0, npu__char_offset(text->u.string.s, text->u.string.n, (size_t)f->precision));
    return text && write_padded(in, "", text, f, f->align ? f->align : '<', format, place);
}

bool npu__read_number(const char *s, size_t n, size_t *at, int64_t most, int64_t *out) {
    if (*at == n || s[*at] < '0' || s[*at] > '9') return true;
    for (*out = 0; *at < n && s[*at] >= '0' && s[*at] <= '9'; ++*at)
        if ((*out = *out * 10 + (s[*at] - '0')) > most) return false;
    return true;
}
