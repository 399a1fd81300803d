/* Random shapes, layouts and parameters of every op: one generator a shape family, and the table of cases.
 *
 * A generator draws from the case's random numbers only, so that the case is the same on every machine. Operands that
 * the op table lets be strided are sometimes padded, permuted or shifted.
 */
#include <string.h>

#include "conform/conform_shape.h"
#include "wire/format.h"
#include "wire/op_check.h"

static void gen_get_rows(npu_case *c) {
    uint32_t k = npu_case_width(c, c->type), n = 1 + npu_case_below(c, 70), m = npu_case_row_count(c);
    bool part = npu_case_one_in(c, 4);
    uint32_t first = part ? npu_case_below(c, 40) : 0, all = first + n + (part ? npu_case_below(c, 40) : 0);
    c->op.src[0] =
        npu_case_weight(c, npu_case_tensor(c, c->type, (uint32_t[]){k, n, 1, 1}, 0, LAYOUT_ROWS, NPU_FILL_VALUES));
    c->op.src[1] = npu_case_row_vector(c, m, all, NPU_FILL_INDICES);
    c->op.dst[0] = npu_case_tensor(c, NPU_TYPE_F32, (uint32_t[]){k, m, 1, 1}, 1, LAYOUT_ROWS,
                                   part ? NPU_FILL_VALUES : NPU_FILL_NOTHING);
    if (part) c->op.params.rows = (npu_params_rows){first, all};
}

