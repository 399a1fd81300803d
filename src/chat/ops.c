/* Operators, subscripts and slices. */
#include <math.h>
#include <string.h>

#include "chat/interp.h"

static npu__value *type_error(npu__interp *in, char op, const npu__value *a, const npu__value *b) {
    const char *name = op == 'f' ? "//" : op == 'p' ? "**" : op == 'l' ? "<=" : op == 'g' ? ">=" : NULL;
    char one[2] = {op, 0};
    if (a->type == NPU__UNDEFINED || b->type == NPU__UNDEFINED)
        return npu__fail(in, "'%s' is undefined", a->type == NPU__UNDEFINED ? a->u.ref.name : b->u.ref.name);
    return npu__fail(in, "'%s' can't be applied to %s and %s", name ? name : one, npu__type_name(a), npu__type_name(b));
}

static npu__value *joined(npu__interp *in, const npu__value *a, const npu__value *b) {
    npu__value *list = npu__new_list(&in->arena, a->type);
    const npu__list *parts[] = {a->u.list, b->u.list};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < parts[k]->n; i++)
            if (!list || !npu__list_add(&in->arena, list->u.list, parts[k]->items[i])) return npu__fail_memory(in);
    return npu__step(in, parts[0]->n + parts[1]->n) ? npu__made(in, list) : NULL;
}

static npu__value *repeated(npu__interp *in, const npu__value *a, int64_t times) {
    uint64_t n = times > 0 ? (uint64_t)times : 0;
    if (a->type == NPU__STRING) {
        size_t from = in->out.n;
        if (a->u.string.n && n > in->out.limit / a->u.string.n) return npu__fail_limit(in, "a text is too long");
        for (uint64_t i = 0; i < n && a->u.string.n; i++)
            if (!npu__step(in, 1) || !npu__write_part(in, a, 0, a->u.string.n)) return NULL;
        return npu__captured(in, from);
    }
    npu__value *list = npu__new_list(&in->arena, a->type);
    for (uint64_t i = 0; i < n && a->u.list->n; i++)
        for (size_t k = 0; k < a->u.list->n; k++) {
            if (!npu__step(in, 1)) return NULL;
            if (!list || !npu__list_add(&in->arena, list->u.list, a->u.list->items[k])) return npu__fail_memory(in);
        }
    return npu__made(in, list);
}

static int64_t whole(const npu__value *v) {
    return v->type == NPU__BOOL ? v->u.boolean : v->u.integer;
}

