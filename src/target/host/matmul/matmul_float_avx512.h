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

/* dot32 of R weight rows with C rows of x: two vectors hold the 32 lanes. */
NPU_INLINE void dot_tile(const npu_mm_dot *dot, uint32_t n, uint32_t m, int rows, int columns) {
    __m512 acc[4][4][2];
    const float *w = dot->w + n * dot->stride;
    NPU_UNROLL
    for (int i = 0; i < rows * columns; i++) {
        acc[i / columns][i % columns][0] = acc[i / columns][i % columns][1] = _mm512_setzero_ps();
    }
    uint32_t k = 0;
    for (; k + 32 <= dot->k; k += 32) {
        NPU_UNROLL
        for (int h = 0; h < 2; h++) {
            NPU_UNROLL
            for (int c = 0; c < columns; c++) {
                __m512 x = _mm512_loadu_ps(dot->x[m + (uint32_t)c] + k + 16 * h);
                NPU_UNROLL
                for (int r = 0; r < rows; r++) {
                    acc[r][c][h] =
                        _mm512_fmadd_ps(_mm512_loadu_ps(w + (uint64_t)r * dot->stride + k + 16 * h), x, acc[r][c][h]);
                }
            }
        }
    }
    uint32_t left = dot->k - k, mask = (uint32_t)((1ull << left) - 1);
    NPU_UNROLL
    for (int i = 0; i < rows * columns; i++) {
        int r = i / columns, c = i % columns;
        const float *wr = w + (uint64_t)r * dot->stride + k, *x = dot->x[m + (uint32_t)c] + k;
        __m512 lanes[2];
        for (int h = 0; h < 2; h++) {
            __mmask16 in = (__mmask16)(mask >> (16 * h));
            lanes[h] = _mm512_mask3_fmadd_ps(_mm512_maskz_loadu_ps(in, wr + 16 * h),
                                             _mm512_maskz_loadu_ps(in, x + 16 * h), acc[r][c][h], in);
        }
        __m512 v = _mm512_add_ps(lanes[0], lanes[1]);
        __m256 v8 = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
        __m128 v4 = _mm_add_ps(_mm256_castps256_ps128(v8), _mm256_extractf128_ps(v8, 1));
        v4 = _mm_add_ps(v4, _mm_movehl_ps(v4, v4));
        float y = _mm_cvtss_f32(_mm_add_ss(v4, _mm_movehdup_ps(v4)));
        put_dot(dot, n + (uint32_t)r, m + (uint32_t)c, y);
    }
}

static void dot(const npu_mm_dot *d) {
    uint32_t n = 0;
    for (; n + 4 <= d->n_rows; n += 4) {
        uint32_t m = 0;
        for (; m + 3 <= d->rows; m += 3) dot_tile(d, n, m, 4, 3);
        for (; m < d->rows; m++) dot_tile(d, n, m, 4, 1);
    }
    for (; n < d->n_rows; n++)
        for (uint32_t m = 0; m < d->rows; m++) dot_tile(d, n, m, 1, 1);
}

#endif
