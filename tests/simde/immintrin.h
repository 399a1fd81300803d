/* Stands before the compiler's <immintrin.h> where kernels are built a second time for a machine without their
 * instructions (tests/simde.cmake): AVX2 and FMA are the machine's, AVX-512 is SIMDe's, and what SIMDe lacks is here,
 * as Intel's manual has it. An intrinsic that neither has does not compile. Tiles are in tiles.h.
 */
#ifndef NPU_TESTS_SIMDE_IMMINTRIN_H
#define NPU_TESTS_SIMDE_IMMINTRIN_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi" /* vectors of 64 bytes are passed from one file to another only here */
#include_next <immintrin.h>

#include <simde/x86/avx2.h>
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>
#include <simde/x86/fma.h>
#include <stdint.h>
#include <string.h>

#include "simde/tiles.h"

/* A vector as its parts. */
typedef union simd_wide {
    __m512i i;
    __m512 f;
    __m256i half_i[2];
    __m256 half_f[2];
    int32_t w[16];
    uint32_t u[16];
    float s[16];
} simd_wide;

#define SIMD static inline __attribute__((unused))

SIMD __m512 simd_cvtepi32_ps(__m512i a) {
    simd_wide v = {.i = a};
    for (int g = 0; g < 2; g++) v.half_f[g] = _mm256_cvtepi32_ps(v.half_i[g]);
    return v.f;
}

SIMD __m512i simd_cvtps_epi32(__m512 a) {
    simd_wide v = {.f = a};
    for (int g = 0; g < 2; g++) v.half_i[g] = _mm256_cvtps_epi32(v.half_f[g]);
    return v.i;
}

SIMD __m512i simd_cvttps_epi32(__m512 a) {
    simd_wide v = {.f = a};
    for (int g = 0; g < 2; g++) v.half_i[g] = _mm256_cvttps_epi32(v.half_f[g]);
    return v.i;
}

SIMD __m512i simd_cvtepi8_epi32(__m128i a) {
    simd_wide v;
    v.half_i[0] = _mm256_cvtepi8_epi32(a);
    v.half_i[1] = _mm256_cvtepi8_epi32(_mm_srli_si128(a, 8));
    return v.i;
}

SIMD __m512i simd_cvtepu8_epi32(__m128i a) {
    simd_wide v;
    v.half_i[0] = _mm256_cvtepu8_epi32(a);
    v.half_i[1] = _mm256_cvtepu8_epi32(_mm_srli_si128(a, 8));
    return v.i;
}

SIMD __m512i simd_cvtepu16_epi32(__m256i a) {
    simd_wide v;
    v.half_i[0] = _mm256_cvtepu16_epi32(_mm256_castsi256_si128(a));
    v.half_i[1] = _mm256_cvtepu16_epi32(_mm256_extracti128_si256(a, 1));
    return v.i;
}

SIMD __m512 simd_cvtph_ps(__m256i a) {
    simd_wide v;
    v.half_f[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(a));
    v.half_f[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(a, 1));
    return v.f;
}

/* Every use rounds to the nearest. */
SIMD __m256i simd_cvtps_ph(__m512 a) {
    simd_wide v = {.f = a};
    __m128i low = _mm256_cvtps_ph(v.half_f[0], _MM_FROUND_TO_NEAREST_INT);
    __m128i high = _mm256_cvtps_ph(v.half_f[1], _MM_FROUND_TO_NEAREST_INT);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

SIMD __m256i simd_cvtepi32_epi16(__m512i a) {
    simd_wide v = {.i = a};
    uint16_t to[16];
    for (int i = 0; i < 16; i++) to[i] = (uint16_t)v.u[i];
    return _mm256_loadu_si256((const __m256i *)(const void *)to);
}

SIMD __m128i simd_cvtepi32_epi8(__m512i a) {
    simd_wide v = {.i = a};
    uint8_t to[16];
    for (int i = 0; i < 16; i++) to[i] = (uint8_t)v.u[i];
    return _mm_loadu_si128((const __m128i *)(const void *)to);
}

SIMD void simd_mask_cvtsepi32_storeu_epi8(void *to, unsigned mask, __m512i a) {
    simd_wide v = {.i = a};
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1) ((int8_t *)to)[i] = (int8_t)(v.w[i] < -128 ? -128 : v.w[i] > 127 ? 127 : v.w[i]);
}

