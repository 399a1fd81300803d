/* Activations on vectors of 32 floats (docs/numerics.md §6), step by step as on the page. */
#ifndef HTP_HVX_ACT_H
#define HTP_HVX_ACT_H

#include "htp/hvx/hvx_math.h"

#ifdef HTP_BUILD_REAL
/* x / (1 + exp(-t)) */
static inline HVX_Vector hvx_f32_gated(HVX_Vector x, HVX_Vector minus_t) {
    return hvx_f32_unless(HVX_SPECIAL, x, hvx_f32_over_one_plus_exp(x, minus_t, HVX_LOG2E));
}
static inline HVX_Vector hvx_f32_silu(HVX_Vector x) {
    return hvx_f32_unless(HVX_SPECIAL, x, hvx_f32_over_one_plus_exp(x, x, -HVX_LOG2E));
}
static inline HVX_Vector hvx_f32_sigmoid(HVX_Vector x) {
    return hvx_f32_unless(HVX_NAN, x, hvx_f32_over_one_plus_exp(hvx_f32_splat(1.0f), x, -HVX_LOG2E));
}
/* 0.5 (1 + tanh(u)) = 1 / (1 + exp(-2u)): one division less, and nothing cancels for x below 0. The exponent is rounded
 * in any case, so its factor log2(e) is in the coefficients. Beyond 9.95 it has no effect. */
static inline HVX_Vector hvx_f32_gelu(HVX_Vector x) {
    const double by = -2 * 0.7978845608 * 1.4426950409;
    HVX_Vector t = hvx_f32_min(hvx_f32_max(x, hvx_f32_splat(-9.95f)), hvx_f32_splat(9.95f));
    HVX_Vector tt = Q6_Vqf32_vmpy_VsfVsf(t, t);
    HVX_Vector y = hvx_qf32_fma_sf(tt, hvx_qf32_splat((float)(by * 0.044715)), hvx_f32_splat((float)by));
    y = hvx_exp_fixed(hvx_f32_mul(t, Q6_Vsf_equals_Vqf32(y)), 23);
    return hvx_f32_unless(HVX_SPECIAL, x, hvx_f32_over_one_plus_power(x, y));
}
#else
static inline HVX_Vector hvx_f32_gated(HVX_Vector x, HVX_Vector minus_t) {
    return hvx_f32_over_one_plus(x, hvx_f32_exp(minus_t));
}
static inline HVX_Vector hvx_f32_silu(HVX_Vector x) {
    return hvx_f32_gated(x, hvx_f32_negate(x));
}
static inline HVX_Vector hvx_f32_sigmoid(HVX_Vector x) {
    return hvx_f32_gated(hvx_f32_splat(1.0f), hvx_f32_negate(x));
}
static inline HVX_Vector hvx_f32_gelu(HVX_Vector x) {
    HVX_Vector t = hvx_f32_mul(x, x);
    HVX_Vector u = hvx_f32_fma(hvx_f32_mul(hvx_f32_splat(0.044715f), t), x, x);
    HVX_Vector y = hvx_f32_add(hvx_f32_splat(1.0f), hvx_f32_tanh(hvx_f32_mul(u, hvx_f32_splat(0.79788456f))));
    return hvx_f32_mul(hvx_f32_mul(hvx_f32_splat(0.5f), x), y);
}
#endif

static inline HVX_Vector hvx_f32_gelu_quick(HVX_Vector x) {
    return hvx_f32_gated(x, hvx_f32_mul(hvx_f32_splat(-1.702f), x));
}

static inline HVX_Vector hvx_f32_gelu_erf(HVX_Vector x) {
    HVX_Vector y = hvx_f32_add(hvx_f32_splat(1.0f), hvx_f32_erf(hvx_f32_mul(x, hvx_f32_splat(0.70710678f))));
    return hvx_f32_mul(hvx_f32_mul(hvx_f32_splat(0.5f), x), y);
}

/* NaN stays. */
static inline HVX_Vector hvx_f32_relu(HVX_Vector x) {
    return hvx_f32_max(x, Q6_V_vzero());
}

/* A NaN is above 20 by its bits, or goes through the logarithm: it stays one. */
static inline HVX_Vector hvx_f32_softplus(HVX_Vector x) {
    HVX_Vector y = hvx_f32_log(hvx_f32_add(hvx_f32_splat(1.0f), hvx_f32_exp(x)));
    return Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(x, hvx_f32_splat(20.0f)), x, y);
}

#endif
