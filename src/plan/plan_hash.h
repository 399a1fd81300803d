/* The plan's own hash: SHA-256 over its canonical JSON (sorted keys, no spaces) without the hash itself. Private to
 * src/plan. */
#ifndef NPU_PLAN_HASH_H
#define NPU_PLAN_HASH_H

#include <jansson.h>

#include "plan/plan.h"

npu_status npu_plan_hash(const npu_plan *plan, char out[NPU_PLAN_HASH_LEN + 1], npu_error *err);

/* The plan as a JSON object without "hash"; NULL when out of memory. The caller owns the reference. */
json_t *npu_plan_body(const npu_plan *plan);

#endif
