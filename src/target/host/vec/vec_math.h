/* wire/math.h on vectors: the same formulas, operation by operation, so every lane has the scalar function's bits.
 * Include a vec_<isa>.h first. */
#ifndef NPU_HOST_VEC_MATH_H
#define NPU_HOST_VEC_MATH_H

#include "wire/math.h"

enum { SUM_VECTORS = 32 / VW };

/* The lane tree of numerics.md §3 over 32 lanes. */
static inline float fold32(vf *lane) {
    NPU_UNROLL
    for (int h = SUM_VECTORS / 2; h; h /= 2) {
        NPU_UNROLL
        for (int j = 0; j < h; j++) lane[j] = vf_add(lane[j], lane[j + h]);
    }
    return vf_fold(lane[0]);
}

static inline vf vf_poly(vf x, const float *c, int n) {
    vf p = vf_set(c[n - 1]);
    for (int i = n - 2; i >= 0; i--) p = vf_fma(p, x, vf_set(c[i]));
    return p;
}

static inline vf vf_with_sign(vf magnitude, vf sign) {
    return vi_float(vi_or(vf_bits(magnitude), vi_and(vf_bits(sign), vi_set(INT32_MIN))));
}

/* npu_maxf */
static inline vf vf_max_nan(vf a, vf b) {
    return vf_select(vm_or(vf_gt(a, b), vf_nan(a)), a, b);
}

static inline vf vf_exp(vf x) {
    static const float c[] = {NPU_EXP_C0, NPU_EXP_C1, NPU_EXP_C2, NPU_EXP_C3, NPU_EXP_C4};
    vf low = vf_set(NPU_EXP_MIN), high = vf_set(NPU_EXP_MAX), one = vf_set(1.0f);
    vf t = vf_select(vf_lt(x, low), low, x);
    t = vf_select(vf_gt(t, high), high, t);
    vf rounded = vf_fma(t, vf_set(NPU_LOG2E), vf_set(NPU_ROUND_MAGIC));
    vf n = vf_sub(rounded, vf_set(NPU_ROUND_MAGIC));
    vi whole = vi_sub(vf_bits(rounded), vf_bits(vf_set(NPU_ROUND_MAGIC)));
    vf r = vf_fma(n, vf_set(-NPU_LN2_HI), t);
    r = vf_fma(n, vf_set(-NPU_LN2_LO), r);
    vf p = vf_add(vf_fma(vf_poly(r, c, 5), vf_mul(r, r), r), one);
    vm top = vi_eq(whole, vi_set(128));
    vf scale = vi_float(vi_shl(vi_add(whole, vi_set(127)), 23));
    vf scale_top = vi_float(vi_set(254 << 23));
    vf y = vf_mul(p, vf_select(top, scale_top, scale));
    y = vf_mul(y, vf_select(top, vf_set(2.0f), one));
    y = vf_select(vf_lt(x, low), vf_set(0.0f), y);
    return vf_select(vf_gt(x, high), vf_set(NPU_F32_INF), y);
}

static inline vf vf_log(vf x) {
    static const float c[] = {NPU_LOG_C0, NPU_LOG_C1, NPU_LOG_C2, NPU_LOG_C3, NPU_LOG_C4,
                              NPU_LOG_C5, NPU_LOG_C6, NPU_LOG_C7, NPU_LOG_C8};
    vf zero = vf_set(0.0f);
    vm tiny = vf_lt(x, vf_set(0x1p-126f));
    vi bits = vf_bits(vf_mul(x, vf_select(tiny, vf_set(0x1p23f), vf_set(1.0f))));
    vi shifted = vi_sub(bits, vi_set(0x3F3504F3));
    vf m = vi_float(vi_add(vi_and(shifted, vi_set(0x7FFFFF)), vi_set(0x3F3504F3)));
    vf n = vf_sub(vi_convert(vi_sar(shifted, 23)), vf_select(tiny, vf_set(23.0f), zero));
    vf f = vf_sub(m, vf_set(1.0f)), s = vf_mul(f, f);
    vf tail = vf_fma(n, vf_set(NPU_LN2_LO), vf_mul(vf_poly(f, c, 9), vf_mul(s, f)));
    tail = vf_fma(s, vf_set(-0.5f), tail);
    vf y = vf_fma(n, vf_set(NPU_LN2_HI), vf_add(f, tail));
    y = vf_select(vf_eq(x, zero), vf_set(-NPU_F32_INF), y);
    y = vf_select(vf_eq(x, vf_set(NPU_F32_INF)), x, y);
    return vf_select(vf_ge(x, zero), y, vf_set(NPU_F32_NAN));
}

