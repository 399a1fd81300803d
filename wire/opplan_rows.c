/* Op plans of everything that goes row by row: gather, scatter, copy, norms, element-wise ops, GLU, rope. */
#include "wire/opplan.h"

#include "wire/format.h"
#include "wire/image.h"

enum { TYPE_I32 = 26 };

#define SRC(i) npu_opplan_operand(op, tensors, (i))
#define OPT(i) npu_opplan_src(op, tensors, (i))
#define DST    (&tensors[op->dst[0]])

static int is_f32(const npu_tensor *t) {
    return npu_opplan_plain(t, NPU_TYPE_F32);
}

/* [n] of I32 whose row count follows |rows| of another tensor's dimension 1. */
static int is_list(const npu_tensor *ids, const npu_tensor *x) {
    return ids->type == TYPE_I32 && ids->layout == NPU_LAYOUT_GGUF && ids->nb[0] == 4 && ids->ne[0] == x->ne[1] &&
           npu_tensor_rows(ids) == 1 && ids->rows_of == x->rows_of &&
           (ids->rows_of == NPU_ROWS_FIXED || (ids->rows_dim == 0 && x->rows_dim == 1));
}

const char *npu_opplan_get_rows(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_tensor *table = SRC(0), *ids = SRC(1), *dst = DST;
    npu_kernel_rows *k = kernel;
    if (!is_f32(dst) || dst->ne[2] != 1 || dst->ne[3] != 1 || !is_list(ids, dst))
        return "ids or result not as they must be";
    if (table->ne[0] != dst->ne[0] || table->ne[2] != 1 || table->ne[3] != 1) return "the table's shape does not fit";
    if (table->rows_of != NPU_ROWS_FIXED && table->rows_dim != 1) return "the table's rows are not dimension 1";
    const npu_image_format *f = npu_image_format_of(table->type);
    if (table->layout == NPU_LAYOUT_TILES) {
        if (!f || table->ne[0] % 32 || table->ne[0] > NPU_IMAGE_MAX_K) return "no such image";
        /* A slot takes codes, scales and minima of one row, each brought out of the tiles by a DMA of its own; that is
         * less than 4 bytes a value. */
        const uint32_t in[2] = {4, 0};
        const char *why = npu_opplan_rows_fit(k, hw, dst->ne[1], npu_round_up(table->ne[0], 64) + 64, in, 4, 0);
        k->head.kernel = 2;
        return why;
    }
    if (!npu_opplan_plain(table, NPU_TYPE_F32)) return "a table of this type has no image";
    const uint32_t in[2] = {4, 0};
    return npu_opplan_rows_fit(k, hw, dst->ne[1], dst->ne[0], in, 0, 0);
}

const char *npu_opplan_set_rows(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_tensor *x = SRC(0), *cells = SRC(1), *dst = DST;
    if (!is_f32(x) || x->ne[2] != 1 || x->ne[3] != 1 || !is_list(cells, x)) return "rows or cells not as they must be";
    if (dst->ne[0] != x->ne[0] || dst->ne[2] != 1 || dst->ne[3] != 1) return "the state's shape does not fit";
    if (dst->rows_of != NPU_ROWS_FIXED) return "a state has a fixed number of cells";
    int half = npu_opplan_plain(dst, NPU_TYPE_F16);
    if (!half && !is_f32(dst)) return "no conversion to this type of state";
    const uint32_t in[2] = {4, 0};
    return npu_opplan_rows_fit(kernel, hw, x->ne[1], x->ne[0], in, half ? 2 : 4, 0);
}

const char *npu_opplan_cpy(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_tensor *x = SRC(0), *dst = DST;
    uint32_t bytes[2];
    for (unsigned i = 0; i < 2; i++) {
        const npu_tensor *t = i ? dst : x;
        bytes[i] = npu_opplan_plain(t, NPU_TYPE_F32) ? 4 : npu_opplan_plain(t, NPU_TYPE_F16) ? 2 : 0;
        if (!bytes[i]) return "no copy of this type";
    }
    if (!npu_opplan_same_shape(x, dst)) return "a copy to another shape";
    const uint32_t in[2] = {bytes[0], 0};
    return npu_opplan_rows_fit(kernel, hw, npu_tensor_rows(x), x->ne[0], in, bytes[1], 1);
}

const char *npu_opplan_rms_norm(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_tensor *x = SRC(0), *w = OPT(1), *dst = DST;
    if (!is_f32(x) || !is_f32(dst) || !npu_opplan_same_shape(x, dst)) return "not rows of f32";
    if (w && (!is_f32(w) || w->ne[0] != x->ne[0] || npu_tensor_rows(w) != 1 || w->rows_of != NPU_ROWS_FIXED))
        return "the weight is not one row of f32";
    const uint32_t in[2] = {4, w ? 4 : 0};
    return npu_opplan_rows_fit(kernel, hw, npu_tensor_rows(x), x->ne[0], in, 4, 0);
}

