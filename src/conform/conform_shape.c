#include "conform/conform_shape.h"

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

bool npu_case_one_in(npu_case *c, uint32_t n) {
    return npu_case_below(c, n) == 0;
}

uint32_t npu_case_pick(npu_case *c, const uint16_t *list, uint32_t n) {
    return list[npu_case_below(c, n)];
}

static const uint16_t widths[] = {1,  2,  3,   5,   7,   8,   15,  16,  17,  31,  32,  33,  47,  63,   64,
                                  65, 96, 100, 127, 128, 129, 191, 255, 256, 257, 300, 511, 576, 1000, 1024};
/* Longer than what a thread of an NPU takes at once. */
static const uint16_t wide[] = {2047, 4096, 8160, 8191, 8192, 8193, 12345, 16384, 20001, 28672, 36864};
static const uint16_t row_counts[] = {1, 1, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65};

/* A width for values of |type|: whole blocks. */
uint32_t npu_case_width(npu_case *c, uint32_t type) {
    uint32_t block = type == NPU_TYPE_I32 ? 1 : npu_format_of(type)->block_values;
    c->wide = npu_case_one_in(c, 20);
    if (c->wide) return (NPU_CASE_PICK(c, wide) + block - 1) / block * block;
    if (block == 1) return NPU_CASE_PICK(c, widths);
    return block * (1 + npu_case_below(c, block == 32 ? 19 : 5));
}

uint32_t npu_case_row_count(npu_case *c) {
    return c->wide ? 1 + npu_case_below(c, 5) : NPU_CASE_PICK(c, row_counts);
}

uint32_t npu_case_few(npu_case *c) {
    return npu_case_one_in(c, 2) ? 1 : 1 + npu_case_below(c, 4);
}

/* Dimensions from |first| on change places in memory. */
static void shuffle(npu_case *c, int order[NPU_MAX_DIMS], uint32_t first) {
    for (uint32_t i = NPU_MAX_DIMS - 1; i > first; i--) {
        uint32_t j = first + npu_case_below(c, i - first + 1);
        int t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

/* What lies between one and the next of a dimension: nothing, or up to eight elements. */
static uint64_t gap(npu_case *c, uint64_t unit) {
    return npu_case_one_in(c, 3) ? (1 + npu_case_below(c, 8)) * unit : 0;
}

/* The stride of a dimension of one element is never used, so that views leave nothing there. */
static void forget_unused(npu_case *c, npu_tensor *t) {
    for (int i = 1; i < NPU_MAX_DIMS; i++)
        if (t->ne[i] == 1 && npu_case_one_in(c, 2)) t->nb[i] = 0;
}

/* Strides: mostly dense, else padded rows, dimensions 1 and 2 swapped in memory, dimensions in any order with gaps
 * (dimension 0 among them for ANY). */
static void lay_out(npu_case *c, npu_tensor *t, int freedom) {
    uint32_t values, unit = npu_tensor_unit(t, &values);
    int order[NPU_MAX_DIMS] = {0, 1, 2, 3};
    bool any = freedom == LAYOUT_ANY && values == 1, gaps = false;
    uint64_t pad = 0, at = unit;
    switch (freedom ? npu_case_below(c, 8) : 0) {
    case 1:
        pad = (1 + npu_case_below(c, 5)) * (uint64_t)unit;
        break;
    case 2:
        order[1] = 2, order[2] = 1;
        break;
    case 3:
        if (any) order[0] = 1, order[1] = 0;
        break;
    case 4:
    case 5:
        shuffle(c, order, any ? 0 : 1);
        gaps = true;
        break;
    default:
        break;
    }
    if (gaps && any) at += gap(c, unit);
    for (int i = 0; i < NPU_MAX_DIMS; i++) {
        int dim = order[i];
        t->nb[dim] = at;
        at = at * (dim ? t->ne[dim] : t->ne[0] / values) + (i == 0 ? pad : 0) + (gaps ? gap(c, unit) : 0);
    }
    if (gaps) forget_unused(c, t);
    t->offset = NPU_CASE_GUARD;
    if (freedom && npu_case_one_in(c, 4)) t->offset += (1 + npu_case_below(c, 7)) * (uint64_t)unit;
}

/* Appends a tensor with a buffer of its own; |rows_dim| is the dimension that counts the step's rows, 0 = none. */
uint16_t npu_case_tensor(npu_case *c, uint32_t type, const uint32_t ne[4], uint32_t rows_dim, int freedom,
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

uint16_t npu_case_vector(npu_case *c, uint32_t type, uint32_t n, npu_case_fill fill) {
    return npu_case_tensor(c, type, (uint32_t[]){n, 1, 1, 1}, 0, 0, fill);
}

/* I32 [M] where M counts the step's rows. */
uint16_t npu_case_row_vector(npu_case *c, uint32_t n, uint32_t limit, npu_case_fill fill) {
    uint16_t i = npu_case_vector(c, NPU_TYPE_I32, n, fill);
    c->limit[i] = limit;
    if (c->step) c->tensors[i].rows_of = NPU_ROWS_STEP;
    return i;
}

uint16_t npu_case_weight(npu_case *c, uint16_t index) {
    c->tensors[index].flags |= NPU_TENSOR_WEIGHT;
    return index;
}

/* A random shape; its last dimension above 1 counts the step's rows when |*rows_dim| is not 0. */
void npu_case_shape(npu_case *c, uint32_t type, uint32_t ne[4], uint32_t *rows_dim) {
    ne[0] = npu_case_width(c, type);
    ne[1] = npu_case_row_count(c);
    ne[2] = c->wide ? 1 + npu_case_below(c, 2) : npu_case_few(c);
    ne[3] = npu_case_one_in(c, 4) && !c->wide ? npu_case_few(c) : 1;
    *rows_dim = ne[3] > 1 ? 3 : ne[2] > 1 ? 2 : 1;
}

uint32_t npu_case_divisor(npu_case *c, uint32_t n) {
    uint32_t d = 1 + npu_case_below(c, n);
    while (n % d) d--;
    return d;
}
