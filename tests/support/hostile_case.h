/* Op descriptors as an enemy would send them: sound cases of every op (src/conform), each changed in a few random
 * places. Everything follows from the number of the case. Used by the test of the checks (hostile_ops_test.c) and by
 * the one that sends them to the NPU program (hexagon/hexagon_hostile_ops.c). */
#ifndef HOSTILE_CASE_H
#define HOSTILE_CASE_H

#include <string.h>

#include "conform/conform_case.h"
#include "wire/check.h"
#include "wire/image.h"

#define HOSTILE_PICK(c, list) (list)[npu_case_below(c, sizeof(list) / sizeof *(list))]

static inline uint32_t odd_size(npu_case *c) {
    static const uint32_t sizes[] = {0,   1,   2,    3,       31,      32,       33,        64,
                                     255, 256, 1024, 1 << 20, 1 << 28, 1u << 31, UINT32_MAX};
    return npu_case_below(c, 4) ? HOSTILE_PICK(c, sizes) : (uint32_t)npu_case_random(c);
}

static inline uint64_t odd_stride(npu_case *c) {
    static const uint64_t strides[] = {0,          1,          2,          3,           4,          18,
                                       34,         128,        1 << 12,    1 << 24,     1ull << 32, 1ull << 46,
                                       1ull << 47, 1ull << 63, UINT64_MAX, -(uint64_t)4};
    return npu_case_below(c, 4) ? HOSTILE_PICK(c, strides) : npu_case_random(c);
}

static inline uint16_t odd_index(npu_case *c) {
    return npu_case_below(c, 2) ? NPU_NO_TENSOR : (uint16_t)npu_case_below(c, c->n_tensors);
}

static inline void change_tensor(npu_case *c) {
    npu_tensor *t = &c->tensors[npu_case_below(c, c->n_tensors)];
    uint32_t d = npu_case_below(c, NPU_MAX_DIMS);
    switch (npu_case_below(c, 8)) {
    case 0:
    case 1:
        t->ne[d] = odd_size(c);
        break;
    case 2:
    case 3:
        t->nb[d] = odd_stride(c);
        break;
    case 4:
        t->offset = odd_stride(c);
        break;
    case 5:
        t->type = (uint8_t)(npu_case_below(c, 4) ? npu_case_below(c, 48) : npu_case_random(c));
        break;
    case 6:
        t->layout = (uint8_t)npu_case_below(c, 3);
        break;
    default:
        t->rows_of = (uint8_t)npu_case_below(c, NPU_ROWS_COUNT + 1);
        t->rows_dim = (uint8_t)npu_case_below(c, NPU_MAX_DIMS + 1);
        break;
    }
}

static inline void change(npu_case *c) {
    switch (npu_case_below(c, 8)) {
    case 0:
        c->op.src[npu_case_below(c, NPU_OP_SRCS)] = odd_index(c);
        break;
    case 1:
        c->op.dst[npu_case_below(c, NPU_OP_DSTS)] = odd_index(c);
        break;
    case 2:
        c->op.code = (uint16_t)(npu_case_below(c, 3) ? npu_case_below(c, NPU_OP_CODE_LIMIT + 2) : npu_case_random(c));
        break;
    case 3:
        c->op.params.words[npu_case_below(c, 6)] = (int32_t)npu_case_random(c);
        break;
    default:
        change_tensor(c);
        break;
    }
}

/* Weights as the NPU has them, half of the time, so that changed ops get past the type of a weight. */
static inline void make_images(npu_case *c) {
    for (uint32_t i = 0; i < c->n_tensors; i++) {
        npu_tensor *t = &c->tensors[i];
        if (t->flags & NPU_TENSOR_WEIGHT && npu_image_format_of(t->type) && t->ne[0] % 32 == 0 && c->rows % 2)
            t->layout = NPU_LAYOUT_TILES;
    }
}

static inline npu_case hostile_case(uint32_t i, bool changed) {
    uint32_t rows = 1, types = 1; /* there is at least one of each */
    while (npu_case_row_at(rows)) rows++;
    const npu_case_row *row = npu_case_row_at(i % rows);
    while (row->types[types] != NPU_CASE_END) types++;
    npu_case c = {.random = i + 1, .type = row->types[i / rows % types], .op.code = (uint16_t)row->op};
    memset(c.op.src, 0xFF, sizeof c.op.src);
    memset(c.op.dst, 0xFF, sizeof c.op.dst);
    c.op.layer = NPU_NO_LAYER;
    c.step = npu_case_below(&c, 2);
    row->generate(&c);
    if (changed) {
        for (uint32_t n = 1 + npu_case_below(&c, 3); n; n--) change(&c);
    }
    return c;
}

#endif
