/* The parts of MUL_MAT on AVX2 that no format enters: quantising activations, dots of floats. Included by
 * matmul_avx2.c and matmul_avxvnni.c. */
#ifndef NPU_MATMUL_FLOAT_AVX2_H
#define NPU_MATMUL_FLOAT_AVX2_H

#include <immintrin.h>

#include "target/host/matmul/matmul_float.h"

/* numerics.md §5. No clamp: |x * id| <= 127 * (1 + 2^-22), which rounds to 127 at most. */
static void quantise(const float *x, npu_mm_act *acts, uint32_t blocks) {
    const __m256i no_sign = _mm256_set1_epi32(0x7FFFFFFF);
    for (uint32_t b = 0; b < blocks; b++, x += 32) {
        npu_mm_act *a = &acts[b];
        __m256 v[4];
        __m256i top = _mm256_setzero_si256(), q[4];
        for (int i = 0; i < 4; i++) {
            v[i] = _mm256_loadu_ps(x + 8 * i);
            top = _mm256_max_epu32(top, _mm256_and_si256(_mm256_castps_si256(v[i]), no_sign));
        }
        __m128i most4 = _mm_max_epu32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
        most4 = _mm_max_epu32(most4, _mm_shuffle_epi32(most4, 0x4E));
        uint32_t most = (uint32_t)_mm_cvtsi128_si32(_mm_max_epu32(most4, _mm_shuffle_epi32(most4, 0xB1)));
        if (!begin_act(a, most)) continue;
        float amax = npu_bits_float(most);
        __m256 id = _mm256_set1_ps(127.0f / amax);
        for (int i = 0; i < 4; i++) q[i] = _mm256_cvtps_epi32(_mm256_mul_ps(v[i], id));
        __m256i low = _mm256_packs_epi32(q[0], q[1]), high = _mm256_packs_epi32(q[2], q[3]);
        __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7); /* undoes what packing does to the halves */
        _mm256_storeu_si256((__m256i *)a->q, _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order));
        /* Words of |pairs|: sums of two neighbours, from values 0, 2, 8, 10, 4, 6, 12, 14 of a half on. */
        __m256i pairs = _mm256_permute4x64_epi64(_mm256_hadd_epi16(low, high), 0xD8);
        pairs = _mm256_add_epi16(pairs, _mm256_shuffle_epi32(pairs, 0x4E));
        pairs = _mm256_add_epi16(pairs, _mm256_shuffle_epi32(pairs, 0xB1));
        int16_t p[4] = {(int16_t)_mm256_extract_epi16(pairs, 0), (int16_t)_mm256_extract_epi16(pairs, 1),
                        (int16_t)_mm256_extract_epi16(pairs, 8), (int16_t)_mm256_extract_epi16(pairs, 9)};
        end_act(a, amax, p[0] + p[1], p[2] + p[3]);
        for (int i = 0; i < 4; i++) a->start16[i] = (int16_t)(-32 * p[i]);
    }
}

#endif
