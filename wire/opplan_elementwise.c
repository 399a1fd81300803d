/* Op plans of element-wise ops: one and two operands, GLU, parts added up. Units are pieces of rows. */
#include "wire/opplan.h"

#include "wire/guard.h"
#include "wire/image.h"

#define SRC(i) npu_opplan_operand(op, tensors, (i))
#define DST    (&tensors[op->dst[0]])

const char *npu_opplan_unary(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_opplan_streams s = {{4}, 4, 0};
    return npu_opplan_rows_fit(kernel, hw, npu_tensor_rows(DST), DST->ne[0], &s);
}

/* Kernel 1: b's rows are as long as a's; 2: one value a row of b; 3: shorter rows, repeated in the work memory. */
const char *npu_opplan_binary(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    npu_kernel_rows *k = kernel;
    uint32_t n = DST->ne[0], short_row = SRC(1)->ne[0];
    int repeats = short_row != n && short_row != 1;
    const npu_opplan_streams s = {{4, 4}, 4, repeats};
    /* Whole vectors at any place: up to two vectors behind the row. */
    if (repeats && n < 1u << 24)
        k->work_bytes = NPU_GUARD_UP(ROUND_REPEATED, n * 4, NPU_VECTOR_BYTES) + 2 * NPU_VECTOR_BYTES;
    const char *why_not = npu_opplan_rows_fit(k, hw, npu_tensor_rows(DST), n, &s);
    k->head.kernel = short_row == n ? 1 : repeats ? 3 : 2;
    return why_not;
}

const char *npu_opplan_glu(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_opplan_streams s = {{4, 4}, 4, 0};
    return npu_opplan_rows_fit(kernel, hw, npu_tensor_rows(DST), DST->ne[0], &s);
}

/* All parts of a unit lie in one slot, one behind the other: whole vectors each. */
const char *npu_opplan_add_parts(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    uint32_t n = DST->ne[0], parts = 0;
    while (parts < NPU_OP_SRCS - 1 && op->src[1 + parts] != NPU_NO_TENSOR) parts++;
    const npu_opplan_streams s = {{4, 4 * parts}, 4, 0};
    if (n * 4 % NPU_VECTOR_BYTES) return "rows are not whole vectors";
    return npu_opplan_rows_fit(kernel, hw, npu_tensor_rows(DST), n, &s);
}
