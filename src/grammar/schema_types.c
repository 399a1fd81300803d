/* Arrays and objects, with the limits that a schema sets. */
#include <stdlib.h>
#include <string.h>

#include "grammar/schema_parts.h"

enum { INDENT_MAX = 24 };

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
    NPU_TRY(npu__schema_counts(schema, "minItems", "maxItems", &min, &max, err));
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

/* A property that is false must not come: it is left out. */
static npu_status leave_out(json_t *members, const json_t *required, npu_error *err) {
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(members, next, key, value) {
        if (!json_is_false(value)) continue;
        if (is_required(required, key))
            return npu_fail(err, NPU_INVALID, "schema.empty", "required: properties forbids \"%.60s\"", key);
        json_object_del(members, key);
    }
    return NPU_OK;
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
    bool named = members && json_object_size(members);
    if (status == NPU_OK) status = leave_out(members, required, err);
    /* The rules of members refer to their keys, so the object is kept with the schema. */
    if (status == NPU_OK && json_array_append(c->kept, members) != 0)
        status = npu_fail(err, NPU_NO_MEMORY, "grammar.no_memory", "no memory for the grammar");
    if (status == NPU_OK) status = punctuation(c, "{", err);
    if (status == NPU_OK && json_object_size(members)) {
        status = named_members(c, members, required, err);
        if (status == NPU_OK) status = space(c, err);
    } else if (status == NPU_OK && !named && !json_is_false(others)) {
        status = free_members(c, others, err);
    }
    npu__emit_text(c->p, "}", 1);
    json_decref(members);
    return status;
}
