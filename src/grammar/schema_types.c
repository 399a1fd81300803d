/* The types of JSON values, with the limits that a schema sets. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grammar/schema_parts.h"

enum { INDENT_MAX = 24, COUNT_MAX = 1 << 24 };

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

static npu_status counts(const json_t *schema, const char *min_name, const char *max_name, uint32_t *min, uint32_t *max,
                         npu_error *err) {
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
    NPU_TRY(counts(schema, "minLength", "maxLength", &min, &max, err));
    npu__emit_text(c->p, "\"", 1);
    uint32_t loop = npu__open(c->p, min, max);
    character(c->p);
    npu__close(c->p, loop);
    npu__emit_text(c->p, "\"", 1);
    return NPU_OK;
}

static npu_status bound(const json_t *schema, const char *name, bool *given, double *out, npu_error *err) {
    const json_t *v = json_object_get(schema, name);
    *given = v != NULL;
    if (v && !json_is_number(v)) return npu_fail(err, NPU_INVALID, "schema.value", "%s: not a number", name);
    if (v) *out = json_number_value(v);
    if (v && fabs(*out) > 9e15)
        return npu_fail(err, NPU_REFUSED, "schema.value", "%s: limits beyond 9e15 are not supported", name);
    return NPU_OK;
}

/* The lower (way 1) or upper (way -1) limit, inclusive. */
static npu_status limit(const json_t *schema, int way, bool whole, bool *given, double *out, npu_error *err) {
    bool has, has_open;
    double open = 0;
    NPU_TRY(bound(schema, way > 0 ? "minimum" : "maximum", &has, out, err));
    NPU_TRY(bound(schema, way > 0 ? "exclusiveMinimum" : "exclusiveMaximum", &has_open, &open, err));
    *given = has || has_open;
    if (whole && has) *out = way > 0 ? ceil(*out) : floor(*out);
    if (!has_open) return NPU_OK;
    if (whole)
        open = way > 0 ? floor(open) + 1 : ceil(open) - 1;
    else if (fabs(open) < 1e-15) /* as near as 15 digits after the point come */
        open = way * 1e-15;
    else
        open = nextafter(open, way * INFINITY);
    if (!has || (open - *out) * way > 0) *out = open;
    return NPU_OK;
}

npu_status npu__schema_number(npu__schema *c, const json_t *schema, bool whole, npu_error *err) {
    const double most = 999999999999999.0;
    bool has_low, has_high;
    double low = 0, high = 0;
    NPU_TRY(limit(schema, 1, whole, &has_low, &low, err));
    NPU_TRY(limit(schema, -1, whole, &has_high, &high, err));
    if ((has_low && has_high && low > high) || (!whole && has_low && low > most) ||
        (!whole && has_high && high < -most))
        return npu_fail(err, NPU_INVALID, "schema.empty", "no number is within the limits");
    if (!whole) {
        npu__emit_real(c->p, has_low ? &low : NULL, has_high ? &high : NULL);
        return NPU_OK;
    }
    if (!has_low) low = has_high && high < 0 ? -1e16 : -most;
    if (!has_high) high = has_low && low > 0 ? 1e16 : most;
    npu__emit_whole(c->p, (int64_t)low, (int64_t)high);
    return NPU_OK;
}

/* Nothing, a space, or a line feed with some indentation. */
void npu__schema_space(npu__schema *c) {
    npu__choice choice;
    npu__either(c->p, &choice);
    npu__emit_text(c->p, " ", 1);
    npu__or(c->p, &choice);
    npu__emit_text(c->p, "\n", 1);
    uint32_t loop = npu__open(c->p, 0, INDENT_MAX);
    npu__emit_text(c->p, " ", 1);
    npu__close(c->p, loop);
    npu__or(c->p, &choice);
    npu__end(c->p, &choice);
}

static npu_status space(npu__schema *c, npu_error *err) {
    return npu__schema_call(c, (npu__rule){.kind = NPU__RULE_SPACE}, err);
}

