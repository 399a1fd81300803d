/* The table of op plan families and what they share. */
#include "wire/opplan.h"

#include "wire/format.h"
#include "wire/image.h"

static npu_opplan_fn *const families[NPU_OP_CODE_LIMIT] = {
    [NPU_OP_GET_ROWS] = npu_opplan_get_rows, [NPU_OP_SET_ROWS] = npu_opplan_set_rows,
    [NPU_OP_CPY] = npu_opplan_cpy,           [NPU_OP_MUL_MAT] = npu_opplan_mul_mat,
    [NPU_OP_RMS_NORM] = npu_opplan_rms_norm, [NPU_OP_ADD] = npu_opplan_binary,
    [NPU_OP_SUB] = npu_opplan_binary,        [NPU_OP_MUL] = npu_opplan_binary,
    [NPU_OP_DIV] = npu_opplan_binary,        [NPU_OP_SCALE] = npu_opplan_unary,
    [NPU_OP_GLU] = npu_opplan_glu,           [NPU_OP_ROPE_TABLE] = npu_opplan_rope_table,
    [NPU_OP_ROPE] = npu_opplan_rope,         [NPU_OP_FLASH_ATTN] = npu_opplan_flash_attn,
};

_Static_assert(sizeof(npu_kernel_rows) <= 4 * NPU_OP_KERNEL_WORDS, "plan too long");
_Static_assert(sizeof(npu_kernel_mul_mat) <= 4 * NPU_OP_KERNEL_WORDS, "plan too long");
_Static_assert(sizeof(npu_kernel_attn) <= 4 * NPU_OP_KERNEL_WORDS, "plan too long");

/* What every family relies on before it looks at a type: indices in range, no empty dimension, counts that fit. */
static int is_sound(const npu_tensor *t) {
    uint64_t values = 1;
    if (t->rows_of >= NPU_ROWS_COUNT || t->rows_dim >= NPU_MAX_DIMS) return 0;
    for (unsigned i = 0; i < NPU_MAX_DIMS; i++) {
        values *= t->ne[i]; /* 2^32 times 2^32 at most */
        if (!values || values > 1ull << 32) return 0;
    }
    return 1;
}

const char *npu_opplan_make(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw,
                            uint32_t kernel[NPU_OP_KERNEL_WORDS]) {
    for (unsigned i = 0; i < NPU_OP_KERNEL_WORDS; i++) kernel[i] = 0;
    const npu_op_info *info = npu_op_find(op->code);
    if (!info || op->code >= NPU_OP_CODE_LIMIT || !families[op->code]) return "the NPU program has no such op";
    for (unsigned i = 0; i < info->in_min; i++)
        if (op->src[i] == NPU_NO_TENSOR) return "a source is missing";
    if (op->dst[0] == NPU_NO_TENSOR) return "the result is missing";
    for (unsigned i = info->in_max; i < NPU_OP_SRCS; i++)
        if (op->src[i] != NPU_NO_TENSOR) return "too many sources";
    for (unsigned i = op->code == NPU_OP_MUL_MAT ? NPU_OP_DSTS : info->out; i < NPU_OP_DSTS; i++)
        if (op->dst[i] != NPU_NO_TENSOR) return "too many results";
    for (unsigned i = 0; i < NPU_OP_SRCS + NPU_OP_DSTS; i++) {
        uint16_t index = i < NPU_OP_SRCS ? op->src[i] : op->dst[i - NPU_OP_SRCS];
        if (index != NPU_NO_TENSOR && !is_sound(&tensors[index])) return "an operand's dimensions make no sense";
    }
    if (!hw->threads || hw->threads > NPU_MAX_THREADS || hw->vtcm_bytes < 1 << 18) return "too little hardware";
    const char *why_not = families[op->code](op, tensors, hw, kernel);
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

const char *npu_opplan_rows_fit(npu_kernel_rows *k, const npu_hw *hw, uint64_t rows, uint32_t row_values,
                                const uint32_t in_value_bytes[2], uint32_t out_value_bytes, int split) {
    enum { UNIT = 8192 };
    k->head.kernel = 1;
    k->columns = split && row_values > UNIT ? UNIT : row_values;
    k->units = (row_values + k->columns - 1) / k->columns;
    uint64_t units = rows * k->units, slot = 0;
    for (unsigned i = 0; i < 2; i++) {
        if (in_value_bytes[i] > 4 || k->columns >= 1u << 22) return "a row is too long for the NPU's local memory";
        k->in_bytes[i] = npu_round_up(k->columns * in_value_bytes[i], NPU_VECTOR_BYTES);
        slot += k->in_bytes[i];
    }
    k->out_bytes = npu_round_up(k->columns * out_value_bytes, NPU_VECTOR_BYTES);
    slot += k->out_bytes;
    k->head.threads = units < hw->threads ? (uint32_t)(units ? units : 1) : hw->threads;
    for (k->head.depth = 4; k->head.depth >= 2; k->head.depth--) {
        uint64_t bytes = slot * k->head.depth + k->work_bytes;
        if (bytes * k->head.threads <= hw->vtcm_bytes) {
            k->head.vtcm_thread_bytes = (uint32_t)bytes;
            return NULL;
        }
    }
    return "a row is too long for the NPU's local memory";
}
