/* The op table made from npu_ops.def. */
#include "wire/op.h"

static const npu_op_info ops[] = {
#define NPU_OP(NAME, code, name, in_min, in_max, out, params, family, nmse, text) \
    {name, code, in_min, in_max, out, sizeof(params), nmse, text},
#include "wire/npu_ops.def"
};

enum { OP_COUNT = sizeof ops / sizeof ops[0] };

const npu_op_info *npu_op_find(uint32_t code) {
    for (uint32_t i = 0; i < OP_COUNT; i++)
        if (ops[i].code == code) return &ops[i];
    return NULL;
}

const npu_op_info *npu_op_find_name(const char *name) {
    for (uint32_t i = 0; i < OP_COUNT; i++) {
        const char *a = ops[i].name, *b = name;
        while (*a && *a == *b) a++, b++;
        if (*a == *b) return &ops[i];
    }
    return NULL;
}
