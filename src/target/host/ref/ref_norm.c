/* RMS_NORM, NORM, L2_NORM, SUM_ROWS, SOFT_MAX (numerics.md §6). Rows dense; the result may be the source. */
#include "target/host/ref/ref.h"
#include "wire/alibi.h"

/* x * r, or (x - mean) * r, then weight and bias. */
static void finish(const npu_host_call *call, const float *x, float mean, float r, float *y) {
    const float *weight = (const float *)call->src[1].data, *bias = (const float *)call->src[2].data;
    for (uint32_t i = 0; i < call->dst[0].t.ne[0]; i++) {
        float value = (call->op->code == NPU_OP_NORM ? x[i] - mean : x[i]) * r;
        if (weight) value = value * weight[i];
        if (bias) value = value + bias[i];
        y[i] = value;
    }
}

static float rms_factor(const npu_host_call *call, const float *x, uint32_t n) {
    float eps = call->op->params.eps.eps;
    if (call->mode == NPU_MODE_EXACT) {
        return (float)(1.0 / __builtin_sqrt(npu_ref_dot32_f64(x, x, n) / n + (double)eps));
    }
    return 1.0f / __builtin_sqrtf(npu_ref_dot32(x, x, n) / (float)n + eps);
}

static float l2_factor(const npu_host_call *call, const float *x, uint32_t n) {
    float eps = call->op->params.eps.eps;
    if (call->mode == NPU_MODE_EXACT) {
        double length = __builtin_sqrt(npu_ref_dot32_f64(x, x, n));
        return (float)(1.0 / (length < (double)eps ? (double)eps : length));
    }
    float length = __builtin_sqrtf(npu_ref_dot32(x, x, n));
    return 1.0f / (length < eps ? eps : length);
}

/* Sums of (x - mean)^2 in the lanes of §3; the differences are not kept, so that a row needs no scratch. */
static float norm_factor(const npu_host_call *call, const float *x, uint32_t n, float *mean) {
    float eps = call->op->params.eps.eps, lane[32] = {0};
    double wide[32] = {0};
    int exact = call->mode == NPU_MODE_EXACT;
    *mean = exact ? (float)(npu_ref_sum32_f64(x, n) / n) : npu_ref_sum32(x, n) / (float)n;
    for (uint32_t i = 0; i < n; i++) {
        float c = x[i] - *mean;
        lane[i % 32] = npu_fmaf(c, c, lane[i % 32]);
        wide[i % 32] = __builtin_fma((double)c, (double)c, wide[i % 32]);
    }
    for (int h = 16; h; h /= 2) {
        for (int j = 0; j < h; j++) {
            lane[j] = lane[j] + lane[j + h];
            wide[j] = wide[j] + wide[j + h];
        }
    }
    if (exact) return (float)(1.0 / __builtin_sqrt(wide[0] / n + (double)eps));
    return 1.0f / __builtin_sqrtf(lane[0] / (float)n + eps);
}

npu_status npu_host_norms_ref(const npu_host_call *call, npu_error *err) {
    (void)err;
    const npu_host_operand *y = &call->dst[0];
    uint32_t n = y->t.ne[0];
    uint64_t from, to;
    npu_host_split(call, npu_tensor_rows(&y->t), &from, &to);
    for (uint64_t row = from; row < to; row++) {
        const float *x = (const float *)npu_host_row(&call->src[0], row);
        float mean = 0, r;
        switch (call->op->code) {
        case NPU_OP_RMS_NORM:
            r = rms_factor(call, x, n);
            break;
        case NPU_OP_L2_NORM:
            r = l2_factor(call, x, n);
            break;
        default:
            r = norm_factor(call, x, n, &mean);
            break;
        }
        finish(call, x, mean, r, (float *)npu_host_row(y, row));
    }
    return NPU_OK;
}

npu_status npu_host_sum_rows_ref(const npu_host_call *call, npu_error *err) {
    (void)err;
    uint64_t from, to;
    npu_host_split(call, npu_tensor_rows(&call->dst[0].t), &from, &to);
    for (uint64_t row = from; row < to; row++) {
        const float *x = (const float *)npu_host_row(&call->src[0], row);
        *(float *)npu_host_row(&call->dst[0], row) = npu_ref_sum32(x, call->src[0].t.ne[0]);
    }
    return NPU_OK;
}

float npu_ref_mask(const npu_host_operand *mask, const uint8_t *row, uint64_t i) {
    return mask->t.nb[0] == 2 ? npu_half_to_float(((const uint16_t *)row)[i]) : ((const float *)row)[i];
}

float npu_ref_alibi_slope(float max_bias, uint32_t h, uint32_t heads) {
    npu_alibi alibi = npu_alibi_make(max_bias, heads);
    return npu_alibi_slope(&alibi, max_bias, h, heads);
}

npu_status npu_host_soft_max_ref(const npu_host_call *call, npu_error *err) {
    (void)err;
    const npu_host_operand *y = &call->dst[0], *mask = &call->src[1];
    const npu_params_softmax *params = &call->op->params.softmax;
    const float *sinks = (const float *)call->src[2].data;
    uint32_t n = y->t.ne[0];
    uint64_t from, to;
    npu_host_split(call, npu_tensor_rows(&y->t), &from, &to);
    for (uint64_t row = from; row < to; row++) {
        const float *x = (const float *)npu_host_row(&call->src[0], row);
        float *p = (float *)npu_host_row(y, row);
        uint32_t head = (uint32_t)(row / y->t.ne[1] % y->t.ne[2]);
        float slope = npu_ref_alibi_slope(params->max_bias, head, y->t.ne[2]);
        const uint8_t *mask_row = mask->data ? npu_host_at(mask, row % y->t.ne[1], 0, 0) : NULL;
        float m = sinks ? sinks[head] : -NPU_F32_INF;
        for (uint32_t i = 0; i < n; i++) {
            float v = x[i] * params->scale;
            if (mask_row) v = v + slope * npu_ref_mask(mask, mask_row, i);
            p[i] = v;
            m = npu_maxf(m, v);
        }
        if (m == -NPU_F32_INF) {
            for (uint32_t i = 0; i < n; i++) p[i] = 0;
            continue;
        }
        for (uint32_t i = 0; i < n; i++) p[i] = npu_expf(p[i] - m);
        float l = npu_ref_sum32(p, n);
        if (sinks) l = l + npu_expf(sinks[head] - m);
        float r = 1.0f / l;
        for (uint32_t i = 0; i < n; i++) p[i] = p[i] * r;
    }
    return NPU_OK;
}
