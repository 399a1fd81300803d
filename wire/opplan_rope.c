/* Op plans of ROPE_TABLE and ROPE. */
#include "wire/opplan.h"

#include "wire/image.h"

#define SRC(i) npu_opplan_operand(op, tensors, (i))
#define DST    (&tensors[op->dst[0]])

const char *npu_opplan_rope_table(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_opplan_streams s = {{4}, 4, 1};
    if (DST->ne[0] > 1 << 20) return "a row is too long for the NPU's local memory";
    return npu_opplan_rows_fit(kernel, hw, DST->ne[1], npu_round_up(DST->ne[0], 64), &s);
}

/* A unit is a token: all its heads, with room for whole vectors behind the last one. */
const char *npu_opplan_rope(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_tensor *x = SRC(0);
    const npu_opplan_streams s = {{4, 4}, 4, 1};
    uint64_t values = (uint64_t)x->ne[0] * x->ne[1];
    if (values > 1 << 20) return "heads too long for the NPU's local memory";
    return npu_opplan_rows_fit(kernel, hw, x->ne[2], (uint32_t)values + 64, &s);
}
