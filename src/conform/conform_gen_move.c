/* Cases of ops that put values elsewhere; see conform_gen.c. */
#include <string.h>

#include "conform/conform_shape.h"
#include "wire/format.h"

void npu_gen_get_rows(npu_case *c) {
    uint32_t k = npu_case_width(c, c->type), n = 1 + npu_case_below(c, 70), m = npu_case_row_count(c);
    bool part = npu_case_one_in(c, 4);
    uint32_t first = part ? npu_case_below(c, 40) : 0, all = first + n + (part ? npu_case_below(c, 40) : 0);
    c->op.src[0] = npu_case_tensor(c, c->type, (uint32_t[]){k, n, 1, 1}, 0, LAYOUT_ROWS, NPU_FILL_VALUES);
    bool is_plain = npu_format_of(c->type)->flags & NPU_FORMAT_FLOAT;
    if (!is_plain || npu_case_one_in(c, 2)) npu_case_weight(c, c->op.src[0]); /* else rows of an intermediate result */
    c->op.src[1] = npu_case_row_vector(c, m, all, NPU_FILL_INDICES);
    c->op.dst[0] = npu_case_tensor(c, NPU_TYPE_F32, (uint32_t[]){k, m, 1, 1}, 1, LAYOUT_ROWS,
                                   part ? NPU_FILL_VALUES : NPU_FILL_NOTHING);
    if (part) c->op.params.rows = (npu_params_rows){first, all};
}

void npu_gen_set_rows(npu_case *c) {
    uint32_t k = npu_case_width(c, c->type), m = npu_case_row_count(c), n = m + npu_case_below(c, 40);
    c->op.src[0] = npu_case_tensor(c, NPU_TYPE_F32, (uint32_t[]){k, m, 1, 1}, 1, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.src[1] = npu_case_row_vector(c, m, n, NPU_FILL_CELLS);
    c->op.dst[0] = npu_case_tensor(c, c->type, (uint32_t[]){k, n, 1, 1}, 0, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->tensors[c->op.dst[0]].flags |= NPU_TENSOR_STATE;
}

/* As many elements in another shape; the row dimension and what is outside of it stay when the rows are the step's.
 * |block|: dimension 0 stays a multiple of it. */
static void reshape(npu_case *c, const uint32_t ne[4], uint32_t block, uint32_t rows_dim, uint32_t out[4]) {
    uint32_t inner = ne[0];
    memcpy(out, ne, 4 * sizeof *out);
    switch (npu_case_below(c, 6)) {
    case 0: /* everything below the rows as one dimension */
        for (uint32_t i = 1; i < rows_dim; i++) inner *= ne[i], out[i] = 1;
        out[0] = inner;
        return;
    case 1: /* dimension 0 as two */
        out[0] = block * npu_case_divisor(c, ne[0] / block);
        if (rows_dim > 1)
            out[1] = ne[1] * (ne[0] / out[0]);
        else if (!c->step)
            out[2] = ne[2] * (ne[0] / out[0]);
        else
            out[0] = ne[0];
        return;
    case 2:
        if (c->step) return;
        out[1] = ne[2], out[2] = ne[1];
        return;
    case 3: /* rows and columns change places */
        if (c->step || block != 1) return;
        out[0] = ne[1], out[1] = ne[0];
        return;
    case 4: /* one row */
        if (c->step) return;
        out[0] = ne[0] * ne[1] * ne[2] * ne[3];
        out[1] = out[2] = out[3] = 1;
        return;
    default:
        return;
    }
}

/* |type| is the source's; the result has any type it converts to and often another shape of as many elements. */
void npu_gen_cpy(npu_case *c) {
    static const uint8_t to[] = {NPU_TYPE_F32, NPU_TYPE_F16, NPU_TYPE_BF16, NPU_TYPE_Q8_0};
    uint32_t type = c->type == NPU_TYPE_I32 ? NPU_TYPE_I32 : to[npu_case_below(c, 4)];
    bool blocks = type == NPU_TYPE_Q8_0 || c->type == NPU_TYPE_Q8_0;
    uint32_t ne[4], other[4], rows_dim;
    npu_case_shape(c, blocks ? NPU_TYPE_Q8_0 : c->type, ne, &rows_dim);
    reshape(c, ne, blocks ? 32 : 1, rows_dim, other);
    c->op.src[0] = npu_case_tensor(c, c->type, ne, rows_dim, LAYOUT_ANY, NPU_FILL_VALUES);
    c->op.dst[0] = npu_case_tensor(c, type, other, rows_dim, LAYOUT_ANY, NPU_FILL_NOTHING);
}

void npu_gen_concat(npu_case *c) {
    uint32_t a[4], b[4], y[4], rows_dim, dim = npu_case_below(c, 4);
    npu_case_shape(c, c->type, a, &rows_dim);
    memcpy(b, a, sizeof a);
    memcpy(y, a, sizeof a);
    b[dim] = 1 + npu_case_below(c, 9);
    y[dim] = a[dim] + b[dim];
    c->step = c->step && dim != rows_dim;
    c->op.params.dim.dim = (int32_t)dim;
    c->op.src[0] = npu_case_tensor(c, c->type, a, rows_dim, LAYOUT_ANY, NPU_FILL_VALUES);
    c->op.src[1] = npu_case_tensor(c, c->type, b, rows_dim, LAYOUT_ANY, NPU_FILL_VALUES);
    c->op.dst[0] = npu_case_tensor(c, c->type, y, rows_dim, LAYOUT_ANY, NPU_FILL_NOTHING);
}

void npu_gen_repeat(npu_case *c) {
    uint32_t x[4], y[4], rows_dim;
    npu_case_shape(c, c->type, x, &rows_dim);
    c->step = false;
    for (int i = 0; i < 4; i++) y[i] = x[i] * (i && c->wide ? 1 : npu_case_few(c));
    c->op.src[0] = npu_case_tensor(c, c->type, x, 0, LAYOUT_ANY, NPU_FILL_VALUES);
    c->op.dst[0] = npu_case_tensor(c, c->type, y, 0, LAYOUT_ANY, NPU_FILL_NOTHING);
}
