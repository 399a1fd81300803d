/* Sums of scaled vectors: the float part of a dot product, one block's integer sums scaled into the accumulators, and
 * attention's. Separate from hvx_f32.h because the real build keeps accumulators in qf32, which saves a conversion a
 * term; in the other builds it is the contract's p = dw * dx, acc = fma(p, float(I), acc). For hvx_dot.c and
 * hvx_attn.c: dot_start     acc = x * s dot_add       acc = fma(x, s, acc) dot_term      acc = fma(dw * dx,
 * float(sums), acc) dot_min_term  dot_add of what dot_widen gave */
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
typedef HVX_Vector dot_sum;
HVX_F32_INLINE void dot_clear(dot_sum *acc) {
    *acc = Q6_V_vzero();
}
HVX_F32_INLINE void dot_start(dot_sum *acc, HVX_Vector x, float s) {
    *acc = dot_times(x, s);
}
HVX_F32_INLINE void dot_add(dot_sum *acc, HVX_Vector x, float s) {
    *acc = Q6_Vqf32_vadd_Vqf32Vqf32(*acc, dot_times(x, s));
}
HVX_F32_INLINE void dot_term(dot_sum *acc, HVX_Vector sums, HVX_Vector dw, float dx) {
    HVX_Vector scaled = dot_times(hvx_f32_from_i32(sums), dx);
    *acc = Q6_Vqf32_vadd_Vqf32Vqf32(*acc, Q6_Vqf32_vmpy_Vqf32Vqf32(scaled, dw));
}
HVX_F32_INLINE void dot_min_term(dot_sum *acc, HVX_Vector m, float s) {
    dot_add(acc, Q6_Vsf_equals_Vqf32(m), s);
}
HVX_F32_INLINE void dot_result(const dot_sum *acc, HVX_Vector *y) {
    *y = Q6_Vsf_equals_Vqf32(*acc);
}

#else

HVX_F32_INLINE HVX_VectorPair dot_widen(HVX_Vector h) {
    return hvx_f32_widen(h);
}
HVX_F32_INLINE HVX_VectorPair dot_widen_bf16(HVX_Vector h) {
    return hvx_f32_widen_bf16(h);
}
HVX_F32_INLINE HVX_VectorPair dot_sub_scales(HVX_Vector u, HVX_Vector d, int bias) {
    HVX_Vector even = Q6_V_vand_VV(u, Q6_V_vsplat_R(0xffff)), odd = Q6_Vuw_vlsr_VuwR(u, 16);
    HVX_Vector less = Q6_V_vsplat_R(bias);
    HVX_VectorPair wide = hvx_f32_widen(d);
    return Q6_W_vcombine_VV(hvx_f32_mul(hvx_f32_from_i32(Q6_Vw_vsub_VwVw(odd, less)), Q6_V_hi_W(wide)),
                            hvx_f32_mul(hvx_f32_from_i32(Q6_Vw_vsub_VwVw(even, less)), Q6_V_lo_W(wide)));
}

#ifdef HTP_BUILD_QEMU

/* Sums stay in memory, where scalar instructions add to them: a vector would have to be stored (see hvx_f32.h). Two
 * lanes at a time, because qemu looks up the pages of two stores in one packet, but not of one. */
typedef struct dot_sum {
    int64_t two[16];
} dot_sum;

HVX_F32_INLINE float dot_lane(const dot_sum *acc, int i) {
    return npu_bits_float((uint32_t)(i & 1 ? acc->two[i / 2] >> 32 : acc->two[i / 2]));
}
#define DOT_LANES(even, odd)                                        \
    _Pragma("GCC unroll 1") for (int i = 0; i < 32; i += 2) {       \
        uint32_t a = npu_float_bits(even), b = npu_float_bits(odd); \
        acc->two[i / 2] = Q6_P_combine_RR((int32_t)b, (int32_t)a);  \
    }
#define DOT_TERM(i) __builtin_fmaf(hvx_f32_lane(dw, i) * dx, hvx_f32_lane(x, i), dot_lane(acc, i))
#define DOT_ADD(i)  __builtin_fmaf(hvx_f32_lane(x, i), s, dot_lane(acc, i))
/* Half of dot_widen's pair: the odd one, or the even one. */
HVX_F32_INLINE HVX_Vector dot_widen_bf16_one(HVX_Vector h, int odd) {
    return odd ? Q6_V_vand_VV(h, Q6_V_vsplat_R((int32_t)0xffff0000u)) : Q6_Vw_vasl_VwR(h, 16);
}
HVX_F32_INLINE HVX_Vector dot_widen_one(HVX_Vector h, int odd) {
    return hvx_f32_from_upper_half(dot_widen_bf16_one(h, odd));
}
HVX_F32_INLINE void dot_clear(dot_sum *acc) {
    for (int i = 0; i < 16; i++) acc->two[i] = 0;
}
HVX_F32_INLINE void dot_term(dot_sum *acc, HVX_Vector sums, HVX_Vector dw, float dx) {
    HVX_Vector x = hvx_f32_from_i32(sums);
    DOT_LANES(DOT_TERM(i), DOT_TERM(i + 1))
}
HVX_F32_INLINE void dot_add(dot_sum *acc, HVX_Vector x, float s){DOT_LANES(DOT_ADD(i), DOT_ADD(i + 1))} HVX_F32_INLINE
    void dot_start(dot_sum *acc, HVX_Vector x,
                   float s){DOT_LANES((hvx_f32_lane(x, i) * s), (hvx_f32_lane(x, i + 1) * s))}
#undef DOT_LANES
#undef DOT_TERM
#undef DOT_ADD
HVX_F32_INLINE void dot_result(const dot_sum *acc, HVX_Vector *y) {
    for (int i = 0; i < 16; i++) {
        int64_t two = acc->two[i];
        __asm__("" : "+r"(two)); /* the compiler would call memcpy, which stores a vector */
        ((int64_t *)y)[i] = two;
    }
}

#else

typedef HVX_Vector dot_sum;
HVX_F32_INLINE void dot_clear(dot_sum *acc) {
    *acc = Q6_V_vzero();
}
HVX_F32_INLINE void dot_term(dot_sum *acc, HVX_Vector sums, HVX_Vector dw, float dx) {
    *acc = hvx_f32_fma(hvx_f32_mul(dw, hvx_f32_splat(dx)), hvx_f32_from_i32(sums), *acc);
}
HVX_F32_INLINE void dot_start(dot_sum *acc, HVX_Vector x, float s) {
    *acc = hvx_f32_mul(x, hvx_f32_splat(s));
}
HVX_F32_INLINE void dot_add(dot_sum *acc, HVX_Vector x, float s) {
    *acc = hvx_f32_fma(x, hvx_f32_splat(s), *acc);
}
HVX_F32_INLINE void dot_result(const dot_sum *acc, HVX_Vector *y) {
    *y = *acc;
}

#endif

HVX_F32_INLINE void dot_min_term(dot_sum *acc, HVX_Vector m, float s) {
    dot_add(acc, m, s);
}

#endif

#endif
