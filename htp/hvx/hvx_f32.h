/* Arithmetic on vectors of 32 floats for ops, in the three builds of the NPU program; the build chooses with one macro:
 *   HTP_BUILD_NATIVE, HTP_BUILD_QEMU  IEEE by lane, the bits of docs/numerics.md (qemu-hexagon has no HVX float, so
 * there each lane goes through the scalar float instructions) HTP_BUILD_REAL                    HVX float instructions:
 * last bits differ. Not confirmed on hardware. Vectors are HVX_Vector with a float in each word. NaN is a class:
 * payloads differ between builds. */
#ifndef HTP_HVX_F32_H
#define HTP_HVX_F32_H

#include <stdint.h>
#include <string.h>

#include <hexagon_types.h>
#include <hexagon_protos.h>
#include <hvx_hexagon_protos.h>

#include "htp/hvx/hvx_inline.h"
#include "wire/half.h"

#if defined HTP_BUILD_NATIVE
#include "hvx_ieee.h"
#elif !defined HTP_BUILD_QEMU && !defined HTP_BUILD_REAL
#error "one of HTP_BUILD_NATIVE, HTP_BUILD_QEMU, HTP_BUILD_REAL must be defined"
#endif

/* No vector register survives a call, so a function that is not inlined costs its caller vector stores. */
#define HVX_F32_INLINE static inline __attribute__((always_inline))

/* Before a loop over vectors: one is a long chain, and several side by side fill the packets of the real build. */
#ifdef HTP_BUILD_REAL
#define HVX_F32_UNROLL _Pragma("GCC unroll 4")
#else
#define HVX_F32_UNROLL
#endif

static inline HVX_Vector hvx_f32_splat(float x) {
    return Q6_V_vsplat_R((int32_t)npu_float_bits(x));
}
/* From and to any address. */
static inline HVX_Vector hvx_f32_load(const float *p) {
    return *(const HVX_UVector *)p;
}
static inline void hvx_f32_store(float *p, HVX_Vector x) {
    *(HVX_UVector *)p = x;
}

#if defined HTP_BUILD_NATIVE

#define hvx_f32_add      hvx_ieee_add
#define hvx_f32_sub      hvx_ieee_sub
#define hvx_f32_mul      hvx_ieee_mul
#define hvx_f32_div      hvx_ieee_div
#define hvx_f32_fma      hvx_ieee_fma
#define hvx_f32_max      hvx_ieee_max
#define hvx_f32_min      hvx_ieee_min
#define hvx_f32_from_i32 hvx_ieee_from_w
#define hvx_f32_widen    hvx_ieee_from_hf
#define hvx_f32_narrow   hvx_ieee_to_hf

#elif defined HTP_BUILD_QEMU

/* qemu stores a vector byte by byte, at the price of a hundred float instructions, while vextract costs next to
 * nothing: so lanes leave a vector by vextract, and enter one by scalar stores and a vector load. */
typedef union {
    HVX_Vector v;
    float f[32];
    int32_t w[32];
} hvx_f32_lanes;

/* By hand: of the intrinsic the compiler makes a vector store and a load. */
HVX_F32_INLINE int32_t hvx_f32_lane_bits(HVX_Vector x, int i) {
    int32_t bits;
    __asm__("%0 = vextract(%1, %2)" : "=r"(bits) : "v"(x), "r"(4 * i));
    return bits;
}
HVX_F32_INLINE float hvx_f32_lane(HVX_Vector x, int i) {
    return npu_bits_float((uint32_t)hvx_f32_lane_bits(x, i));
}
/* Hidden from the compiler, which would put the lanes together with an insertion and a rotation each. */
HVX_F32_INLINE HVX_Vector hvx_f32_join(hvx_f32_lanes *x) {
    __asm__("" : "+m"(*x));
    return x->v;
}

#define HVX_F32_LANES _Pragma("GCC unroll 32") for (int i = 0; i < 32; i++)
#define HVX_F32_2(name, ...)                                            \
    HVX_F32_INLINE HVX_Vector name(HVX_Vector u, HVX_Vector v) {        \
        hvx_f32_lanes y;                                                \
        HVX_F32_LANES {                                                 \
            const float a = hvx_f32_lane(u, i), b = hvx_f32_lane(v, i); \
            y.f[i] = __VA_ARGS__;                                       \
        }                                                               \
        return hvx_f32_join(&y);                                        \
    }
HVX_F32_2(hvx_f32_add, a + b)
HVX_F32_2(hvx_f32_sub, a - b)
HVX_F32_2(hvx_f32_mul, (a * b))
HVX_F32_2(hvx_f32_div, a / b)
HVX_F32_2(hvx_f32_max, a > b || a != a ? a : npu_opaque(b))
HVX_F32_2(hvx_f32_min, a < b || a != a ? a : npu_opaque(b))
#undef HVX_F32_2

