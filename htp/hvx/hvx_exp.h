/* exp on vectors of 32 floats, what is made of it in the real build (x / (1 + exp(t)) as one fraction), and the small
 * pieces of which all functions are made. Native and qemu builds take the formulas of wire/math.h step by step, so they
 * give its bits. */
#ifndef HTP_HVX_EXP_H
#define HTP_HVX_EXP_H

#include "htp/hvx/hvx_f32.h"
#include "wire/math.h"

static inline HVX_Vector hvx_f32_negate(HVX_Vector x) {
    return Q6_V_vxor_VV(x, Q6_V_vsplat_R((int32_t)0x80000000u));
}

/* Lowest power first. */
static inline HVX_Vector hvx_f32_poly(HVX_Vector x, const float *c, int n) {
    HVX_Vector p = hvx_f32_splat(c[n - 1]);
    for (int i = n - 2; i >= 0; i--) p = hvx_f32_fma(p, x, hvx_f32_splat(c[i]));
    return p;
}

static inline HVX_Vector hvx_f32_with_sign(HVX_Vector size, HVX_Vector sign) {
    return Q6_V_vor_VV(size, Q6_V_vand_VV(sign, Q6_V_vsplat_R((int32_t)0x80000000u)));
}

/* |size| < limit, where both are not negative and may be NaN: floats order like their bits. */
static inline HVX_VectorPred hvx_f32_below(HVX_Vector size, float limit) {
    return Q6_Q_vcmp_gt_VwVw(hvx_f32_splat(limit), size);
}

#ifdef HTP_BUILD_QEMU

/* A lane at a time: there every vector operation would go through memory. */
#define HVX_F32_LANE_BY_LANE(name, scalar)                                \
    static inline HVX_Vector name(HVX_Vector x) {                         \
        hvx_f32_lanes y;                                                  \
        for (int i = 0; i < 32; i++) y.f[i] = scalar(hvx_f32_lane(x, i)); \
        return hvx_f32_join(&y);                                          \
    }
HVX_F32_LANE_BY_LANE(hvx_f32_exp, npu_expf)

#elif defined HTP_BUILD_REAL

static inline HVX_Vector hvx_qf32_splat(float x) {
    return Q6_Vqf32_vadd_VsfVsf(hvx_f32_splat(x), Q6_V_vzero());
}
static inline HVX_Vector hvx_qf32_fma(HVX_Vector a, HVX_Vector b, HVX_Vector c) {
    return Q6_Vqf32_vadd_Vqf32Vqf32(Q6_Vqf32_vmpy_Vqf32Vqf32(a, b), c);
}
/* c in sf. */
static inline HVX_Vector hvx_qf32_fma_sf(HVX_Vector a, HVX_Vector b, HVX_Vector c) {
    return Q6_Vqf32_vadd_Vqf32Vsf(Q6_Vqf32_vmpy_Vqf32Vqf32(a, b), c);
}

/* t in units of 2^-bits, |t| < 2^(31 - bits). */
static inline HVX_Vector hvx_exp_fixed(HVX_Vector t, int bits) {
#if __HVX_ARCH__ >= 73
    return Q6_Vw_equals_Vsf(Q6_Vw_vadd_VwVw(t, Q6_V_vsplat_R(bits << 23))); /* 0 becomes tiny, which is 0 too */
#else
    HVX_Vector sign = Q6_Vw_vasr_VwR(t, 31), size = hvx_f32_abs(t);
    HVX_Vector m = Q6_V_vor_VV(Q6_V_vand_VV(t, Q6_V_vsplat_R(0x7fffff)), Q6_V_vsplat_R(0x800000));
    HVX_Vector shift = Q6_Vw_vsub_VwVw(Q6_Vuw_vlsr_VuwR(size, 23), Q6_V_vsplat_R(150 - bits));
    HVX_Vector fixed = Q6_Vw_vasl_VwVw(m, Q6_Vw_vmax_VwVw(shift, Q6_V_vsplat_R(-31)));
    return Q6_Vw_vsub_VwVw(Q6_V_vxor_VV(fixed, sign), sign);
#endif
}

/* t times |factor| / 2^30 in units of 2^-23, |t| < 128. By integers: in qf32 a reduction by multiples of ln 2 would
 * keep the error of its operands, up to 2^-17. */
enum { HVX_LOG2E = 0x5c551d95 };
static inline HVX_Vector hvx_exp_log2(HVX_Vector t, int32_t factor) {
    HVX_Vector fixed = hvx_exp_fixed(t, 24), by = Q6_V_vsplat_R(factor);
    return Q6_Vw_vmpyoacc_VwVwVh_s1_sat_shift(Q6_Vw_vmpye_VwVuh(fixed, by), fixed, by);
}