static npu_status punctuation(npu__schema *c, const char *s, npu_error *err) {
    npu__emit_text(c->p, s, 1);
    return space(c, err);
}

npu_status npu__schema_array(npu__schema *c, const json_t *schema, npu_error *err) {
    const json_t *items = json_object_get(schema, "items");
    npu__rule item = {.kind = NPU__RULE_SCHEMA, .schema = items};
    uint32_t min, max;
    npu__choice choice;
    if (!items || json_is_true(items)) item = (npu__rule){.kind = NPU__RULE_ANY};
    if (json_is_array(items))
        return npu_fail(err, NPU_REFUSED, "schema.keyword", "\"items\" as a list is not supported");
    NPU_TRY(counts(schema, "minItems", "maxItems", &min, &max, err));
    if (json_is_false(items)) {
        max = 0;
        if (min) return npu_fail(err, NPU_INVALID, "schema.empty", "minItems: no item fits");
    }
    NPU_TRY(punctuation(c, "[", err));
    npu__either(c->p, &choice);
    npu_status status = NPU_OK;
    if (max) {
        status = npu__schema_call(c, item, err);
        uint32_t loop = npu__open(c->p, min ? min - 1 : 0, max == NPU__G_NO_LIMIT ? max : max - 1);
        if (status == NPU_OK) status = punctuation(c, ",", err);
        if (status == NPU_OK) status = npu__schema_call(c, item, err);
        npu__close(c->p, loop);
        if (status == NPU_OK) status = space(c, err);
    }
    if (max && !min) npu__or(c->p, &choice);
    npu__end(c->p, &choice);
    npu__emit_text(c->p, "]", 1);
    return status;
}

npu_status npu__schema_member(npu__schema *c, const char *key, const json_t *value, npu_error *err) {
    if (key) {
        json_t *text = json_string(key);
        npu_status status = text ? npu__schema_literal(c, text, err)
                                 : npu_fail(err, NPU_NO_MEMORY, "grammar.no_memory", "no memory for the grammar");
        json_decref(text);
        if (status != NPU_OK) return status;
    } else {
        NPU_TRY(npu__schema_call(c, (npu__rule){.kind = NPU__RULE_STRING}, err));
    }
    NPU_TRY(punctuation(c, ":", err));
    return npu__schema_value(c, value, err);
}

/* Any members, with values that fit |value|. */
static npu_status free_members(npu__schema *c, const json_t *value, npu_error *err) {
    npu__rule member = {.kind = NPU__RULE_MEMBER, .schema = value};
    npu__choice choice;
    npu__either(c->p, &choice);
    npu_status status = npu__schema_call(c, member, err);
    uint32_t loop = npu__open(c->p, 0, NPU__G_NO_LIMIT);
    if (status == NPU_OK) status = punctuation(c, ",", err);
    if (status == NPU_OK) status = npu__schema_call(c, member, err);
    npu__close(c->p, loop);
    if (status == NPU_OK) status = space(c, err);
    npu__or(c->p, &choice);
    npu__end(c->p, &choice);
    return status;
}

static bool is_required(const json_t *required, const char *key) {
    for (size_t i = 0; i < json_array_size(required); i++)
        if (!strcmp(json_string_value(json_array_get(required, i)), key)) return true;
    return false;
}

static npu_status call_member(npu__schema *c, void *it, npu_error *err) {
    npu__rule member = {
        .kind = NPU__RULE_MEMBER, .schema = json_object_iter_value(it), .key = json_object_iter_key(it)};
    return npu__schema_call(c, member, err);
}

/* The named members in their order. Up to the first that must come each may be the one that has no comma before it;
 * each of those goes on in the second chain, where all have commas. */