static void gen_set_rows(npu_case *c) {
    uint32_t k = npu_case_width(c, c->type), m = npu_case_row_count(c), n = m + npu_case_below(c, 40);
    c->op.src[0] = npu_case_tensor(c, NPU_TYPE_F32, (uint32_t[]){k, m, 1, 1}, 1, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.src[1] = npu_case_row_vector(c, m, n, NPU_FILL_CELLS);
    c->op.dst[0] = npu_case_tensor(c, c->type, (uint32_t[]){k, n, 1, 1}, 0, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->tensors[c->op.dst[0]].flags |= NPU_TENSOR_STATE;
}

/* |type| is the source's; the result has any type it converts to and sometimes another shape of as many elements. */
static void gen_cpy(npu_case *c) {
    static const uint8_t to[] = {NPU_TYPE_F32, NPU_TYPE_F16, NPU_TYPE_BF16, NPU_TYPE_Q8_0};
    uint32_t type = c->type == NPU_TYPE_I32 ? NPU_TYPE_I32 : to[npu_case_below(c, 4)];
    uint32_t ne[4], other[4], rows_dim;
    npu_case_shape(c, type == NPU_TYPE_Q8_0 ? type : c->type, ne, &rows_dim);
    memcpy(other, ne, sizeof ne);
    if (npu_case_one_in(c, 3)) {
        other[1] = ne[1] * ne[2];
        other[2] = 1;
    } else if (npu_case_one_in(c, 3) && !c->step) {
        other[1] = ne[2];
        other[2] = ne[1];
    }
    c->step = c->step && other[rows_dim] == ne[rows_dim];
    c->op.src[0] = npu_case_tensor(c, c->type, ne, rows_dim, LAYOUT_ANY, NPU_FILL_VALUES);
    c->op.dst[0] = npu_case_tensor(c, type, other, rows_dim, LAYOUT_ANY, NPU_FILL_NOTHING);
}

static void gen_concat(npu_case *c) {
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

static void gen_repeat(npu_case *c) {
    uint32_t x[4], y[4], rows_dim;
    npu_case_shape(c, c->type, x, &rows_dim);
    c->step = false;
    for (int i = 0; i < 4; i++) y[i] = x[i] * npu_case_few(c);
    c->op.src[0] = npu_case_tensor(c, c->type, x, 0, LAYOUT_ANY, NPU_FILL_VALUES);
    c->op.dst[0] = npu_case_tensor(c, c->type, y, 0, LAYOUT_ANY, NPU_FILL_NOTHING);
}

static void gen_mul_mat_batched(npu_case *c) {
    uint32_t k = npu_case_width(c, c->type), n = 1 + npu_case_below(c, 40), m = npu_case_row_count(c),
             w2 = npu_case_few(c), w3 = npu_case_few(c);
    uint32_t x2 = w2 * npu_case_few(c), x3 = w3 * npu_case_few(c);
    c->step = false;
    c->op.src[0] = npu_case_tensor(c, NPU_TYPE_F32, (uint32_t[]){k, m, x2, x3}, 0, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.src[1] = npu_case_tensor(c, c->type, (uint32_t[]){k, n, w2, w3}, 0, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.dst[0] = npu_case_tensor(c, NPU_TYPE_F32, (uint32_t[]){n, m, x2, x3}, 0, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

static void gen_mul_mat(npu_case *c) {
    bool is_float = npu_format_of(c->type)->flags & NPU_FORMAT_FLOAT;
    if (is_float && npu_case_one_in(c, 3)) {
        gen_mul_mat_batched(c);
        return;
    }
    uint32_t k = npu_case_width(c, c->type), m = npu_case_row_count(c),
             count = npu_case_one_in(c, 2) ? 1 : 1 + npu_case_below(c, 4);
    c->op.src[0] = npu_case_tensor(c, NPU_TYPE_F32, (uint32_t[]){k, m, 1, 1}, 1, LAYOUT_ROWS, NPU_FILL_VALUES);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t n = npu_case_one_in(c, 3) ? 32 * (1 + npu_case_below(c, 4)) : 1 + npu_case_below(c, 100);
        c->op.src[1 + i] =
            npu_case_weight(c, npu_case_tensor(c, c->type, (uint32_t[]){k, n, 1, 1}, 0, 0, NPU_FILL_VALUES));
        if (npu_case_one_in(c, 3))
            c->op.src[5 + i] = npu_case_weight(c, npu_case_vector(c, NPU_TYPE_F32, n, NPU_FILL_VALUES));
        c->op.dst[i] = npu_case_tensor(c, NPU_TYPE_F32, (uint32_t[]){n, m, 1, 1}, 1, LAYOUT_ROWS, NPU_FILL_NOTHING);
    }
}

static void gen_norm(npu_case *c) {
    uint32_t ne[4], rows_dim;
    npu_case_shape(c, c->type, ne, &rows_dim);
    c->op.params.eps.eps = npu_case_one_in(c, 2) ? 1e-5f : 1e-6f;
    c->op.src[0] = npu_case_tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
    if (c->op.code != NPU_OP_L2_NORM && !npu_case_one_in(c, 4)) {
        c->op.src[1] = npu_case_weight(c, npu_case_vector(c, NPU_TYPE_F32, ne[0], NPU_FILL_VALUES));
        if (c->op.code == NPU_OP_NORM && !npu_case_one_in(c, 3))
            c->op.src[2] = npu_case_weight(c, npu_case_vector(c, NPU_TYPE_F32, ne[0], NPU_FILL_VALUES));
    }
    c->op.dst[0] = npu_case_tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

/* b repeats along some dimensions, along the row dimension always or never. */
static void gen_binary(npu_case *c) {
    uint32_t ne[4], b[4], rows_dim;
    npu_case_shape(c, c->type, ne, &rows_dim);
    bool repeats = npu_case_one_in(c, 2);
    for (uint32_t i = 0; i < 4; i++) {
        b[i] = ne[i];
        if (i == rows_dim ? repeats : npu_case_one_in(c, 4))
            b[i] = ne[i] % 2 == 0 && npu_case_one_in(c, 3) && i != rows_dim ? ne[i] / 2 : 1;
    }
    c->op.src[0] = npu_case_tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.src[1] = npu_case_tensor(c, NPU_TYPE_F32, b, b[rows_dim] == ne[rows_dim] ? rows_dim : 0, LAYOUT_ROWS,
                                   c->op.code == NPU_OP_DIV ? NPU_FILL_POSITIVE : NPU_FILL_VALUES);
    c->op.dst[0] = npu_case_tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_NOTHING);
    if (npu_case_one_in(c, 4)) c->op.dst[0] = c->op.src[0]; /* in place; the unused result stays poison */
}

static void gen_add_parts(npu_case *c) {
    uint32_t ne[4], rows_dim, parts = 1 + npu_case_below(c, NPU_OP_SRCS - 2);
    npu_case_shape(c, c->type, ne, &rows_dim);
    ne[0] = (ne[0] + 31) / 32 * 32;
    for (uint32_t i = 0; i <= parts; i++)
        c->op.src[i] = npu_case_tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.dst[0] = npu_case_tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_NOTHING);
    if (npu_case_one_in(c, 4)) c->op.dst[0] = c->op.src[0]; /* in place; the unused result stays poison */
}

static void gen_unary(npu_case *c) {
    uint32_t ne[4], rows_dim;
    npu_case_shape(c, c->type, ne, &rows_dim);
    if (c->op.code == NPU_OP_SCALE || c->op.code == NPU_OP_SOFTCAP) {
        c->op.params.scale.scale = 0.5f + 20 * (1 + npu_case_unit(c));
        if (c->op.code == NPU_OP_SCALE && npu_case_one_in(c, 3)) c->op.params.scale.bias = npu_case_unit(c);
    } else if (c->op.code == NPU_OP_CLAMP) {
        c->op.params.clamp = (npu_params_clamp){-1 - npu_case_unit(c), 2 + npu_case_unit(c)};
    }
    c->op.src[0] = npu_case_tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.dst[0] = npu_case_tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

static void gen_glu(npu_case *c) {
    uint32_t ne[4], fused[4], rows_dim;
    npu_params_glu *p = &c->op.params.glu;
    npu_case_shape(c, c->type, ne, &rows_dim);
    memcpy(fused, ne, sizeof ne);
    p->kind = (int32_t)npu_case_below(c, 6);
    if (p->kind == NPU_GLU_OAI) p->alpha = 1.702f, p->limit = 7;
    if (npu_case_one_in(c, 2)) {
        c->op.src[0] = npu_case_tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
        c->op.src[1] = npu_case_tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
    } else {
        fused[0] *= 2;
        p->swapped = npu_case_one_in(c, 2);
        c->op.src[0] = npu_case_tensor(c, NPU_TYPE_F32, fused, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
    }
    c->op.dst[0] = npu_case_tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

static void gen_soft_max(npu_case *c) {
    uint32_t ne[4], rows_dim;
    npu_case_shape(c, c->type, ne, &rows_dim);
    rows_dim = rows_dim == 2 ? 0 : rows_dim; /* heads are not rows */
    c->op.params.softmax.scale = 0.05f + 2 * (1 + npu_case_unit(c));
    if (npu_case_one_in(c, 3)) c->op.params.softmax.max_bias = 8;
    c->op.src[0] = npu_case_tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
    uint32_t mask[4] = {ne[0], ne[1], 1, 1};
    if (!npu_case_one_in(c, 3)) {
        c->op.src[1] = npu_case_tensor(c, npu_case_one_in(c, 2) ? NPU_TYPE_F16 : NPU_TYPE_F32, mask, rows_dim == 1,
                                       LAYOUT_ROWS, NPU_FILL_MASK);
    }
    if (npu_case_one_in(c, 3))
        c->op.src[2] = npu_case_weight(c, npu_case_vector(c, NPU_TYPE_F32, ne[2], NPU_FILL_VALUES));
    c->op.dst[0] = npu_case_tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

static void gen_rope_table(npu_case *c) {
    uint32_t pairs = 1 + npu_case_below(c, 140), m = npu_case_row_count(c);
    c->op.params.rope_table.scale = npu_case_one_in(c, 2) ? 1 : 1.19f;
    c->op.src[0] = npu_case_row_vector(c, m, npu_case_one_in(c, 3) ? 131072 : 4096, NPU_FILL_INDICES);
    c->op.src[1] = npu_case_vector(c, NPU_TYPE_F32, pairs, NPU_FILL_FREQS);
    c->op.dst[0] = npu_case_tensor(c, NPU_TYPE_F32, (uint32_t[]){2 * pairs, m, 1, 1}, 1, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

static void gen_rope(npu_case *c) {
    uint32_t pairs = 1 + npu_case_below(c, 70), heads = 1 + npu_case_below(c, 9), m = npu_case_row_count(c);
    uint32_t d = 2 * pairs + (npu_case_one_in(c, 3) ? npu_case_below(c, 70) : 0);
    uint32_t ne[4] = {d, heads, m, 1};
    c->op.params.rope.mode = (int32_t)npu_case_below(c, 2);
    c->op.src[0] = npu_case_tensor(c, NPU_TYPE_F32, ne, 2, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.src[1] = npu_case_tensor(c, NPU_TYPE_F32, (uint32_t[]){2 * pairs, m, 1, 1}, 1, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.dst[0] =
        npu_case_one_in(c, 2) ? c->op.src[0] : npu_case_tensor(c, NPU_TYPE_F32, ne, 2, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

static void gen_attn(npu_case *c) {
    static const uint16_t dims[] = {8, 16, 24, 32, 33, 40, 64, 72, 80, 96, 100, 128, 192, 256};
    npu_params_attn *p = &c->op.params.attn;
    uint32_t d = NPU_CASE_PICK(c, dims), dv = npu_case_one_in(c, 5) ? NPU_CASE_PICK(c, dims) : d;
    if (c->type == NPU_TYPE_Q8_0) d = (d + 31) / 32 * 32, dv = (dv + 31) / 32 * 32;
    uint32_t kv_heads = 1 + npu_case_below(c, 4), heads = kv_heads * (1 + npu_case_below(c, 5));
    uint32_t m = npu_case_one_in(c, 2) ? 1 + npu_case_below(c, 2) : npu_case_row_count(c);
    uint32_t cells = npu_case_one_in(c, 4) ? 1024 + npu_case_below(c, 1400) : 1 + npu_case_below(c, 200);
    while ((uint64_t)d * heads * m * cells > 3000000 && m > 1) m = m / 2;
    p->scale = 0.125f;
    if (npu_case_one_in(c, 4)) p->softcap = 20;
    if (npu_case_one_in(c, 4)) p->window = 1 + npu_case_below(c, cells);
    c->op.src[0] = npu_case_tensor(c, NPU_TYPE_F32, (uint32_t[]){d, heads, m, 1}, 2, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.src[1] = npu_case_tensor(c, c->type, (uint32_t[]){d, kv_heads, cells, 1}, 0, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.src[2] = npu_case_tensor(c, c->type, (uint32_t[]){dv, kv_heads, cells, 1}, 0, LAYOUT_ROWS, NPU_FILL_VALUES);
    for (int i = 1; i <= 2; i++) c->tensors[c->op.src[i]].flags |= NPU_TENSOR_STATE;
    c->op.src[3] = npu_case_tensor(c, NPU_TYPE_I32, (uint32_t[]){2, m, 1, 1}, 1, 0, NPU_FILL_SPANS);
    c->limit[c->op.src[3]] = cells;
    if (npu_case_one_in(c, 4)) {
        uint32_t type = npu_case_one_in(c, 2) ? NPU_TYPE_F16 : NPU_TYPE_F32;
        c->op.src[4] = npu_case_tensor(c, type, (uint32_t[]){cells, m, 1, 1}, 1, LAYOUT_ROWS, NPU_FILL_MASK);
        if (npu_case_one_in(c, 2)) p->max_bias = 8;
    }
    if (npu_case_one_in(c, 4))
        c->op.src[5] = npu_case_weight(c, npu_case_vector(c, NPU_TYPE_F32, heads, NPU_FILL_VALUES));
    c->op.dst[0] = npu_case_tensor(c, NPU_TYPE_F32, (uint32_t[]){dv, heads, m, 1}, 2, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

static void gen_sum_rows(npu_case *c) {
    uint32_t ne[4], rows_dim;
    npu_case_shape(c, c->type, ne, &rows_dim);
    c->op.src[0] = npu_case_tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.dst[0] =
        npu_case_tensor(c, NPU_TYPE_F32, (uint32_t[]){1, ne[1], ne[2], ne[3]}, rows_dim, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

static void gen_argsort(npu_case *c) {
    uint32_t ne[4], rows_dim;
    npu_case_shape(c, c->type, ne, &rows_dim);
    uint32_t k = npu_case_one_in(c, 2) ? ne[0] : 1 + npu_case_below(c, ne[0]);
    c->op.params.sort.descending = npu_case_one_in(c, 2);
    c->op.src[0] = npu_case_tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.dst[0] =
        npu_case_tensor(c, NPU_TYPE_I32, (uint32_t[]){k, ne[1], ne[2], ne[3]}, rows_dim, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

static const uint8_t f32[] = {NPU_TYPE_F32, NPU_CASE_END};
static const uint8_t words[] = {NPU_TYPE_F32, NPU_TYPE_F16, NPU_TYPE_I32, NPU_CASE_END};
static const uint8_t copied[] = {NPU_TYPE_F32, NPU_TYPE_F16, NPU_TYPE_BF16, NPU_TYPE_Q8_0, NPU_TYPE_I32, NPU_CASE_END};
static const uint8_t cache[] = {NPU_TYPE_F16, NPU_TYPE_F32, NPU_TYPE_BF16, NPU_TYPE_Q8_0, NPU_CASE_END};
static const uint8_t all[] = {
#define NPU_FORMAT(NAME, code, name, values, bytes, group, flags) code,
#include "wire/npu_formats.def"
    NPU_CASE_END};

static const npu_case_row rows[] = {
    {NPU_OP_GET_ROWS, all, gen_get_rows},   {NPU_OP_SET_ROWS, cache, gen_set_rows},
    {NPU_OP_CPY, copied, gen_cpy},          {NPU_OP_CONCAT, words, gen_concat},
    {NPU_OP_REPEAT, words, gen_repeat},     {NPU_OP_MUL_MAT, all, gen_mul_mat},
    {NPU_OP_RMS_NORM, f32, gen_norm},       {NPU_OP_NORM, f32, gen_norm},
    {NPU_OP_L2_NORM, f32, gen_norm},        {NPU_OP_ADD, f32, gen_binary},
    {NPU_OP_SUB, f32, gen_binary},          {NPU_OP_MUL, f32, gen_binary},
    {NPU_OP_DIV, f32, gen_binary},          {NPU_OP_SCALE, f32, gen_unary},
    {NPU_OP_CLAMP, f32, gen_unary},         {NPU_OP_SOFTCAP, f32, gen_unary},
    {NPU_OP_SILU, f32, gen_unary},          {NPU_OP_GELU, f32, gen_unary},
    {NPU_OP_GELU_ERF, f32, gen_unary},      {NPU_OP_GELU_QUICK, f32, gen_unary},
    {NPU_OP_RELU, f32, gen_unary},          {NPU_OP_SIGMOID, f32, gen_unary},
    {NPU_OP_TANH, f32, gen_unary},          {NPU_OP_EXP, f32, gen_unary},
    {NPU_OP_SOFTPLUS, f32, gen_unary},      {NPU_OP_GLU, f32, gen_glu},
    {NPU_OP_SOFT_MAX, f32, gen_soft_max},   {NPU_OP_ROPE_TABLE, f32, gen_rope_table},
    {NPU_OP_ROPE, f32, gen_rope},           {NPU_OP_FLASH_ATTN, cache, gen_attn},
    {NPU_OP_SUM_ROWS, f32, gen_sum_rows},   {NPU_OP_ARGSORT, f32, gen_argsort},
    {NPU_OP_ADD_PARTS, f32, gen_add_parts},
};

const npu_case_row *npu_case_row_at(uint32_t i) {
    return i < sizeof rows / sizeof rows[0] ? &rows[i] : NULL;
}
