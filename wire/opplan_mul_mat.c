/* Op plan of MUL_MAT: up to four weights over one activation; quantised ones are tile images, plain numbers lie as in
 * the file. */
#include "wire/opplan.h"

#include "wire/guard.h"
#include "wire/format.h"
#include "wire/image.h"

static int is_float(const npu_tensor *w) {
    return npu_opplan_plain(w, NPU_TYPE_F32) || npu_opplan_plain(w, NPU_TYPE_F16) || npu_opplan_plain(w, NPU_TYPE_BF16);
}

static const char *check_outer(const npu_tensor *w, const npu_tensor *x) {
    for (unsigned i = 2; i < NPU_MAX_DIMS; i++)
        if (x->ne[i] % w->ne[i] || (w->ne[i] > 1 && !is_float(w))) return "the weight's shape does not fit";
    return NULL;
}

static const char *check_weight(const npu_tensor *w, const npu_tensor *x, const npu_tensor *bias, const npu_tensor *y) {
    const npu_image_format *f = npu_image_format_of(w->type);
    if (!is_float(w)) {
        if (w->layout != NPU_LAYOUT_TILES || !f) return "a weight of this type has no image";
        if (!npu_image_fits(f, w->ne[0])) return "K is not made of whole blocks";
        if (w->nb[1] && !npu_image_is_slice(f, w->nb[0], w->ne[0], w->nb[1])) return "no slice begins or ends there";
    } else if (w->nb[1] >= 1u << 24) {
        return "the weight's rows are too far apart";
    }
    if (w->ne[0] != x->ne[0] || w->ne[1] > 1u << 28 || w->rows_of != NPU_ROWS_FIXED)
        return "the weight's shape does not fit";
    if (!npu_opplan_plain(y, NPU_TYPE_F32) || y->ne[0] != w->ne[1] || y->ne[1] != x->ne[1] || y->ne[2] != x->ne[2] ||
        y->ne[3] != x->ne[3] || y->rows_of != x->rows_of || y->rows_dim != x->rows_dim || y->nb[1] >= 1u << 24)
        return "the result's shape does not fit";
    if (bias && (!npu_opplan_plain(bias, NPU_TYPE_F32) || bias->ne[0] != w->ne[1] || npu_tensor_rows(bias) != 1 ||
                 bias->rows_of != NPU_ROWS_FIXED))
        return "the bias is not one row of f32";
    return check_outer(w, x);
}

/* Rows of plain numbers a unit takes, as many as leave room for all threads' buffers. */
static uint32_t rows_of_unit(const npu_hw *hw, uint32_t row_bytes) {
    uint32_t rows = NPU_TILE_ROWS;
    while (rows > 1 && (uint64_t)rows * row_bytes > hw->vtcm_bytes / hw->threads / 4) rows /= 2;
    return rows;
}

/* The slot of a weight, and how many units of it there are. */
static uint32_t weight_slot(npu_kernel_mul_mat *k, const npu_hw *hw, const npu_tensor *w, uint32_t *units) {
    uint32_t rows = NPU_TILE_ROWS, bytes;
    if (is_float(w)) {
        uint32_t row_bytes = NPU_GUARD_UP(ROUND_PLAIN_ROW, w->ne[0] * (uint32_t)w->nb[0], NPU_VECTOR_BYTES);
        rows = rows_of_unit(hw, row_bytes);
        if (!k->unit_rows || rows < k->unit_rows) k->unit_rows = rows;
        bytes = rows * row_bytes;
    } else {
        k->records_at = NPU_GUARD_UP(ROUND_CODES, w->ne[0], NPU_VECTOR_BYTES);
        bytes = npu_image_row_tile_bytes(npu_image_format_of(w->type), w->ne[0]);
    }
    *units += (w->ne[1] + rows - 1) / rows;
    return bytes + NPU_VECTOR_BYTES; /* and its bias */
}

