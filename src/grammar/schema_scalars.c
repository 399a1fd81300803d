/* Strings and numbers, with the limits that a schema sets. */
#include <math.h>

#include "grammar/schema_parts.h"

enum { COUNT_MAX = 1 << 24 };

/* minLength and its like. */
static npu_status count(const json_t *schema, const char *name, uint32_t missing, uint32_t *out, npu_error *err) {
    const json_t *v = json_object_get(schema, name);
    double x = json_number_value(v);
    *out = missing;
    if (!v) return NPU_OK;
    if (!json_is_number(v) || !(x >= 0) || x != floor(x))
        return npu_fail(err, NPU_INVALID, "schema.value", "%s: not a whole number from 0", name);
    if (x > COUNT_MAX && missing == 0)
        return npu_fail(err, NPU_REFUSED, "schema.value", "%s: more than %d is not supported", name, COUNT_MAX);
    *out = x > COUNT_MAX ? COUNT_MAX : (uint32_t)x;
    return NPU_OK;
}

npu_status npu__schema_counts(const json_t *schema, const char *min_name, const char *max_name, uint32_t *min,
                              uint32_t *max, npu_error *err) {
    NPU_TRY(count(schema, min_name, 0, min, err));
    NPU_TRY(count(schema, max_name, NPU__G_NO_LIMIT, max, err));
    if (*min <= *max) return NPU_OK;
    return npu_fail(err, NPU_INVALID, "schema.empty", "%s is above %s: nothing fits", min_name, max_name);
}

static void bytes(npu__program *p, const char *s) {
    npu__byte_set set = {{0}};
    for (; *s; s++) set.bits[(uint8_t)*s / 64] |= (uint64_t)1 << (uint8_t)*s % 64;
    npu__emit_set(p, set);
}

/* Bytes of a character after its first: the next one from |low| to |high|, then |more| of any. */
static void rest(npu__program *p, uint8_t low, uint8_t high, int more) {
    npu__emit_range(p, low, high);
    for (int i = 0; i < more; i++) npu__emit_range(p, 0x80, 0xBF);
}

/* "\n", "\u00e9" …; no halves of surrogate pairs: those characters can stand for themselves. */
static void escape(npu__program *p) {
    static const char hex[] = "0123456789abcdefABCDEF";
    npu__choice c, d;
    npu__emit_text(p, "\\", 1);
    npu__either(p, &c);
    bytes(p, "\"\\/bfnrt");
    npu__or(p, &c);
    npu__emit_text(p, "u", 1);
    npu__either(p, &d);
    bytes(p, "0123456789abcefABCEF");
    bytes(p, hex);
    npu__or(p, &d);
    bytes(p, "dD");
    npu__emit_range(p, '0', '7');
    npu__end(p, &d);
    bytes(p, hex);
    bytes(p, hex);
    npu__end(p, &c);
}

/* One character of a string, in well-formed UTF-8. */
static void character(npu__program *p) {
    static const struct {
        uint8_t first, last, low, high;
        int more;
    } rows[] = {{0xC2, 0xDF, 0x80, 0xBF, 0}, {0xE0, 0xE0, 0xA0, 0xBF, 1}, {0xE1, 0xEC, 0x80, 0xBF, 1},
                {0xED, 0xED, 0x80, 0x9F, 1}, {0xEE, 0xEF, 0x80, 0xBF, 1}, {0xF0, 0xF0, 0x90, 0xBF, 2},
                {0xF1, 0xF3, 0x80, 0xBF, 2}, {0xF4, 0xF4, 0x80, 0x8F, 2}};
    npu__byte_set plain = {{0}};
    npu__choice c;
    for (unsigned b = 0x20; b < 0x80; b++)
        if (b != '"' && b != '\\') plain.bits[b / 64] |= (uint64_t)1 << b % 64;
    npu__either(p, &c);
    npu__emit_set(p, plain);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        npu__or(p, &c);
        npu__emit_range(p, rows[i].first, rows[i].last);
        rest(p, rows[i].low, rows[i].high, rows[i].more);
    }
    npu__or(p, &c);
    escape(p);
    npu__end(p, &c);
}

npu_status npu__schema_string(npu__schema *c, const json_t *schema, npu_error *err) {
    uint32_t min, max;
    NPU_TRY(npu__schema_counts(schema, "minLength", "maxLength", &min, &max, err));
    npu__emit_text(c->p, "\"", 1);
    uint32_t loop = npu__open(c->p, min, max);
    character(c->p);
    npu__close(c->p, loop);
    npu__emit_text(c->p, "\"", 1);
    return NPU_OK;
}