const char *npu_opplan_binary(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_tensor *a = SRC(0), *b = SRC(1), *dst = DST;
    if (!is_f32(a) || !is_f32(b) || !is_f32(dst) || !npu_opplan_same_shape(a, dst)) return "not rows of f32";
    if (b->ne[0] != a->ne[0]) return "broadcast inside a row";
    for (unsigned i = 1; i < NPU_MAX_DIMS; i++)
        if (!b->ne[i] || a->ne[i] % b->ne[i]) return "shapes do not divide";
    if (b->rows_of != NPU_ROWS_FIXED && (b->rows_of != a->rows_of || b->rows_dim != a->rows_dim))
        return "row counts differ";
    if (b->rows_of != NPU_ROWS_FIXED && b->ne[b->rows_dim] != a->ne[a->rows_dim]) return "row counts differ";
    if (a->rows_of != NPU_ROWS_FIXED && b->rows_of == NPU_ROWS_FIXED && b->ne[a->rows_dim] != 1)
        return "row counts differ";
    const uint32_t in[2] = {4, 4};
    return npu_opplan_rows_fit(kernel, hw, npu_tensor_rows(a), a->ne[0], in, 4, 1);
}

const char *npu_opplan_unary(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_tensor *x = SRC(0), *dst = DST;
    if (!is_f32(x) || !is_f32(dst) || !npu_opplan_same_shape(x, dst)) return "not rows of f32";
    const uint32_t in[2] = {4, 0};
    return npu_opplan_rows_fit(kernel, hw, npu_tensor_rows(x), x->ne[0], in, 4, 1);
}

const char *npu_opplan_glu(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_tensor *gate = SRC(0), *up = OPT(1), *dst = DST;
    if (op->params.glu.kind != NPU_GLU_SILU) return "no such gate on the NPU";
    if (!is_f32(gate) || !is_f32(dst)) return "not rows of f32";
    if (up) {
        if (!is_f32(up) || !npu_opplan_same_shape(gate, up) || !npu_opplan_same_shape(gate, dst))
            return "shapes differ";
    } else {
        npu_tensor half = *gate;
        half.ne[0] /= 2;
        if (gate->ne[0] % 2 || !npu_opplan_same_shape(&half, dst)) return "shapes differ";
    }
    const uint32_t in[2] = {4, 4};
    return npu_opplan_rows_fit(kernel, hw, npu_tensor_rows(dst), dst->ne[0], in, 4, 1);
}

const char *npu_opplan_rope_table(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_tensor *positions = SRC(0), *freqs = SRC(1), *dst = DST;
    if (!is_f32(freqs) || npu_tensor_rows(freqs) != 1 || freqs->rows_of != NPU_ROWS_FIXED)
        return "freqs not one row of f32";
    if (!is_f32(dst) || freqs->ne[0] > 4096 || dst->ne[0] != 2 * freqs->ne[0] || dst->ne[2] != 1 || dst->ne[3] != 1)
        return "the table's shape does not fit";
    if (!is_list(positions, dst)) return "positions not as they must be";
    const uint32_t in[2] = {0, 0};
    return npu_opplan_rows_fit(kernel, hw, dst->ne[1], npu_round_up(dst->ne[0], 64), in, 4, 0);
}

const char *npu_opplan_rope(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_tensor *x = SRC(0), *table = SRC(1), *dst = DST;
    if (!is_f32(x) || !is_f32(dst) || !npu_opplan_same_shape(x, dst) || x->ne[3] != 1) return "not heads of f32";
    if (x->rows_of != NPU_ROWS_FIXED && x->rows_dim != 2) return "rows are not dimension 2";
    if (!is_f32(table) || table->ne[0] % 2 || table->ne[0] > x->ne[0] || table->ne[1] != x->ne[2] ||
        table->ne[2] != 1 || table->ne[3] != 1 || table->rows_of != x->rows_of ||
        (table->rows_of != NPU_ROWS_FIXED && table->rows_dim != 1))
        return "the table's shape does not fit";
    if (op->params.rope.mode != NPU_ROPE_NORMAL && op->params.rope.mode != NPU_ROPE_NEOX) return "no such rope mode";
    uint64_t values = (uint64_t)x->ne[0] * x->ne[1];
    if (x->ne[0] > 4096 || values > 1 << 20) return "heads too long";
    if (x->nb[1] >= 1 << 24 || dst->nb[1] >= 1 << 24) return "heads too far apart";

    /* Room for whole vectors behind the last head. */
    const uint32_t in[2] = {4, 4};
    return npu_opplan_rows_fit(kernel, hw, x->ne[2], (uint32_t)values + 64, in, 4, 0);
}
