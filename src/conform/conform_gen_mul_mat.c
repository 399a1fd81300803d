/* Cases of products; see conform_gen.c. */
#include "conform/conform_shape.h"
#include "wire/format.h"

/* A type of which rows of |k| values may be. */
static uint32_t other_type(npu_case *c, uint32_t k) {
    static const uint8_t types[] = {
#define NPU_FORMAT(NAME, code, name, values, bytes, group, flags) code,
#include "wire/npu_formats.def"
    };
    uint32_t type;
    do {
        type = types[npu_case_below(c, sizeof types)];
    } while (k % npu_format_of(type)->block_values);
    return type;
}

static void gen_batched(npu_case *c) {
    uint32_t k = npu_case_width(c, c->type), n = 1 + npu_case_below(c, c->wide ? 6 : 40), m = npu_case_row_count(c),
             w2 = npu_case_few(c), w3 = npu_case_few(c);
    uint32_t x2 = w2 * npu_case_few(c), x3 = w3 * npu_case_few(c);
    c->step = false;
    c->op.src[0] = npu_case_tensor(c, NPU_TYPE_F32, (uint32_t[]){k, m, x2, x3}, 0, LAYOUT_ROWS, NPU_FILL_VALUES);
    c->op.src[1] = npu_case_tensor(c, c->type, (uint32_t[]){k, n, w2, w3}, 0, LAYOUT_ROWS, NPU_FILL_VALUES);
    if (npu_case_one_in(c, 4)) c->op.src[5] = npu_case_weight(c, npu_case_vector(c, NPU_TYPE_F32, n, NPU_FILL_VALUES));
    c->op.dst[0] = npu_case_tensor(c, NPU_TYPE_F32, (uint32_t[]){n, m, x2, x3}, 0, LAYOUT_ROWS, NPU_FILL_NOTHING);
}

void npu_gen_mul_mat(npu_case *c) {
    bool is_float = npu_format_of(c->type)->flags & NPU_FORMAT_FLOAT;
    if (is_float && npu_case_one_in(c, 3)) {
        gen_batched(c);
        return;
    }
    uint32_t k = npu_case_width(c, c->type), m = npu_case_row_count(c),
             count = npu_case_one_in(c, 2) ? 1 : 1 + npu_case_below(c, 4);
    c->op.src[0] = npu_case_tensor(c, NPU_TYPE_F32, (uint32_t[]){k, m, 1, 1}, 1, LAYOUT_ROWS, NPU_FILL_VALUES);
    bool mixed = npu_case_one_in(c, 2); /* weights of several types */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t type = i && mixed ? other_type(c, k) : c->type;
        uint32_t n = c->wide                 ? 1 + npu_case_below(c, 40)
                     : npu_case_one_in(c, 3) ? 32 * (1 + npu_case_below(c, 4))
                                             : 1 + npu_case_below(c, 100);
        c->op.src[1 + i] =
            npu_case_weight(c, npu_case_tensor(c, type, (uint32_t[]){k, n, 1, 1}, 0, 0, NPU_FILL_VALUES));
        if (npu_case_one_in(c, 3))
            c->op.src[5 + i] = npu_case_weight(c, npu_case_vector(c, NPU_TYPE_F32, n, NPU_FILL_VALUES));
        c->op.dst[i] = npu_case_tensor(c, NPU_TYPE_F32, (uint32_t[]){n, m, 1, 1}, 1, LAYOUT_ROWS, NPU_FILL_NOTHING);
    }
}
