/* The float part of a dot product: one block's integer sums scaled into the accumulators. Separate from hvx_f32.h
 * because the real build keeps accumulators in qf32, which saves a conversion a term; in the other builds it is the
 * contract's p = dw * dx, acc = fma(p, float(I), acc). Only hvx_dot.c includes this. */
#ifndef HTP_HVX_DOT_TERM_H
#define HTP_HVX_DOT_TERM_H

#include "htp/hvx/hvx_f32.h"

#ifdef HTP_BUILD_REAL

static inline HVX_VectorPair dot_widen(HVX_Vector h) {
    return Q6_Wqf32_vmpy_VhfVhf(h, Q6_Vh_vsplat_R(0x3c00));
}
/* Upper halves of floats; powers of two. */
static inline HVX_VectorPair dot_widen_bf16(HVX_Vector h) {
    HVX_Vector zero = Q6_V_vzero(), odd = Q6_V_vand_VV(h, Q6_V_vsplat_R((int32_t)0xffff0000u));
    return Q6_W_vcombine_VV(Q6_Vqf32_vadd_VsfVsf(odd, zero), Q6_Vqf32_vadd_VsfVsf(Q6_Vw_vasl_VwR(h, 16), zero));
}
/* d * (u - bias) of 64 halves. */
static inline HVX_VectorPair dot_sub_scales(HVX_Vector u, HVX_Vector d, int bias) {
    if (bias) u = Q6_Vh_vsub_VhVh(u, Q6_Vh_vsplat_R(bias));
    return Q6_Wqf32_vmpy_VhfVhf(Q6_Vhf_vcvt_Vh(u), d);
}
static inline HVX_Vector dot_times(HVX_Vector sf, float x) {
#if __HVX_ARCH__ >= 79
    return Q6_Vqf32_vmpy_VsfRsf(sf, (int32_t)npu_float_bits(x));
#else
    return Q6_Vqf32_vmpy_VsfVsf(sf, hvx_f32_splat(x));
#endif
}
static inline HVX_Vector dot_term(HVX_Vector acc, HVX_Vector sums, HVX_Vector dw, float dx) {
    HVX_Vector scaled = dot_times(hvx_f32_from_i32(sums), dx);
    return Q6_Vqf32_vadd_Vqf32Vqf32(acc, Q6_Vqf32_vmpy_Vqf32Vqf32(scaled, dw));
}
static inline HVX_Vector dot_min_term(HVX_Vector acc, HVX_Vector m, float s) {
    return Q6_Vqf32_vadd_Vqf32Vqf32(acc, dot_times(Q6_Vsf_equals_Vqf32(m), s));
}
static inline HVX_Vector dot_result(HVX_Vector acc) {
    return Q6_Vsf_equals_Vqf32(acc);
}

#else

HVX_F32_INLINE HVX_VectorPair dot_widen(HVX_Vector h) {
    return hvx_f32_widen(h);
}
HVX_F32_INLINE HVX_VectorPair dot_widen_bf16(HVX_Vector h) {
    return Q6_W_vcombine_VV(Q6_V_vand_VV(h, Q6_V_vsplat_R((int32_t)0xffff0000u)), Q6_Vw_vasl_VwR(h, 16));
}
HVX_F32_INLINE HVX_VectorPair dot_sub_scales(HVX_Vector u, HVX_Vector d, int bias) {
    HVX_Vector even = Q6_V_vand_VV(u, Q6_V_vsplat_R(0xffff)), odd = Q6_Vuw_vlsr_VuwR(u, 16);
    HVX_Vector less = Q6_V_vsplat_R(bias);
    HVX_VectorPair wide = hvx_f32_widen(d);
    return Q6_W_vcombine_VV(hvx_f32_mul(hvx_f32_from_i32(Q6_Vw_vsub_VwVw(odd, less)), Q6_V_hi_W(wide)),
                            hvx_f32_mul(hvx_f32_from_i32(Q6_Vw_vsub_VwVw(even, less)), Q6_V_lo_W(wide)));
}
/* Not all 32 in a row, as elsewhere: there are hundreds of these. */
#define DOT_LANES _Pragma("GCC unroll 4") for (int i = 0; i < 32; i++)
HVX_F32_INLINE HVX_Vector dot_term(HVX_Vector acc, HVX_Vector sums, HVX_Vector dw, float dx) {
    HVX_Vector x = hvx_f32_from_i32(sums);
#ifdef HTP_BUILD_QEMU
    hvx_f32_lanes y; /* both operations while a lane is out of its vector */
    DOT_LANES y.f[i] = __builtin_fmaf(hvx_f32_lane(dw, i) * dx, hvx_f32_lane(x, i), hvx_f32_lane(acc, i));
    return hvx_f32_join(&y);
#else
    return hvx_f32_fma(hvx_f32_mul(dw, hvx_f32_splat(dx)), x, acc);
#endif
}
HVX_F32_INLINE HVX_Vector dot_min_term(HVX_Vector acc, HVX_Vector m, float s) {
#ifdef HTP_BUILD_QEMU
    hvx_f32_lanes y;
    DOT_LANES y.f[i] = __builtin_fmaf(hvx_f32_lane(m, i), s, hvx_f32_lane(acc, i));
    return hvx_f32_join(&y);
#else
    return hvx_f32_fma(m, hvx_f32_splat(s), acc);
#endif
}
HVX_F32_INLINE HVX_Vector dot_result(HVX_Vector acc) {
    return acc;
}

#endif

#endif
