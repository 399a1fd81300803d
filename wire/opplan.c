/* The table of op plan families and what they share. */
#include "wire/opplan.h"

#include "wire/guard.h"
#include "wire/format.h"
#include "wire/image.h"
#include "wire/op_check.h"

static npu_opplan_fn *const families[NPU_OP_CODE_LIMIT] = {
#define NPU_OP(NAME, code, name, in_min, in_max, out, params, family, nmse, text) [code] = npu_opplan_##family,
#include "wire/npu_ops.def"
};

_Static_assert(sizeof(npu_kernel_rows) <= 4 * NPU_OP_KERNEL_WORDS, "plan too long");
_Static_assert(sizeof(npu_kernel_mul_mat) <= 4 * NPU_OP_KERNEL_WORDS, "plan too long");
_Static_assert(sizeof(npu_kernel_attn) <= 4 * NPU_OP_KERNEL_WORDS, "plan too long");

/* The shapes fit the op and each other at every step. An image has no strides: it counts as dense rows there. */
static const char *check_shapes(const npu_op *op, const npu_tensor *tensors) {
    npu_tensor local[NPU_OP_SRCS + NPU_OP_DSTS];
    npu_op here = *op;
    uint32_t values;
    for (unsigned i = 0; i < NPU_OP_SRCS + NPU_OP_DSTS; i++) {
        uint16_t *index = i < NPU_OP_SRCS ? &here.src[i] : &here.dst[i - NPU_OP_SRCS];
        if (*index == NPU_NO_TENSOR) continue;
        local[i] = tensors[*index];
        if (local[i].layout != NPU_LAYOUT_GGUF) {
            if (i >= NPU_OP_SRCS || (op->code != NPU_OP_MUL_MAT && op->code != NPU_OP_GET_ROWS))
                return "an image in the wrong place";
            local[i].nb[0] = npu_tensor_unit(&local[i], &values);
        }
        *index = (uint16_t)i;
    }
    return npu_op_check(&here, local, NPU_OP_SRCS + NPU_OP_DSTS);
}

const char *npu_opplan_make(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw,
                            uint32_t kernel[NPU_OP_KERNEL_WORDS]) {
    for (unsigned i = 0; i < NPU_OP_KERNEL_WORDS; i++) kernel[i] = 0;
    if (op->code >= NPU_OP_CODE_LIMIT || !families[op->code]) return "the NPU program has no such op";
    if (!hw->threads || hw->threads > NPU_MAX_THREADS || hw->vtcm_bytes < 1 << 18) return "too little hardware";
    const char *why_not = check_shapes(op, tensors);
    if (!why_not) why_not = families[op->code](op, tensors, hw, kernel);
    if (why_not)
        for (unsigned i = 0; i < NPU_OP_KERNEL_WORDS; i++) kernel[i] = 0;
    return why_not;
}

int npu_opplan_plain(const npu_tensor *t, uint8_t type) {
    const npu_format *f = npu_format_of(type);
    uint32_t bytes = f ? f->block_bytes : 4; /* I32 is no format */
    return t->type == type && t->layout == NPU_LAYOUT_GGUF && t->nb[0] == bytes;
}

int npu_opplan_same_shape(const npu_tensor *a, const npu_tensor *b) {
    for (unsigned i = 0; i < NPU_MAX_DIMS; i++)
        if (a->ne[i] != b->ne[i]) return 0;
    return a->rows_of == b->rows_of && a->rows_dim == b->rows_dim;
}

static const char *const too_long = "a row is too long for the NPU's local memory";

/* Slots of |columns| values. 0 when they are too large for any local memory. */
static uint64_t slot_bytes(npu_kernel_rows *k, const npu_opplan_streams *streams) {
    uint64_t slot = 0;
    if (k->columns >= 1u << 24) return 0;
    for (unsigned i = 0; i < NPU_ROWS_IN; i++) {
        k->in_bytes[i] = NPU_GUARD_UP(ROUND_SLOT_IN, k->columns * streams->in[i], NPU_VECTOR_BYTES);
        slot += k->in_bytes[i];
    }
    k->out_bytes = NPU_GUARD_UP(ROUND_SLOT_OUT, k->columns * streams->out, NPU_VECTOR_BYTES);
    return slot + k->out_bytes;
}

const char *npu_opplan_rows_fit(npu_kernel_rows *k, const npu_hw *hw, uint64_t rows, uint32_t row_values,
                                const npu_opplan_streams *streams) {
    enum { UNIT = 8192 };
    k->head.kernel = 1;
    k->columns = !streams->whole && row_values > UNIT ? UNIT : row_values;
    k->units = NPU_GUARD_CEIL(ROUND_ROW_PIECES, row_values, k->columns);
    uint64_t units = rows * k->units, slot = slot_bytes(k, streams);
    if (!slot) return too_long;
    k->head.threads = units < hw->threads ? (uint32_t)(units ? units : 1) : hw->threads;
    for (; k->head.threads; k->head.threads--) {
        if ((uint64_t)k->head.scratch_thread_bytes * k->head.threads + k->head.scratch_shared_bytes > NPU_SCRATCH_BYTES)
            continue;
        for (k->head.depth = 4; k->head.depth >= 2; k->head.depth--) {
            uint64_t bytes = slot * k->head.depth + k->work_bytes;
            if (bytes * k->head.threads > hw->vtcm_bytes) continue;
            k->head.vtcm_thread_bytes = (uint32_t)bytes;
            return NULL;
        }
    }
    return too_long;
}
