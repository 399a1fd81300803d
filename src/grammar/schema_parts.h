/* What the files of the schema compiler share. */
#ifndef NPU_GRAMMAR_SCHEMA_PARTS_H
#define NPU_GRAMMAR_SCHEMA_PARTS_H

#include <jansson.h>

#include "grammar/program.h"

/* Groups of keywords. */
enum {
    NPU__K_NOTE = 1 << 0, /* says nothing about values */
    NPU__K_TYPE = 1 << 1,
    NPU__K_VALUES = 1 << 2,
    NPU__K_OTHER = 1 << 3, /* another schema decides */
    NPU__K_OBJECT = 1 << 4,
    NPU__K_ARRAY = 1 << 5,
    NPU__K_STRING = 1 << 6,
    NPU__K_NUMBER = 1 << 7,
};

enum {
    NPU__T_NULL = 1 << 0,
    NPU__T_BOOL = 1 << 1,
    NPU__T_INTEGER = 1 << 2,
    NPU__T_NUMBER = 1 << 3,
    NPU__T_STRING = 1 << 4,
    NPU__T_ARRAY = 1 << 5,
    NPU__T_OBJECT = 1 << 6,
    NPU__T_ALL = (1 << 7) - 1,
};

typedef struct npu__rule {
    enum { NPU__RULE_SCHEMA, NPU__RULE_MEMBER, NPU__RULE_ANY, NPU__RULE_STRING, NPU__RULE_SPACE } kind;
    const json_t *schema; /* of a schema or a member's value; NULL: any value */
    const char *key;      /* of a member; NULL: any key */
    uint32_t number;
} npu__rule;

enum { NPU__RULES_MAX = 1 << 15 };

typedef struct npu__schema {
    npu__program *p;
    json_t *root, *empty;
    json_t *kept; /* a list of objects that rules point into */
    npu__rule *rules;
    size_t n_rules, rules_capacity;
    unsigned n_checked;
} npu__schema;

/* What a $ref leads to. */
npu_status npu__schema_resolve(const npu__schema *c, const json_t *ref, json_t **out, npu_error *err);
/* A schema that refers to itself before it asks for any text would never begin: INVALID. */
npu_status npu__schema_begins(npu__schema *c, const json_t *schema, npu_error *err);
npu_status npu__schema_call(npu__schema *c, npu__rule rule, npu_error *err);
npu_status npu__schema_value(npu__schema *c, const json_t *schema, npu_error *err);
npu_status npu__schema_literal(npu__schema *c, const json_t *value, npu_error *err);
npu_status npu__schema_string(npu__schema *c, const json_t *schema, npu_error *err);
npu_status npu__schema_number(npu__schema *c, const json_t *schema, bool whole, npu_error *err);
/* minLength and its like: from *min to *max, which is NPU__G_NO_LIMIT if it is not given. */
npu_status npu__schema_counts(const json_t *schema, const char *min_name, const char *max_name, uint32_t *min,
                              uint32_t *max, npu_error *err);
npu_status npu__schema_array(npu__schema *c, const json_t *schema, npu_error *err);
npu_status npu__schema_object(npu__schema *c, const json_t *schema, npu_error *err);
npu_status npu__schema_member(npu__schema *c, const char *key, const json_t *value, npu_error *err);
void npu__schema_space(npu__schema *c);

#endif
