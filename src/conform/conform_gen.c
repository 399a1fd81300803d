/* Random shapes, layouts and parameters of every op: one generator a shape family, and the table of cases.
 *
 * A generator draws from the case's random numbers only, so that the case is the same on every machine. Operands that
 * the op table lets be strided are sometimes padded, permuted or shifted.
 */
#include <string.h>

#include "conform/conform_case.h"
#include "wire/format.h"
#include "wire/op_check.h"

uint64_t npu_case_random(npu_case *c) {
    uint64_t z = c->random += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}

uint32_t npu_case_below(npu_case *c, uint32_t n) {
    return (uint32_t)((npu_case_random(c) >> 32) * n >> 32);
}

float npu_case_unit(npu_case *c) {
    return (float)((int32_t)(npu_case_random(c) >> 40) - 0x800000) / 0x800000;
}

static bool one_in(npu_case *c, uint32_t n) {
    return npu_case_below(c, n) == 0;
}

static uint32_t pick(npu_case *c, const uint16_t *list, uint32_t n) {
    return list[npu_case_below(c, n)];
}

#define PICK(c, list) pick(c, list, sizeof(list) / sizeof((list)[0]))

static const uint16_t widths[] = {1,  2,  3,   5,   7,   8,   15,  16,  17,  31,  32,  33,  47,  63,   64,
                                  65, 96, 100, 127, 128, 129, 191, 255, 256, 257, 300, 511, 576, 1000, 1024};
static const uint16_t row_counts[] = {1, 1, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65};

/* A width for values of |type|: whole blocks. */
static uint32_t width(npu_case *c, uint32_t type) {
    uint32_t block = type == NPU_TYPE_I32 ? 1 : npu_format_of(type)->block_values;
    if (block == 1) return PICK(c, widths);
    return block * (1 + npu_case_below(c, block == 32 ? 19 : 5));
}

static uint32_t few(npu_case *c) {
    return one_in(c, 2) ? 1 : 1 + npu_case_below(c, 4);
}

enum { LAYOUT_ROWS = 1, LAYOUT_ANY = 2 }; /* dimension 0 stays dense; it need not */

/* Strides: mostly dense, else padded rows, dimensions 1 and 2 swapped in memory, or (ANY) 0 and 1 swapped. */
static void lay_out(npu_case *c, npu_tensor *t, int freedom) {
    uint32_t values, unit = npu_tensor_unit(t, &values);
    int order[4] = {0, 1, 2, 3};
    uint64_t pad = 0, at = unit;
    switch (freedom ? npu_case_below(c, 6) : 0) {
    case 1:
        pad = (1 + npu_case_below(c, 5)) * (uint64_t)unit;
        break;
    case 2:
        order[1] = 2, order[2] = 1;
        break;
    case 3:
        if (freedom == LAYOUT_ANY && values == 1) order[0] = 1, order[1] = 0;
        break;
    default:
        break;
    }
    for (int i = 0; i < NPU_MAX_DIMS; i++) {
        int dim = order[i];
        t->nb[dim] = at;
        at = at * (dim ? t->ne[dim] : t->ne[0] / values) + (i == 0 ? pad : 0);
    }
    t->offset = NPU_CASE_GUARD;
    if (freedom && one_in(c, 4)) t->offset += (1 + npu_case_below(c, 7)) * (uint64_t)unit;
}

/* Appends a tensor with a buffer of its own; |rows_dim| is the dimension that counts the step's rows, 0 = none. */
static uint16_t tensor(npu_case *c, uint32_t type, const uint32_t ne[4], uint32_t rows_dim, int freedom,
                       npu_case_fill fill) {
    uint32_t i = c->n_tensors++;
    npu_tensor *t = &c->tensors[i];
    *t = (npu_tensor){.ne = {ne[0], ne[1], ne[2], ne[3]}, .buffer = (uint16_t)i, .type = (uint8_t)type};
    lay_out(c, t, freedom);
    if (rows_dim && c->step) {
        t->rows_of = NPU_ROWS_STEP;
        t->rows_dim = (uint8_t)rows_dim;
        c->rows = ne[rows_dim];
    }
    c->fill[i] = (uint8_t)fill;
    c->bytes[i] = t->offset + npu_tensor_extent(t) + NPU_CASE_GUARD;
    return (uint16_t)i;
}

static uint16_t vector(npu_case *c, uint32_t type, uint32_t n, npu_case_fill fill) {
    return tensor(c, type, (uint32_t[]){n, 1, 1, 1}, 0, 0, fill);
}