HVX_F32_INLINE HVX_Vector hvx_f32_fma(HVX_Vector u, HVX_Vector v, HVX_Vector w) {
    hvx_f32_lanes y;
    HVX_F32_LANES y.f[i] = __builtin_fmaf(hvx_f32_lane(u, i), hvx_f32_lane(v, i), hvx_f32_lane(w, i));
    return hvx_f32_join(&y);
}
HVX_F32_INLINE HVX_Vector hvx_f32_narrow(HVX_VectorPair x) {
    HVX_Vector even = Q6_V_lo_W(x), odd = Q6_V_hi_W(x);
    hvx_f32_lanes h;
    for (int i = 0; i < 32; i++) {
        uint32_t low = npu_float_to_half(hvx_f32_lane(even, i)), high = npu_float_to_half(hvx_f32_lane(odd, i));
        h.w[i] = (int32_t)(low | high << 16);
    }
    return hvx_f32_join(&h);
}

#else

#if __HVX_ARCH__ >= 79
static inline HVX_Vector hvx_f32_add(HVX_Vector a, HVX_Vector b) {
    return Q6_Vsf_vadd_VsfVsf(a, b);
}
static inline HVX_Vector hvx_f32_sub(HVX_Vector a, HVX_Vector b) {
    return Q6_Vsf_vsub_VsfVsf(a, b);
}
static inline HVX_Vector hvx_f32_mul(HVX_Vector a, HVX_Vector b) {
    return Q6_Vsf_vmpy_VsfVsf(a, b);
}
static inline HVX_Vector hvx_f32_fma(HVX_Vector a, HVX_Vector b, HVX_Vector c) {
    return Q6_Vsf_vadd_VsfVsf(Q6_Vsf_vmpy_VsfVsf(a, b), c);
}
#else
static inline HVX_Vector hvx_f32_add(HVX_Vector a, HVX_Vector b) {
    return Q6_Vsf_equals_Vqf32(Q6_Vqf32_vadd_VsfVsf(a, b));
}
static inline HVX_Vector hvx_f32_sub(HVX_Vector a, HVX_Vector b) {
    return Q6_Vsf_equals_Vqf32(Q6_Vqf32_vsub_VsfVsf(a, b));
}
static inline HVX_Vector hvx_f32_mul(HVX_Vector a, HVX_Vector b) {
    return Q6_Vsf_equals_Vqf32(Q6_Vqf32_vmpy_VsfVsf(a, b));
}
static inline HVX_Vector hvx_f32_fma(HVX_Vector a, HVX_Vector b, HVX_Vector c) {
    return Q6_Vsf_equals_Vqf32(Q6_Vqf32_vadd_Vqf32Vsf(Q6_Vqf32_vmpy_VsfVsf(a, b), c));
}
#endif
/* There is no division: a first guess of 1/b from its bits, three Newton steps. |b| in 2^-125 … 2^125. */
static inline HVX_Vector hvx_f32_div(HVX_Vector a, HVX_Vector b) {
    HVX_Vector sign = Q6_V_vand_VV(b, Q6_V_vsplat_R((int32_t)0x80000000u)), two = hvx_f32_splat(2.0f);
    HVX_Vector size = Q6_V_vxor_VV(b, sign), r = Q6_Vw_vsub_VwVw(Q6_V_vsplat_R(0x7ef311c7), size);
    for (int step = 0; step < 3; step++) r = hvx_f32_mul(r, hvx_f32_sub(two, hvx_f32_mul(size, r)));
    return hvx_f32_mul(a, Q6_V_vor_VV(r, sign));
}
static inline HVX_Vector hvx_f32_max(HVX_Vector a, HVX_Vector b) {
    return Q6_Vsf_vmax_VsfVsf(a, b);
}
static inline HVX_Vector hvx_f32_min(HVX_Vector a, HVX_Vector b) {
    return Q6_Vsf_vmin_VsfVsf(a, b);
}
static inline HVX_VectorPair hvx_f32_widen(HVX_Vector h) {
    HVX_VectorPair q = Q6_Wqf32_vmpy_VhfVhf(h, Q6_Vh_vsplat_R(0x3c00));
    return Q6_W_vcombine_VV(Q6_Vsf_equals_Vqf32(Q6_V_hi_W(q)), Q6_Vsf_equals_Vqf32(Q6_V_lo_W(q)));
}
static inline HVX_Vector hvx_f32_narrow(HVX_VectorPair x) {
    HVX_Vector zero = Q6_V_vzero();
    return Q6_Vhf_equals_Wqf32(
        Q6_W_vcombine_VV(Q6_Vqf32_vadd_VsfVsf(Q6_V_hi_W(x), zero), Q6_Vqf32_vadd_VsfVsf(Q6_V_lo_W(x), zero)));
}

