#include "grammar/schema.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "grammar/schema_parts.h"

static const struct {
    const char *name;
    unsigned group;
} keywords[] = {
    {"title", NPU__K_NOTE},
    {"description", NPU__K_NOTE},
    {"default", NPU__K_NOTE},
    {"examples", NPU__K_NOTE},
    {"deprecated", NPU__K_NOTE},
    {"readOnly", NPU__K_NOTE},
    {"writeOnly", NPU__K_NOTE},
    {"$schema", NPU__K_NOTE},
    {"$id", NPU__K_NOTE},
    {"$comment", NPU__K_NOTE},
    {"$defs", NPU__K_NOTE},
    {"definitions", NPU__K_NOTE},
    {"type", NPU__K_TYPE},
    {"enum", NPU__K_VALUES},
    {"const", NPU__K_VALUES},
    {"$ref", NPU__K_OTHER},
    {"anyOf", NPU__K_OTHER},
    {"properties", NPU__K_OBJECT},
    {"required", NPU__K_OBJECT},
    {"additionalProperties", NPU__K_OBJECT},
    {"items", NPU__K_ARRAY},
    {"minItems", NPU__K_ARRAY},
    {"maxItems", NPU__K_ARRAY},
    {"minLength", NPU__K_STRING},
    {"maxLength", NPU__K_STRING},
    {"minimum", NPU__K_NUMBER},
    {"maximum", NPU__K_NUMBER},
    {"exclusiveMinimum", NPU__K_NUMBER},
    {"exclusiveMaximum", NPU__K_NUMBER},
};

/* The groups of keywords that the schema has. */
static npu_status groups_of(const npu__schema *c, const json_t *schema, unsigned *out, npu_error *err) {
    const char *key;
    const json_t *value;
    *out = 0;
    json_object_foreach((json_t *)(uintptr_t)schema, key, value) {
        size_t i = 0, n = sizeof keywords / sizeof keywords[0];
        while (i < n && strcmp(keywords[i].name, key) != 0) i++;
        if (i == n)
            return npu_fail(err, NPU_REFUSED, "schema.keyword", "the schema keyword \"%.100s\" is not supported", key);
        *out |= keywords[i].group;
        if (!strcmp(key, "$id") && schema != c->root)
            return npu_fail(err, NPU_REFUSED, "schema.keyword", "\"$id\" inside a schema is not supported");
    }
    unsigned real = *out & ~(unsigned)NPU__K_NOTE;
    if (*out & NPU__K_OTHER &&
        (real != NPU__K_OTHER || (json_object_get(schema, "$ref") && json_object_get(schema, "anyOf"))))
        return npu_fail(err, NPU_REFUSED, "schema.keyword", "the schema keyword \"%s\" is not supported beside others",
                        json_object_get(schema, "$ref") ? "$ref" : "anyOf");
    if (*out & NPU__K_VALUES && real & ~(unsigned)(NPU__K_VALUES | NPU__K_TYPE))
        return npu_fail(err, NPU_REFUSED, "schema.keyword", "\"enum\" and \"const\" are not supported beside limits");
    return NPU_OK;
}

static npu_status find_rule(npu__schema *c, npu__rule rule, uint32_t *out, npu_error *err) {
    for (size_t i = 0; i < c->n_rules; i++)
        if (c->rules[i].kind == rule.kind && c->rules[i].schema == rule.schema && c->rules[i].key == rule.key) {
            *out = c->rules[i].number;
            return NPU_OK;
        }
    if (c->n_rules == c->rules_capacity) {
        size_t capacity = c->rules_capacity * 2 + 16;
        if (capacity > NPU__RULES_MAX) return npu_fail(err, NPU_RANGE, "grammar.size", "the schema is too large");
        npu__rule *more = realloc(c->rules, capacity * sizeof *more);
        if (!more) return npu_fail(err, NPU_NO_MEMORY, "grammar.no_memory", "no memory for the grammar's rules");
        c->rules = more;
        c->rules_capacity = capacity;
    }
    rule.number = *out = npu__new_rule(c->p);
    c->rules[c->n_rules++] = rule;
    return NPU_OK;
}

npu_status npu__schema_call(npu__schema *c, npu__rule rule, npu_error *err) {
    uint32_t number = 0;
    NPU_TRY(find_rule(c, rule, &number, err));
    npu__emit(c->p, NPU__G_CALL, number);
    return NPU_OK;
}

