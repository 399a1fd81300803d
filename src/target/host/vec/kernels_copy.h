/* SET_ROWS into F16 and F32, and rows of a cache or of a table as floats. A template as kernels_map.h. */

/* |n| values at |src| as floats; what is past the last whole vector goes value by value. */
static inline void to_floats(uint32_t type, const uint8_t *src, float *dst, uint32_t n) {
    uint32_t i = 0;
    if (type == NPU_TYPE_F16) {
        const uint16_t *h = (const uint16_t *)src;
        for (; i + VW <= n; i += VW) vf_store(dst + i, vf_load_half(h + i));
        for (; i < n; i++) dst[i] = npu_half_to_float(h[i]);
    } else if (type == NPU_TYPE_BF16) {
        const uint16_t *h = (const uint16_t *)src;
        for (; i + VW <= n; i += VW) vf_store(dst + i, vf_load_bf16(h + i));
        for (; i < n; i++) dst[i] = npu_bf16_to_float(h[i]);
    } else if (type == NPU_TYPE_Q8_0) {
        for (; i < n; i += 32, src += 34) {
            vf d = vf_set_half((uint16_t)(src[0] | src[1] << 8));
            for (uint32_t k = 0; k < 32; k += VW) {
                vf_store(dst + i + k, vf_mul(d, vf_load_i8((const int8_t *)src + 2 + k)));
            }
        }
    } else {
        memcpy(dst, src, n * sizeof(float));
    }
}

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
