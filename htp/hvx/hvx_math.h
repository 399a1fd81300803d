/* Functions on vectors of 32 floats beyond exp (hvx_exp.h): log, tanh, erf; square root of a scalar. The formulas are
 * wire/math.h's, step by step, so native and qemu builds give its bits. */
#ifndef HTP_HVX_MATH_H
#define HTP_HVX_MATH_H

#include "htp/hvx/hvx_exp.h"
#include "htp/hvx/hvx_lane.h"

#ifndef HTP_BUILD_REAL
static inline HVX_Vector hvx_f32_over_one_plus(HVX_Vector x, HVX_Vector e) {
    return hvx_f32_div(x, hvx_f32_add(e, hvx_f32_splat(1.0f)));
}
#endif

#ifdef HTP_BUILD_QEMU

HVX_F32_LANE_BY_LANE(hvx_f32_log, npu_logf)
HVX_F32_LANE_BY_LANE(hvx_f32_tanh, npu_tanhf)
HVX_F32_LANE_BY_LANE(hvx_f32_erf, npu_erff)

#else

static inline HVX_Vector hvx_f32_log(HVX_Vector x) {
    static const float c[] = {NPU_LOG_C0, NPU_LOG_C1, NPU_LOG_C2, NPU_LOG_C3, NPU_LOG_C4,
                              NPU_LOG_C5, NPU_LOG_C6, NPU_LOG_C7, NPU_LOG_C8};
    HVX_Vector one = hvx_f32_splat(1.0f), infinity = hvx_f32_splat(NPU_F32_INF), root = Q6_V_vsplat_R(0x3F3504F3);
    HVX_VectorPred tiny = hvx_f32_below(x, 0x1p-126f);
    HVX_Vector bits = hvx_f32_mul(x, Q6_V_vmux_QVV(tiny, hvx_f32_splat(0x1p23f), one));
    HVX_Vector shifted = Q6_Vw_vsub_VwVw(bits, root);
    HVX_Vector m = Q6_Vw_vadd_VwVw(Q6_V_vand_VV(shifted, Q6_V_vsplat_R(0x7FFFFF)), root);
    HVX_Vector n = hvx_f32_from_i32(Q6_Vw_vasr_VwR(shifted, 23));
    n = hvx_f32_sub(n, Q6_V_vmux_QVV(tiny, hvx_f32_splat(23.0f), Q6_V_vzero()));
    HVX_Vector f = hvx_f32_sub(m, one), s = hvx_f32_mul(f, f);
    HVX_Vector tail = hvx_f32_fma(n, hvx_f32_splat(NPU_LN2_LO), hvx_f32_mul(hvx_f32_poly(f, c, 9), hvx_f32_mul(s, f)));
    tail = hvx_f32_fma(s, hvx_f32_splat(-0.5f), tail);
    HVX_Vector y = hvx_f32_fma(n, hvx_f32_splat(NPU_LN2_HI), hvx_f32_add(f, tail));
    y = Q6_V_vmux_QVV(Q6_Q_vcmp_eq_VwVw(x, infinity), x, y);
    y = Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VuwVuw(x, infinity), hvx_f32_splat(NPU_F32_NAN), y); /* below 0, and NaN */
    return Q6_V_vmux_QVV(Q6_Q_vcmp_eq_VwVw(hvx_f32_abs(x), Q6_V_vzero()), hvx_f32_splat(-NPU_F32_INF), y);
}

/* Of |t| below NPU_TANH_SPLIT: t + (z t) p(z), z = t t; in qf32 t (1 + z p(z)), where only the products with t are
 * rounded to sf. */
static inline HVX_Vector hvx_f32_tanh_small(HVX_Vector t) {
    static const float c[] = {NPU_TANH_C0, NPU_TANH_C1, NPU_TANH_C2, NPU_TANH_C3, NPU_TANH_C4};
#if defined HTP_BUILD_REAL && __HVX_ARCH__ < 79
    HVX_Vector z = Q6_Vqf32_vmpy_VsfVsf(t, t), p = hvx_qf32_splat(c[4]);
    for (int i = 3; i >= 0; i--) p = hvx_qf32_fma_sf(p, z, hvx_f32_splat(c[i]));
    return hvx_f32_mul(t, Q6_Vsf_equals_Vqf32(hvx_qf32_fma_sf(p, z, hvx_f32_splat(1.0f))));
#else
    HVX_Vector z = hvx_f32_mul(t, t);
    return hvx_f32_fma(hvx_f32_poly(z, c, 5), hvx_f32_mul(z, t), t);
#endif
}

