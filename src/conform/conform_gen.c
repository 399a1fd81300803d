/* Random shapes, layouts and parameters of every op: one generator a shape family, and the table of cases.
 *
 * A generator draws from the case's random numbers only, so that the case is the same on every machine. Operands that
 * the op table lets be strided are sometimes padded, permuted or shifted.
 */
#include <string.h>

#include "conform/conform_shape.h"
#include "wire/format.h"
#include "wire/op_check.h"

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
            b[i] = npu_case_one_in(c, 2) && i != rows_dim ? npu_case_divisor(c, ne[i]) : 1;
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
    uint32_t more = c->step && rows_dim == 1 ? 0 : npu_case_few(c) - 1, mask[4] = {ne[0], ne[1] + more, 1, 1};
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
    {NPU_OP_GET_ROWS, all, npu_gen_get_rows},
    {NPU_OP_SET_ROWS, cache, npu_gen_set_rows},
    {NPU_OP_CPY, copied, npu_gen_cpy},
    {NPU_OP_CONCAT, words, npu_gen_concat},
    {NPU_OP_REPEAT, words, npu_gen_repeat},
    {NPU_OP_MUL_MAT, all, npu_gen_mul_mat},
    {NPU_OP_RMS_NORM, f32, gen_norm},
    {NPU_OP_NORM, f32, gen_norm},
    {NPU_OP_L2_NORM, f32, gen_norm},
    {NPU_OP_ADD, f32, gen_binary},
    {NPU_OP_SUB, f32, gen_binary},
    {NPU_OP_MUL, f32, gen_binary},
    {NPU_OP_DIV, f32, gen_binary},
    {NPU_OP_SCALE, f32, gen_unary},
    {NPU_OP_CLAMP, f32, gen_unary},
    {NPU_OP_SOFTCAP, f32, gen_unary},
    {NPU_OP_SILU, f32, gen_unary},
    {NPU_OP_GELU, f32, gen_unary},
    {NPU_OP_GELU_ERF, f32, gen_unary},
    {NPU_OP_GELU_QUICK, f32, gen_unary},
    {NPU_OP_RELU, f32, gen_unary},
    {NPU_OP_SIGMOID, f32, gen_unary},
    {NPU_OP_TANH, f32, gen_unary},
    {NPU_OP_EXP, f32, gen_unary},
    {NPU_OP_SOFTPLUS, f32, gen_unary},
    {NPU_OP_GLU, f32, gen_glu},
    {NPU_OP_SOFT_MAX, f32, gen_soft_max},
    {NPU_OP_ROPE_TABLE, f32, gen_rope_table},
    {NPU_OP_ROPE, f32, gen_rope},
    {NPU_OP_FLASH_ATTN, cache, npu_gen_attn},
    {NPU_OP_SUM_ROWS, f32, gen_sum_rows},
    {NPU_OP_ARGSORT, f32, gen_argsort},
    {NPU_OP_ADD_PARTS, f32, gen_add_parts},
};

const npu_case_row *npu_case_row_at(uint32_t i) {
    return i < sizeof rows / sizeof rows[0] ? &rows[i] : NULL;
}
