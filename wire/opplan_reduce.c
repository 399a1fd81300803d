/* Op plans of ops that see a whole row at once: norms, softmax, sums, sorting. */
#include "wire/opplan.h"

#include "wire/guard.h"
#include "wire/format.h"
#include "wire/image.h"

#define SRC(i) npu_opplan_operand(op, tensors, (i))
#define OPT(i) npu_opplan_src(op, tensors, (i))

const char *npu_opplan_norm(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_opplan_streams s = {{4, OPT(1) ? 4 : 0, OPT(2) ? 4 : 0}, 4, 1};
    return npu_opplan_rows_fit(kernel, hw, npu_tensor_rows(SRC(0)), SRC(0)->ne[0], &s);
}

/* The shared scratch holds a slope for every head. */
const char *npu_opplan_soft_max(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    npu_kernel_rows *k = kernel;
    const npu_tensor *mask = OPT(1);
    const npu_opplan_streams s = {{4, mask ? mask->type == NPU_TYPE_F16 ? 2 : 4 : 0}, 4, 1};
    if (SRC(0)->ne[0] > 1 << 24) return "a row is too long for the NPU's local memory";
    if (SRC(0)->ne[2] > NPU_SCRATCH_BYTES / 8) return "softmax of too many heads";
    k->head.scratch_shared_bytes = npu_round_up(SRC(0)->ne[2] * 4, NPU_VECTOR_BYTES);
    if (mask && mask->type == NPU_TYPE_F16)
        k->work_bytes = NPU_GUARD_UP(ROUND_WIDE_MASK, SRC(0)->ne[0], 32) * 4; /* as f32 */
    return npu_opplan_rows_fit(k, hw, npu_tensor_rows(SRC(0)), SRC(0)->ne[0], &s);
}

const char *npu_opplan_sum_rows(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_opplan_streams s = {{4}, 4, 1};
    return npu_opplan_rows_fit(kernel, hw, npu_tensor_rows(SRC(0)), SRC(0)->ne[0], &s);
}

/* A thread's scratch: keys, and two lists of indices. */
const char *npu_opplan_argsort(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    npu_kernel_rows *k = kernel;
    const npu_opplan_streams s = {{4}, 4, 1};
    uint32_t n = SRC(0)->ne[0];
    if (n > NPU_SCRATCH_BYTES / 12 - NPU_VECTOR_BYTES) return "a row is too long for the scratch memory";
    k->head.scratch_thread_bytes = 3 * NPU_GUARD_UP(ROUND_SORT_LISTS, n * 4, NPU_VECTOR_BYTES);
    return npu_opplan_rows_fit(k, hw, npu_tensor_rows(SRC(0)), n, &s);
}
