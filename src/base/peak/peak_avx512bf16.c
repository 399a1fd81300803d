/* See peak.h: AVX-512 BF16. */
#include <immintrin.h>

#include "base/peak/peak.h"

uint64_t npu_peak_bf16_avx512bf16(uint64_t rounds) {
    volatile float value = 0.5f;
    __m512 sum[NPU_PEAK_SUMS], x = _mm512_set1_ps(value);
    __m512bh a = _mm512_cvtne2ps_pbh(x, x);
    NPU_PEAK_LOOP(sum, rounds, _mm512_set1_ps((float)i), _mm512_dpbf16_ps(sum[i], a, a), _mm512_add_ps);
    return _mm512_movepi32_mask(_mm512_castps_si512(sum[0]));
}