static inline HVX_Vector hvx_f32_tanh(HVX_Vector x) {
    HVX_Vector t = hvx_f32_abs(x), small = hvx_f32_tanh_small(t), one = hvx_f32_splat(1.0f);
#ifdef HTP_BUILD_REAL
    HVX_Vector large = hvx_f32_over_one_plus_exp(hvx_f32_splat(2.0f), hvx_f32_add(t, t), HVX_LOG2E);
    large = hvx_f32_unless(HVX_NAN, t, hvx_f32_sub(one, large));
#else
    HVX_Vector e = hvx_f32_exp(hvx_f32_add(t, t));
    HVX_Vector large = hvx_f32_sub(one, hvx_f32_over_one_plus(hvx_f32_splat(2.0f), e));
#endif
    return hvx_f32_with_sign(Q6_V_vmux_QVV(hvx_f32_below(t, NPU_TANH_SPLIT), small, large), x);
}

static inline HVX_Vector hvx_f32_erf(HVX_Vector x) {
    static const float c[] = {NPU_ERF_C0, NPU_ERF_C1, NPU_ERF_C2, NPU_ERF_C3, NPU_ERF_C4, NPU_ERF_C5, NPU_ERF_C6};
    static const float d[] = {NPU_ERFC_C0, NPU_ERFC_C1, NPU_ERFC_C2, NPU_ERFC_C3,
                              NPU_ERFC_C4, NPU_ERFC_C5, NPU_ERFC_C6};
    HVX_Vector t = hvx_f32_abs(x), z = hvx_f32_mul(x, x), one = hvx_f32_splat(1.0f);
    HVX_Vector small = hvx_f32_fma(hvx_f32_poly(z, c, 7), t, t);
    HVX_VectorPred below = hvx_f32_below(t, NPU_ERF_ONE);
    HVX_Vector u = Q6_V_vmux_QVV(below, t, hvx_f32_splat(NPU_ERF_ONE));
    HVX_Vector large = hvx_f32_sub(one, hvx_f32_exp(hvx_f32_negate(hvx_f32_mul(u, hvx_f32_poly(u, d, 7)))));
    large = Q6_V_vmux_QVV(below, large, one);
    HVX_Vector y = Q6_V_vmux_QVV(hvx_f32_below(t, NPU_ERF_SPLIT), small, large);
    y = Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(t, hvx_f32_splat(NPU_F32_INF)), t, y); /* NaN stays */
    return hvx_f32_with_sign(y, x);
}

#endif

/* Correctly rounded. Hexagon has no instruction for it, and one a row is not worth a table. */
static inline float htp_sqrtf(float x) {
#ifdef __hexagon__
    uint32_t bits = npu_float_bits(x), m = bits & 0x7FFFFFu;
    if (bits << 1 == 0 || bits == 0x7F800000u) return x;
    if (bits >= 0x7F800000u) return NPU_F32_NAN;
    int e = (int)(bits >> 23);
    if (e)
        m |= 0x800000u;
    else
        for (e = 1; !(m & 0x800000u); e--) m <<= 1;
    /* x = m * 2^(e - 150); value = m * 2^25 or 2^26, so that the rest of the exponent is even and the root has 25 bits,
     * one more than a float. */
    int odd = (e - 150) & 1;
    uint64_t value = (uint64_t)m << (odd ? 25 : 26), root = 0;
    for (uint64_t bit = 1ull << 24; bit; bit >>= 1) {
        uint64_t next = root | bit;
        if (next * next <= value) root = next;
    }
    int half = (int)(root & 1), sticky = root * root != value;
    uint32_t r = (uint32_t)(root >> 1);
    if (half && (sticky || (r & 1))) r++;
    int power = (e - 150 - (odd ? 25 : 26)) / 2 + 1;
    return (float)r * npu_bits_float((uint32_t)(power + 127) << 23);
#else
    return __builtin_sqrtf(x);
#endif
}

#endif