#endif

/* Exact for |x| < 2^24. */
#if defined HTP_BUILD_REAL && __HVX_ARCH__ >= 73
HVX_F32_INLINE HVX_Vector hvx_f32_from_i32(HVX_Vector x) {
    return Q6_Vsf_equals_Vw(x);
}
#elif !defined HTP_BUILD_NATIVE
/* By integer instructions. Real builds below v73: a sum with 1.5 * 2^23 would stay unnormalised in qf32 and lose the
 * last bit. qemu: one such instruction costs what one lane's conversion costs. */
HVX_F32_INLINE HVX_Vector hvx_f32_from_i32(HVX_Vector x) {
    HVX_Vector size = Q6_Vw_vabs_Vw(x), shift = Q6_Vw_vnormamt_Vw(size);
    HVX_Vector significand = Q6_Vuw_vlsr_VuwR(Q6_Vw_vasl_VwVw(size, shift), 7); /* the leading bit is bit 23 */
    HVX_Vector exponent = Q6_Vw_vasl_VwR(Q6_Vw_vsub_VwVw(Q6_V_vsplat_R(126 + 30), shift), 23);
    HVX_Vector not_zero = Q6_Vw_vasr_VwR(Q6_Vw_vsub_VwVw(Q6_V_vzero(), size), 31);
    HVX_Vector bits = Q6_V_vand_VV(Q6_Vw_vadd_VwVw(significand, exponent), not_zero);
    return Q6_V_vor_VV(bits, Q6_V_vand_VV(x, Q6_V_vsplat_R((int32_t)0x80000000u)));
}
#endif

#ifdef HTP_BUILD_QEMU
/* By integer instructions too, and without predicates, which cost more. |x| has the half in the upper half of a word.
 */
HVX_F32_INLINE HVX_Vector hvx_f32_from_upper_half(HVX_Vector x) {
    HVX_Vector sign = Q6_V_vand_VV(x, Q6_V_vsplat_R((int32_t)0x80000000u)), zero = Q6_V_vzero();
    HVX_Vector size = Q6_Vuw_vlsr_VuwR(Q6_V_vxor_VV(x, sign), 3), bias = Q6_V_vsplat_R(112 << 23);
    HVX_Vector is_small = Q6_Vw_vasr_VwR(Q6_Vw_vsub_VwVw(size, Q6_V_vsplat_R(1 << 23)), 31); /* subnormal or zero */
    HVX_Vector is_special = Q6_Vw_vasr_VwR(Q6_Vw_vsub_VwVw(Q6_V_vsplat_R((31 << 23) - 1), size), 31); /* Inf, NaN */
    HVX_Vector not_zero = Q6_Vw_vasr_VwR(Q6_Vw_vsub_VwVw(zero, size), 31);
    HVX_Vector normal = Q6_Vw_vadd_VwVw(Q6_Vw_vadd_VwVw(size, bias), Q6_V_vand_VV(bias, is_special));
    HVX_Vector small = Q6_Vw_vsub_VwVw(hvx_f32_from_i32(size), Q6_V_vand_VV(Q6_V_vsplat_R(37 << 23), not_zero));
    HVX_Vector bits = Q6_V_vxor_VV(normal, Q6_V_vand_VV(Q6_V_vxor_VV(normal, small), is_small));
    return Q6_V_vor_VV(bits, sign);
}
HVX_F32_INLINE HVX_VectorPair hvx_f32_widen(HVX_Vector x) {
    HVX_Vector odd = Q6_V_vand_VV(x, Q6_V_vsplat_R((int32_t)0xffff0000u));
    return Q6_W_vcombine_VV(hvx_f32_from_upper_half(odd), hvx_f32_from_upper_half(Q6_Vw_vasl_VwR(x, 16)));
}
#endif

/* What the macros and functions above do, beyond their names:
 *   hvx_f32_max, hvx_f32_min  the second operand when both are equal, NaN when either is (real: not confirmed)
 *   hvx_f32_widen(h)          64 halves to a pair: lo lane i = half 2i, hi lane i = half 2i + 1; exact
 *   hvx_f32_narrow(pair)      its reverse, to nearest even */

