/* Whether a plan.json is what a build wrote: its own hash, and nothing beside what that hash is over. The hash is of
 * the plan as read, so that it can't see spellings, what follows from other fields (residency keys) or unknown fields.
 * For plan_read.c, which has checked each field. */
#include <stdio.h>
#include <string.h>

#include "plan/plan_hash.h"

/* The first place where |have| is not |want|, added to |path|. */
static bool find_other(const json_t *have, const json_t *want, char *path, size_t size) {
    size_t used = strlen(path);
    const char *key;
    json_t *value;
    if (json_equal(have, want)) return false;
    if (json_is_object(have) && json_is_object(want)) {
        json_object_foreach((json_t *)have, key, value) {
            snprintf(path + used, size - used, "%s%s", used ? "." : "", key);
            if (find_other(value, json_object_get(want, key), path, size)) return true;
        }
        path[used] = 0;
    }
    for (size_t i = 0; json_array_size(have) == json_array_size(want) && i < json_array_size(have); i++) {
        snprintf(path + used, size - used, "[%zu]", i);
        if (find_other(json_array_get(have, i), json_array_get(want, i), path, size)) return true;
    }
    return true;
}

npu_status npu_plan_check_seal(const npu_plan *p, const json_t *root, const char *name, npu_error *err) {
    char hash[NPU_PLAN_HASH_LEN + 1], path[128] = "";
    json_t *body = npu_plan_body(p);
    if (!body || json_object_set_new(body, "hash", json_string(p->hash)) != 0) {
        json_decref(body);
        return npu_fail(err, NPU_NO_MEMORY, "plan.memory", "%s: no memory", name);
    }
    bool other = find_other(root, body, path, sizeof path);
    json_decref(body);
    if (other)
        return npu_fail(err, NPU_REFUSED, "plan.field", "%s: %s is not what this build writes for such a plan", name,
                        path);
    NPU_TRY(npu_plan_hash(p, hash, err));
    if (!strcmp(hash, p->hash)) return NPU_OK;
    return npu_fail(err, NPU_REFUSED, "plan.hash", "%s: says hash %.16s..., its content has %.16s... (edited by hand?)",
                    name, p->hash, hash);
}
