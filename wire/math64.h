/* exp, log and pow in binary64 for tables that the host makes once (rope frequencies, ALiBi slopes): the same bits on
 * every machine and C library. Positive bases only. Relative error below 3e-16 (wire/math_test.c).
 *
 * Series rather than fits: their coefficients are quotients of small integers. Compile with -ffp-contract=off.
 */
#ifndef NPU_WIRE_MATH64_H
#define NPU_WIRE_MATH64_H

#include <stdint.h>

#define NPU_LN2_HI64 0x1.62e42fefap-1 /* 33 bits: n * NPU_LN2_HI64 is exact */
#define NPU_LN2_LO64 0x1.cf79abc9e3b3ap-40

static inline double npu_fma64(double a, double b, double c) {
    return __builtin_fma(a, b, c);
}

static inline uint64_t npu_bits64(double x) {
    union {
        double f;
        uint64_t u;
    } v = {.f = x};
    return v.u;
}

static inline double npu_double64(uint64_t bits) {
    union {
        uint64_t u;
        double f;
    } v = {.u = bits};
    return v.f;
}

/* exp(hi + lo) with |lo| tiny. 0 below the smallest normal number. */
static inline double npu_exp64_parts(double hi, double lo) {
    if (hi != hi) return hi;
    if (hi > 709.78271289338397) return __builtin_inf();
    if (hi < -708.39641853226408) return 0;
    double n = npu_fma64(hi, 0x1.71547652b82fep0, 0x1.8p52) - 0x1.8p52;
    double r = npu_fma64(n, -NPU_LN2_HI64, hi);
    double r_lo = npu_fma64(n, -NPU_LN2_LO64, lo);
    double whole = r + r_lo, rest = (r - whole) + r_lo;
    double p = 0;
    for (int k = 14; k >= 2; k--) p = (p + 1) * whole / k;
    /* 1 + whole + whole * p, small parts first */
    double tail = npu_fma64(whole, p, rest);
    double y = 1 + (whole + tail);
    int64_t e = (int64_t)n;
    int64_t half = e / 2;
    return y * npu_double64((uint64_t)(half + 1023) << 52) * npu_double64((uint64_t)(e - half + 1023) << 52);
}

static inline double npu_exp64(double x) {
    return npu_exp64_parts(x, 0);
}

/* log(x) as a sum of two parts, for x > 0 and finite. */
static inline void npu_log64_parts(double x, double *hi, double *lo) {
    double n = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        n = -54;
    }
    uint64_t shifted = npu_bits64(x) - 0x3FE6A09E667F3BCDull; /* sqrt(1/2) */
    n += (double)((int64_t)shifted >> 52);
    double m = npu_double64((shifted & 0xFFFFFFFFFFFFFull) + 0x3FE6A09E667F3BCDull);
    double f = m - 1, d = f + 2;
    double s = f / d, s_lo = (npu_fma64(-s, d, f) + s * ((f - (d - 2)))) / d; /* f / (2 + f) in two parts */
    double z = s * s, p = 0;
    for (int k = 25; k >= 3; k -= 2) p = npu_fma64(p, z, 1.0 / k);
    double small = npu_fma64(n, NPU_LN2_LO64, 2 * (s * z * p + s_lo));
    double a = n * NPU_LN2_HI64, b = 2 * s;
    double sum = a + b, lost = (a - sum) + b; /* |a| >= |b| or a == 0 */
    *hi = sum + (lost + small);
    *lo = (sum - *hi) + (lost + small);
}

static inline double npu_log64(double x) {
    if (!(x > 0)) return x == 0 ? -__builtin_inf() : __builtin_nan("");
    if (x == __builtin_inf()) return x;
    double hi, lo;
    npu_log64_parts(x, &hi, &lo);
    return hi;
}

/* base^power, base > 0 (0 too; NaN below). */
static inline double npu_pow64(double base, double power) {
    if (power == 0) return 1;
    if (!(base > 0) || base == __builtin_inf()) {
        if (base == 0) return power > 0 ? 0 : __builtin_inf();
        return base > 0 ? (power > 0 ? base : 0) : __builtin_nan("");
    }
    double hi, lo;
    npu_log64_parts(base, &hi, &lo);
    double y = power * hi;
    return npu_exp64_parts(y, npu_fma64(power, hi, -y) + power * lo);
}

#endif