HVX_F32_INLINE HVX_VectorPair hvx_f32_widen_bf16(HVX_Vector h) {
    return Q6_W_vcombine_VV(Q6_V_vand_VV(h, Q6_V_vsplat_R((int32_t)0xffff0000u)), Q6_Vw_vasl_VwR(h, 16));
}
/* The same in memory order: lo = halves 0 … 31, hi = halves 32 … 63. */
static inline HVX_VectorPair hvx_f32_from_half(HVX_Vector h) {
    return hvx_f32_widen(Q6_Vh_vshuff_Vh(h));
}
static inline HVX_VectorPair hvx_f32_from_bf16(HVX_Vector h) {
    return hvx_f32_widen_bf16(Q6_Vh_vshuff_Vh(h));
}
static inline HVX_Vector hvx_f32_to_half(HVX_VectorPair x) {
    return Q6_Vh_vdeal_Vh(hvx_f32_narrow(x));
}
/* Nearest even integer of |x| < 2^22: callers clamp first. */
static inline HVX_Vector hvx_f32_to_i32(HVX_Vector x) {
#if defined HTP_BUILD_REAL && __HVX_ARCH__ < 79
    /* By integers, for the reason above: the significand is shifted right by 150 - exponent, rounding. */
    HVX_Vector one = Q6_V_vsplat_R(1), sign = Q6_Vw_vasr_VwR(x, 31), bits = Q6_V_vand_VV(x, Q6_V_vsplat_R(0x7fffffff));
    HVX_Vector m = Q6_V_vor_VV(Q6_V_vand_VV(x, Q6_V_vsplat_R(0x7fffff)), Q6_V_vsplat_R(0x800000));
    HVX_Vector shift = Q6_Vw_vsub_VwVw(Q6_V_vsplat_R(150), Q6_Vuw_vlsr_VuwR(bits, 23));
    shift = Q6_Vw_vmin_VwVw(shift, Q6_V_vsplat_R(26));
    HVX_Vector odd = Q6_V_vand_VV(Q6_Vw_vlsr_VwVw(m, shift), one);
    HVX_Vector half = Q6_Vw_vsub_VwVw(Q6_Vw_vasl_VwVw(one, Q6_Vw_vsub_VwVw(shift, one)), one);
    HVX_Vector size = Q6_Vw_vlsr_VwVw(Q6_Vw_vadd_VwVw(m, Q6_Vw_vadd_VwVw(half, odd)), shift);
    return Q6_Vw_vsub_VwVw(Q6_V_vxor_VV(size, sign), sign);
#else
    return Q6_Vw_vsub_VwVw(hvx_f32_add(x, hvx_f32_splat(12582912.0f)), Q6_V_vsplat_R(0x4b400000));
#endif
}
/* Two vectors of products |x| <= 128 with numbers that were taken HVX_NEAREST_TIMES too large, as 16-bit lanes in
 * order: to the nearest. Real builds between v73 and v79 take the upper half of a word of 65536ths, so that nothing is
 * asked of how the conversion rounds. */
#if defined HTP_BUILD_REAL && __HVX_ARCH__ >= 73 && __HVX_ARCH__ < 79
enum { HVX_NEAREST_TIMES = 65536 };
HVX_F32_INLINE HVX_Vector hvx_nearest(HVX_Vector a, HVX_Vector b) {
    HVX_Vector half = Q6_V_vsplat_R(HVX_NEAREST_TIMES / 2);
    return Q6_Vh_vpacko_VwVw(Q6_Vw_vadd_VwVw(Q6_Vw_equals_Vsf(b), half), Q6_Vw_vadd_VwVw(Q6_Vw_equals_Vsf(a), half));
}
#else
enum { HVX_NEAREST_TIMES = 1 };
HVX_F32_INLINE HVX_Vector hvx_nearest(HVX_Vector a, HVX_Vector b) {
    return Q6_Vh_vpacke_VwVw(hvx_f32_to_i32(b), hvx_f32_to_i32(a));
}
#endif
/* |x| by its bits, which order like integers. */
static inline HVX_Vector hvx_f32_abs(HVX_Vector x) {
    return Q6_V_vand_VV(x, Q6_V_vsplat_R(0x7fffffff));
}
static inline float hvx_f32_first(HVX_Vector x) {
    return npu_bits_float((uint32_t)Q6_R_vextract_VR(x, 0));
}
/* The fold of docs/numerics.md §3 over the 32 lanes. */
static inline float hvx_f32_sum(HVX_Vector x) {
    for (int bytes = 64; bytes >= 4; bytes /= 2) x = hvx_f32_add(x, Q6_V_vror_VR(x, bytes));
    return hvx_f32_first(x);
}
static inline float hvx_f32_largest(HVX_Vector x) {
    for (int bytes = 64; bytes >= 4; bytes /= 2) x = hvx_f32_max(x, Q6_V_vror_VR(x, bytes));
    return hvx_f32_first(x);
}

#endif
