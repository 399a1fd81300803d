/* The XDNA number contract on AVX2. Rounding half away from zero is truncation after adding, with the value's sign, the
 * largest float below one half: exact for every value that a code can have. */
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "target/xdna/xdna_numerics.h"

extern const npu_xdna_math npu_xdna_math_avx2;

enum { LANES = 8, LEAST = 27 << 23 };

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x7FFFFFFF;
}

static uint32_t most_bits(const float *x, uint32_t n) {
    const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF);
    __m256i a = _mm256_setzero_si256(), b = a;
    uint32_t i = 0, lanes[LANES], most = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        a = _mm256_max_epi32(a, _mm256_and_si256(_mm256_castps_si256(_mm256_loadu_ps(x + i)), magnitude));
        b = _mm256_max_epi32(b, _mm256_and_si256(_mm256_castps_si256(_mm256_loadu_ps(x + i + LANES)), magnitude));
    }
    _mm256_storeu_si256((__m256i *)(void *)lanes, _mm256_max_epi32(a, b));
    for (int k = 0; k < LANES; k++) most = lanes[k] > most ? lanes[k] : most;
    for (; i < n; i++) most = bits_of(x[i]) > most ? bits_of(x[i]) : most;
    return most;
}

NPU_INLINE __m256i codes_of(const float *x, __m256 inverse) {
    const __m256 sign = _mm256_set1_ps(-0.0f), half = _mm256_set1_ps(0x1.fffffep-2f);
    __m256 v = _mm256_mul_ps(_mm256_loadu_ps(x), inverse);
    v = _mm256_add_ps(v, _mm256_or_ps(half, _mm256_and_ps(v, sign)));
    __m256i code = _mm256_cvttps_epi32(v);
    return _mm256_max_epi32(_mm256_min_epi32(code, _mm256_set1_epi32(127)), _mm256_set1_epi32(-127));
}

static float quantise(const float *x, uint32_t n, int8_t *codes) {
    uint32_t most = most_bits(x, n), i = 0;
    if (most < LEAST || most >= 0x7F800000) {
        memset(codes, 0, n);
        return most < LEAST ? 0 : NAN;
    }
    float amax;
    memcpy(&amax, &most, sizeof amax);
    float scale = amax / 127, inverse = 1 / scale;
    const __m256 by = _mm256_set1_ps(inverse);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        __m256i lo = _mm256_packs_epi32(codes_of(x + i, by), codes_of(x + i + LANES, by));
        __m256i hi = _mm256_packs_epi32(codes_of(x + i + 2 * LANES, by), codes_of(x + i + 3 * LANES, by));
        __m256i all = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(lo, hi), order);
        _mm256_storeu_si256((__m256i *)(void *)(codes + i), all);
    }
    for (; i < n; i++) {
        float code = roundf(x[i] * inverse);
        codes[i] = (int8_t)(code > 127 ? 127 : code < -127 ? -127 : code);
    }
    return scale;
}

static void dequantise(const int32_t *sums, uint32_t n, float row_scale, const float *column_scales, float *y) {
    const __m256 row = _mm256_set1_ps(row_scale);
    uint32_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        __m256 sum = _mm256_cvtepi32_ps(_mm256_loadu_si256((const __m256i *)(const void *)(sums + i)));
        __m256 scale = _mm256_mul_ps(row, _mm256_loadu_ps(column_scales + i));
        _mm256_storeu_ps(y + i, _mm256_mul_ps(sum, scale));
    }
    for (; i < n; i++) y[i] = (float)sums[i] * (row_scale * column_scales[i]);
}

const npu_xdna_math npu_xdna_math_avx2 = {"avx2", NPU_CPU_AVX2, quantise, dequantise};