static const struct {
    const char *name;
    unsigned type, group;
} types[] = {
    {"null", NPU__T_NULL, 0},
    {"boolean", NPU__T_BOOL, 0},
    {"integer", NPU__T_INTEGER, NPU__K_NUMBER},
    {"number", NPU__T_NUMBER | NPU__T_INTEGER, NPU__K_NUMBER},
    {"string", NPU__T_STRING, NPU__K_STRING},
    {"array", NPU__T_ARRAY, NPU__K_ARRAY},
    {"object", NPU__T_OBJECT, NPU__K_OBJECT},
};
enum { TYPE_COUNT = sizeof types / sizeof types[0] };

static npu_status add_type(const json_t *name, unsigned *out, npu_error *err) {
    for (size_t i = 0; i < TYPE_COUNT && json_is_string(name); i++)
        if (!strcmp(types[i].name, json_string_value(name))) {
            *out |= types[i].type;
            return NPU_OK;
        }
    return npu_fail(err, NPU_INVALID, "schema.value", "type: %.60s is none",
                    json_is_string(name) ? json_string_value(name) : "a value that is no text");
}

/* The types that are asked for; without "type", those that other keywords are about. */
static npu_status types_of(const json_t *schema, unsigned groups, unsigned *out, npu_error *err) {
    const json_t *type = json_object_get(schema, "type");
    *out = 0;
    if (json_is_array(type)) {
        for (size_t i = 0; i < json_array_size(type); i++) NPU_TRY(add_type(json_array_get(type, i), out, err));
        return *out ? NPU_OK : npu_fail(err, NPU_INVALID, "schema.value", "type: the list is empty");
    }
    if (type) return add_type(type, out, err);
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (groups & types[i].group) *out |= types[i].type;
    if (!*out) *out = NPU__T_ALL;
    return NPU_OK;
}

static unsigned type_of(const json_t *value) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return NPU__T_OBJECT;
    case JSON_ARRAY:
        return NPU__T_ARRAY;
    case JSON_STRING:
        return NPU__T_STRING;
    case JSON_INTEGER:
        return NPU__T_INTEGER;
    case JSON_REAL: { /* 1.0 is a whole number too */
        double x = json_real_value(value);
        return x == floor(x) ? NPU__T_NUMBER | NPU__T_INTEGER : NPU__T_NUMBER;
    }
    case JSON_NULL:
        return NPU__T_NULL;
    default:
        return NPU__T_BOOL;
    }
}

npu_status npu__schema_literal(npu__schema *c, const json_t *value, npu_error *err) {
    char *text = npu_json_text(value, JSON_COMPACT | JSON_ENCODE_ANY);
    if (!text) return npu_fail(err, NPU_NO_MEMORY, "grammar.no_memory", "no memory for the grammar");
    npu__emit_text(c->p, text, strlen(text));
    free(text);
    return NPU_OK;
}

/* enum and const: those of the values that are of the types. */
static npu_status values(npu__schema *c, const json_t *schema, unsigned allowed, npu_error *err) {
    const json_t *list = json_object_get(schema, "enum"), *one = json_object_get(schema, "const");
    size_t n = list ? json_array_size(list) : 1, used = 0;
    npu__choice choice;
    npu_status status = NPU_OK;
    if (list && !json_is_array(list)) return npu_fail(err, NPU_INVALID, "schema.value", "enum: not a list");
    npu__either(c->p, &choice);
    for (size_t i = 0; i < n && status == NPU_OK; i++) {
        const json_t *value = list ? json_array_get(list, i) : one;
        if (!(type_of(value) & allowed) || (list && one && !json_equal(value, one))) continue;
        if (used++) npu__or(c->p, &choice);
        status = npu__schema_literal(c, value, err);
    }
    npu__end(c->p, &choice);
    if (status != NPU_OK || used) return status;
    return npu_fail(err, NPU_INVALID, "schema.empty", "enum, const: no value is of the type that is asked for");
}

static npu_status one_type(npu__schema *c, const json_t *schema, unsigned type, npu_error *err) {
    switch (type) {
    case NPU__T_NULL:
        npu__emit_text(c->p, "null", 4);
        return NPU_OK;
    case NPU__T_BOOL: {
        npu__choice choice;
        npu__either(c->p, &choice);
        npu__emit_text(c->p, "true", 4);
        npu__or(c->p, &choice);
        npu__emit_text(c->p, "false", 5);
        npu__end(c->p, &choice);
        return NPU_OK;
    }
    case NPU__T_STRING:
        return npu__schema_string(c, schema, err);
    case NPU__T_ARRAY:
        return npu__schema_array(c, schema, err);
    case NPU__T_OBJECT:
        return npu__schema_object(c, schema, err);
    default:
        return npu__schema_number(c, schema, type == NPU__T_INTEGER, err);
    }
}

