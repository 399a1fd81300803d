/* Blocks of Q8_0, a half and 32 signed bytes, to and from f32, four at a time (docs/numerics.md §6): a KV cache's rows.
 */
#ifndef HTP_HVX_Q8_0_H
#define HTP_HVX_Q8_0_H

#include "htp/hvx/hvx_math.h"

enum { HVX_Q8_0_BYTES = 34 };

/* --- to f32 --- */

/* d * q of 64 whole numbers in -128 .. 127: those of even lanes, those of odd ones. */
HVX_F32_INLINE HVX_VectorPair hvx_times_half(HVX_Vector q, HVX_Vector d) {
#ifdef HTP_BUILD_REAL
    HVX_VectorPair y = Q6_Wqf32_vmpy_VhfVhf(Q6_Vhf_vcvt_Vh(q), d);
    return Q6_W_vcombine_VV(Q6_Vsf_equals_Vqf32(Q6_V_hi_W(y)), Q6_Vsf_equals_Vqf32(Q6_V_lo_W(y)));
#else
    HVX_VectorPair wide = hvx_f32_widen(d), w = Q6_Ww_vsxt_Vh(q);
    return Q6_W_vcombine_VV(hvx_f32_mul(Q6_V_hi_W(wide), hvx_f32_from_i32(Q6_V_hi_W(w))),
                            hvx_f32_mul(Q6_V_lo_W(wide), hvx_f32_from_i32(Q6_V_lo_W(w))));
#endif
}

/* Routes of vrdelta: seven stages, of 1, 2, 4 … 64; where a bit is set, a byte comes from so far away. Each is the only
 * one from its sources to its places. */
#define T(route) route, route,
/* The codes of the blocks, without the scales between them; the last eight are behind the vector. */
static const uint8_t hvx_q8_0_codes[128] __attribute__((aligned(128))) = {
    T(2) T(4) T(2) T(10) T(2) T(6) T(2) T(22) T(2) T(6) T(2) T(14) T(2) T(6) T(2) T(46) T(4) T(6) T(8) T(12) T(4) T(4)
        T(20) T(28) T(4) T(4) T(12) T(12) T(4) T(4) T(76) T(92) T(4) T(8) T(14) T(12) T(6) T(18) T(30) T(26) T(6) T(10)
            T(14) T(10) T(6) T(42) T(62) T(58) T(10) T(10) T(12) T(10) T(16) T(24) T(24) T(24) T(8) T(8) T(8) T(8) T(8)
                T(24) T(56) T(56)};
/* Scales: blocks 0 and 2 by turns, and blocks 1 and 3. */
static const uint8_t hvx_q8_0_scales[2][128] __attribute__((aligned(128))) = {
    {T(0) T(64) T(4) T(64) T(8) T(64) T(8) T(64) T(16) T(64) T(16) T(64) T(16) T(64) T(16) T(64) T(32) T(64) T(32) T(64)
         T(32) T(64) T(32) T(64) T(32) T(64) T(32) T(64) T(32) T(64) T(32) T(64) T(64) T(4) T(64) T(2) T(64) T(8) T(64)
             T(8) T(64) T(16) T(64) T(16) T(64) T(16) T(64) T(16) T(64) T(32) T(64) T(32) T(64) T(32) T(64) T(32) T(64)
                 T(32) T(64) T(32) T(64) T(32) T(64) T(32)},
    {T(32) T(64) T(32) T(64) T(32) T(64) T(32) T(64) T(32) T(64) T(32) T(64) T(32) T(64) T(32) T(64) T(2) T(64) T(4)
         T(64) T(8) T(64) T(8) T(64) T(16) T(64) T(16) T(64) T(16) T(64) T(16) T(64) T(64) T(32) T(64) T(32) T(64) T(32)
             T(64) T(32) T(64) T(32) T(64) T(32) T(64) T(32) T(64) T(32) T(64) T(4) T(64) T(0) T(64) T(8) T(64) T(8)
                 T(64) T(16) T(64) T(16) T(64) T(16) T(64) T(16)},
};
#undef T

/* Four blocks, of which |raw| has the first 128 bytes and |end| the last. Codes of the four go by turns, so that each
 * pair of widened vectors is two blocks. */
HVX_F32_INLINE void hvx_q8_0_values(HVX_Vector raw, HVX_Vector end, HVX_Vector y[4]) {
    HVX_Vector codes = Q6_V_vrdelta_VV(raw, *(const HVX_Vector *)hvx_q8_0_codes);
    codes = Q6_Vb_vshuff_Vb(Q6_Vb_vshuff_Vb(Q6_V_vmux_QVV(Q6_Q_vsetq_R(120), codes, end)));
    HVX_Vector even_d = Q6_V_vrdelta_VV(raw, *(const HVX_Vector *)hvx_q8_0_scales[0]);
    HVX_Vector odd_d = Q6_V_vrdelta_VV(raw, *(const HVX_Vector *)hvx_q8_0_scales[1]);
    HVX_VectorPair q = Q6_Wh_vsxt_Vb(codes);
    HVX_VectorPair even = hvx_times_half(Q6_V_lo_W(q), even_d), odd = hvx_times_half(Q6_V_hi_W(q), odd_d);
    y[0] = Q6_V_lo_W(even);
    y[1] = Q6_V_lo_W(odd);
    y[2] = Q6_V_hi_W(even);
    y[3] = Q6_V_hi_W(odd);
}

/* --- from f32 --- */

