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
HVX_F32_INLINE HVX_Vector dot_term(HVX_Vector acc, HVX_Vector sums, HVX_Vector dw, float dx) {
    HVX_Vector x = hvx_f32_from_i32(sums);
#ifdef HTP_BUILD_QEMU
    hvx_f32_lanes y; /* both operations while a lane is out of its vector */
    HVX_F32_LANES y.f[i] = __builtin_fmaf(hvx_f32_lane(dw, i) * dx, hvx_f32_lane(x, i), hvx_f32_lane(acc, i));
    return hvx_f32_join(&y);
#else
    return hvx_f32_fma(hvx_f32_mul(dw, hvx_f32_splat(dx)), x, acc);
#endif
}
HVX_F32_INLINE HVX_Vector dot_min_term(HVX_Vector acc, HVX_Vector m, float s) {
    return hvx_f32_fma(m, hvx_f32_splat(s), acc);
}
HVX_F32_INLINE HVX_Vector dot_result(HVX_Vector acc) {
    return acc;
}

#endif

#endif