/* With the sign of the divisor. */
static double remainder_of(double a, double b) {
    double r = fmod(a, b);
    if (r == 0) return copysign(0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

/* What goes with that remainder: the quotient itself may have been rounded up to the next whole number. */
static double floor_quotient(double a, double b) {
    double q = (a - fmod(a, b)) / b;
    if (fmod(a, b) != 0 && (fmod(a, b) < 0) != (b < 0)) q -= 1;
    if (q == 0) return copysign(0, a / b);
    return q - floor(q) > 0.5 ? floor(q) + 1 : floor(q);
}

static npu__value *floats(npu__interp *in, char op, double a, double b) {
    double r = 0;
    if (op == 'p' && a == 0 && b < 0) return npu__fail(in, "zero can't be raised to a negative power");
    if (op == 'p' && a < 0 && isfinite(b) && b != floor(b)) return npu__fail(in, "the power would be a complex number");
    if ((op == '/' || op == 'f' || op == '%') && b == 0) return npu__fail(in, "division by zero");
    switch (op) {
    case '+':
        r = a + b;
        break;
    case '-':
        r = a - b;
        break;
    case '*':
        r = a * b;
        break;
    case '/':
        r = a / b;
        break;
    case 'f':
        r = floor_quotient(a, b);
        break;
    case '%':
        r = remainder_of(a, b);
        break;
    default:
        r = pow(a, b);
        break;
    }
    return npu__made(in, npu__new_float(&in->arena, r));
}

static npu__value *power(npu__interp *in, int64_t a, int64_t b) {
    int64_t r = 1;
    if (b < 0) return floats(in, 'p', (double)a, (double)b);
    while (b) {
        if (b & 1 && __builtin_mul_overflow(r, a, &r)) return npu__fail(in, "a number is too large");
        b >>= 1;
        if (b && __builtin_mul_overflow(a, a, &a)) return npu__fail(in, "a number is too large");
    }
    return npu__made(in, npu__new_int(&in->arena, r));
}

static npu__value *wholes(npu__interp *in, char op, int64_t a, int64_t b) {
    int64_t r = 0;
    bool over = false;
    if (op == 'p') return power(in, a, b);
    if (op == '/') return floats(in, op, (double)a, (double)b);
    if ((op == 'f' || op == '%') && b == 0) return npu__fail(in, "division by zero");
    if ((op == 'f' || op == '%') && b == -1) {
        over = op == 'f' && __builtin_sub_overflow((int64_t)0, a, &r);
    } else if (op == 'f') {
        r = a / b - (a % b != 0 && (a < 0) != (b < 0));
    } else if (op == '%') {
        r = a % b;
        r += r != 0 && (r < 0) != (b < 0) ? b : 0;
    } else {
        over = op == '+'   ? __builtin_add_overflow(a, b, &r)
               : op == '-' ? __builtin_sub_overflow(a, b, &r)
                           : __builtin_mul_overflow(a, b, &r);
    }
    return over ? npu__fail(in, "a number is too large") : npu__made(in, npu__new_int(&in->arena, r));
}

static npu__value *added_strings(npu__interp *in, npu__value *a, npu__value *b) {
    bool markup = a->u.string.markup || b->u.string.markup;
    if (markup && (!(a = npu__escaped(in, a)) || !(b = npu__escaped(in, b)))) return NULL;
    size_t from = in->out.n;
    if (!npu__write_text(in, a) || !npu__write_text(in, b)) return NULL;
    npu__value *r = npu__captured(in, from);
    if (r) r->u.string.markup = markup;
    return r;
}

npu__value *npu__binary(npu__interp *in, char op, npu__value *a, npu__value *b) {
    size_t from = in->out.n;
    if (op == '~') return npu__write_text(in, a) && npu__write_text(in, b) ? npu__captured(in, from) : NULL;
    if (op == '%' && a->type == NPU__STRING) return npu__percent(in, a, b) ? npu__captured(in, from) : NULL;
    if (npu__is_number(a) && npu__is_number(b)) {
        if (a->type == NPU__FLOAT || b->type == NPU__FLOAT) return floats(in, op, npu__as_double(a), npu__as_double(b));
        return wholes(in, op, whole(a), whole(b));
    }
    if (op == '+' && a->type == b->type && a->type == NPU__STRING) return added_strings(in, a, b);
    if (op == '+' && a->type == b->type && npu__is_list(a)) return joined(in, a, b);
    bool text_a = a->type == NPU__STRING || npu__is_list(a), text_b = b->type == NPU__STRING || npu__is_list(b);
    if (op == '*' && text_a && (b->type == NPU__INT || b->type == NPU__BOOL)) return repeated(in, a, whole(b));
    if (op == '*' && text_b && (a->type == NPU__INT || a->type == NPU__BOOL)) return repeated(in, b, whole(a));
    return type_error(in, op, a, b);
}

/* a in b; -1 after a failure. */
static int contained(npu__interp *in, npu__value *a, npu__value *b) {
    switch (b->type) {
    case NPU__STRING:
        if (a->type != NPU__STRING) {
            npu__fail(in, "'in' with a string needs a string on its left, not %s", npu__type_name(a));
            return -1;
        }
        if (!npu__step(in, b->u.string.n / 64)) return -1;
        return !a->u.string.n || memmem(b->u.string.s, b->u.string.n, a->u.string.s, a->u.string.n) != NULL;
    case NPU__LIST:
    case NPU__TUPLE:
        if (!npu__step(in, b->u.list->n)) return -1;
        for (size_t i = 0; i < b->u.list->n; i++)
            if (npu__equal(&in->arena, a, b->u.list->items[i])) return 1;
        return 0;
    case NPU__DICT:
    case NPU__NAMESPACE:
        return npu__step(in, b->u.dict->n) ? npu__dict_get(&in->arena, b->u.dict, a) != NULL : -1;
    case NPU__UNDEFINED:
        return 0;
    default:
        npu__fail(in, "%s can't be searched with 'in'", npu__type_name(b));
        return -1;
    }
}

int npu__related(npu__interp *in, char op, npu__value *a, npu__value *b) {
    int order;
    if (op == '=' || op == '!') return npu__equal(&in->arena, a, b) == (op == '=');
    if (op == 'i' || op == 'n') {
        int is = contained(in, a, b);
        return is < 0 ? is : is == (op == 'i');
    }
    if (!npu__compare(&in->arena, a, b, &order)) {
        type_error(in, op, a, b);
        return -1;
    }
    if (order > 1) return 0; /* not a number */
    return op == '<' ? order < 0 : op == '>' ? order > 0 : op == 'l' ? order <= 0 : order >= 0;
}

static npu__value *undefined_item(npu__interp *in, const npu__value *key) {
    const char *name = "item";
    if (key->type == NPU__STRING) {
        npu__value *copy = npu__copy_string(&in->arena, key->u.string.s, key->u.string.n);
        if (!copy) return npu__fail_memory(in);
        name = copy->u.string.s;
    }
    return npu__made(in, npu__new_undefined(&in->arena, name));
}

/* Generators and a dict's keys, values and items have no places, though they are lists here. */
static bool is_indexed(const npu__value *list) {
    return list->type == NPU__TUPLE || list->u.list->kind == NPU__PLAIN || list->u.list->kind == NPU__RANGE;
}

npu__value *npu__item(npu__interp *in, npu__value *v, npu__value *key) {
    if (v->type == NPU__UNDEFINED) return npu__fail(in, "'%s' is undefined", v->u.ref.name);
    if (v->type == NPU__DICT) {
        if (!npu__step(in, 1 + v->u.dict->n / 16)) return NULL;
        npu__value *found = npu__dict_get(&in->arena, v->u.dict, key);
        if (found) return found;
    }
    bool index = key->type == NPU__INT || key->type == NPU__BOOL;
    if (index && (npu__is_list(v) || v->type == NPU__STRING)) {
        bool text = v->type == NPU__STRING;
        bool has_none = !text && !is_indexed(v);
        if (has_none || (text && !npu__step(in, v->u.string.n / 64))) return has_none ? undefined_item(in, key) : NULL;
        int64_t n = (int64_t)(text ? npu__chars(v->u.string.s, v->u.string.n) : v->u.list->n), i = whole(key);
        if (i < 0) i += n;
        if (i < 0 || i >= n) return undefined_item(in, key);
        if (!text) return v->u.list->items[i];
        size_t at = npu__char_offset(v->u.string.s, v->u.string.n, (size_t)i);
        size_t len = npu__char_offset(v->u.string.s + at, v->u.string.n - at, 1);
        return npu__part(in, v, at, len);
    }
    if (key->type == NPU__STRING && v->type != NPU__DICT) {
        npu__value *copy = npu__copy_string(&in->arena, key->u.string.s, key->u.string.n);
        return copy ? npu__attribute(in, v, copy->u.string.s, copy->u.string.n) : npu__fail_memory(in);
    }
    return undefined_item(in, key);
}

/* A bound of a slice, clipped as Python does it. */
static bool bound(npu__interp *in, const npu__value *v, int64_t n, int64_t step, int64_t missing, int64_t *out) {
    *out = missing;
    if (!v || v->type == NPU__NONE) return true;
    if (v->type != NPU__INT && v->type != NPU__BOOL) return npu__fail(in, "a slice needs whole numbers") != NULL;
    int64_t i = whole(v), low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
    if (i < 0) i += n;
    *out = i < low ? low : i > high ? high : i;
    return true;
}

npu__value *npu__slice(npu__interp *in, npu__value *v, npu__value *const parts[3]) {
    bool text = v->type == NPU__STRING;
    if (v->type == NPU__UNDEFINED) return npu__fail(in, "'%s' is undefined", v->u.ref.name);
    if (!text && !npu__is_list(v)) return npu__fail(in, "%s can't be sliced", npu__type_name(v));
    if (!text && !is_indexed(v))
        return npu__fail(in, "what a filter or a dict gives can't be sliced: make a list of it first");
    int64_t n = (int64_t)(text ? npu__chars(v->u.string.s, v->u.string.n) : v->u.list->n), step, from, to;
    if (!bound(in, parts[2], INT64_MAX / 4, 1, 1, &step)) return NULL;
    if (parts[2] && parts[2]->type != NPU__NONE) step = whole(parts[2]);
    if (step == 0) return npu__fail(in, "the step of a slice is zero");
    if (!bound(in, parts[0], n, step, step < 0 ? n - 1 : 0, &from)) return NULL;
    if (!bound(in, parts[1], n, step, step < 0 ? -1 : n, &to)) return NULL;
    if (!npu__step(in, (uint64_t)n / 8 + 1)) return NULL;
    if (text && step == 1) {
        size_t begin = npu__char_offset(v->u.string.s, v->u.string.n, (size_t)from);
        size_t len =
            from < to ? npu__char_offset(v->u.string.s + begin, v->u.string.n - begin, (size_t)(to - from)) : 0;
        npu__value *part = npu__part(in, v, begin, len);
        if (part) part->u.string.markup = v->u.string.markup;
        return part;
    }
    size_t start = in->out.n;
    npu__list *items = text ? npu__iterate(in, v) : v->u.list;
    npu__value *list = text ? NULL : npu__new_list(&in->arena, v->type);
    if (!items) return NULL;
    for (int64_t i = from; step > 0 ? i < to : i > to; i += step) {
        npu__value *x = items->items[i];
        if (text && !npu__write_text(in, x)) return NULL;
        if (!text && (!list || !npu__list_add(&in->arena, list->u.list, x))) return npu__fail_memory(in);
        if (step > INT64_MAX - n || step < -n) break;
    }
    return text ? npu__captured(in, start) : npu__made(in, list);
}
