/* The project's own exp, log, sin, cos, tanh and erf in binary32: one set of formulas for host and NPU.
 *
 * Only + - * /, fma, integer operations and selects, so that every machine and every vector version of these formulas
 * (target/host/vec/vec_math.h) gives the same bits; compile with -ffp-contract=off. Selects take the place of branches:
 * all paths are computed and one is kept, and a path that is not kept may have overflowed. Coefficients: math_coef.h,
 * written by scripts/fit-math. Freestanding. Errors below are the largest found by wire/math_test.c, in units of the
 * last place of the true value.
 */
#ifndef NPU_WIRE_MATH_H
#define NPU_WIRE_MATH_H

#include <stdint.h>

#include "wire/half.h"
#include "wire/math_coef.h"

#define NPU_F32_INF     (__builtin_inff())
#define NPU_F32_NAN     (__builtin_nanf(""))
#define NPU_ROUND_MAGIC 0x1.8p23f      /* adding it rounds |x| < 2^22 to an integer, which is then in the low bits */
#define NPU_EXP_MIN     -0x1.5d589ep6f /* exp below is +0: results under 2^-126 are flushed */
#define NPU_EXP_MAX     0x1.62e42ep6f  /* exp above is +Inf */
#define NPU_LOG2E       0x1.715476p0f
#define NPU_LN2_HI      0x1.62e400p-1f /* 15 bits: n * NPU_LN2_HI is exact */
#define NPU_LN2_LO      0x1.7f7d1cp-20f
#define NPU_2_OVER_PI   0x1.45f306p-1f
#define NPU_PIO2_1      0x1.921fb6p0f /* pi/2 in three parts */
#define NPU_PIO2_2      -0x1.777a5cp-25f
#define NPU_PIO2_3      -0x1.ee59dap-50f
#define NPU_TRIG_MAX    0x1p21f /* sin and cos above are NaN: never a silent wrong number */
#define NPU_TANH_SPLIT  0.625f
#define NPU_ERF_SPLIT   0.875f
#define NPU_ERF_ONE     3.9375f /* erf rounds to 1 from here on */

static inline float npu_fmaf(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}

static inline float npu_absf(float x) {
    return npu_bits_float(npu_float_bits(x) & 0x7FFFFFFFu);
}

/* The larger one; NaN when either is. */
static inline float npu_maxf(float a, float b) {
    return a > b || a != a ? a : npu_opaque(b);
}

/* 1.0 ulp. 1 at 0 exactly; +0 below NPU_EXP_MIN, +Inf above NPU_EXP_MAX, NaN for NaN. */
static inline float npu_expf(float x) {
    float t = x < NPU_EXP_MIN ? npu_opaque(NPU_EXP_MIN) : x;
    t = t > NPU_EXP_MAX ? npu_opaque(NPU_EXP_MAX) : t;
    float rounded = npu_fmaf(t, NPU_LOG2E, NPU_ROUND_MAGIC);
    float n = rounded - NPU_ROUND_MAGIC;
    uint32_t whole = npu_float_bits(rounded) - npu_float_bits(NPU_ROUND_MAGIC);
    float r = npu_fmaf(n, -NPU_LN2_HI, t);
    r = npu_fmaf(n, -NPU_LN2_LO, r);
    float p = npu_fmaf(NPU_EXP_C4, r, NPU_EXP_C3);
    p = npu_fmaf(p, r, NPU_EXP_C2);
    p = npu_fmaf(p, r, NPU_EXP_C1);
    p = npu_fmaf(p, r, NPU_EXP_C0);
    p = npu_fmaf(p, r * r, r) + 1.0f;
    /* 2^n in two steps, since n reaches 128. The second one is 2 or 1. */
    uint32_t top = whole == 128 ? 1u : 0u;
    float y = p * npu_bits_float((whole - top + 127) << 23);
    y = y * npu_bits_float((top + 127) << 23);
    y = x < NPU_EXP_MIN ? 0.0f : y;
    return x > NPU_EXP_MAX ? NPU_F32_INF : y;
}

/* 0.9 ulp. -Inf at 0, NaN below 0, +Inf at +Inf; subnormal arguments are right too. */
static inline float npu_logf(float x) {
    float small = x < 0x1p-126f ? 0x1p23f : 1.0f;
    uint32_t bits = npu_float_bits(x * small);
    /* x = m * 2^e with m in [sqrt(1/2), sqrt(2)) */
    uint32_t shifted = bits - 0x3F3504F3u;
    int32_t e = (int32_t)shifted >> 23;
    float m = npu_bits_float((shifted & 0x7FFFFFu) + 0x3F3504F3u);
    float n = (float)e - (x < 0x1p-126f ? 23.0f : 0.0f);
    float f = m - 1.0f, s = f * f;
    float p = npu_fmaf(NPU_LOG_C8, f, NPU_LOG_C7);
    p = npu_fmaf(p, f, NPU_LOG_C6);
    p = npu_fmaf(p, f, NPU_LOG_C5);
    p = npu_fmaf(p, f, NPU_LOG_C4);
    p = npu_fmaf(p, f, NPU_LOG_C3);
    p = npu_fmaf(p, f, NPU_LOG_C2);
    p = npu_fmaf(p, f, NPU_LOG_C1);
    p = npu_fmaf(p, f, NPU_LOG_C0);
    float tail = npu_fmaf(n, NPU_LN2_LO, p * (s * f));
    tail = npu_fmaf(s, -0.5f, tail);
    float y = npu_fmaf(n, NPU_LN2_HI, f + tail);
    y = x == 0.0f ? -NPU_F32_INF : y;
    y = x == NPU_F32_INF ? x : y;
    return x >= 0.0f ? y : NPU_F32_NAN;
}