static inline void vf_sincos(vf a, vf *sine, vf *cosine) {
    static const float cs[] = {NPU_SIN_C0, NPU_SIN_C1, NPU_SIN_C2, NPU_SIN_C3};
    static const float cc[] = {NPU_COS_C0, NPU_COS_C1, NPU_COS_C2};
    vm in = vf_lt(vf_abs(a), vf_set(NPU_TRIG_MAX));
    vf t = vf_select(in, a, vf_set(0.0f));
    vf rounded = vf_fma(t, vf_set(NPU_2_OVER_PI), vf_set(NPU_ROUND_MAGIC));
    vf n = vf_sub(rounded, vf_set(NPU_ROUND_MAGIC));
    vi quarter = vf_bits(rounded);
    vf r = vf_fma(n, vf_set(-NPU_PIO2_1), t);
    r = vf_fma(n, vf_set(-NPU_PIO2_2), r);
    r = vf_fma(n, vf_set(-NPU_PIO2_3), r);
    vf z = vf_mul(r, r);
    vf s = vf_fma(vf_poly(z, cs, 4), vf_mul(z, r), r);
    vf c = vf_fma(vf_poly(z, cc, 3), vf_mul(z, z), vf_fma(z, vf_set(-0.5f), vf_set(1.0f)));
    vm odd = vi_eq(vi_and(quarter, vi_set(1)), vi_set(1));
    vf y = vf_select(odd, c, s), x = vf_select(odd, s, c);
    y = vi_float(vi_xor(vf_bits(y), vi_shl(vi_and(quarter, vi_set(2)), 30)));
    x = vi_float(vi_xor(vf_bits(x), vi_shl(vi_and(vi_add(quarter, vi_set(1)), vi_set(2)), 30)));
    *sine = vf_select(in, y, vf_set(NPU_F32_NAN));
    *cosine = vf_select(in, x, vf_set(NPU_F32_NAN));
}

static inline vf vf_tanh(vf x) {
    static const float c[] = {NPU_TANH_C0, NPU_TANH_C1, NPU_TANH_C2, NPU_TANH_C3, NPU_TANH_C4};
    vf t = vf_abs(x), z = vf_mul(x, x), one = vf_set(1.0f);
    vf small = vf_fma(vf_poly(z, c, 5), vf_mul(z, t), t);
    vf large = vf_sub(one, vf_div(vf_set(2.0f), vf_add(vf_exp(vf_add(t, t)), one)));
    return vf_with_sign(vf_select(vf_lt(t, vf_set(NPU_TANH_SPLIT)), small, large), x);
}

static inline vf vf_erf(vf x) {
    static const float c[] = {NPU_ERF_C0, NPU_ERF_C1, NPU_ERF_C2, NPU_ERF_C3, NPU_ERF_C4, NPU_ERF_C5, NPU_ERF_C6};
    static const float d[] = {NPU_ERFC_C0, NPU_ERFC_C1, NPU_ERFC_C2, NPU_ERFC_C3,
                              NPU_ERFC_C4, NPU_ERFC_C5, NPU_ERFC_C6};
    vf t = vf_abs(x), z = vf_mul(x, x), one = vf_set(1.0f);
    vf small = vf_fma(vf_poly(z, c, 7), t, t);
    vm below = vf_lt(t, vf_set(NPU_ERF_ONE));
    vf u = vf_select(below, t, vf_set(NPU_ERF_ONE));
    vf large = vf_sub(one, vf_exp(vf_neg(vf_mul(u, vf_poly(u, d, 7)))));
    large = vf_select(below, large, one);
    vf y = vf_select(vf_lt(t, vf_set(NPU_ERF_SPLIT)), small, large);
    return vf_with_sign(vf_select(vf_nan(x), x, y), x);
}

#endif