/* What the mask leaves out is not touched in memory. */
SIMD __m512i simd_maskz_loadu_epi32(unsigned mask, const void *from) {
    simd_wide v = {.u = {0}};
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1) memcpy(&v.u[i], (const uint8_t *)from + 4 * i, 4);
    return v.i;
}

SIMD __m512 simd_maskz_loadu_ps(unsigned mask, const void *from) {
    return _mm512_castsi512_ps(simd_maskz_loadu_epi32(mask, from));
}

SIMD void simd_mask_storeu_ps(void *to, unsigned mask, __m512 a) {
    simd_wide v = {.f = a};
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1) memcpy((uint8_t *)to + 4 * i, &v.u[i], 4);
}

SIMD __m512 simd_mask3_fmadd_ps(__m512 a, __m512 b, __m512 c, unsigned mask) {
    return _mm512_mask_blend_ps((__mmask16)mask, c, _mm512_fmadd_ps(a, b, c));
}

SIMD __m256 simd_extractf32x8_ps(__m512 a, int half) {
    simd_wide v = {.f = a};
    return v.half_f[half];
}

/* Two bits of |order| choose the word that comes from the same group of four. */
SIMD __m512i simd_shuffle_epi32(__m512i a, int order) {
    simd_wide v = {.i = a}, r;
    for (int i = 0; i < 16; i++) r.u[i] = v.u[i / 4 * 4 + (order >> 2 * (i % 4) & 3)];
    return r.i;
}

SIMD __m512i simd_srai_epi32(__m512i a, unsigned n) {
    simd_wide v = {.i = a};
    for (int i = 0; i < 16; i++) v.w[i] >>= n < 32 ? n : 31;
    return v.i;
}

SIMD int32_t simd_reduce_add_epi32(__m512i a) {
    simd_wide v = {.i = a};
    uint32_t sum = 0;
    for (int i = 0; i < 16; i++) sum += v.u[i];
    return (int32_t)sum;
}

SIMD uint32_t simd_reduce_max_epu32(__m512i a) {
    simd_wide v = {.i = a};
    for (int i = 1; i < 16; i++) v.u[0] = v.u[i] > v.u[0] ? v.u[i] : v.u[0];
    return v.u[0];
}

SIMD int32_t simd_reduce_max_epi32(__m512i a) {
    simd_wide v = {.i = a};
    for (int i = 1; i < 16; i++) v.w[0] = v.w[i] > v.w[0] ? v.w[i] : v.w[0];
    return v.w[0];
}

/* By halves, and of a pair the second where one is NaN: as the compilers expand it. */
SIMD float simd_reduce_max_ps(__m512 a) {
    simd_wide v = {.f = a};
    for (int h = 8; h; h /= 2)
        for (int i = 0; i < h; i++) v.s[i] = v.s[i + h] > v.s[i] ? v.s[i + h] : v.s[i];
    return v.s[0];
}

