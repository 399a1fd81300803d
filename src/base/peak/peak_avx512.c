/* See peak.h: AVX-512 with VNNI. */
#include <immintrin.h>

#include "base/peak/peak.h"

uint64_t npu_peak_f32_avx512(uint64_t rounds) {
    volatile float values[] = {0.999f, 0.5f}; /* unknown to the compiler */
    __m512 sum[NPU_PEAK_SUMS], a = _mm512_set1_ps(values[0]), b = _mm512_set1_ps(values[1]);
    NPU_PEAK_LOOP(sum, rounds, _mm512_set1_ps((float)i), _mm512_fmadd_ps(sum[i], a, b), _mm512_add_ps);
    return _mm512_movepi32_mask(_mm512_castps_si512(sum[0]));
}

uint64_t npu_peak_int8_avx512(uint64_t rounds) {
    volatile char value = 3;
    __m512i sum[NPU_PEAK_SUMS], a = _mm512_set1_epi8(value);
    NPU_PEAK_LOOP(sum, rounds, _mm512_set1_epi32(i), _mm512_dpbusd_epi32(sum[i], a, a), _mm512_add_epi32);
    return _mm512_movepi32_mask(sum[0]);
}

uint64_t npu_peak_read_avx512(const void *data, uint64_t bytes) {
    const uint8_t *p = data;
    __m512i sum[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
    for (uint64_t i = 0; i + 256 <= bytes; i += 256)
        for (int k = 0; k < 4; k++) sum[k] = _mm512_xor_si512(sum[k], _mm512_loadu_si512(p + i + 64 * k));
    sum[0] = _mm512_xor_si512(_mm512_xor_si512(sum[0], sum[1]), _mm512_xor_si512(sum[2], sum[3]));
    return _mm512_movepi32_mask(sum[0]);
}
