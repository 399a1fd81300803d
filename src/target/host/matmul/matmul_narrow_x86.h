/* Weight rows of floats on both x86 vector widths: those of 16 bits widened, and dots of all with one row of floats, of
 * which four vectors hold the 32 lanes (numerics.md, section 4). Wider ones would not read memory any faster. Included
 * by the kernels' files. */
#ifndef NPU_MATMUL_NARROW_X86_H
#define NPU_MATMUL_NARROW_X86_H

#include <immintrin.h>
#include <string.h>

#include "target/host/matmul/matmul_float.h"

NPU_INLINE __m256 load_narrow(const uint8_t *w, int is_f16) {
    __m128i h = _mm_loadu_si128((const __m128i *)w);
    return is_f16 ? _mm256_cvtph_ps(h) : _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}

NPU_INLINE void widen_rest(const uint8_t *w, float *dst, size_t i, size_t n, int is_f16) {
    if (is_f16) {
        widen_f16_rest(w, dst, i, n);
    } else {
        widen_bf16_rest(w, dst, i, n);
    }
}

NPU_INLINE void widen(const uint8_t *w, float *dst, size_t n, int is_f16) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(dst + i, load_narrow(w + 2 * i, is_f16));
    widen_rest(w, dst, i, n, is_f16);
}

static void widen_f16(const void *src, float *dst, size_t n) {
    widen(src, dst, n, 1);
}

static void widen_bf16(const void *src, float *dst, size_t n) {
    widen(src, dst, n, 0);
}

/* The tree of the 32 lanes. */
NPU_INLINE float sum_of(const __m256 *v) {
    __m256 v8 = _mm256_add_ps(_mm256_add_ps(v[0], v[2]), _mm256_add_ps(v[1], v[3]));
    __m128 v4 = _mm_add_ps(_mm256_castps256_ps128(v8), _mm256_extractf128_ps(v8, 1));
    v4 = _mm_add_ps(v4, _mm_movehl_ps(v4, v4));
    return _mm_cvtss_f32(_mm_add_ss(v4, _mm_movehdup_ps(v4)));
}

NPU_INLINE float sum_lanes(const float *lanes) {
    __m256 v[4];
    for (int h = 0; h < 4; h++) v[h] = _mm256_loadu_ps(lanes + 8 * h);
    return sum_of(v);
}

/* The same of four at once, which takes fewer shuffles than one by one. */
NPU_INLINE void sum_four(const float (*lanes)[32], float *y) {
    __m128 v[4];
    for (int r = 0; r < 4; r++) {
        __m256 low = _mm256_add_ps(_mm256_loadu_ps(lanes[r]), _mm256_loadu_ps(lanes[r] + 16));
        __m256 high = _mm256_add_ps(_mm256_loadu_ps(lanes[r] + 8), _mm256_loadu_ps(lanes[r] + 24));
        low = _mm256_add_ps(low, high);
        v[r] = _mm_add_ps(_mm256_castps256_ps128(low), _mm256_extractf128_ps(low, 1));
    }
    __m128 ab = _mm_add_ps(_mm_movelh_ps(v[0], v[1]), _mm_movehl_ps(v[1], v[0]));
    __m128 cd = _mm_add_ps(_mm_movelh_ps(v[2], v[3]), _mm_movehl_ps(v[3], v[2]));
    _mm_storeu_ps(y, _mm_add_ps(_mm_shuffle_ps(ab, cd, 0x88), _mm_shuffle_ps(ab, cd, 0xDD)));
}

/* |type|: of |w|, a constant where it is called. */
NPU_INLINE float dot_of(const uint8_t *w, const float *x, uint32_t k, uint32_t type) {
    const int is_f32 = type == NPU_TYPE_F32, is_f16 = type == NPU_TYPE_F16, bytes = is_f32 ? 4 : 2;
    __m256 acc[4];
    for (int h = 0; h < 4; h++) acc[h] = _mm256_setzero_ps();
    for (; k >= 32; k -= 32, w += 32 * bytes, x += 32) {
        /* What reads ahead well by itself would lose a third of its speed from small pages (measured on Zen 4). */
        if (!READS_AHEAD) __builtin_prefetch(w + 2048, 0, 3);
        NPU_UNROLL
        for (int h = 0; h < 4; h++) {
            const uint8_t *at = w + 8 * bytes * h;
            __m256 values = is_f32 ? _mm256_loadu_ps((const float *)at) : load_narrow(at, is_f16);
            acc[h] = _mm256_fmadd_ps(values, _mm256_loadu_ps(x + 8 * h), acc[h]);
        }
    }
    if (k) {
        float lanes[32], rest[32];
        if (is_f32) {
            memcpy(rest, w, k * sizeof *rest);
        } else {
            widen_rest(w, rest, 0, k, is_f16);
        }
        for (int h = 0; h < 4; h++) _mm256_storeu_ps(lanes + 8 * h, acc[h]);
        for (uint32_t i = 0; i < k; i++) lanes[i] = __builtin_fmaf(rest[i], x[i], lanes[i]);
        for (int h = 0; h < 4; h++) acc[h] = _mm256_loadu_ps(lanes + 8 * h);
    }
    return sum_of(acc);
}

static float dot_f32(const float *w, const float *x, uint32_t k) {
    return dot_of((const uint8_t *)w, x, k, NPU_TYPE_F32);
}

static float dot_f16(const uint8_t *w, const float *x, uint32_t k) {
    return dot_of(w, x, k, NPU_TYPE_F16);
}

static float dot_bf16(const uint8_t *w, const float *x, uint32_t k) {
    return dot_of(w, x, k, NPU_TYPE_BF16);
}

#endif
