/* Vectors of 32 floats with the arithmetic of docs/numerics.md. This is the plain form, lane by lane: the native
 * compiler makes vectors of it, and Hexagon code under qemu, which has no HVX float, runs it as it stands. */
#ifndef HTP_HVX_F32_H
#define HTP_HVX_F32_H

#include <stdint.h>

#include "wire/half.h"
#include "wire/math.h"

typedef struct htp_f32 {
    float f[32];
} __attribute__((aligned(128))) htp_f32;

#define HTP_LANES(...)             \
    htp_f32 y;                     \
    for (int i = 0; i < 32; i++) { \
        y.f[i] = __VA_ARGS__;      \
    }                              \
    return y

static inline htp_f32 htp_f32_splat(float a) {
    HTP_LANES(a);
}
static inline htp_f32 htp_f32_add(htp_f32 a, htp_f32 b) {
    HTP_LANES(a.f[i] + b.f[i]);
}
static inline htp_f32 htp_f32_sub(htp_f32 a, htp_f32 b) {
    HTP_LANES(a.f[i] - b.f[i]);
}
static inline htp_f32 htp_f32_mul(htp_f32 a, htp_f32 b) {
    HTP_LANES(a.f[i] * b.f[i]);
}
static inline htp_f32 htp_f32_div(htp_f32 a, htp_f32 b) {
    HTP_LANES(a.f[i] / b.f[i]);
}
static inline htp_f32 htp_f32_fma(htp_f32 a, htp_f32 b, htp_f32 c) {
    HTP_LANES(__builtin_fmaf(a.f[i], b.f[i], c.f[i]));
}
static inline htp_f32 htp_f32_exp(htp_f32 a) {
    HTP_LANES(npu_expf(a.f[i]));
}
static inline htp_f32 htp_f32_from_half(const uint16_t *h) {
    HTP_LANES(npu_half_to_float(h[i]));
}
/* Lanes from |n| on become 0. */
static inline htp_f32 htp_f32_first(htp_f32 a, uint32_t n) {
    HTP_LANES((uint32_t)i < n ? a.f[i] : 0.0f);
}
#undef HTP_LANES

/* The fold of docs/numerics.md, section 3. */
static inline float htp_f32_fold(htp_f32 a) {
    for (int h = 16; h; h /= 2)
        for (int j = 0; j < h; j++) a.f[j] = a.f[j] + a.f[j + h];
    return a.f[0];
}

/* Correctly rounded square root. Hexagon has no instruction for it, and one a row is not worth a table. */
static inline float htp_sqrtf(float x) {
#ifdef __hexagon__
    uint32_t bits = npu_float_bits(x);
    if (bits == 0x80000000u || !bits) return x;
    if (bits >> 31 || bits >= 0x7F800000u) return bits == 0x7F800000u ? x : NPU_F32_NAN;
    int e = (int)(bits >> 23);
    uint32_t m = bits & 0x7FFFFFu;
    if (e)
        m |= 0x800000u;
    else
        for (e = 1; !(m & 0x800000u); e--) m <<= 1;
    /* x = m * 2^(e - 150), with an even exponent: root of m * 2^25 or 2^26 has 25 bits, the last one for rounding */
    int power = e - 150;
    uint64_t value = (uint64_t)m << (power & 1 ? 25 : 26), root = 0;
    for (uint64_t bit = 1ull << 25; bit; bit >>= 1) {
        uint64_t next = root | bit;
        if (next * next <= value) root = next;
    }
    int sticky = root * root != value;
    power = (power - (power & 1 ? 25 : 26)) / 2;
    uint32_t r = (uint32_t)(root >> 1), half = (uint32_t)root & 1;
    if (half && (sticky || (r & 1))) r++;
    return (float)r * npu_bits_float((uint32_t)(power + 1 + 127) << 23);
#else
    return __builtin_sqrtf(x);
#endif
}

#endif
