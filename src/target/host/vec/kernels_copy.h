/* SET_ROWS into F16 and F32. A template as kernels_map.h. */
#include "target/host/vec/kernels_floats.h"

static inline void to_halves(const float *src, uint16_t *dst, uint32_t n) {
    uint32_t i = 0;
    for (; i + VW <= n; i += VW) vf_store_half(dst + i, vf_load(src + i));
    for (; i < n; i++) dst[i] = npu_float_to_half(src[i]);
}

npu_status VEC_FN(set_rows)(const npu_host_call *call, npu_error *err) {
    const npu_host_operand *x = &call->src[0], *state = &call->dst[0];
    const int32_t *cells = (const int32_t *)call->src[1].data;
    uint64_t from, to;
    NPU_TRY(npu_host_check_cells(call, err));
    npu_host_split(call, x->t.ne[1], &from, &to);
    for (uint64_t m = from; m < to; m++) {
        const float *in = (const float *)npu_host_row(x, m);
        uint8_t *out = npu_host_row(state, (uint32_t)cells[m]);
        if (state->t.type == NPU_TYPE_F16) {
            to_halves(in, (uint16_t *)out, x->t.ne[0]);
        } else {
            memcpy(out, in, x->t.ne[0] * sizeof(float));
        }
    }
    return NPU_OK;
}

npu_status VEC_FN(get_rows)(const npu_host_call *call, npu_error *err) {
    const npu_host_operand *y = &call->dst[0];
    const int32_t *ids = (const int32_t *)call->src[1].data;
    uint64_t from, to;
    NPU_TRY(npu_host_check_ids(call, err));
    npu_host_split(call, y->t.ne[1], &from, &to);
    for (uint64_t m = from; m < to; m++) {
        const uint8_t *row = npu_host_table_row(call, ids[m]);
        if (row) to_floats(call->src[0].t.type, row, (float *)npu_host_row(y, m), y->t.ne[0]);
    }
    return NPU_OK;
}
