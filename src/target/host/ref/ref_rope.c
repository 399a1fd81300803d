/* ROPE_TABLE and ROPE (numerics.md §6). */
#include <string.h>

#include "target/host/ref/ref.h"

npu_status npu_host_rope_table_ref(const npu_host_call *call, npu_error *err) {
    (void)err;
    const int32_t *positions = (const int32_t *)call->src[0].data;
    const float *freqs = (const float *)call->src[1].data;
    float scale = call->op->params.rope_table.scale;
    uint64_t from, to;
    npu_host_split(call, call->dst[0].t.ne[1], &from, &to);
    for (uint64_t m = from; m < to; m++) {
        float *table = (float *)npu_host_row(&call->dst[0], m);
        for (uint32_t i = 0; i < call->src[1].t.ne[0]; i++) {
            float s, c, a = (float)positions[m] * freqs[i];
            npu_sincosf(a, &s, &c);
            table[2 * i] = c * scale;
            table[2 * i + 1] = s * scale;
        }
    }
    return NPU_OK;
}

/* Every pair is read before it is written, so the result may be the source. */
npu_status npu_host_rope_ref(const npu_host_call *call, npu_error *err) {
    (void)err;
    const npu_host_operand *y = &call->dst[0];
    uint32_t heads = y->t.ne[1], pairs = call->src[1].t.ne[0] / 2;
    int neox = call->op->params.rope.mode == NPU_ROPE_NEOX;
    uint64_t from, to;
    npu_host_split(call, npu_tensor_rows(&y->t), &from, &to);
    for (uint64_t row = from; row < to; row++) {
        const float *x = (const float *)npu_host_row(&call->src[0], row);
        const float *table = (const float *)npu_host_at(&call->src[1], row / heads, 0, 0);
        float *out = (float *)npu_host_row(y, row);
        for (uint32_t i = 0; i < pairs; i++) {
            uint32_t a = neox ? i : 2 * i, b = neox ? i + pairs : 2 * i + 1;
            float x0 = x[a], x1 = x[b], c = table[2 * i], s = table[2 * i + 1];
            out[a] = npu_fmaf(x0, c, -(x1 * s));
            out[b] = npu_fmaf(x0, s, x1 * c);
        }
        if (out != x) memcpy(out + 2 * pairs, x + 2 * pairs, (y->t.ne[0] - 2 * pairs) * sizeof(float));
    }
    return NPU_OK;
}
