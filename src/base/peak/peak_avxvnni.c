/* See peak.h: AVX-VNNI. */
#include <immintrin.h>

#include "base/peak/held.h"
#include "base/peak/peak.h"

uint64_t npu_peak_int8_avxvnni(uint64_t rounds) {
    volatile char value = 3;
    __m256i sum[NPU_PEAK_SUMS], a = _mm256_set1_epi8(value);
    NPU_PEAK_LOOP(sum, rounds, _mm256_set1_epi32(i), npu_peak_held(_mm256_dpbusd_avx_epi32(sum[i], a, a)),
                  _mm256_add_epi32);
    return (uint64_t)_mm256_movemask_epi8(sum[0]);
}