/* The lower (way 1) or upper (way -1) limit of real numbers, inclusive. */
static npu_status bound(const json_t *schema, const char *name, bool *given, double *out, npu_error *err) {
    const json_t *v = json_object_get(schema, name);
    *given = v != NULL;
    if (v && !json_is_number(v)) return npu_fail(err, NPU_INVALID, "schema.value", "%s: not a number", name);
    if (v) *out = json_number_value(v);
    return NPU_OK;
}

static npu_status real_limit(const json_t *schema, int way, bool *given, double *out, npu_error *err) {
    bool has, has_open;
    double open = 0;
    NPU_TRY(bound(schema, way > 0 ? "minimum" : "maximum", &has, out, err));
    NPU_TRY(bound(schema, way > 0 ? "exclusiveMinimum" : "exclusiveMaximum", &has_open, &open, err));
    *given = has || has_open;
    if (!has_open) return NPU_OK;
    open = fabs(open) < 1e-15 ? way * 1e-15 /* as near as 15 digits after the point come */
                              : nextafter(open, way * INFINITY);
    if (!has || (open - *out) * way > 0) *out = open;
    return NPU_OK;
}

/* One limit of whole numbers as the whole number next to it inside, of 64 bits. |exclusive|: itself is outside. */
static npu_status whole_bound(const json_t *schema, const char *name, int way, bool exclusive, bool *given,
                              int64_t *out, npu_error *err) {
    const json_t *v = json_object_get(schema, name);
    int64_t i = 0;
    if (!v) return NPU_OK;
    if (!json_is_number(v)) return npu_fail(err, NPU_INVALID, "schema.value", "%s: not a number", name);
    if (json_is_integer(v)) {
        i = json_integer_value(v);
    } else {
        double x = json_real_value(v), inside = way > 0 ? ceil(x) : floor(x);
        exclusive = exclusive && inside == x;
        bool outside = way > 0 ? x >= 9223372036854775808.0 : x < -9223372036854775808.0;
        if (outside) return npu_fail(err, NPU_REFUSED, "schema.value", "%s: beyond 64 bits is not supported", name);
        i = inside >= 9223372036854775808.0 ? INT64_MAX : inside < -9223372036854775808.0 ? INT64_MIN : (int64_t)inside;
    }
    if (exclusive && __builtin_add_overflow(i, (int64_t)way, &i))
        return npu_fail(err, NPU_REFUSED, "schema.value", "%s: beyond 64 bits is not supported", name);
    if (!*given || (way > 0 ? i > *out : i < *out)) *out = i;
    *given = true;
    return NPU_OK;
}

static npu_status whole_limit(const json_t *schema, int way, bool *given, int64_t *out, npu_error *err) {
    *given = false;
    NPU_TRY(whole_bound(schema, way > 0 ? "minimum" : "maximum", way, false, given, out, err));
    return whole_bound(schema, way > 0 ? "exclusiveMinimum" : "exclusiveMaximum", way, true, given, out, err);
}

static npu_status nothing(npu_error *err) {
    return npu_fail(err, NPU_INVALID, "schema.empty", "no number is within the limits");
}

static npu_status whole_number(npu__schema *c, const json_t *schema, npu_error *err) {
    const int64_t most = 999999999999999; /* without a limit: what every program reads exactly */
    bool has_low, has_high;
    int64_t low = 0, high = 0;
    NPU_TRY(whole_limit(schema, 1, &has_low, &low, err));
    NPU_TRY(whole_limit(schema, -1, &has_high, &high, err));
    if (has_low && has_high && low > high) return nothing(err);
    if (!has_low) low = !has_high || high > -most / 10 ? -most : INT64_MIN;
    if (!has_high) high = !has_low || low < most / 10 ? most : INT64_MAX;
    npu__emit_whole(c->p, low, high);
    return NPU_OK;
}

npu_status npu__schema_number(npu__schema *c, const json_t *schema, bool whole, npu_error *err) {
    const double most = 999999999999999.0;
    bool has_low, has_high;
    double low = 0, high = 0;
    if (whole) return whole_number(c, schema, err);
    NPU_TRY(real_limit(schema, 1, &has_low, &low, err));
    NPU_TRY(real_limit(schema, -1, &has_high, &high, err));
    if (has_low && has_high && low > high) return nothing(err);
    if ((has_low && low > most) || (has_high && high < -most))
        return npu_fail(err, NPU_REFUSED, "schema.value", "%s: only numbers beyond 999999999999999 is not supported",
                        has_low && low > most ? "minimum" : "maximum");
    npu__emit_real(c->p, has_low ? &low : NULL, has_high ? &high : NULL);
    return NPU_OK;
}
