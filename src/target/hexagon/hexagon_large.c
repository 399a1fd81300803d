/* Weights that lie in several buffers, because a shared buffer can't be as large: cut by rows, in whole row tiles. An
 * op on such a weight is carried out in pieces, each an ordinary op on the rows of one buffer. */
#include "target/hexagon/hexagon_large.h"

#include <string.h>

#include "plan/plan.h"
#include "wire/image.h"

/* A batch that does not fit into the window is cut into parts of this share of what weights may use of it: what such a
 * part leaves can stay mapped. Devices of a set have all parts of a batch under way at once, so there they are few. */
enum { SLIDE_SHARE = 16 };

/* Of all weights on the device; a head that is the embedding is there once. */
static uint64_t resident_bytes(const npu_plan *plan) {
    const char *table = NULL;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan->n_entries; i++) {
        const npu_plan_entry *e = &plan->entries[i];
        bool again = table && e->n_tensors == 1 && !strcmp(e->tensors[0], table);
        if (e->on_device && !again) bytes += e->bytes;
        if (e->code == NPU_OP_GET_ROWS && e->n_tensors) table = e->tensors[0];
    }
    return bytes;
}

uint64_t npu_hex_step_bytes(const npu_hw *hw, const npu_plan *plan) {
    uint64_t free_bytes = npu_hex_free_window(hw, plan);
    bool slides = plan && !plan->settings.devices[0] && resident_bytes(plan) > free_bytes;
    return slides ? free_bytes / SLIDE_SHARE : free_bytes;
}

/* Rows that are never parted, and their bytes. */
static uint64_t unit_of(const npu_tensor *weight, uint32_t *rows) {
    uint32_t whole = weight->nb[1] ? (uint32_t)weight->nb[1] : weight->ne[0]; /* of an image: wire/image.h, a slice */
    *rows = NPU_TILE_ROWS;
    return weight->layout == NPU_LAYOUT_TILES ? npu_image_row_tile_bytes(npu_image_format_of(weight->type), whole)
                                              : weight->nb[1] * NPU_TILE_ROWS;
}

uint32_t npu_hex_part_rows(const npu_tensor *weight, uint64_t max_buffer_bytes) {
    uint32_t rows;
    uint64_t unit = unit_of(weight, &rows), units = unit ? max_buffer_bytes / unit : 0;
    if (weight->ne[2] != 1 || weight->ne[3] != 1 || !units) return 0;
    return units >= (weight->ne[1] + rows - 1) / rows ? weight->ne[1] : (uint32_t)units * rows;
}

uint32_t npu_hex_weight_parts(const npu_plan *plan, const npu_tensor *weight) {
    npu_tensor t = *weight;
    npu_hex_weight_layout(&t);
    uint32_t rows = npu_hex_part_rows(&t, plan->caps.hw.max_buffer_bytes);
    return rows ? (t.ne[1] + rows - 1) / rows : 1;
}

/* --- pieces of ops --- */

/* Where rows of a weight lie: its first row in the parts, how many one part has, how far into a row it begins. */
typedef struct place {
    uint32_t first, each;
    uint64_t column_bytes;
} place;

static bool is_parted(const npu_hex_operand *w, place *at) {
    uint32_t rows;
    const npu_tensor *t = &w->tensor;
    uint64_t unit = unit_of(t, &rows);
    if (!w->buffer->part_bytes || !unit) return false;
    *at =
        (place){.first = (uint32_t)(t->offset / unit) * rows, .each = (uint32_t)(w->buffer->part_bytes / unit) * rows};
    if (t->layout == NPU_LAYOUT_TILES) return true;
    at->first = (uint32_t)(t->offset / t->nb[1]);
    at->column_bytes = t->offset % t->nb[1];
    return true;
}

static uint32_t parts_of(const npu_hex_operand *w) {
    place at;
    return is_parted(w, &at) ? (at.first + w->tensor.ne[1] - 1) / at.each - at.first / at.each + 1 : 1;
}

/* Rows of |w| that lie in its part |n|, counted from its first one; |*row| is the first of them. */
static void take_part(npu_hex_operand *w, uint32_t n, uint32_t *row) {
    place at;
    *row = 0;
    if (!is_parted(w, &at)) return;
    uint32_t unit_rows, part = at.first / at.each + n, begin = part * at.each, end = begin + at.each;
    uint64_t unit = unit_of(&w->tensor, &unit_rows);
    if (begin < at.first) begin = at.first;
    if (end > at.first + w->tensor.ne[1]) end = at.first + w->tensor.ne[1];
    *row = begin - at.first;
    begin -= part * at.each;
    w->tensor.ne[1] = end - part * at.each - begin;
    w->tensor.offset = begin / unit_rows * unit + begin % unit_rows * (unit / unit_rows) + at.column_bytes;
    while (part--) w->buffer = w->buffer->more;
}

/* The first and the last source that can be such a weight. */
static bool weights_of(const npu_op *op, unsigned *first, unsigned *last) {
    *first = op->code == NPU_OP_MUL_MAT;
    *last = op->code == NPU_OP_MUL_MAT ? 4 : 0;
    return !op->flags && (op->code == NPU_OP_MUL_MAT || op->code == NPU_OP_GET_ROWS);
}

uint32_t npu_hex_pieces(const npu_hex_program *p, const npu_op *op) {
    unsigned first, last;
    uint32_t pieces = 0;
    bool parted = false;
    if (!weights_of(op, &first, &last)) return 0;
    for (unsigned i = first; i <= last; i++) {
        if (op->src[i] == NPU_NO_TENSOR) continue;
        const npu_hex_operand *w = &p->operands[op->src[i]];
        pieces += parts_of(w);
        parted |= w->buffer->part_bytes != 0;
    }
    return parted ? pieces : 0;
}

static void only_weight(npu_op *op, npu_hex_operand *at, unsigned i) {
    const npu_op whole = *op;
    for (unsigned k = 0; k < NPU_OP_DSTS; k++) op->src[1 + k] = op->src[5 + k] = op->dst[k] = NPU_NO_TENSOR;
    op->src[1] = whole.src[1 + i], op->src[5] = whole.src[5 + i], op->dst[0] = whole.dst[i];
    at[1] = at[1 + i], at[5] = at[5 + i], at[NPU_OP_SRCS] = at[NPU_OP_SRCS + i];
}

static void cut_columns(npu_tensor *t, uint32_t first, uint32_t count) {
    t->offset += (uint64_t)first * t->nb[0];
    t->ne[0] = count;
}

void npu_hex_piece(npu_op *op, npu_hex_operand at[NPU_OP_SRCS + NPU_OP_DSTS], uint32_t n) {
    unsigned first, last, i;
    uint32_t row, rows;
    if (!weights_of(op, &first, &last)) return;
    for (i = first; i < last; i++) {
        if (op->src[i] == NPU_NO_TENSOR) continue;
        uint32_t parts = parts_of(&at[i]);
        if (n < parts) break;
        n -= parts;
    }
    rows = at[i].tensor.ne[1];
    take_part(&at[i], n, &row);
    if (op->code == NPU_OP_GET_ROWS) {
        op->params.rows = (npu_params_rows){row, rows};
        return;
    }
    only_weight(op, at, i - first);
    cut_columns(&at[NPU_OP_SRCS].tensor, row, at[1].tensor.ne[1]);
    if (op->src[5] != NPU_NO_TENSOR) cut_columns(&at[5].tensor, row, at[1].tensor.ne[1]);
}
