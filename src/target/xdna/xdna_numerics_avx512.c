/* The XDNA number contract on AVX-512; rounding as in xdna_numerics_avx2.c. Ends of rows are masked. */
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "target/xdna/xdna_numerics.h"

extern const npu_xdna_math npu_xdna_math_avx512;

enum { LANES = 16, LEAST = 27 << 23 };

/* The lanes of the vector at |i| that lie below |n|. */
NPU_INLINE __mmask16 lanes_at(uint32_t i, uint32_t n) {
    return n - i < LANES ? (__mmask16)((1u << (n - i)) - 1) : (__mmask16)0xFFFF;
}

static uint32_t most_bits(const float *x, uint32_t n) {
    const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
    __m512i a = _mm512_setzero_si512(), b = a;
    uint32_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        a = _mm512_max_epi32(a, _mm512_and_si512(_mm512_loadu_si512(x + i), magnitude));
        b = _mm512_max_epi32(b, _mm512_and_si512(_mm512_loadu_si512(x + i + LANES), magnitude));
    }
    for (; i < n; i += LANES)
        a = _mm512_max_epi32(a, _mm512_and_si512(_mm512_maskz_loadu_epi32(lanes_at(i, n), x + i), magnitude));
    return (uint32_t)_mm512_reduce_max_epi32(_mm512_max_epi32(a, b));
}

static float quantise(const float *x, uint32_t n, int8_t *codes) {
    uint32_t most = most_bits(x, n);
    if (most < LEAST || most >= 0x7F800000) {
        memset(codes, 0, n);
        return most < LEAST ? 0 : NAN;
    }
    float amax;
    memcpy(&amax, &most, sizeof amax);
    float scale = amax / 127;
    const __m512 inverse = _mm512_set1_ps(1 / scale);
    const __m512i sign = _mm512_set1_epi32(INT32_MIN), half = _mm512_castps_si512(_mm512_set1_ps(0x1.fffffep-2f));
    for (uint32_t i = 0; i < n; i += LANES) {
        __mmask16 lanes = lanes_at(i, n);
        __m512 v = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, x + i), inverse);
        __m512i away = _mm512_or_si512(half, _mm512_and_si512(_mm512_castps_si512(v), sign));
        __m512i code = _mm512_cvttps_epi32(_mm512_add_ps(v, _mm512_castsi512_ps(away)));
        code = _mm512_max_epi32(_mm512_min_epi32(code, _mm512_set1_epi32(127)), _mm512_set1_epi32(-127));
        _mm512_mask_cvtsepi32_storeu_epi8(codes + i, lanes, code);
    }
    return scale;
}

static void dequantise(const int32_t *sums, uint32_t n, float row_scale, const float *column_scales, float *y) {
    const __m512 row = _mm512_set1_ps(row_scale);
    for (uint32_t i = 0; i < n; i += LANES) {
        __mmask16 lanes = lanes_at(i, n);
        __m512 sum = _mm512_cvtepi32_ps(_mm512_maskz_loadu_epi32(lanes, sums + i));
        __m512 scale = _mm512_mul_ps(row, _mm512_maskz_loadu_ps(lanes, column_scales + i));
        _mm512_mask_storeu_ps(y + i, lanes, _mm512_mul_ps(sum, scale));
    }
}

const npu_xdna_math npu_xdna_math_avx512 = {"avx512", NPU_CPU_AVX2 | NPU_CPU_AVX512, quantise, dequantise};
