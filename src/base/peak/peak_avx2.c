/* See peak.h: AVX2 with FMA. */
#include <immintrin.h>

#include "base/peak/held.h"
#include "base/peak/peak.h"

uint64_t npu_peak_f32_avx2(uint64_t rounds) {
    volatile float values[] = {0.999f, 0.5f}; /* unknown to the compiler */
    __m256 sum[NPU_PEAK_SUMS], a = _mm256_set1_ps(values[0]), b = _mm256_set1_ps(values[1]);
    NPU_PEAK_LOOP(sum, rounds, _mm256_set1_ps((float)i), _mm256_fmadd_ps(sum[i], a, b), _mm256_add_ps);
    return (uint64_t)_mm256_movemask_ps(sum[0]);
}

/* Sums of two byte products added in 16 bits: what the products of MUL_MAT do with small codes, eight times before a
 * sum becomes words (matmul_tile_pairs.h). */
uint64_t npu_peak_int8_avx2(uint64_t rounds) {
    volatile char value = 3;
    __m256i sum[NPU_PEAK_SUMS], a = _mm256_set1_epi8(value);
    /* the operand depends on the sum, or the product would be computed once for all */
    NPU_PEAK_LOOP(sum, rounds, _mm256_set1_epi16((short)i),
                  npu_peak_held(_mm256_add_epi16(sum[i], _mm256_maddubs_epi16(a, sum[i]))), _mm256_add_epi16);
    return (uint64_t)_mm256_movemask_epi8(sum[0]);
}

uint64_t npu_peak_read_avx2(const void *data, uint64_t bytes) {
    const uint8_t *p = data;
    __m256i sum[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
    for (uint64_t i = 0; i + 128 <= bytes; i += 128) {
        for (int k = 0; k < 4; k++)
            sum[k] = _mm256_xor_si256(sum[k], _mm256_loadu_si256((const __m256i *)(const void *)(p + i + 32 * k)));
    }
    sum[0] = _mm256_xor_si256(_mm256_xor_si256(sum[0], sum[1]), _mm256_xor_si256(sum[2], sum[3]));
    return (uint64_t)_mm256_movemask_epi8(sum[0]);
}