#ifdef HTP_BUILD_REAL
/* A half goes where the hardware's rounding brings it. */
#define hvx_q8_0_nearest hvx_nearest
HVX_F32_INLINE HVX_Vector hvx_q8_0_scale(HVX_Vector most) {
    return hvx_f32_mul(most, hvx_f32_splat(1 / 127.0f));
}
HVX_F32_INLINE HVX_Vector hvx_q8_0_inverse(HVX_Vector most, HVX_Vector d) {
    (void)d;
    return hvx_f32_div(hvx_f32_splat(127.0f * HVX_NEAREST_TIMES), most);
}
/* A scale below 2^-100 is nothing as a half. */
HVX_F32_INLINE HVX_VectorPred hvx_q8_0_counts(HVX_Vector most, HVX_Vector inverse) {
    (void)inverse;
    return Q6_Q_vcmp_gt_VwVw(most, hvx_f32_splat(0x1p-100f));
}
#else
/* Nearest whole number, halves away from zero, of |x| <= 128: what nearest even brought half a step towards zero goes
 * on by one. */
HVX_F32_INLINE HVX_Vector hvx_round_away(HVX_Vector x) {
    HVX_Vector n = hvx_f32_to_i32(x), rest = hvx_f32_sub(x, hvx_f32_from_i32(n)), sign = Q6_Vw_vasr_VwR(x, 31);
    HVX_Vector half = hvx_f32_with_sign(hvx_f32_splat(0.5f), x);
    HVX_Vector step = Q6_V_vor_VV(sign, Q6_V_vsplat_R(1)); /* 1 or -1 */
    return Q6_V_vmux_QVV(Q6_Q_vcmp_eq_VwVw(rest, half), Q6_Vw_vadd_VwVw(n, step), n);
}
HVX_F32_INLINE HVX_Vector hvx_q8_0_nearest(HVX_Vector a, HVX_Vector b) {
    return Q6_Vh_vpack_VwVw_sat(hvx_round_away(b), hvx_round_away(a));
}
HVX_F32_INLINE HVX_Vector hvx_q8_0_scale(HVX_Vector most) {
    return hvx_f32_div(most, hvx_f32_splat(127.0f));
}
HVX_F32_INLINE HVX_Vector hvx_q8_0_inverse(HVX_Vector most, HVX_Vector d) {
    (void)most;
    return hvx_f32_div(hvx_f32_splat(1.0f), d);
}
HVX_F32_INLINE HVX_VectorPred hvx_q8_0_counts(HVX_Vector most, HVX_Vector inverse) {
    (void)most;
    return Q6_Q_vcmp_gt_VwVw(hvx_f32_splat(NPU_F32_INF), inverse);
}
#endif

/* Codes and scales of four blocks, which are taken by turns: word k of every four is block k's, so that one lane is a
 * block for its maximum, scale and inverse. Bytes go back to the blocks' order at the end. The scales of block k are in
 * word k of every four, twice. */
HVX_F32_INLINE HVX_Vector hvx_q8_0_make(const HVX_Vector x[4], HVX_Vector *scales) {
    HVX_Vector v[4] = {x[0], x[1], x[2], x[3]}, most, infinite = hvx_f32_splat(NPU_F32_INF);
    hvx_interleave(v, 4);
    /* Bits of the largest size, which order like integers: NaN above infinity above numbers. */
    most = Q6_Vw_vmax_VwVw(Q6_Vw_vmax_VwVw(hvx_f32_abs(v[0]), hvx_f32_abs(v[1])),
                           Q6_Vw_vmax_VwVw(hvx_f32_abs(v[2]), hvx_f32_abs(v[3])));
    for (int bytes = 64; bytes >= 16; bytes /= 2) most = Q6_Vw_vmax_VwVw(most, Q6_V_vror_VR(most, bytes));
    HVX_VectorPred finite = Q6_Q_vcmp_gt_VwVw(infinite, most);
    HVX_Vector d = hvx_q8_0_scale(most), inverse = hvx_q8_0_inverse(most, d);
    *scales = Q6_V_vmux_QVV(finite, hvx_f32_narrow(Q6_W_vcombine_VV(d, d)), Q6_Vh_vsplat_R(0x7e00));
    HVX_VectorPred keep = Q6_Q_and_QQ(finite, hvx_q8_0_counts(most, inverse)); /* of other blocks all codes are 0 */
    inverse = Q6_V_vmux_QVV(keep, inverse, Q6_V_vzero());
    for (int k = 0; k < 4; k++) v[k] = hvx_f32_mul(Q6_V_vmux_QVV(keep, v[k], Q6_V_vzero()), inverse);
    HVX_Vector bytes = Q6_Vb_vpack_VhVh_sat(hvx_q8_0_nearest(v[2], v[3]), hvx_q8_0_nearest(v[0], v[1]));
    return Q6_Vb_vdeal_Vb(Q6_Vb_vdeal_Vb(bytes));
}

/* Ascending: what a block's vector holds too much, the next one writes anew. */
HVX_F32_INLINE void hvx_q8_0_store(HVX_Vector codes, HVX_Vector scales, uint8_t *out, uint32_t blocks) {
    HVX_VectorPred scale = Q6_Q_vsetq_R(2);
    for (uint32_t b = 0; b < blocks; b++, out += HVX_Q8_0_BYTES)
        *(HVX_UVector *)out =
            Q6_V_vmux_QVV(scale, Q6_V_vror_VR(scales, (int32_t)(4 * b)), Q6_V_vror_VR(codes, (int32_t)(32 * b - 2)));
}

#endif
