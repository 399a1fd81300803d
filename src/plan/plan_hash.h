/* The plan as JSON, and its own hash: SHA-256 over the canonical form (sorted keys, no spaces) without the hash itself.
 * Private to src/plan. */
#ifndef NPU_PLAN_HASH_H
#define NPU_PLAN_HASH_H

#include <jansson.h>

#include "plan/plan.h"

npu_status npu_plan_hash(const npu_plan *plan, char out[NPU_PLAN_HASH_LEN + 1], npu_error *err);

/* The plan as a JSON object without "hash"; NULL when out of memory. The caller owns the reference. */
json_t *npu_plan_body(const npu_plan *plan);

/* Whether |root|, which |p| was read from, is what this build writes for it, and has its hash: else plan.field,
 * plan.hash. */
npu_status npu_plan_check_seal(const npu_plan *p, const json_t *root, const char *name, npu_error *err);

/* A plan from its JSON; |name| is for messages, |sealed| false takes any hash. */
npu_status npu_plan_parse(const json_t *root, const char *name, bool sealed, npu_plan **out, npu_error *err);

#endif
