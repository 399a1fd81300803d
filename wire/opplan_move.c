/* Op plan of ops that put values elsewhere: CPY, CONCAT, REPEAT. A unit is a number of the result's elements in their
 * order, brought and taken away in pieces that lie in one row of a source and of the result. */
#include "wire/opplan.h"

#include "wire/image.h"

#define SRC(i) npu_opplan_operand(op, tensors, (i))
#define DST    (&tensors[op->dst[0]])

enum { MOST_VALUES = 8192, MOST_PIECES = 120 }; /* the DMA queue holds 256 transfers, for two slots */

/* Pieces of |values| elements in rows of |row|: the ends of the unit lie anywhere. */
static uint32_t pieces(uint32_t values, uint32_t row) {
    return (values - 1 + row - 1) / row + 1;
}

const char *npu_opplan_move(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    npu_kernel_rows *k = kernel;
    const npu_tensor *x = SRC(0), *y = DST;
    const npu_opplan_streams s = {{4}, 4, 1};
    uint32_t values = MOST_VALUES, most;
    for (;; values -= 32) {
        uint32_t loads = op->code == NPU_OP_CONCAT ? 2 * pieces(values, y->ne[0]) : pieces(values, x->ne[0]);
        if (op->code == NPU_OP_REPEAT) loads += pieces(values, y->ne[0]);
        most = loads + pieces(values, y->ne[0]);
        if (most <= MOST_PIECES || values == 32) break;
    }
    if (most > MOST_PIECES) return "pieces too small to move"; /* not reached: 32 elements are at most 96 pieces */
    k->work_bytes = values * 4;                                /* as f32, between two other types */
    const char *why_not = npu_opplan_rows_fit(k, hw, (y->ne[0] * npu_tensor_rows(y) + values - 1) / values, values, &s);
    k->head.depth = 2;
    return why_not;
}
