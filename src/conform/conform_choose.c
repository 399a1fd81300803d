#include "conform/conform_choose.h"

#include <stdio.h>
#include <string.h>

#include "wire/format.h"

bool npu_case_choose(const npu_conform_params *p, uint32_t i, const npu_case_row **row, uint32_t *type) {
    uint32_t count = 0, target = UINT32_MAX;
    for (int pass = 0; pass < 2; pass++) {
        uint32_t seen = 0;
        for (uint32_t k = 0; npu_case_row_at(k); k++) {
            *row = npu_case_row_at(k);
            if (p->op && strcmp(p->op, npu_op_find((*row)->op)->name) != 0) continue;
            for (const uint8_t *t = (*row)->types; *t != NPU_CASE_END; t++) {
                *type = *t;
                if (p->type && strcmp(p->type, npu_format_name(*t)) != 0) continue;
                if (seen++ == target) return true;
            }
        }
        count = seen;
        if (!count) return false;
        target = i % count;
    }
    return false;
}

static void add_name(char *list, size_t size, const char *name) {
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%s", used ? ", " : "", name);
}

npu_status npu_case_none(const npu_conform_params *p, npu_error *err) {
    char ops[320] = "", types[320] = "";
    const char *last = "";
    for (uint32_t k = 0; npu_case_row_at(k); k++) {
        const npu_case_row *row = npu_case_row_at(k);
        const char *name = npu_op_find(row->op)->name;
        if (strcmp(name, last) != 0) add_name(ops, sizeof ops, name);
        for (const uint8_t *t = row->types; p->op && !strcmp(name, p->op) && *t != NPU_CASE_END; t++)
            add_name(types, sizeof types, npu_format_name(*t));
        last = name;
    }
    if (*types)
        return npu_fail(err, NPU_INVALID, "conform.none", "no case of op %s and type %s (its types: %s)", p->op,
                        p->type, types);
    return p->op ? npu_fail(err, NPU_INVALID, "conform.none", "no case of op %s (ops: %s)", p->op, ops)
                 : npu_fail(err, NPU_INVALID, "conform.none", "no op has a case of type %s", p->type);
}
