/* RMS_NORM, NORM, L2_NORM, SUM_ROWS: rows through VTCM, sums by lanes (docs/numerics.md §3). */
#include "htp/hvx/hvx_math.h"
#include "htp/op.h"

#ifdef HTP_BUILD_REAL
/* Four sums in qf32, whose last bits are not the page's anyway: a single one would wait for itself. */
HVX_HOT HVX_Vector sum_of_squares(const HVX_Vector *x, uint32_t n) {
    HVX_Vector zero = Q6_V_vzero(), a = Q6_Vqf32_vadd_VsfVsf(zero, zero), b = a, c = a, d = a;
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        a = Q6_Vqf32_vadd_Vqf32Vqf32(a, Q6_Vqf32_vmpy_VsfVsf(x[i], x[i]));
        b = Q6_Vqf32_vadd_Vqf32Vqf32(b, Q6_Vqf32_vmpy_VsfVsf(x[i + 1], x[i + 1]));
        c = Q6_Vqf32_vadd_Vqf32Vqf32(c, Q6_Vqf32_vmpy_VsfVsf(x[i + 2], x[i + 2]));
        d = Q6_Vqf32_vadd_Vqf32Vqf32(d, Q6_Vqf32_vmpy_VsfVsf(x[i + 3], x[i + 3]));
    }
    for (; i < n; i++) a = Q6_Vqf32_vadd_Vqf32Vqf32(a, Q6_Vqf32_vmpy_VsfVsf(x[i], x[i]));
    return Q6_Vsf_equals_Vqf32(
        Q6_Vqf32_vadd_Vqf32Vqf32(Q6_Vqf32_vadd_Vqf32Vqf32(a, b), Q6_Vqf32_vadd_Vqf32Vqf32(c, d)));
}
#else
HVX_HOT HVX_Vector sum_of_squares(const HVX_Vector *x, uint32_t n) {
    HVX_Vector sum = Q6_V_vzero();
    for (uint32_t i = 0; i < n; i++) sum = hvx_f32_fma(x[i], x[i], sum);
    return sum;
}
#endif

HVX_HOT HVX_Vector sum_of_values(const HVX_Vector *x, uint32_t n) {
    HVX_Vector sum = Q6_V_vzero();
    for (uint32_t i = 0; i < n; i++) sum = hvx_f32_add(sum, x[i]);
    return sum;
}

HVX_HOT void scale_by(const HVX_Vector *restrict x, HVX_Vector scale, HVX_Vector *restrict y, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) y[i] = hvx_f32_mul(x[i], scale);
}

HVX_HOT void scale_weigh(const HVX_Vector *restrict x, const HVX_Vector *restrict w, HVX_Vector scale,
                         HVX_Vector *restrict y, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) y[i] = hvx_f32_mul(hvx_f32_mul(x[i], scale), w[i]);
}

/* y[i] = x[i] - mean; returns the lanes' sums of squares of whole vectors. */
#if defined HTP_BUILD_REAL && __HVX_ARCH__ >= 79 /* where differences are sf: sums in qf32 are another unit's */
HVX_HOT HVX_Vector centre(const HVX_Vector *restrict x, HVX_Vector mean, HVX_Vector *restrict y, uint32_t n) {
    HVX_Vector zero = Q6_V_vzero(), sum[2] = {Q6_Vqf32_vadd_VsfVsf(zero, zero), Q6_Vqf32_vadd_VsfVsf(zero, zero)};
    uint32_t i = 0;
    for (; i + 2 <= n; i += 2) {
        HVX_Vector a = hvx_f32_sub(x[i], mean), b = hvx_f32_sub(x[i + 1], mean);
        sum[0] = Q6_Vqf32_vadd_Vqf32Vqf32(sum[0], Q6_Vqf32_vmpy_VsfVsf(a, a));
        sum[1] = Q6_Vqf32_vadd_Vqf32Vqf32(sum[1], Q6_Vqf32_vmpy_VsfVsf(b, b));
        y[i] = a, y[i + 1] = b;
    }
    if (i < n) {
        y[i] = hvx_f32_sub(x[i], mean);
        sum[0] = Q6_Vqf32_vadd_Vqf32Vqf32(sum[0], Q6_Vqf32_vmpy_VsfVsf(y[i], y[i]));
    }
    return Q6_Vsf_equals_Vqf32(Q6_Vqf32_vadd_Vqf32Vqf32(sum[0], sum[1]));
}
#else
HVX_HOT HVX_Vector centre(const HVX_Vector *restrict x, HVX_Vector mean, HVX_Vector *restrict y, uint32_t n) {
    HVX_Vector sum = Q6_V_vzero();
    for (uint32_t i = 0; i < n; i++) {
        y[i] = hvx_f32_sub(x[i], mean);
        sum = hvx_f32_fma(y[i], y[i], sum);
    }
    return sum;
}
#endif

