/* RMS_NORM and SOFT_MAX on vectors. A template as kernels_map.h; formulas and lanes as ref/ref_norm.c. */
/* Lanes past the end keep what they have: adding a zero product would turn a -0 into +0. */
static inline float square32(const float *x, uint32_t n) {
    vf lane[SUM_VECTORS];
    uint32_t i = 0;
    for (int j = 0; j < SUM_VECTORS; j++) lane[j] = vf_set(0.0f);
    for (; i + 32 <= n; i += 32) {
        for (int j = 0; j < SUM_VECTORS; j++) {
            vf v = vf_load(x + i + j * VW);
            lane[j] = vf_fma(v, v, lane[j]);
        }
    }
    for (int j = 0; i < n; i += VW, j++) {
        int left = n - i < VW ? (int)(n - i) : VW;
        vf v = left == VW ? vf_load(x + i) : vf_load_part(x + i, left);
        lane[j] = vf_select(vm_first(left), vf_fma(v, v, lane[j]), lane[j]);
    }
    return fold32(lane);
}

static inline float sum32(const float *x, uint32_t n) {
    vf lane[SUM_VECTORS];
    uint32_t i = 0;
    for (int j = 0; j < SUM_VECTORS; j++) lane[j] = vf_set(0.0f);
    for (; i + 32 <= n; i += 32)
        for (int j = 0; j < SUM_VECTORS; j++) lane[j] = vf_add(lane[j], vf_load(x + i + j * VW));
    for (int j = 0; i < n; i += VW, j++) {
        int left = n - i < VW ? (int)(n - i) : VW;
        vf v = left == VW ? vf_load(x + i) : vf_load_part(x + i, left);
        lane[j] = vf_select(vm_first(left), vf_add(v, lane[j]), lane[j]);
    }
    return fold32(lane);
}

static inline void scale_row(const float *x, float r, const float *weight, float *y, uint32_t n) {
    vf factor = vf_set(r);
    uint32_t i = 0;
    for (; i + VW <= n; i += VW) {
        vf v = vf_mul(vf_load(x + i), factor);
        vf_store(y + i, weight ? vf_mul(v, vf_load(weight + i)) : v);
    }
    if (i < n) {
        int left = (int)(n - i);
        vf v = vf_mul(vf_load_part(x + i, left), factor);
        vf_store_part(y + i, weight ? vf_mul(v, vf_load_part(weight + i, left)) : v, left);
    }
}

npu_status VEC_FN(rms_norm)(const npu_host_call *call, npu_error *err) {
    (void)err;
    uint32_t n = call->dst[0].t.ne[0];
    uint64_t from, to;
    npu_host_split(call, npu_tensor_rows(&call->dst[0].t), &from, &to);
    for (uint64_t row = from; row < to; row++) {
        const float *x = (const float *)npu_host_row(&call->src[0], row);
        float r = 1.0f / __builtin_sqrtf(square32(x, n) / (float)n + call->op->params.eps.eps);
        scale_row(x, r, (const float *)call->src[1].data, (float *)npu_host_row(&call->dst[0], row), n);
    }
    return NPU_OK;
}

/* v = x * scale + slope * mask into |p|; returns the largest, NaN when one is. */
static inline float soft_max_values(const npu_host_call *call, const float *x, const uint8_t *mask, float slope,
                                    float *p, uint32_t n) {
    vf scale = vf_set(call->op->params.softmax.scale), top = vf_set(-NPU_F32_INF), s = vf_set(slope);
    vm nan = vm_first(0);
    int halves = mask && call->src[1].t.nb[0] == 2;
    for (uint32_t i = 0; i < n; i += VW) {
        int left = n - i < VW ? (int)(n - i) : VW;
        vf v = vf_mul(vf_load_part(x + i, left), scale);
        if (mask) {
            float values[VW] = {0};
            for (int k = 0; k < left && halves; k++) values[k] = npu_half_to_float(((const uint16_t *)mask)[i + k]);
            v = vf_add(v, vf_mul(s, halves ? vf_load(values) : vf_load_part((const float *)mask + i, left)));
        }
        vf_store_part(p + i, v, left);
        v = vf_select(vm_first(left), v, top);
        nan = vm_or(nan, vf_nan(v));
        top = vf_select(vf_gt(v, top), v, top);
    }
    return vm_any(nan) ? NPU_F32_NAN : vf_top(top);
}

npu_status VEC_FN(soft_max)(const npu_host_call *call, npu_error *err) {
    (void)err;
    const npu_host_operand *y = &call->dst[0], *mask = &call->src[1];
    const float *sinks = (const float *)call->src[2].data;
    uint32_t n = y->t.ne[0];
    uint64_t from, to;
    npu_host_split(call, npu_tensor_rows(&y->t), &from, &to);
    for (uint64_t row = from; row < to; row++) {
        float *p = (float *)npu_host_row(y, row);
        uint32_t head = (uint32_t)(row / y->t.ne[1] % y->t.ne[2]);
        float slope = npu_ref_alibi_slope(call->op->params.softmax.max_bias, head, y->t.ne[2]);
        const uint8_t *mask_row = mask->data ? npu_host_at(mask, row % y->t.ne[1], 0, 0) : NULL;
        const float *x = (const float *)npu_host_row(&call->src[0], row);
        float m = soft_max_values(call, x, mask_row, slope, p, n);
        if (sinks) m = npu_maxf(sinks[head], m);
        if (m == -NPU_F32_INF) {
            for (uint32_t i = 0; i < n; i++) p[i] = 0;
            continue;
        }
        for (uint32_t i = 0; i < n; i += VW) {
            int left = n - i < VW ? (int)(n - i) : VW;
            vf_store_part(p + i, vf_exp(vf_sub(vf_load_part(p + i, left), vf_set(m))), left);
        }
        float l = sum32(p, n);
        if (sinks) l = l + npu_expf(sinks[head] - m);
        scale_row(p, 1.0f / l, NULL, p, n);
    }
    return NPU_OK;
}
