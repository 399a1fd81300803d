/* Op plan of FLASH_ATTN: a task is one KV head and a few query rows; keys come in blocks of 32. */
#include "wire/opplan.h"

#include "wire/format.h"
#include "wire/image.h"

enum { MAX_ROWS = 1 << 16 };

static int is_state(const npu_tensor *t, uint32_t heads, uint32_t cells) {
    return (npu_opplan_plain(t, NPU_TYPE_F16) || npu_opplan_plain(t, NPU_TYPE_F32)) && t->ne[1] == heads &&
           t->ne[2] == cells && t->ne[3] == 1 && t->rows_of == NPU_ROWS_FIXED && t->nb[2] < 1u << 24 &&
           t->ne[0] % 32 == 0 && t->ne[0] && t->ne[0] <= 512;
}

const char *npu_opplan_flash_attn(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    npu_kernel_attn *a = kernel;
    const npu_tensor *q = npu_opplan_operand(op, tensors, 0), *k = npu_opplan_operand(op, tensors, 1);
    const npu_tensor *v = npu_opplan_operand(op, tensors, 2), *spans = npu_opplan_operand(op, tensors, 3);
    const npu_tensor *sinks = npu_opplan_src(op, tensors, 5), *y = &tensors[op->dst[0]];
    if (op->src[4] != NPU_NO_TENSOR) return "attention with a mask";
    if (op->params.attn.max_bias != 0) return "attention with ALiBi";
    if (!npu_opplan_plain(q, NPU_TYPE_F32) || q->ne[3] != 1 || !q->ne[1] || q->ne[1] > 1024)
        return "q is not heads of f32";
    if (q->rows_of != NPU_ROWS_FIXED && q->rows_dim != 2) return "rows are not dimension 2";
    if (!k->ne[1] || q->ne[1] % k->ne[1] || k->ne[0] != q->ne[0]) return "heads do not fit";
    if (!is_state(k, k->ne[1], k->ne[2]) || !is_state(v, k->ne[1], k->ne[2]))
        return "keys or values not as they must be";
    if (!npu_opplan_plain(y, NPU_TYPE_F32) || y->ne[0] != v->ne[0] || y->ne[1] != q->ne[1] || y->ne[2] != q->ne[2] ||
        y->ne[3] != 1 || y->rows_of != q->rows_of || y->rows_dim != q->rows_dim || y->nb[1] >= 1u << 24)
        return "the result's shape does not fit";
    if (spans->type != 26 || spans->layout != NPU_LAYOUT_GGUF || spans->nb[0] != 4 || spans->ne[0] != 2 ||
        spans->ne[1] != q->ne[2] || spans->ne[2] != 1 || spans->ne[3] != 1 || spans->rows_of != q->rows_of ||
        (spans->rows_of != NPU_ROWS_FIXED && spans->rows_dim != 1))
        return "spans not as they must be";
    if (sinks && (!npu_opplan_plain(sinks, NPU_TYPE_F32) || sinks->ne[0] != q->ne[1] || npu_tensor_rows(sinks) != 1 ||
                  sinks->rows_of != NPU_ROWS_FIXED))
        return "sinks not one row of f32";
    a->group = q->ne[1] / k->ne[1];
    a->k_slot_bytes = 32 * k->ne[0] * (k->type == NPU_TYPE_F32 ? 4 : 2);
    a->v_slot_bytes = 32 * v->ne[0] * (v->type == NPU_TYPE_F32 ? 4 : 2);
    if (q->ne[2] > MAX_ROWS) return "attention of too many rows at once";
    a->head.scratch_shared_bytes = npu_round_up(q->ne[2] * 8, NPU_VECTOR_BYTES); /* the spans */
    a->head.kernel = 1;
    a->head.depth = 2;
    for (a->rows = q->ne[2] < 8 ? (q->ne[2] ? q->ne[2] : 1) : 8; a->rows; a->rows--) {
        uint64_t tasks = (uint64_t)((q->ne[2] + a->rows - 1) / a->rows) * k->ne[1];
        uint64_t states = (uint64_t)a->rows * a->group;
        a->head.threads = tasks < hw->threads ? (uint32_t)(tasks ? tasks : 1) : hw->threads;
        /* raw blocks, keys as f32 and transposed, values as f32, sums of the chunk and of all chunks */
        uint64_t bytes = a->head.depth * (uint64_t)(a->k_slot_bytes + a->v_slot_bytes) +
                         2ull * k->ne[0] * NPU_VECTOR_BYTES + 32ull * v->ne[0] * 4 + 2 * states * v->ne[0] * 4;
        uint64_t scratch = npu_round_up((uint32_t)states * 16, NPU_VECTOR_BYTES);
        if (bytes * a->head.threads > hw->vtcm_bytes ||
            scratch * a->head.threads > NPU_SCRATCH_BYTES - a->head.scratch_shared_bytes)
            continue;
        a->head.vtcm_thread_bytes = (uint32_t)bytes;
        a->head.scratch_thread_bytes = (uint32_t)scratch;
        return NULL;
    }
    return "heads too large for the NPU's local memory";
}