static npu_status typed(npu__schema *c, const json_t *schema, unsigned allowed, npu_error *err) {
    npu__choice choice;
    npu_status status = NPU_OK;
    bool first = true;
    if (allowed & NPU__T_NUMBER) allowed &= ~(unsigned)NPU__T_INTEGER;
    npu__either(c->p, &choice);
    for (unsigned type = 1; type <= NPU__T_ALL && status == NPU_OK; type <<= 1) {
        if (!(allowed & type)) continue;
        if (!first) npu__or(c->p, &choice);
        first = false;
        status = one_type(c, schema, type, err);
    }
    npu__end(c->p, &choice);
    return status;
}

static npu_status alternatives(npu__schema *c, const json_t *list, npu_error *err) {
    npu__choice choice;
    npu_status status = NPU_OK;
    if (!json_array_size(list)) return npu_fail(err, NPU_INVALID, "schema.value", "anyOf: not a list of schemas");
    npu__either(c->p, &choice);
    for (size_t i = 0; i < json_array_size(list) && status == NPU_OK; i++) {
        if (i) npu__or(c->p, &choice);
        status = npu__schema_value(c, json_array_get(list, i), err);
    }
    npu__end(c->p, &choice);
    return status;
}

npu_status npu__schema_value(npu__schema *c, const json_t *schema, npu_error *err) {
    unsigned groups, allowed;
    json_t *target;
    if (!schema || json_is_true(schema)) return npu__schema_call(c, (npu__rule){.kind = NPU__RULE_ANY}, err);
    if (json_is_false(schema)) return npu_fail(err, NPU_INVALID, "schema.empty", "a schema is false: nothing fits it");
    if (!json_is_object(schema)) return npu_fail(err, NPU_INVALID, "schema.value", "a schema is no object");
    NPU_TRY(groups_of(c, schema, &groups, err));
    if (json_object_get(schema, "$ref")) {
        NPU_TRY(npu__schema_begins(c, schema, err));
        NPU_TRY(npu__schema_resolve(c, json_object_get(schema, "$ref"), &target, err));
        return npu__schema_call(c, (npu__rule){.kind = NPU__RULE_SCHEMA, .schema = target}, err);
    }
    if (json_object_get(schema, "anyOf")) return alternatives(c, json_object_get(schema, "anyOf"), err);
    NPU_TRY(types_of(schema, groups, &allowed, err));
    if (groups & NPU__K_VALUES) return values(c, schema, allowed, err);
    if (!(groups & ~(unsigned)NPU__K_NOTE)) return npu__schema_call(c, (npu__rule){.kind = NPU__RULE_ANY}, err);
    return typed(c, schema, allowed, err);
}

static npu_status write_rule(npu__schema *c, const npu__rule *rule, npu_error *err) {
    npu__begin_rule(c->p, rule->number);
    switch (rule->kind) {
    case NPU__RULE_SCHEMA:
        NPU_TRY(npu__schema_value(c, rule->schema, err));
        break;
    case NPU__RULE_MEMBER:
        NPU_TRY(npu__schema_member(c, rule->key, rule->schema, err));
        break;
    case NPU__RULE_ANY:
        NPU_TRY(typed(c, c->empty, NPU__T_ALL, err));
        break;
    case NPU__RULE_STRING:
        NPU_TRY(npu__schema_string(c, c->empty, err));
        break;
    case NPU__RULE_SPACE:
        npu__schema_space(c);
        break;
    }
    npu__emit(c->p, NPU__G_RETURN, 0);
    return NPU_OK;
}

/* Rules ask for further rules, which are written after them. */
static npu_status write_all(npu__schema *c, npu_error *err) {
    uint32_t first;
    if (!c->empty || !c->kept) return npu_fail(err, NPU_NO_MEMORY, "grammar.no_memory", "no memory for the grammar");
    NPU_TRY(find_rule(c, (npu__rule){.kind = NPU__RULE_SCHEMA, .schema = c->root}, &first, err));
    for (size_t i = 0; i < c->n_rules; i++) {
        npu__rule rule = c->rules[i];
        NPU_TRY(write_rule(c, &rule, err));
    }
    return npu__program_finish(c->p, err);
}

npu_status npu__schema_compile(const char *schema, size_t size, npu__program *out, npu_error *err) {
    static const char any_object[] = "{\"type\": \"object\"}";
    json_error_t where;
    *out = (npu__program){0};
    npu__schema c = {.p = out};
    c.root = json_loadb(schema ? schema : any_object, schema ? size : sizeof any_object - 1,
                        JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
    if (!c.root) return npu_fail(err, NPU_INVALID, "schema.json", "schema, line %d: %s", where.line, where.text);
    c.empty = json_object();
    c.kept = json_array();
    npu_status status = write_all(&c, err);
    json_decref(c.root);
    json_decref(c.empty);
    json_decref(c.kept);
    free(c.rules);
    return status;
}