/* Rounds to the nearest even; a NaN stays one, subnormals become 0 (VCVTNEPS2BF16). */
SIMD uint16_t simd_bf16(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    if ((bits & 0x7F800000u) == 0) return (uint16_t)((bits & 0x80000000u) >> 16);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

SIMD __m256i simd_cvtneps_pbh(__m512 a) {
    simd_wide v = {.f = a};
    uint16_t to[16];
    for (int i = 0; i < 16; i++) to[i] = simd_bf16(v.s[i]);
    return _mm256_loadu_si256((const __m256i *)(const void *)to);
}

/* |high| goes to the upper half. */
SIMD __m512bh simd_cvtne2ps_pbh(__m512 high, __m512 low) {
    simd_wide a = {.f = low}, b = {.f = high};
    uint16_t to[32];
    __m512bh r;
    for (int i = 0; i < 16; i++) {
        to[i] = simd_bf16(a.s[i]);
        to[16 + i] = simd_bf16(b.s[i]);
    }
    memcpy(&r, to, sizeof r);
    return r;
}

/* Of each pair the second product first; FMAs that know no subnormals (VDPBF16PS). */
SIMD __m512 simd_dpbf16_ps(__m512 sum, __m512bh a, __m512bh b) {
    simd_wide v = {.f = sum};
    uint16_t x[32], y[32];
    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    for (int i = 0; i < 16; i++) {
        v.s[i] = simd_bf16_fma(x[2 * i + 1], y[2 * i + 1], v.s[i]);
        v.s[i] = simd_bf16_fma(x[2 * i], y[2 * i], v.s[i]);
    }
    return v.f;
}

#pragma GCC diagnostic pop
#undef SIMD

/* Some are macros in the compilers' headers too. */
#undef _mm512_cvtepi32_ps
#undef _mm512_cvtps_epi32
#undef _mm512_cvttps_epi32
#undef _mm512_cvtepi8_epi32
#undef _mm512_cvtepu8_epi32
#undef _mm512_cvtepu16_epi32
#undef _mm512_cvtph_ps
#undef _mm512_cvtepi32_epi16
#undef _mm512_cvtepi32_epi8
#undef _mm512_mask_cvtsepi32_storeu_epi8
#undef _mm512_maskz_loadu_epi32
#undef _mm512_maskz_loadu_ps
#undef _mm512_mask_storeu_ps
#undef _mm512_mask3_fmadd_ps
#undef _mm512_cmplt_epi32_mask
#undef _mm512_srai_epi32
#undef _mm512_reduce_add_epi32
#undef _mm512_reduce_max_epu32
#undef _mm512_reduce_max_epi32
#undef _mm512_reduce_max_ps
#undef _mm512_cvtneps_pbh
#undef _mm512_cvtne2ps_pbh
#undef _mm256_dpbusd_avx_epi32
#undef _mm256_dpwssd_avx_epi32
#undef _mm512_madd_epi16
#undef _mm512_cvtps_ph
#undef _mm512_extractf32x8_ps
#undef _mm512_shuffle_epi32
#undef _mm512_dpbf16_ps
#define _mm512_cvtepi32_ps(a)                          simd_cvtepi32_ps(a)
#define _mm512_cvtps_epi32(a)                          simd_cvtps_epi32(a)
#define _mm512_cvttps_epi32(a)                         simd_cvttps_epi32(a)
#define _mm512_cvtepi8_epi32(a)                        simd_cvtepi8_epi32(a)
#define _mm512_cvtepu8_epi32(a)                        simd_cvtepu8_epi32(a)
#define _mm512_cvtepu16_epi32(a)                       simd_cvtepu16_epi32(a)
#define _mm512_cvtph_ps(a)                             simd_cvtph_ps(a)
#define _mm512_cvtepi32_epi16(a)                       simd_cvtepi32_epi16(a)
#define _mm512_cvtepi32_epi8(a)                        simd_cvtepi32_epi8(a)
#define _mm512_mask_cvtsepi32_storeu_epi8(to, mask, a) simd_mask_cvtsepi32_storeu_epi8(to, mask, a)
#define _mm512_maskz_loadu_epi32(mask, from)           simd_maskz_loadu_epi32(mask, from)
#define _mm512_maskz_loadu_ps(mask, from)              simd_maskz_loadu_ps(mask, from)
#define _mm512_mask_storeu_ps(to, mask, a)             simd_mask_storeu_ps(to, mask, a)
#define _mm512_mask3_fmadd_ps(a, b, c, mask)           simd_mask3_fmadd_ps(a, b, c, mask)
#define _mm512_cmplt_epi32_mask(a, b)                  _mm512_cmpgt_epi32_mask(b, a)
#define _mm512_srai_epi32(a, n)                        simd_srai_epi32(a, n)
#define _mm512_reduce_add_epi32(a)                     simd_reduce_add_epi32(a)
#define _mm512_reduce_max_epu32(a)                     simd_reduce_max_epu32(a)
#define _mm512_reduce_max_epi32(a)                     simd_reduce_max_epi32(a)
#define _mm512_reduce_max_ps(a)                        simd_reduce_max_ps(a)
#define _mm512_cvtneps_pbh(a)                          simd_cvtneps_pbh(a)
#define _mm512_cvtne2ps_pbh(high, low)                 simd_cvtne2ps_pbh(high, low)
#define _mm256_dpbusd_avx_epi32(sum, a, b)             simde_mm256_dpbusd_epi32(sum, a, b)
#define _mm256_dpwssd_avx_epi32(sum, a, b)             simde_mm256_dpwssd_epi32(sum, a, b)
#define _mm512_cvtps_ph(a, rounding)                   simd_cvtps_ph(a)
#define _mm512_extractf32x8_ps(a, half)                simd_extractf32x8_ps(a, half)
#define _mm512_shuffle_epi32(a, order)                 simd_shuffle_epi32(a, (int)(order))
#define _mm512_dpbf16_ps(sum, a, b)                    simd_dpbf16_ps(sum, a, b)
/* SIMDe 0.7.4 gives this name to the one with a mask. */
#define _mm512_madd_epi16(a, b) simde_mm512_madd_epi16(a, b)

#endif