static npu_status named_members(npu__schema *c, json_t *members, const json_t *required, npu_error *err) {
    size_t n = json_object_size(members), i = 0, n_firsts = 0;
    uint32_t *firsts = malloc(n * sizeof *firsts); /* the jumps from the first chain, in order */
    npu_status status =
        firsts ? NPU_OK : npu_fail(err, NPU_NO_MEMORY, "grammar.no_memory", "no memory for the grammar");
    bool needed = false;
    for (void *it = json_object_iter(members); it && !needed && status == NPU_OK;
         it = json_object_iter_next(members, it)) {
        needed = is_required(required, json_object_iter_key(it));
        uint32_t skip = needed ? 0 : npu__emit(c->p, NPU__G_SPLIT, 0);
        status = call_member(c, it, err);
        firsts[n_firsts++] = npu__emit(c->p, NPU__G_JUMP, 0);
        if (!needed) npu__aim(c->p, skip);
    }
    uint32_t none = needed ? 0 : npu__emit(c->p, NPU__G_JUMP, 0);
    for (void *it = json_object_iter(members); it && status == NPU_OK; it = json_object_iter_next(members, it), i++) {
        if (i) { /* the first can't come after another */
            npu__choice choice;
            npu__either(c->p, &choice);
            status = punctuation(c, ",", err);
            if (status == NPU_OK) status = call_member(c, it, err);
            if (!is_required(required, json_object_iter_key(it))) npu__or(c->p, &choice);
            npu__end(c->p, &choice);
        }
        if (i < n_firsts) npu__aim(c->p, firsts[i]);
    }
    if (!needed) npu__aim(c->p, none);
    free(firsts);
    return status;
}

/* The properties, and what is required without being among them. */
static npu_status all_members(const json_t *properties, const json_t *required, const json_t *others, json_t *out,
                              npu_error *err) {
    if (properties && json_object_update(out, (json_t *)(uintptr_t)properties) != 0)
        return npu_fail(err, NPU_NO_MEMORY, "grammar.no_memory", "no memory for the grammar");
    for (size_t i = 0; i < json_array_size(required); i++) {
        const json_t *name = json_array_get(required, i);
        if (!json_is_string(name)) return npu_fail(err, NPU_INVALID, "schema.value", "required: not a list of names");
        if (json_object_get(out, json_string_value(name))) continue;
        if (json_is_false(others))
            return npu_fail(err, NPU_INVALID, "schema.empty", "required: additionalProperties forbids \"%.60s\"",
                            json_string_value(name));
        int bad = others ? json_object_set(out, json_string_value(name), (json_t *)(uintptr_t)others)
                         : json_object_set_new(out, json_string_value(name), json_true());
        if (bad) return npu_fail(err, NPU_NO_MEMORY, "grammar.no_memory", "no memory for the grammar");
    }
    return NPU_OK;
}

npu_status npu__schema_object(npu__schema *c, const json_t *schema, npu_error *err) {
    const json_t *properties = json_object_get(schema, "properties"), *required = json_object_get(schema, "required");
    const json_t *others = json_object_get(schema, "additionalProperties");
    if (properties && !json_is_object(properties))
        return npu_fail(err, NPU_INVALID, "schema.value", "properties: not an object");
    if (required && !json_is_array(required))
        return npu_fail(err, NPU_INVALID, "schema.value", "required: not a list of names");
    if (others && !json_is_object(others) && !json_is_boolean(others))
        return npu_fail(err, NPU_INVALID, "schema.value", "additionalProperties: no schema");
    json_t *members = json_object();
    npu_status status = members ? all_members(properties, required, others, members, err)
                                : npu_fail(err, NPU_NO_MEMORY, "grammar.no_memory", "no memory for the grammar");
    /* The rules of members refer to their keys, so the object is kept with the schema. */
    if (status == NPU_OK && json_array_append(c->kept, members) != 0)
        status = npu_fail(err, NPU_NO_MEMORY, "grammar.no_memory", "no memory for the grammar");
    if (status == NPU_OK) status = punctuation(c, "{", err);
    if (status == NPU_OK && json_object_size(members)) {
        status = named_members(c, members, required, err);
        if (status == NPU_OK) status = space(c, err);
    } else if (status == NPU_OK && !json_is_false(others)) {
        status = free_members(c, others, err);
    }
    npu__emit_text(c->p, "}", 1);
    json_decref(members);
    return status;
}