/* I32 [M] where M counts the step's rows. */
static uint16_t row_vector(npu_case *c, uint32_t n, uint32_t limit, npu_case_fill fill) {
    uint16_t i = vector(c, NPU_TYPE_I32, n, fill);
    c->limit[i] = limit;
    if (c->step) c->tensors[i].rows_of = NPU_ROWS_STEP;
    return i;
}

static uint16_t weight(npu_case *c, uint16_t index) {
    c->tensors[index].flags |= NPU_TENSOR_WEIGHT;
    return index;
}

/* A random shape; its last dimension above 1 counts the step's rows when |*rows_dim| is not 0. */
static void shape(npu_case *c, uint32_t type, uint32_t ne[4], uint32_t *rows_dim) {
    ne[0] = width(c, type);
    ne[1] = PICK(c, row_counts);
    ne[2] = few(c);
    ne[3] = one_in(c, 4) ? few(c) : 1;
    *rows_dim = ne[3] > 1 ? 3 : ne[2] > 1 ? 2 : 1;
}

static void gen_get_rows(npu_case *c) {
    uint32_t k = width(c, c->type), n = 1 + npu_case_below(c, 70), m = PICK(c, row_counts);
    c->op.src[0] = weight(c, tensor(c, c->type, (uint32_t[]){k, n, 1, 1}, 0, LAYOUT_ROWS, NPU_FILL_VALUES));
    c->op.src[1] = row_vector(c, m, n, NPU_FILL_INDICES);
    c->op.dst[0] = tensor(c, NPU_TYPE_F32, (uint32_t[]){k, m, 1, 1}, 1, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

static void gen_set_rows(npu_case *c) {
    uint32_t k = width(c, c->type), m = PICK(c, row_counts), n = m + npu_case_below(c, 40);
    c->op.src[0] = tensor(c, NPU_TYPE_F32, (uint32_t[]){k, m, 1, 1}, 1, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.src[1] = row_vector(c, m, n, NPU_FILL_CELLS);
    c->op.dst[0] = tensor(c, c->type, (uint32_t[]){k, n, 1, 1}, 0, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->tensors[c->op.dst[0]].flags |= NPU_TENSOR_STATE;
}

/* |type| is the source's; the result has any type it converts to and sometimes another shape of as many elements. */
static void gen_cpy(npu_case *c) {
    static const uint8_t to[] = {NPU_TYPE_F32, NPU_TYPE_F16, NPU_TYPE_BF16, NPU_TYPE_Q8_0};
    uint32_t type = c->type == NPU_TYPE_I32 ? NPU_TYPE_I32 : to[npu_case_below(c, 4)];
    uint32_t ne[4], other[4], rows_dim;
    shape(c, type == NPU_TYPE_Q8_0 ? type : c->type, ne, &rows_dim);
    memcpy(other, ne, sizeof ne);
    if (one_in(c, 3)) {
        other[1] = ne[1] * ne[2];
        other[2] = 1;
    } else if (one_in(c, 3) && !c->step) {
        other[1] = ne[2];
        other[2] = ne[1];
    }
    c->step = c->step && other[rows_dim] == ne[rows_dim];
    c->op.src[0] = tensor(c, c->type, ne, rows_dim, LAYOUT_ANY, NPU_FILL_VALUES);
    c->op.dst[0] = tensor(c, type, other, rows_dim, LAYOUT_ANY, NPU_FILL_NOTHING);
}

static void gen_concat(npu_case *c) {
    uint32_t a[4], b[4], y[4], rows_dim, dim = npu_case_below(c, 4);
    shape(c, c->type, a, &rows_dim);
    memcpy(b, a, sizeof a);
    memcpy(y, a, sizeof a);
    b[dim] = 1 + npu_case_below(c, 9);
    y[dim] = a[dim] + b[dim];
    c->step = c->step && dim != rows_dim;
    c->op.params.dim.dim = (int32_t)dim;
    c->op.src[0] = tensor(c, c->type, a, rows_dim, LAYOUT_ANY, NPU_FILL_VALUES);
    c->op.src[1] = tensor(c, c->type, b, rows_dim, LAYOUT_ANY, NPU_FILL_VALUES);
    c->op.dst[0] = tensor(c, c->type, y, rows_dim, LAYOUT_ANY, NPU_FILL_NOTHING);
}

static void gen_repeat(npu_case *c) {
    uint32_t x[4], y[4], rows_dim;
    shape(c, c->type, x, &rows_dim);
    c->step = false;
    for (int i = 0; i < 4; i++) y[i] = x[i] * few(c);
    c->op.src[0] = tensor(c, c->type, x, 0, LAYOUT_ANY, NPU_FILL_VALUES);
    c->op.dst[0] = tensor(c, c->type, y, 0, LAYOUT_ANY, NPU_FILL_NOTHING);
}

static void gen_mul_mat_batched(npu_case *c) {
    uint32_t k = width(c, c->type), n = 1 + npu_case_below(c, 40), m = PICK(c, row_counts), w2 = few(c), w3 = few(c);
    uint32_t x2 = w2 * few(c), x3 = w3 * few(c);
    c->step = false;
    c->op.src[0] = tensor(c, NPU_TYPE_F32, (uint32_t[]){k, m, x2, x3}, 0, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.src[1] = tensor(c, c->type, (uint32_t[]){k, n, w2, w3}, 0, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.dst[0] = tensor(c, NPU_TYPE_F32, (uint32_t[]){n, m, x2, x3}, 0, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

static void gen_mul_mat(npu_case *c) {
    bool is_float = npu_format_of(c->type)->flags & NPU_FORMAT_FLOAT;
    if (is_float && one_in(c, 3)) {
        gen_mul_mat_batched(c);
        return;
    }
    uint32_t k = width(c, c->type), m = PICK(c, row_counts), count = one_in(c, 2) ? 1 : 1 + npu_case_below(c, 4);
    c->op.src[0] = tensor(c, NPU_TYPE_F32, (uint32_t[]){k, m, 1, 1}, 1, LAYOUT_ROWS, NPU_FILL_VALUES);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t n = one_in(c, 3) ? 32 * (1 + npu_case_below(c, 4)) : 1 + npu_case_below(c, 100);
        c->op.src[1 + i] = weight(c, tensor(c, c->type, (uint32_t[]){k, n, 1, 1}, 0, 0, NPU_FILL_VALUES));
        if (one_in(c, 3)) c->op.src[5 + i] = weight(c, vector(c, NPU_TYPE_F32, n, NPU_FILL_VALUES));
        c->op.dst[i] = tensor(c, NPU_TYPE_F32, (uint32_t[]){n, m, 1, 1}, 1, LAYOUT_ROWS, NPU_FILL_NOTHING);
    }
}

static void gen_norm(npu_case *c) {
    uint32_t ne[4], rows_dim;
    shape(c, c->type, ne, &rows_dim);
    c->op.params.eps.eps = one_in(c, 2) ? 1e-5f : 1e-6f;
    c->op.src[0] = tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
    if (c->op.code != NPU_OP_L2_NORM && !one_in(c, 4)) {
        c->op.src[1] = weight(c, vector(c, NPU_TYPE_F32, ne[0], NPU_FILL_VALUES));
        if (c->op.code == NPU_OP_NORM && !one_in(c, 3))
            c->op.src[2] = weight(c, vector(c, NPU_TYPE_F32, ne[0], NPU_FILL_VALUES));
    }
    c->op.dst[0] = tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

/* b repeats along some dimensions, along the row dimension always or never. */
static void gen_binary(npu_case *c) {
    uint32_t ne[4], b[4], rows_dim;
    shape(c, c->type, ne, &rows_dim);
    bool repeats = one_in(c, 2);
    for (uint32_t i = 0; i < 4; i++) {
        b[i] = ne[i];
        if (i == rows_dim ? repeats : one_in(c, 4))
            b[i] = ne[i] % 2 == 0 && one_in(c, 3) && i != rows_dim ? ne[i] / 2 : 1;
    }
    c->op.src[0] = tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.src[1] = tensor(c, NPU_TYPE_F32, b, b[rows_dim] == ne[rows_dim] ? rows_dim : 0, LAYOUT_ROWS,
                          c->op.code == NPU_OP_DIV ? NPU_FILL_POSITIVE : NPU_FILL_VALUES);
    c->op.dst[0] = tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_NOTHING);
    if (one_in(c, 4)) c->op.dst[0] = c->op.src[0]; /* in place; the unused result stays poison */
}

static void gen_unary(npu_case *c) {
    uint32_t ne[4], rows_dim;
    shape(c, c->type, ne, &rows_dim);
    if (c->op.code == NPU_OP_SCALE || c->op.code == NPU_OP_SOFTCAP) {
        c->op.params.scale.scale = 0.5f + 20 * (1 + npu_case_unit(c));
        if (c->op.code == NPU_OP_SCALE && one_in(c, 3)) c->op.params.scale.bias = npu_case_unit(c);
    } else if (c->op.code == NPU_OP_CLAMP) {
        c->op.params.clamp = (npu_params_clamp){-1 - npu_case_unit(c), 2 + npu_case_unit(c)};
    }
    c->op.src[0] = tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.dst[0] = tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

static void gen_glu(npu_case *c) {
    uint32_t ne[4], fused[4], rows_dim;
    npu_params_glu *p = &c->op.params.glu;
    shape(c, c->type, ne, &rows_dim);
    memcpy(fused, ne, sizeof ne);
    p->kind = (int32_t)npu_case_below(c, 6);
    if (p->kind == NPU_GLU_OAI) p->alpha = 1.702f, p->limit = 7;
    if (one_in(c, 2)) {
        c->op.src[0] = tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
        c->op.src[1] = tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
    } else {
        fused[0] *= 2;
        p->swapped = one_in(c, 2);
        c->op.src[0] = tensor(c, NPU_TYPE_F32, fused, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
    }
    c->op.dst[0] = tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

static void gen_soft_max(npu_case *c) {
    uint32_t ne[4], rows_dim;
    shape(c, c->type, ne, &rows_dim);
    rows_dim = rows_dim == 2 ? 0 : rows_dim; /* heads are not rows */
    c->op.params.softmax.scale = 0.05f + 2 * (1 + npu_case_unit(c));
    if (one_in(c, 3)) c->op.params.softmax.max_bias = 8;
    c->op.src[0] = tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
    uint32_t mask[4] = {ne[0], ne[1], 1, 1};
    if (!one_in(c, 3)) {
        c->op.src[1] =
            tensor(c, one_in(c, 2) ? NPU_TYPE_F16 : NPU_TYPE_F32, mask, rows_dim == 1, LAYOUT_ROWS, NPU_FILL_MASK);
    }
    if (one_in(c, 3)) c->op.src[2] = weight(c, vector(c, NPU_TYPE_F32, ne[2], NPU_FILL_VALUES));
    c->op.dst[0] = tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

static void gen_rope_table(npu_case *c) {
    uint32_t pairs = 1 + npu_case_below(c, 140), m = PICK(c, row_counts);
    c->op.params.rope_table.scale = one_in(c, 2) ? 1 : 1.19f;
    c->op.src[0] = row_vector(c, m, one_in(c, 3) ? 131072 : 4096, NPU_FILL_INDICES);
    c->op.src[1] = vector(c, NPU_TYPE_F32, pairs, NPU_FILL_FREQS);
    c->op.dst[0] = tensor(c, NPU_TYPE_F32, (uint32_t[]){2 * pairs, m, 1, 1}, 1, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

static void gen_rope(npu_case *c) {
    uint32_t pairs = 1 + npu_case_below(c, 70), heads = 1 + npu_case_below(c, 9), m = PICK(c, row_counts);
    uint32_t d = 2 * pairs + (one_in(c, 3) ? npu_case_below(c, 70) : 0);
    uint32_t ne[4] = {d, heads, m, 1};
    c->op.params.rope.mode = (int32_t)npu_case_below(c, 2);
    c->op.src[0] = tensor(c, NPU_TYPE_F32, ne, 2, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.src[1] = tensor(c, NPU_TYPE_F32, (uint32_t[]){2 * pairs, m, 1, 1}, 1, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.dst[0] = one_in(c, 2) ? c->op.src[0] : tensor(c, NPU_TYPE_F32, ne, 2, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

static void gen_attn(npu_case *c) {
    static const uint16_t dims[] = {8, 16, 24, 32, 33, 40, 64, 72, 80, 96, 100, 128, 192, 256};
    npu_params_attn *p = &c->op.params.attn;
    uint32_t d = PICK(c, dims), dv = one_in(c, 5) ? PICK(c, dims) : d;
    if (c->type == NPU_TYPE_Q8_0) d = (d + 31) / 32 * 32, dv = (dv + 31) / 32 * 32;
    uint32_t kv_heads = 1 + npu_case_below(c, 4), heads = kv_heads * (1 + npu_case_below(c, 5));
    uint32_t m = one_in(c, 2) ? 1 + npu_case_below(c, 2) : PICK(c, row_counts);
    uint32_t cells = one_in(c, 4) ? 1024 + npu_case_below(c, 1400) : 1 + npu_case_below(c, 200);
    while ((uint64_t)d * heads * m * cells > 3000000 && m > 1) m = m / 2;
    p->scale = 0.125f;
    p->causal = 1;
    if (one_in(c, 4)) p->softcap = 20;
    if (one_in(c, 4)) p->window = 1 + npu_case_below(c, cells);
    c->op.src[0] = tensor(c, NPU_TYPE_F32, (uint32_t[]){d, heads, m, 1}, 2, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.src[1] = tensor(c, c->type, (uint32_t[]){d, kv_heads, cells, 1}, 0, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.src[2] = tensor(c, c->type, (uint32_t[]){dv, kv_heads, cells, 1}, 0, LAYOUT_ROWS, NPU_FILL_VALUES);
    for (int i = 1; i <= 2; i++) c->tensors[c->op.src[i]].flags |= NPU_TENSOR_STATE;
    c->op.src[3] = tensor(c, NPU_TYPE_I32, (uint32_t[]){2, m, 1, 1}, 1, 0, NPU_FILL_SPANS);
    c->limit[c->op.src[3]] = cells;
    if (one_in(c, 4)) {
        uint32_t type = one_in(c, 2) ? NPU_TYPE_F16 : NPU_TYPE_F32;
        c->op.src[4] = tensor(c, type, (uint32_t[]){cells, m, 1, 1}, 1, LAYOUT_ROWS, NPU_FILL_MASK);
        if (one_in(c, 2)) p->max_bias = 8;
    }
    if (one_in(c, 4)) c->op.src[5] = weight(c, vector(c, NPU_TYPE_F32, heads, NPU_FILL_VALUES));
    c->op.dst[0] = tensor(c, NPU_TYPE_F32, (uint32_t[]){dv, heads, m, 1}, 2, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

static void gen_sum_rows(npu_case *c) {
    uint32_t ne[4], rows_dim;
    shape(c, c->type, ne, &rows_dim);
    c->op.src[0] = tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.dst[0] =
        tensor(c, NPU_TYPE_F32, (uint32_t[]){1, ne[1], ne[2], ne[3]}, rows_dim, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

static void gen_argsort(npu_case *c) {
    uint32_t ne[4], rows_dim;
    shape(c, c->type, ne, &rows_dim);
    uint32_t k = one_in(c, 2) ? ne[0] : 1 + npu_case_below(c, ne[0]);
    c->op.params.sort.descending = one_in(c, 2);
    c->op.src[0] = tensor(c, NPU_TYPE_F32, ne, rows_dim, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.dst[0] =
        tensor(c, NPU_TYPE_I32, (uint32_t[]){k, ne[1], ne[2], ne[3]}, rows_dim, LAYOUT_ROWS, NPU_FILL_NOTHING);
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
    {NPU_OP_GET_ROWS, all, gen_get_rows}, {NPU_OP_SET_ROWS, cache, gen_set_rows},
    {NPU_OP_CPY, copied, gen_cpy},        {NPU_OP_CONCAT, words, gen_concat},
    {NPU_OP_REPEAT, words, gen_repeat},   {NPU_OP_MUL_MAT, all, gen_mul_mat},
    {NPU_OP_RMS_NORM, f32, gen_norm},     {NPU_OP_NORM, f32, gen_norm},
    {NPU_OP_L2_NORM, f32, gen_norm},      {NPU_OP_ADD, f32, gen_binary},
    {NPU_OP_SUB, f32, gen_binary},        {NPU_OP_MUL, f32, gen_binary},
    {NPU_OP_DIV, f32, gen_binary},        {NPU_OP_SCALE, f32, gen_unary},
    {NPU_OP_CLAMP, f32, gen_unary},       {NPU_OP_SOFTCAP, f32, gen_unary},
    {NPU_OP_SILU, f32, gen_unary},        {NPU_OP_GELU, f32, gen_unary},
    {NPU_OP_GELU_ERF, f32, gen_unary},    {NPU_OP_GELU_QUICK, f32, gen_unary},
    {NPU_OP_RELU, f32, gen_unary},        {NPU_OP_SIGMOID, f32, gen_unary},
    {NPU_OP_TANH, f32, gen_unary},        {NPU_OP_EXP, f32, gen_unary},
    {NPU_OP_SOFTPLUS, f32, gen_unary},    {NPU_OP_GLU, f32, gen_glu},
    {NPU_OP_SOFT_MAX, f32, gen_soft_max}, {NPU_OP_ROPE_TABLE, f32, gen_rope_table},
    {NPU_OP_ROPE, f32, gen_rope},         {NPU_OP_FLASH_ATTN, cache, gen_attn},
    {NPU_OP_SUM_ROWS, f32, gen_sum_rows}, {NPU_OP_ARGSORT, f32, gen_argsort},
};

const npu_case_row *npu_case_row_at(uint32_t i) {
    return i < sizeof rows / sizeof rows[0] ? &rows[i] : NULL;
}