/* 2 to the power of |y|, in units of 2^-23 and from -129 to 129. The exponent is whole, the rest r ln 2 goes through
 * exp's polynomial in qf32: ((C4 r^2 + C3 r + C2) r^2 + C1 r + C0) r^2 + (r + 1), short chains side by side. No operand
 * there cancels another, so what is not normalised loses no more than a rounding would. */
static inline HVX_Vector hvx_exp_power(HVX_Vector y) {
    HVX_Vector exponent = Q6_Vw_vadd_VwVw(y, Q6_V_vsplat_R(1 << 22));
    exponent = Q6_V_vand_VV(exponent, Q6_V_vsplat_R((int32_t)0xff800000u));
    HVX_Vector r = hvx_f32_from_i32(Q6_Vw_vsub_VwVw(y, exponent));
    r = Q6_Vqf32_vmpy_VsfVsf(r, hvx_f32_splat(0x1.62e43p-24f));
    HVX_Vector rr = Q6_Vqf32_vmpy_Vqf32Vqf32(r, r), whole = Q6_Vqf32_vadd_Vqf32Vsf(r, hvx_f32_splat(1.0f));
    HVX_Vector p = hvx_qf32_fma_sf(hvx_qf32_splat(NPU_EXP_C3), r, hvx_f32_splat(NPU_EXP_C2));
    HVX_Vector low = hvx_qf32_fma_sf(hvx_qf32_splat(NPU_EXP_C1), r, hvx_f32_splat(NPU_EXP_C0));
    p = hvx_qf32_fma(hvx_qf32_fma(hvx_qf32_fma(hvx_qf32_splat(NPU_EXP_C4), rr, p), rr, low), rr, whole);
    /* Out of the range of an exponent the bits are a negative word, or one above infinity's. */
    p = Q6_Vw_vadd_VwVw(Q6_Vsf_equals_Vqf32(p), exponent);
    return Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(p, Q6_V_vzero()), hvx_f32_splat(NPU_F32_INF));
}

static inline HVX_Vector hvx_f32_exp(HVX_Vector x) {
    HVX_Vector t = hvx_f32_min(hvx_f32_max(x, hvx_f32_splat(-89.0f)), hvx_f32_splat(89.0f));
    HVX_VectorPred nan = Q6_Q_vcmp_gt_VwVw(hvx_f32_abs(x), hvx_f32_splat(NPU_F32_INF));
    return Q6_V_vmux_QVV(nan, x, hvx_exp_power(hvx_exp_log2(t, HVX_LOG2E)));
}

/* x / (1 + 2^y), y in units of 2^-23 and from -124.9 to 124.9, as one fraction: 2^y = 2^n (E + f) / (E - f), where n is
 * whole, f a quarter of the rest, from -1/8 to 1/8, and E = f / tanh(2 ln(2) f), an even function. So the quotient is
 * x (E - f) / (E - f + 2^n (E + f)). The divisor's first inverse is that of hvx_f32_div; their product is 1 + e, |e| <
 * 0.051, and its inverse (e^2 - e) (1 + e^2) + 1 but for e^5, of which a constant takes two thirds. No constant and no
 * sum is 2 or more: its larger exponent would stay, with a bit less of what follows. */
static inline HVX_Vector hvx_f32_over_one_plus_power(HVX_Vector x, HVX_Vector y) {
    HVX_Vector c0 = hvx_f32_splat(0x1.715476p-1f), c1 = hvx_f32_splat(0x1.d92fa6p-2f);
    HVX_Vector c2 = hvx_qf32_splat(-0x1.e29538p-5f), one = hvx_f32_splat(1.0f);
    y = Q6_Vw_vadd_VwVw(y, Q6_V_vsplat_R(1 << 22));
    HVX_Vector part = Q6_V_vand_VV(y, Q6_V_vsplat_R(0x7fffff)), n = Q6_Vw_vsub_VwVw(y, part);
    HVX_Vector f = Q6_V_vor_VV(part, hvx_f32_splat(0.25f));
    f = Q6_Vqf32_vsub_VsfVsf(f, hvx_f32_splat(0.375f));
    HVX_Vector ff = Q6_Vqf32_vmpy_Vqf32Vqf32(f, f);
    HVX_Vector even = hvx_qf32_fma_sf(hvx_qf32_fma_sf(c2, ff, c1), ff, c0);
    HVX_Vector up = Q6_Vw_vadd_VwVw(Q6_Vsf_equals_Vqf32(Q6_Vqf32_vadd_Vqf32Vqf32(even, f)), n);
    HVX_Vector down = Q6_Vqf32_vsub_Vqf32Vqf32(even, f);
    HVX_Vector divisor = Q6_Vsf_equals_Vqf32(Q6_Vqf32_vadd_Vqf32Vsf(down, up));
    HVX_Vector guess = Q6_Vw_vsub_VwVw(Q6_V_vsplat_R(0x7ef311c7), divisor);
    HVX_Vector d = Q6_Vqf32_vmpy_VsfVsf(divisor, guess);
    HVX_Vector e = Q6_Vqf32_vsub_Vqf32Vsf(d, one), ee = Q6_Vqf32_vmpy_Vqf32Vqf32(e, e);
    HVX_Vector r = Q6_Vqf32_vsub_Vqf32Vqf32(ee, e);
    r = hvx_qf32_fma_sf(r, Q6_Vqf32_vadd_Vqf32Vsf(ee, hvx_f32_splat(0x1.00004ap0f)), one);
    r = Q6_Vqf32_vmpy_Vqf32Vqf32(r, down);
    return Q6_Vsf_equals_Vqf32(Q6_Vqf32_vmpy_Vqf32Vqf32(Q6_Vqf32_vmpy_VsfVsf(x, guess), r));
}

