/* Functions on vectors of 32 floats beyond arithmetic: exp, masks by lane, a 32 x 32 transpose, square root of a
 * scalar. The formulas are wire/math.h's, step by step, so native and qemu builds give its bits. */
#ifndef HTP_HVX_MATH_H
#define HTP_HVX_MATH_H

#include "htp/hvx/hvx_f32.h"
#include "wire/math.h"

#ifdef HTP_BUILD_QEMU

/* A lane at a time: there every vector operation would go through memory. */
static inline HVX_Vector hvx_f32_exp(HVX_Vector x) {
    hvx_f32_lanes y;
    for (int i = 0; i < 32; i++) y.f[i] = npu_expf(hvx_f32_lane(x, i));
    return hvx_f32_join(&y);
}

#else

/* t = n ln 2 + r, n whole, |r| <= ln 2 / 2; gives r, and n where a float's exponent is. */
static inline HVX_Vector hvx_f32_exp_reduce(HVX_Vector t, HVX_Vector *exponent) {
#if defined HTP_BUILD_REAL && __HVX_ARCH__ < 79
    /* In qf32 the difference would keep the error of its operands, up to 2^-17. So with integers: t in units of 2^-24,
     * times log2(e) / 2 in units of 2^-31, which gives t / ln 2 in units of 2^-23. */
    HVX_Vector log2e = Q6_V_vsplat_R(0x5c551d95), ln2 = hvx_f32_splat(0x1.62e43p-24f), sign = Q6_Vw_vasr_VwR(t, 31);
    HVX_Vector m = Q6_V_vor_VV(Q6_V_vand_VV(t, Q6_V_vsplat_R(0x7fffff)), Q6_V_vsplat_R(0x800000));
    HVX_Vector power = Q6_Vuw_vlsr_VuwR(Q6_Vw_vasl_VwR(t, 1), 24);
    HVX_Vector shift = Q6_Vw_vmax_VwVw(Q6_Vw_vsub_VwVw(power, Q6_V_vsplat_R(126)), Q6_V_vsplat_R(-31));
    HVX_Vector fixed = Q6_Vw_vsub_VwVw(Q6_V_vxor_VV(Q6_Vw_vasl_VwVw(m, shift), sign), sign);
    HVX_Vector y = Q6_Vw_vmpyoacc_VwVwVh_s1_sat_shift(Q6_Vw_vmpye_VwVuh(fixed, log2e), fixed, log2e);
    HVX_Vector n = Q6_Vw_vasr_VwR(Q6_Vw_vadd_VwVw(y, Q6_V_vsplat_R(1 << 22)), 23);
    *exponent = Q6_Vw_vasl_VwR(n, 23);
    return hvx_f32_mul(hvx_f32_from_i32(Q6_Vw_vsub_VwVw(y, *exponent)), ln2);
#else
    HVX_Vector magic = hvx_f32_splat(NPU_ROUND_MAGIC), rounded = hvx_f32_fma(t, hvx_f32_splat(NPU_LOG2E), magic);
    HVX_Vector n = hvx_f32_sub(rounded, magic), r = hvx_f32_fma(n, hvx_f32_splat(-NPU_LN2_HI), t);
    *exponent = Q6_Vw_vasl_VwR(rounded, 23); /* nothing of the magic number is in the bits that stay */
    return hvx_f32_fma(n, hvx_f32_splat(-NPU_LN2_LO), r);
#endif
}

static inline HVX_Vector hvx_f32_exp(HVX_Vector x) {
    HVX_Vector least = hvx_f32_splat(NPU_EXP_MIN), most = hvx_f32_splat(NPU_EXP_MAX), zero = Q6_V_vzero(), exponent;
    HVX_Vector t = hvx_f32_min(hvx_f32_max(x, least), most), r = hvx_f32_exp_reduce(t, &exponent);
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
    return Q6_V_vmux_QVV(high, Q6_V_vsplat_R(0x7F800000), y);
}

#endif

/* Lanes first .. end - 1 of 32. */
static inline HVX_VectorPred hvx_lanes_between(uint32_t first, uint32_t end) {
    static const int32_t lanes[32]
        __attribute__((aligned(128))) = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                         16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    HVX_Vector lane = *(const HVX_Vector *)lanes;
    return Q6_Q_and_QQn(Q6_Q_vcmp_gt_VwVw(Q6_V_vsplat_R((int32_t)end), lane),
                        Q6_Q_vcmp_gt_VwVw(Q6_V_vsplat_R((int32_t)first), lane));
}

/* x with the lanes from |n| on made +0. */
static inline HVX_Vector hvx_f32_keep(HVX_Vector x, uint32_t n) {
    return Q6_V_vmux_QVV(hvx_lanes_between(0, n), x, Q6_V_vzero());
}

static inline HVX_Vector hvx_f32_negate(HVX_Vector x) {
    return Q6_V_vxor_VV(x, Q6_V_vsplat_R((int32_t)0x80000000u));
}

/* out[j] lane i = in[i] lane j. Each of the five rounds interleaves vector i with vector i + 16, which moves one bit of
 * the vector's number into the lane's. */
static inline void hvx_transpose_32x32(const HVX_Vector in[32], HVX_Vector out[32]) {
    HVX_Vector other[32];
    const HVX_Vector *from = in;
    for (int round = 0; round < 5; round++) {
        HVX_Vector *to = round & 1 ? other : out;
        for (int i = 0; i < 16; i++) {
            HVX_VectorPair w = Q6_W_vshuff_VVR(from[i + 16], from[i], -4);
            to[2 * i] = Q6_V_lo_W(w);
            to[2 * i + 1] = Q6_V_hi_W(w);
        }
        from = to;
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
