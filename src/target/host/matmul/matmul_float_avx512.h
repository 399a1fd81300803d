/* The parts of MUL_MAT on AVX-512 that no format enters: quantising activations, dots of floats. Included by
 * matmul_avx512.c. */
#ifndef NPU_MATMUL_FLOAT_AVX512_H
#define NPU_MATMUL_FLOAT_AVX512_H

#include <immintrin.h>

#include "target/host/matmul/matmul_float.h"

/* numerics.md §5. No clamp: |x * id| <= 127 * (1 + 2^-22), which rounds to 127 at most. */
static void quantise(const float *x, npu_mm_act *acts, uint32_t blocks) {
    const __m512i no_sign = _mm512_set1_epi32(0x7FFFFFFF);
    for (uint32_t b = 0; b < blocks; b++, x += 32) {
        npu_mm_act *a = &acts[b];
        __m512 x0 = _mm512_loadu_ps(x), x1 = _mm512_loadu_ps(x + 16);
        __m512i top = _mm512_max_epu32(_mm512_and_si512(_mm512_castps_si512(x0), no_sign),
                                       _mm512_and_si512(_mm512_castps_si512(x1), no_sign));
        uint32_t most = _mm512_reduce_max_epu32(top);
        if (!begin_act(a, most)) continue;
        float amax = npu_bits_float(most);
        __m512 id = _mm512_set1_ps(127.0f / amax);
        __m512i q0 = _mm512_cvtps_epi32(_mm512_mul_ps(x0, id)), q1 = _mm512_cvtps_epi32(_mm512_mul_ps(x1, id));
        _mm_storeu_si128((__m128i *)a->q, _mm512_cvtepi32_epi8(q0));
        _mm_storeu_si128((__m128i *)(a->q + 16), _mm512_cvtepi32_epi8(q1));
        int32_t b0 = _mm512_reduce_add_epi32(q0), b1 = _mm512_reduce_add_epi32(q1);
        end_act(a, amax, b0, b1);
    }
}

#endif
