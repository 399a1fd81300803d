/* Filters that make numbers, and text read as a number. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "chat/interp.h"

enum { DIGITS_MAX = 400 };

static npu__value *new_int(npu__interp *in, int64_t i) {
    return npu__made(in, npu__new_int(&in->arena, i));
}
static npu__value *new_float(npu__interp *in, double d) {
    return npu__made(in, npu__new_float(&in->arena, d));
}

static int digit_value(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'z' ? c - 'a' + 10
           : c >= 'A' && c <= 'Z' ? c - 'A' + 10
                                  : 99;
}

/* Without white space around it and "_" between digits; false: "_" elsewhere, or too long for a number. */
static bool clean(npu__interp *in, const npu__value *v, char text[DIGITS_MAX + 1]) {
    npu__value copy = *v, *s = npu__strip(in, &copy, NULL, true, true);
    size_t used = 0;
    if (!s || s->u.string.n > DIGITS_MAX) return false;
    for (size_t i = 0; i < s->u.string.n; i++) {
        char c = s->u.string.s[i];
        if (!c) return false;
        bool between = i && i + 1 < s->u.string.n && digit_value(s->u.string.s[i - 1]) < 36 &&
                       digit_value(s->u.string.s[i + 1]) < 36;
        if (c == '_' && !between) return false;
        if (c != '_') text[used++] = c;
    }
    text[used] = 0;
    return used > 0;
}

bool npu__parse_int(npu__interp *in, const npu__value *v, int64_t base, int64_t *out) {
    char text[DIGITS_MAX + 1];
    if (base < 0 || base == 1 || base > 36 || !clean(in, v, text)) return false;
    const char *s = text + (*text == '-' || *text == '+');
    char kind = *s == '0' ? s[1] : 0;
    int64_t named = kind == 'x' || kind == 'X'   ? 16
                    : kind == 'o' || kind == 'O' ? 8
                    : kind == 'b' || kind == 'B' ? 2
                                                 : 0;
    if (named && (base == 0 || base == named)) {
        base = named;
        s += 2;
    }
    if (base == 0) base = 10;
    *out = 0;
    bool any = *s != 0, over = false;
    for (; *s; s++) {
        if (digit_value(*s) >= base) return false;
        over |= __builtin_mul_overflow(*out, base, out) || __builtin_sub_overflow(*out, (int64_t)digit_value(*s), out);
    }
    if (any && *text != '-') over |= __builtin_sub_overflow((int64_t)0, *out, out);
    if (any && over) npu__fail(in, "a number is too large");
    return any && !over;
}

bool npu__parse_float(npu__interp *in, const npu__value *v, double *out) {
    char text[DIGITS_MAX + 1], *end;
    if (!clean(in, v, text) || strpbrk(text, "xXpP(")) return false;
    *out = strtod(text, &end);
    return !*end;
}

static npu__value *from_float(npu__interp *in, double d, npu__value *missing) {
    if (d > -9.2e18 && d < 9.2e18) return new_int(in, (int64_t)d);
    return isfinite(d) ? npu__fail(in, "a number is too large") : missing ? missing : new_int(in, 0);
}

static npu__value *f_int(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *missing = npu__arg(in, args, 0, "default"), *base = npu__arg(in, args, 1, "base");
    int64_t i;
    double d;
    if (v->type == NPU__UNDEFINED) return npu__fail(in, "'%s' is undefined", v->u.ref.name);
    if (v->type == NPU__INT) return v;
    if (v->type == NPU__BOOL) return new_int(in, v->u.boolean);
    if (v->type == NPU__FLOAT) return from_float(in, v->u.number, missing);
    if (v->type == NPU__STRING) {
        if (npu__parse_int(in, v, base && base->type == NPU__INT ? base->u.integer : 10, &i)) return new_int(in, i);
        if (in->status != NPU_OK) return NULL;
        if (npu__parse_float(in, v, &d)) return from_float(in, d, missing);
    }
    return missing ? missing : new_int(in, 0);
}

static npu__value *f_float(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *missing = npu__arg(in, args, 0, "default");
    double d;
    if (v->type == NPU__UNDEFINED) return npu__fail(in, "'%s' is undefined", v->u.ref.name);
    if (npu__is_number(v)) return new_float(in, npu__as_double(v));
    if (v->type == NPU__STRING && npu__parse_float(in, v, &d)) return new_float(in, d);
    return missing ? missing : new_float(in, 0);
}

