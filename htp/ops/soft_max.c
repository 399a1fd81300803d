/* SOFT_MAX: a row and its mask's row through VTCM (docs/numerics.md §6). */
#include "htp/hvx/hvx_convert.h"
#include "htp/hvx/hvx_math.h"
#include "htp/op.h"

#include "wire/alibi.h"
#include "wire/format.h"
#include "wire/guard.h"

/* y = x * scale; returns the largest of each lane. */
HVX_HOT HVX_Vector scale_rows(const HVX_Vector *restrict x, HVX_Vector scale, HVX_Vector top, HVX_Vector *restrict y,
                              uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        y[i] = hvx_f32_mul(x[i], scale);
        top = hvx_f32_max(top, y[i]);
    }
    return top;
}

HVX_HOT HVX_Vector scale_masked(const HVX_Vector *restrict x, const HVX_Vector *restrict mask, HVX_Vector scale,
                                HVX_Vector slope, HVX_Vector top, HVX_Vector *restrict y, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        y[i] = hvx_f32_add(hvx_f32_mul(x[i], scale), hvx_f32_mul(slope, mask[i]));
        top = hvx_f32_max(top, y[i]);
    }
    return top;
}

/* y = exp(y - m); returns the lanes' sums. */
HVX_HOT HVX_Vector exp_sum(HVX_Vector *y, HVX_Vector m, uint32_t n) {
    HVX_Vector sum = Q6_V_vzero();
    HVX_F32_UNROLL for (uint32_t i = 0; i < n; i++) {
        y[i] = hvx_f32_exp(hvx_f32_sub(y[i], m));
        sum = hvx_f32_add(sum, y[i]);
    }
    return sum;
}

HVX_HOT void scale_by(HVX_Vector *y, HVX_Vector scale, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) y[i] = hvx_f32_mul(y[i], scale);
}

static void zero(HVX_Vector *y, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) y[i] = Q6_V_vzero();
}

/* Lanes past the row's end become -Inf: they are no maximum, and their exponentials are +0. */
static void mark_end(HVX_Vector *y, uint32_t values) {
    if (values % 32)
        y[values / 32] = Q6_V_vmux_QVV(hvx_lanes_between(0, values % 32), y[values / 32], hvx_f32_splat(-NPU_F32_INF));
}

static void softmax(const htp_rows *r, const htp_unit *u, const uint8_t *const in[NPU_ROWS_IN], uint8_t *out,
                    uint8_t *work) {
    const npu_params_softmax *p = &r->o->op->params.softmax;
    const HVX_Vector *x = (const HVX_Vector *)in[0], *mask = (const HVX_Vector *)in[1];
    const float *slopes = (const float *)htp_op_shared_scratch(r->o), *sinks = (const float *)r->o->src_data[2];
    HVX_Vector *y = (HVX_Vector *)out, scale = hvx_f32_splat(p->scale), top = hvx_f32_splat(-NPU_F32_INF);
    uint32_t n = htp_unit_vectors(u), full = u->values / 32;
    if (r->in_value_bytes[1] == 2) {
        hvx_convert_to_f32(NPU_TYPE_F16, in[1], (HVX_Vector *)work, u->values);
        mask = (const HVX_Vector *)work;
    }
    if (r->in_value_bytes[1]) {
        HVX_Vector slope = hvx_f32_splat(slopes[u->i[2]]);
        top = scale_masked(x, mask, scale, slope, top, y, full);
        if (n > full) scale_masked(x + full, mask + full, scale, slope, top, y + full, 1);
    } else {
        top = scale_rows(x, scale, top, y, full);
        if (n > full) scale_rows(x + full, scale, top, y + full, 1);
    }
    mark_end(y, u->values);
    if (n > full) top = hvx_f32_max(top, y[full]);
    float m = hvx_f32_largest(top);
    if (sinks) m = npu_maxf(sinks[u->i[2]], m);
    if (m == -NPU_F32_INF) {
        zero(y, n);
        return;
    }
    float l = hvx_f32_sum(exp_sum(y, hvx_f32_splat(m), n));
    if (sinks) l = l + npu_expf(sinks[u->i[2]] - m);
    scale_by(y, hvx_f32_splat(1.0f / l), n);
}

void htp_soft_max(htp_op *o) {
    const npu_params_softmax *p = &o->op->params.softmax;
    float *slopes = (float *)htp_op_shared_scratch(o);
    htp_rows r = htp_rows_f32(o, 2);
    if (o->src_data[1] && o->src[1].type == NPU_TYPE_F16) r.in_value_bytes[1] = 2;
    for (uint32_t h = 0; h < o->dst[0].ne[2]; h++)
        slopes[h] = npu_alibi_slope(&p->alibi, p->max_bias, h, o->src[0].ne[2]);
    if (o->src_data[2] && NPU_GUARD(REFRESH_SOFT_MAX_SINKS))
        htp_op_refresh(o, o->src_data[2], (uint64_t)o->src[2].ne[0] * 4);
    r.compute = softmax;
    htp_rows_run(&r);
}
