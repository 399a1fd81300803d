/* Functions on vectors of 32 floats beyond arithmetic: exp, log, tanh, erf, masks by lane, a 32 x 32 transpose, square
 * root of a scalar. The formulas are wire/math.h's, step by step, so native and qemu builds give its bits. */
#ifndef HTP_HVX_MATH_H
#define HTP_HVX_MATH_H

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

#ifndef HTP_BUILD_REAL
static inline HVX_Vector hvx_f32_over_one_plus(HVX_Vector x, HVX_Vector e) {
    return hvx_f32_div(x, hvx_f32_add(e, hvx_f32_splat(1.0f)));
}
#endif

#ifdef HTP_BUILD_QEMU

/* A lane at a time: there every vector operation would go through memory. */
#define HVX_F32_LANE_BY_LANE(name, scalar)                                \
    static inline HVX_Vector name(HVX_Vector x) {                         \
        hvx_f32_lanes y;                                                  \
        for (int i = 0; i < 32; i++) y.f[i] = scalar(hvx_f32_lane(x, i)); \
        return hvx_f32_join(&y);                                          \
    }
HVX_F32_LANE_BY_LANE(hvx_f32_exp, npu_expf)
HVX_F32_LANE_BY_LANE(hvx_f32_log, npu_logf)
HVX_F32_LANE_BY_LANE(hvx_f32_tanh, npu_tanhf)
HVX_F32_LANE_BY_LANE(hvx_f32_erf, npu_erff)
#undef HVX_F32_LANE_BY_LANE
static inline void hvx_f32_exp_first(float *x, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) x[i] = npu_expf(x[i]);
}

#else

#ifdef HTP_BUILD_REAL

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

#ifndef HTP_BUILD_QEMU
/* exp of the first |n| of 32 floats at an address of 128-byte alignment, in place; the others change too, or not. */
static inline void hvx_f32_exp_first(float *x, uint32_t n) {
    (void)n;
    *(HVX_Vector *)x = hvx_f32_exp(*(const HVX_Vector *)x);
}
#endif

/* 0, 1, … 31. */
static inline HVX_Vector hvx_lane_numbers(void) {
    static const int32_t lanes[32]
        __attribute__((aligned(128))) = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                         16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    return *(const HVX_Vector *)lanes;
}

/* Lanes first .. end - 1 of 32. */
static inline HVX_VectorPred hvx_lanes_between(uint32_t first, uint32_t end) {
    HVX_Vector lane = hvx_lane_numbers();
    return Q6_Q_and_QQn(Q6_Q_vcmp_gt_VwVw(Q6_V_vsplat_R((int32_t)end), lane),
                        Q6_Q_vcmp_gt_VwVw(Q6_V_vsplat_R((int32_t)first), lane));
}

/* x with the lanes from |n| on made +0. */
static inline HVX_Vector hvx_f32_keep(HVX_Vector x, uint32_t n) {
    return Q6_V_vmux_QVV(hvx_lanes_between(0, n), x, Q6_V_vzero());
}

/* log2(count) times: vector i is interleaved with vector i + count / 2, which moves the highest bit of a vector's
 * number into the lanes' numbers, and the highest of those into it. */
HVX_F32_INLINE void hvx_interleave(HVX_Vector *x, int count) {
    for (int round = 1; round < count; round *= 2) {
        HVX_Vector y[8];
        for (int i = 0; i < count / 2; i++) {
            HVX_VectorPair w = Q6_W_vshuff_VVR(x[i + count / 2], x[i], -4);
            y[2 * i] = Q6_V_lo_W(w);
            y[2 * i + 1] = Q6_V_hi_W(w);
        }
        for (int i = 0; i < count; i++) x[i] = y[i];
    }
}

/* A 32 x 32 transpose, out[j] lane i = in[i * stride] lane j, is five such rounds over 32 vectors: three, then two,
 * each in registers. hvx_transpose_last gives out[4 * i … 4 * i + 3]. */
HVX_F32_INLINE void hvx_transpose_first(const HVX_Vector *in, uint32_t stride, HVX_Vector between[32]) {
    for (uint32_t i = 0; i < 4; i++) {
        HVX_Vector x[8];
        for (uint32_t k = 0; k < 8; k++) x[k] = in[(i + 4 * k) * stride];
        hvx_interleave(x, 8);
        for (uint32_t k = 0; k < 8; k++) between[8 * i + k] = x[k];
    }
}
HVX_F32_INLINE void hvx_transpose_last(const HVX_Vector between[32], uint32_t i, HVX_Vector x[4]) {
    for (uint32_t k = 0; k < 4; k++) x[k] = between[i + 8 * k];
    hvx_interleave(x, 4);
}
static inline void hvx_transpose_32x32(const HVX_Vector *in, uint32_t stride, HVX_Vector out[32]) {
    HVX_Vector between[32];
    hvx_transpose_first(in, stride, between);
    for (uint32_t i = 0; i < 8; i++) {
        HVX_Vector x[4];
        hvx_transpose_last(between, i, x);
        for (uint32_t k = 0; k < 4; k++) out[4 * i + k] = x[k];
    }
}

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