/* Sine and cosine together: 1.6 ulp for |a| < 2^18, absolute error below 2^-23 up to NPU_TRIG_MAX; NaN above it. */
static inline void npu_sincosf(float a, float *sine, float *cosine) {
    float t = npu_absf(a) < NPU_TRIG_MAX ? a : 0.0f;
    float rounded = npu_fmaf(t, NPU_2_OVER_PI, NPU_ROUND_MAGIC);
    float n = rounded - NPU_ROUND_MAGIC;
    uint32_t quarter = npu_float_bits(rounded);
    float r = npu_fmaf(n, -NPU_PIO2_1, t); /* exact: both are multiples of 2^-23 */
    r = npu_fmaf(n, -NPU_PIO2_2, r);
    r = npu_fmaf(n, -NPU_PIO2_3, r);
    float z = r * r;
    float p = npu_fmaf(NPU_SIN_C3, z, NPU_SIN_C2);
    p = npu_fmaf(p, z, NPU_SIN_C1);
    p = npu_fmaf(p, z, NPU_SIN_C0);
    float s = npu_fmaf(p, z * r, r);
    p = npu_fmaf(NPU_COS_C2, z, NPU_COS_C1);
    p = npu_fmaf(p, z, NPU_COS_C0);
    float c = npu_fmaf(p, z * z, npu_fmaf(z, -0.5f, 1.0f));
    float y = quarter & 1 ? c : s, x = quarter & 1 ? s : c;
    y = npu_bits_float(npu_float_bits(y) ^ (quarter & 2) << 30);
    x = npu_bits_float(npu_float_bits(x) ^ ((quarter + 1) & 2) << 30);
    *sine = npu_absf(a) < NPU_TRIG_MAX ? y : NPU_F32_NAN;
    *cosine = npu_absf(a) < NPU_TRIG_MAX ? x : NPU_F32_NAN;
}

static inline float npu_sinf(float a) {
    float s, c;
    npu_sincosf(a, &s, &c);
    return s;
}

static inline float npu_cosf(float a) {
    float s, c;
    npu_sincosf(a, &s, &c);
    return c;
}

/* 1.3 ulp; odd, -0 stays -0, +-1 at infinity. */
static inline float npu_tanhf(float x) {
    float t = npu_absf(x), z = x * x;
    float p = npu_fmaf(NPU_TANH_C4, z, NPU_TANH_C3);
    p = npu_fmaf(p, z, NPU_TANH_C2);
    p = npu_fmaf(p, z, NPU_TANH_C1);
    p = npu_fmaf(p, z, NPU_TANH_C0);
    float small = npu_fmaf(p, z * t, t);
    float large = 1.0f - 2.0f / (npu_expf(t + t) + 1.0f);
    float y = t < NPU_TANH_SPLIT ? small : large; /* NaN takes |large|, which is NaN */
    return npu_bits_float(npu_float_bits(y) | (npu_float_bits(x) & 0x80000000u));
}

/* 1.1 ulp; odd, -0 stays -0, +-1 at infinity. */
static inline float npu_erff(float x) {
    float t = npu_absf(x), z = x * x;
    float p = npu_fmaf(NPU_ERF_C6, z, NPU_ERF_C5);
    p = npu_fmaf(p, z, NPU_ERF_C4);
    p = npu_fmaf(p, z, NPU_ERF_C3);
    p = npu_fmaf(p, z, NPU_ERF_C2);
    p = npu_fmaf(p, z, NPU_ERF_C1);
    p = npu_fmaf(p, z, NPU_ERF_C0);
    float small = npu_fmaf(p, t, t);
    float c = t < NPU_ERF_ONE ? t : npu_opaque(NPU_ERF_ONE);
    float q = npu_fmaf(NPU_ERFC_C6, c, NPU_ERFC_C5);
    q = npu_fmaf(q, c, NPU_ERFC_C4);
    q = npu_fmaf(q, c, NPU_ERFC_C3);
    q = npu_fmaf(q, c, NPU_ERFC_C2);
    q = npu_fmaf(q, c, NPU_ERFC_C1);
    q = npu_fmaf(q, c, NPU_ERFC_C0);
    float large = 1.0f - npu_expf(-(c * q));
    large = t < NPU_ERF_ONE ? large : 1.0f;
    float y = t < NPU_ERF_SPLIT ? small : large;
    y = x == x ? y : x;
    return npu_bits_float(npu_float_bits(y) | (npu_float_bits(x) & 0x80000000u));
}

#endif
