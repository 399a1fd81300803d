/* Op plan of FLASH_ATTN: a task is one KV head and a few query rows; keys come in blocks of 32. */
#include "wire/opplan.h"

#include "wire/guard.h"
#include "wire/image.h"
#include "wire/op_check.h"

enum { MAX_ROWS = 1 << 16, MAX_HEADS = 1 << 12, MAX_WIDTH = 1 << 14, BLOCK = 32 };

static uint32_t row_bytes(const npu_tensor *t) {
    uint32_t values, unit = npu_tensor_unit(t, &values);
    return NPU_GUARD_UP(ROUND_ATTN_ROW, t->ne[0] / values * unit, NPU_VECTOR_BYTES);
}

/* Local memory of a thread: slots, keys transposed and as rows, values, sums of the chunk and of all chunks. */
static uint64_t local_bytes(const npu_kernel_attn *a, uint32_t d, uint32_t dv) {
    uint64_t kw = NPU_GUARD_UP(ROUND_ATTN_KEY_WIDTH, d, BLOCK) * 4,
             vw = NPU_GUARD_UP(ROUND_ATTN_VALUE_WIDTH, dv, BLOCK) * 4, states = (uint64_t)a->rows * a->group;
    return (uint64_t)a->head.depth * a->slot_bytes + BLOCK * (2 * kw + vw) + 2 * states * vw;
}

const char *npu_opplan_flash_attn(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    npu_kernel_attn *a = kernel;
    const npu_tensor *q = npu_opplan_operand(op, tensors, 0), *k = npu_opplan_operand(op, tensors, 1);
    const npu_tensor *v = npu_opplan_operand(op, tensors, 2);
    uint32_t heads = q->ne[1], m = q->ne[2];
    if (m > MAX_ROWS) return "attention of too many rows at once";
    if (heads > MAX_HEADS || q->ne[0] > MAX_WIDTH || v->ne[0] > MAX_WIDTH)
        return "heads too large for the NPU's local memory";
    a->group = heads / k->ne[1];
    a->k_row_bytes = row_bytes(k);
    a->v_row_bytes = row_bytes(v);
    a->mask_row_bytes = op->src[4] == NPU_NO_TENSOR ? 0 : NPU_VECTOR_BYTES;
    a->head.kernel = 1;
    a->head.depth = 2;
    /* the spans, and a slope for every head */
    a->head.scratch_shared_bytes =
        NPU_GUARD_UP(ROUND_ATTN_SPANS, m * 8, NPU_VECTOR_BYTES) + npu_round_up(heads * 4, NPU_VECTOR_BYTES);
    for (a->rows = m < 8 ? (m ? m : 1) : 8; a->rows; a->rows--) {
        uint64_t tasks = (uint64_t)((m + a->rows - 1) / a->rows) * k->ne[1];
        uint32_t scratch = npu_round_up(a->rows * a->group * 16, NPU_VECTOR_BYTES);
        a->slot_bytes = BLOCK * (a->k_row_bytes + a->v_row_bytes) + a->rows * a->mask_row_bytes;
        uint64_t bytes = local_bytes(a, q->ne[0], v->ne[0]);
        a->head.threads = tasks < hw->threads ? (uint32_t)(tasks ? tasks : 1) : hw->threads;
        for (; a->head.threads && a->rows == 1; a->head.threads--) /* before giving up, fewer threads */
            if (bytes * a->head.threads <= hw->vtcm_bytes) break;
        if (!a->head.threads || bytes * a->head.threads > hw->vtcm_bytes ||
            (uint64_t)scratch * a->head.threads > NPU_SCRATCH_BYTES - a->head.scratch_shared_bytes)
            continue;
        a->head.vtcm_thread_bytes = (uint32_t)bytes;
        a->head.scratch_thread_bytes = scratch;
        return NULL;
    }
    return "heads too large for the NPU's local memory";
}
