/* Op plan of the scatter of rows. */
#include "wire/opplan.h"

/* Four bytes a value of the result are enough for every type, and for whole vectors at the ends of blocks. */
const char *npu_opplan_set_rows(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_tensor *x = npu_opplan_operand(op, tensors, 0);
    const npu_opplan_streams s = {{4}, 4, 1};
    return npu_opplan_rows_fit(kernel, hw, x->ne[1], x->ne[0], &s);
}
