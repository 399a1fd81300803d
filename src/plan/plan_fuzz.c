/* libFuzzer target of the plan reader: any JSON is taken or refused with a code and a text; what is taken is the same
 * after it was written and read again, does not differ from itself, and fits itself when its needs do. */
#include <stdlib.h>
#include <string.h>

#include "plan/plan_hash.h"

static void no_line(void *user, const char *text) {
    (void)user, (void)text;
    __builtin_trap();
}

static void use(npu_plan *p) {
    npu_error err = {0};
    uint32_t n = 0;
    npu_plan *again = NULL;
    if (npu_plan_hash(p, p->hash, &err) != NPU_OK) return; /* a text that is not UTF-8 can't come from JSON */
    char *text = npu_plan_to_json(p);
    json_t *root = text ? json_loads(text, 0, NULL) : NULL;
    if (!root) __builtin_trap();
    if (npu_plan_parse(root, "again", true, &again, &err) != NPU_OK) __builtin_trap();
    if (npu_plan_diff(p, again, no_line, NULL, &n, &err) != NPU_OK || n) __builtin_trap();
    /* A plan fits itself, unless it needs more than the device it names has: JSON can say that. */
    npu_status fits = npu_plan_check_caps(p, p->target, &p->caps, &err);
    if (npu_plan_check(again, p, &err) != fits) __builtin_trap();
    (void)npu_plan_fallbacks(p, NULL);
    npu_plan_free(again);
    json_decref(root);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    npu_error err = {0};
    npu_plan *p = NULL;
    json_t *root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    if (!root) return 0;
    if (npu_plan_parse(root, "fuzz", false, &p, &err) == NPU_OK)
        use(p);
    else if (!err.code[0] || !err.text[0] || p)
        __builtin_trap();
    npu_plan_free(p);
    json_decref(root);
    return 0;
}