HVX_HOT void add_to(const HVX_Vector *restrict b, HVX_Vector *restrict y, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) y[i] = hvx_f32_add(y[i], b[i]);
}

/* Absent elements as +0: adding their square, or them, does not change a lane that began at +0. */
static float squares(const HVX_Vector *x, uint32_t values) {
    uint32_t full = values / 32, rest = values % 32;
    HVX_Vector sum = sum_of_squares(x, full);
    if (rest) {
        HVX_Vector last = hvx_f32_keep(x[full], rest);
        sum = hvx_f32_fma(last, last, sum);
    }
    return hvx_f32_sum(sum);
}

static float sum_of(const HVX_Vector *x, uint32_t values) {
    uint32_t full = values / 32, rest = values % 32;
    HVX_Vector sum = sum_of_values(x, full);
    if (rest) sum = hvx_f32_add(sum, hvx_f32_keep(x[full], rest));
    return hvx_f32_sum(sum);
}

static void finish(const htp_rows *r, const HVX_Vector *x, float scale, const uint8_t *const in[NPU_ROWS_IN],
                   HVX_Vector *y, uint32_t n) {
    HVX_Vector by = hvx_f32_splat(scale);
    if (r->in_value_bytes[1])
        scale_weigh(x, (const HVX_Vector *)in[1], by, y, n);
    else
        scale_by(x, by, y, n);
    if (r->in_value_bytes[2]) add_to((const HVX_Vector *)in[2], y, n);
}

static void rms_norm(const htp_rows *r, const htp_unit *u, const uint8_t *const in[NPU_ROWS_IN], uint8_t *out,
                     uint8_t *work) {
    const HVX_Vector *x = (const HVX_Vector *)in[0];
    float mean = squares(x, u->values) / (float)u->values;
    (void)work;
    finish(r, x, 1.0f / htp_sqrtf(mean + r->o->op->params.eps.eps), in, (HVX_Vector *)out, htp_unit_vectors(u));
}

static void l2_norm(const htp_rows *r, const htp_unit *u, const uint8_t *const in[NPU_ROWS_IN], uint8_t *out,
                    uint8_t *work) {
    const HVX_Vector *x = (const HVX_Vector *)in[0];
    float length = htp_sqrtf(squares(x, u->values)), eps = r->o->op->params.eps.eps;
    (void)work;
    finish(r, x, 1.0f / (length < eps ? npu_opaque(eps) : length), in, (HVX_Vector *)out, htp_unit_vectors(u));
}

/* The differences go to the slot of x, which is not needed any more. */
static void norm(const htp_rows *r, const htp_unit *u, const uint8_t *const in[NPU_ROWS_IN], uint8_t *out,
                 uint8_t *work) {
    const HVX_Vector *x = (const HVX_Vector *)in[0];
    HVX_Vector *y = (HVX_Vector *)out;
    uint32_t full = u->values / 32, rest = u->values % 32;
    HVX_Vector mean = hvx_f32_splat(sum_of(x, u->values) / (float)u->values), sum = centre(x, mean, y, full);
    (void)work;
    if (rest) {
        y[full] = hvx_f32_sub(x[full], mean);
        HVX_Vector last = hvx_f32_keep(y[full], rest);
        sum = hvx_f32_fma(last, last, sum);
    }
    float variance = hvx_f32_sum(sum) / (float)u->values;
    finish(r, y, 1.0f / htp_sqrtf(variance + r->o->op->params.eps.eps), in, y, htp_unit_vectors(u));
}

void htp_norm(htp_op *o) {
    htp_rows r = htp_rows_f32(o, 3);
    r.compute = o->op->code == NPU_OP_RMS_NORM ? rms_norm : o->op->code == NPU_OP_NORM ? norm : l2_norm;
    htp_rows_run(&r);
}

static void sum_row(const htp_rows *r, const htp_unit *u, const uint8_t *const in[NPU_ROWS_IN], uint8_t *out,
                    uint8_t *work) {
    (void)r, (void)work;
    *(HVX_Vector *)out = hvx_f32_splat(sum_of((const HVX_Vector *)in[0], u->values));
}

static uint32_t store_sum(const htp_rows *r, const htp_unit *u, htp_dma *dma, const uint8_t *out) {
    htp_dma_push(dma, r->o->dst_data[0] + htp_unit_offset(&r->o->dst[0], u, 4), out, 4);
    return 1;
}

void htp_sum_rows(htp_op *o) {
    htp_rows r = htp_rows_f32(o, 1);
    r.row_values = o->src[0].ne[0];
    r.compute = sum_row;
    r.store = store_sum;
    htp_rows_run(&r);
}
