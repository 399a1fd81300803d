/* Cases of attention; see conform_gen.c. */
#include "conform/conform_shape.h"
#include "wire/format.h"

void npu_gen_attn(npu_case *c) {
    static const uint16_t dims[] = {8,  16, 24, 31,  32,  33,  40,  48,  57,  64,
                                    72, 80, 96, 100, 112, 127, 128, 160, 192, 256};
    npu_params_attn *p = &c->op.params.attn;
    uint32_t d = NPU_CASE_PICK(c, dims), dv = npu_case_one_in(c, 5) ? NPU_CASE_PICK(c, dims) : d;
    if (c->type == NPU_TYPE_Q8_0) d = (d + 31) / 32 * 32, dv = (dv + 31) / 32 * 32;
    uint32_t kv_heads = 1 + npu_case_below(c, 4), heads = kv_heads * (1 + npu_case_below(c, 8));
    uint32_t m = npu_case_one_in(c, 2) ? 1 + npu_case_below(c, 2) : npu_case_row_count(c);
    uint32_t cells = npu_case_one_in(c, 4) ? 1024 + npu_case_below(c, 1400) : 1 + npu_case_below(c, 200);
    while ((uint64_t)d * heads * m * cells > 3000000 && m > 1) m = m / 2;
    p->scale = 0.02f + 0.2f * (1 + npu_case_unit(c));
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
