/* The vector type for AVX-512 with BF16: that of vec_avx512.h, and words of two BF16, kept as floats are, whose
 * products one instruction adds. Not the bits of numerics.md: for fast mode alone. */
#ifndef NPU_HOST_VEC_AVX512BF16_H
#define NPU_HOST_VEC_AVX512BF16_H

#include "target/host/vec/vec_avx512.h"

#define VEC_PAIRS

/* Words of the numbers of two vectors. */
static inline vf vf_pair(vf low, vf high) {
    vi a = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(low));
    vi b = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(high));
    return vi_float(vi_or(a, vi_shl(b, 16)));
}

static inline vf vf_fma_pairs(vf a, vf b, vf sum) {
    return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

/* Words of |n| floats, whole vectors of them. */
static inline uint32_t vec_pairs(uint32_t n) {
    return (n + 2 * VW - 1) / (2 * VW) * VW;
}

/* |n| floats become words in their place: number i of two vectors is a word with number i + VW. What is past the end
 * counts as 0. */
static inline void vec_to_pairs(float *row, uint32_t n) {
    for (uint32_t i = 0; i < n; i += 2 * VW) {
        int left = (int)(n - i);
        vf high = left > VW ? vf_load_part(row + i + VW, left - VW) : vf_set(0.0f);
        vf_store(row + i / 2, vf_pair(vf_load_part(row + i, left), high));
    }
}

#endif
