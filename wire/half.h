/* 16-bit floats: IEEE binary16 and bfloat16 from and to binary32, the same bits on every machine.
 *
 * Integer code only, so neither the compiler nor the rounding mode nor flush-to-zero can change a result: widening is
 * exact, narrowing rounds to nearest even with overflow to infinity and subnormals kept. A NaN stays a NaN with its
 * sign and leading payload bits and becomes quiet, as the F16C and NEON instructions do. Freestanding.
 */
#ifndef NPU_WIRE_HALF_H
#define NPU_WIRE_HALF_H

#include <stdint.h>

static inline uint32_t npu_float_bits(float x) {
    union {
        float f;
        uint32_t u;
    } v = {.f = x};
    return v.u;
}

static inline float npu_bits_float(uint32_t bits) {
    union {
        uint32_t u;
        float f;
    } v = {.u = bits};
    return v.f;
}

/* |x|, of which the compiler knows nothing more. For "a < b ? a : b" clang emits Hexagon's sfmin, which drops NaN and
 * has its own idea of zeros; with one side unknown to it, it compares. Tests on bits (tests/hvx/math_run.c) tell when
 * this can go. */
static inline float npu_opaque(float x) {
#ifdef __hexagon__
    __asm__("" : "+r"(x));
#endif
    return x;
}

static inline float npu_half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t exponent = (h >> 10) & 0x1Fu;
    uint32_t fraction = h & 0x3FFu;
    if (exponent == 0x1F) {
        return npu_bits_float(sign | 0x7F800000u | (fraction ? 0x400000u | fraction << 13 : 0));
    }
    if (exponent) return npu_bits_float(sign | (exponent + 112) << 23 | fraction << 13);
    if (!fraction) return npu_bits_float(sign);
    exponent = 113;
    while (!(fraction & 0x400u)) {
        fraction <<= 1;
        exponent--;
    }
    return npu_bits_float(sign | exponent << 23 | (fraction & 0x3FFu) << 13);
}

static inline uint16_t npu_float_to_half(float x) {
    uint32_t bits = npu_float_bits(x);
    uint32_t sign = bits >> 16 & 0x8000u;
    uint32_t rest = bits & 0x7FFFFFFFu;
    if (rest > 0x7F800000u) return (uint16_t)(sign | 0x7E00u | (rest >> 13 & 0x1FFu));
    if (rest >= 0x47800000u) return (uint16_t)(sign | 0x7C00u); /* 65536 and above */
    uint32_t significand, shift;
    if (rest >= 0x38800000u) { /* normal: 2^-14 and above */
        significand = rest - 0x38000000u;
        shift = 13;
    } else {
        if (rest < 0x33000000u) return (uint16_t)sign; /* below half of the smallest subnormal */
        significand = (rest & 0x7FFFFFu) | 0x800000u;
        shift = 126 - (rest >> 23);
    }
    uint32_t base = significand >> shift;
    uint32_t left = significand & ((1u << shift) - 1), tie = 1u << (shift - 1);
    if (left > tie || (left == tie && (base & 1))) base++; /* a carry into the exponent, up to infinity, is right */
    return (uint16_t)(sign | base);
}

static inline float npu_bf16_to_float(uint16_t h) {
    return npu_bits_float((uint32_t)h << 16);
}

static inline uint16_t npu_float_to_bf16(float x) {
    uint32_t bits = npu_float_bits(x);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

#endif