/* y, but x where that is NaN, or is that or infinite: qf32 has neither. */
enum { HVX_NAN = -0x1000000, HVX_SPECIAL = HVX_NAN - 1 };
static inline HVX_Vector hvx_f32_unless(int32_t what, HVX_Vector x, HVX_Vector y) {
    return Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VuwVuw(Q6_Vw_vadd_VwVw(x, x), Q6_V_vsplat_R(what)), x, y);
}

/* x / (1 + exp(t |factor| / HVX_LOG2E)). The quotient of a number of any use is nothing where exp would be above 2^124.
 */
static inline HVX_Vector hvx_f32_over_one_plus_exp(HVX_Vector x, HVX_Vector t, int32_t factor) {
    t = hvx_f32_min(hvx_f32_max(t, hvx_f32_splat(-86.5f)), hvx_f32_splat(86.5f));
    return hvx_f32_over_one_plus_power(x, hvx_exp_log2(t, factor));
}

#else

static inline HVX_Vector hvx_f32_exp(HVX_Vector x) {
    HVX_Vector least = hvx_f32_splat(NPU_EXP_MIN), most = hvx_f32_splat(NPU_EXP_MAX), zero = Q6_V_vzero();
    HVX_Vector t = hvx_f32_min(hvx_f32_max(x, least), most);
    HVX_Vector magic = hvx_f32_splat(NPU_ROUND_MAGIC), rounded = hvx_f32_fma(t, hvx_f32_splat(NPU_LOG2E), magic);
    HVX_Vector n = hvx_f32_sub(rounded, magic), r = hvx_f32_fma(n, hvx_f32_splat(-NPU_LN2_HI), t);
    HVX_Vector exponent = Q6_Vw_vasl_VwR(rounded, 23); /* nothing of the magic number is in the bits that stay */
    r = hvx_f32_fma(n, hvx_f32_splat(-NPU_LN2_LO), r);
    HVX_Vector p = hvx_f32_fma(hvx_f32_splat(NPU_EXP_C4), r, hvx_f32_splat(NPU_EXP_C3));
    p = hvx_f32_fma(p, r, hvx_f32_splat(NPU_EXP_C2));
    p = hvx_f32_fma(p, r, hvx_f32_splat(NPU_EXP_C1));
    p = hvx_f32_fma(p, r, hvx_f32_splat(NPU_EXP_C0));
    p = hvx_f32_add(hvx_f32_fma(p, hvx_f32_mul(r, r), r), hvx_f32_splat(1.0f));
    /* Times 2^n is exact and stays normal inside the range: n = 128 only comes with p < 1, n = -126 with p >= 1. */
    HVX_Vector y = Q6_Vw_vadd_VwVw(p, exponent);
    /* Outside of the range x is not what it was clamped to. */
    HVX_VectorPred same = Q6_Q_vcmp_eq_VwVw(x, t);
    HVX_VectorPred low = Q6_Q_and_QQn(Q6_Q_vcmp_eq_VwVw(t, least), same);
    HVX_VectorPred high = Q6_Q_and_QQn(Q6_Q_vcmp_eq_VwVw(t, most), same);
    y = Q6_V_vmux_QVV(low, zero, y);
    y = Q6_V_vmux_QVV(high, Q6_V_vsplat_R(0x7F800000), y);
    /* The exponent would turn the bits of a NaN into anything. */
    return Q6_V_vmux_QVV(Q6_Q_vcmp_gt_VwVw(hvx_f32_abs(x), Q6_V_vsplat_R(0x7F800000)), x, y);
}

#endif

/* exp of the first |n| of 32 floats at an address of 128-byte alignment, in place; the others change too, or not. */
static inline void hvx_f32_exp_first(float *x, uint32_t n) {
#ifdef HTP_BUILD_QEMU
    for (uint32_t i = 0; i < n; i++) x[i] = npu_expf(x[i]);
#else
    (void)n;
    *(HVX_Vector *)x = hvx_f32_exp(*(const HVX_Vector *)x);
#endif
}

#endif