static npu__value *f_abs(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    if (v->type == NPU__FLOAT) return npu__made(in, npu__new_float(&in->arena, fabs(v->u.number)));
    if (v->type != NPU__INT || v->u.integer == INT64_MIN) return npu__fail(in, "abs needs a number");
    return new_int(in, v->u.integer < 0 ? -v->u.integer : v->u.integer);
}

/* Correctly rounded at a decimal place, halves of the exact value to even. */
static double rounded(double x, int64_t places) {
    char s[512];
    if (!isfinite(x) || places > 22 + 300) return x;
    if (places < 0) {
        double scale = pow(10, (double)-places);
        return isfinite(scale) ? rint(x / scale) * scale : 0 * x;
    }
    snprintf(s, sizeof s, "%.*f", (int)(places > 40 ? 40 : places), x);
    return strtod(s, NULL);
}

static npu__value *rounded_int(npu__interp *in, int64_t i, int64_t places) {
    int64_t scale = 1;
    for (; places < 0; places++)
        if (__builtin_mul_overflow(scale, (int64_t)10, &scale)) return new_int(in, 0);
    int64_t rest = i % scale, half = scale / 2, down = i - rest, away = i < 0 ? -scale : scale;
    int64_t size = rest < 0 ? -rest : rest;
    bool up = scale > 1 && (size > half || (size == half && down / scale % 2 != 0));
    if (up && __builtin_add_overflow(down, away, &down)) return npu__fail(in, "a number is too large");
    return new_int(in, down);
}

static npu__value *f_round(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *digits = npu__arg(in, args, 0, "precision"), *how = npu__arg(in, args, 1, "method");
    bool whole = !digits || digits->type == NPU__INT || digits->type == NPU__BOOL;
    int64_t places = !digits || !whole ? 0 : digits->type == NPU__INT ? digits->u.integer : digits->u.boolean;
    bool is_text = how && how->type == NPU__STRING;
    bool common = !how || (is_text && how->u.string.n == 6 && !memcmp(how->u.string.s, "common", 6));
    bool up = is_text && how->u.string.n == 4 && !memcmp(how->u.string.s, "ceil", 4);
    bool down = is_text && how->u.string.n == 5 && !memcmp(how->u.string.s, "floor", 5);
    if (!common && !up && !down) return npu__fail(in, "round knows the methods common, ceil and floor");
    if (!npu__is_number(v) || !whole) return npu__fail(in, "round needs a number, and a whole number of digits");
    if (common && v->type != NPU__FLOAT)
        return rounded_int(in, v->type == NPU__BOOL ? v->u.boolean : v->u.integer, places);
    if (common) return new_float(in, rounded(v->u.number, places));
    double scale = pow(10, (double)places), x = npu__as_double(v) * scale;
    return new_float(in, (up ? ceil(x) : floor(x)) / scale);
}

static npu__value *f_filesizeformat(npu__interp *in, npu__value *v, npu__args *args) {
    static const char prefixes[] = "kMGTPEZY";
    char s[64];
    bool binary = npu__flag(in, args, 0, "binary", false);
    double base = binary ? 1024 : 1000, bytes = npu__is_number(v) ? npu__as_double(v) : 0, unit = base;
    if (!npu__is_number(v) && (v->type != NPU__STRING || !npu__parse_float(in, v, &bytes)))
        return npu__fail(in, "a size is a number");
    size_t i = 0;
    while (prefixes[i + 1] && bytes >= unit * base) unit *= base, i++;
    char prefix = binary && i == 0 ? 'K' : prefixes[i];
    if (bytes == 1)
        snprintf(s, sizeof s, "1 Byte");
    else if (bytes < base)
        snprintf(s, sizeof s, "%.0f Bytes", trunc(bytes));
    else
        snprintf(s, sizeof s, "%.1f %c%sB", bytes / unit, prefix, binary ? "i" : "");
    return npu__made(in, npu__copy_string(&in->arena, s, strlen(s)));
}

const npu__filter_row npu__number_filters[] = {
    {"int", f_int}, {"float", f_float}, {"abs", f_abs}, {"round", f_round}, {"filesizeformat", f_filesizeformat},
    {NULL, NULL},
};