/* A depth and a number of rows with which |threads| have room: rows shrink last, because weights are read again for
 * every chunk. */
static int fit_threads(npu_kernel_mul_mat *k, const npu_hw *hw, uint32_t rows, uint32_t threads) {
    for (uint32_t chunk = rows; chunk; chunk = chunk > 8 ? chunk / 2 : chunk - 1)
        for (uint32_t depth = 4; depth >= 2; depth--) {
            uint64_t out = (uint64_t)chunk * NPU_VECTOR_BYTES;
            uint64_t quantise = (uint64_t)depth * k->x_slot_bytes;
            uint64_t multiply = depth * (k->weight_slot_bytes + out);
            uint64_t bytes = quantise > multiply ? quantise : multiply;
            if (bytes * threads > hw->vtcm_bytes) continue;
            k->head.threads = threads;
            k->head.depth = depth;
            k->head.vtcm_thread_bytes = (uint32_t)bytes;
            k->m_chunk = chunk;
            k->out_slot_bytes = (uint32_t)out;
            k->head.scratch_shared_bytes = chunk * k->act_row_bytes;
            return 1;
        }
    return 0;
}

/* Rather fewer threads than none. */
static const char *fit(npu_kernel_mul_mat *k, const npu_hw *hw, uint32_t m) {
    uint32_t most = NPU_SCRATCH_BYTES / k->act_row_bytes;
    if (!most) return "a row is too long for the scratch memory";
    for (uint32_t threads = k->head.threads; threads; threads--)
        if (fit_threads(k, hw, m < most ? m : most, threads)) return NULL;
    return "a row is too long for the NPU's local memory";
}

/* A quantised row of x: codes, then a record of 16 bytes a block, in whole vectors of 32 blocks; then its numbers. */
static void place_activations(npu_kernel_mul_mat *k, uint32_t values) {
    if (k->records_at) k->act_row_bytes = k->records_at + NPU_GUARD_UP(ROUND_RECORDS, values / 32, 32) * 16;
    if (!k->unit_rows) return;
    k->numbers_at = k->act_row_bytes;
    k->act_row_bytes += NPU_GUARD_UP(ROUND_NUMBERS, values * 4, NPU_VECTOR_BYTES);
}

const char *npu_opplan_mul_mat(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    npu_kernel_mul_mat *k = kernel;
    const npu_tensor *x = npu_opplan_operand(op, tensors, 0);
    if (!npu_opplan_plain(x, NPU_TYPE_F32)) return "the activation is not rows of f32";
    if (x->rows_of != NPU_ROWS_FIXED && (x->rows_dim != 1 || x->ne[2] != 1 || x->ne[3] != 1))
        return "rows are not dimension 1";
    if (x->ne[0] > NPU_IMAGE_MAX_K / 4) return "K is too large";
    uint32_t units = 0;
    for (unsigned i = 0; i < 4; i++) {
        const npu_tensor *w = npu_opplan_src(op, tensors, 1 + i), *bias = npu_opplan_src(op, tensors, 5 + i);
        if (!w) {
            if (bias || op->dst[i] != NPU_NO_TENSOR) return "a result without a weight";
            continue;
        }
        if (op->dst[i] == NPU_NO_TENSOR) return "a weight without a result";
        const char *why_not = check_weight(w, x, bias, &tensors[op->dst[i]]);
        if (why_not) return why_not;
        uint32_t bytes = weight_slot(k, hw, w, &units);
        if (bytes > k->weight_slot_bytes) k->weight_slot_bytes = bytes;
    }
    uint32_t m = x->ne[1];
    if (m > units) units = m;
    k->head.kernel = 1;
    k->head.threads = units < hw->threads ? units : hw->threads;
    k->x_slot_bytes = NPU_GUARD_UP(ROUND_X_SLOT, x->ne[0] * 4, NPU_VECTOR_BYTES);
    place_activations(k, x->ne[0]);
    return fit(k, hw, m);
}
