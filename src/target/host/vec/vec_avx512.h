/* The vector type of the host's generic kernels for AVX-512 (F, BW, VL, DQ): 16 lanes. See vec_avx2.h. */
#ifndef NPU_HOST_VEC_AVX512_H
#define NPU_HOST_VEC_AVX512_H

#include <immintrin.h>
#include <stdint.h>

enum { VW = 16, VROWS = 4, VALUE_ROWS = 4, ROW_VECTORS = 3, MANY_KEYS = 8 };

typedef __m512 vf;
typedef __m512i vi;
typedef __mmask16 vm;

static inline vf vf_set(float x) {
    return _mm512_set1_ps(x);
}
static inline vf vf_load(const float *p) {
    return _mm512_loadu_ps(p);
}
static inline void vf_store(float *p, vf x) {
    _mm512_storeu_ps(p, x);
}
static inline vi vi_set(int32_t x) {
    return _mm512_set1_epi32(x);
}
static inline vm vm_first(int n) {
    return (vm)(n >= 16 ? 0xFFFF : n <= 0 ? 0 : (1u << n) - 1);
}
static inline vf vf_load_part(const float *p, int n) {
    return _mm512_maskz_loadu_ps(vm_first(n), p);
}
static inline void vf_store_part(float *p, vf x, int n) {
    _mm512_mask_storeu_ps(p, vm_first(n), x);
}
static inline vf vf_add(vf a, vf b) {
    return _mm512_add_ps(a, b);
}
static inline vf vf_sub(vf a, vf b) {
    return _mm512_sub_ps(a, b);
}
static inline vf vf_mul(vf a, vf b) {
    return _mm512_mul_ps(a, b);
}
static inline vf vf_div(vf a, vf b) {
    return _mm512_div_ps(a, b);
}
static inline vf vf_fma(vf a, vf b, vf c) {
    return _mm512_fmadd_ps(a, b, c);
}
static inline vf vf_neg(vf a) {
    return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f));
}
static inline vf vf_abs(vf a) {
    return _mm512_andnot_ps(_mm512_set1_ps(-0.0f), a);
}
static inline vi vf_bits(vf a) {
    return _mm512_castps_si512(a);
}
static inline vf vi_float(vi a) {
    return _mm512_castsi512_ps(a);
}
static inline vf vi_convert(vi a) {
    return _mm512_cvtepi32_ps(a);
}
static inline vi vi_load(const int32_t *p) {
    return _mm512_loadu_si512(p);
}
static inline vi vi_add(vi a, vi b) {
    return _mm512_add_epi32(a, b);
}
static inline vi vi_sub(vi a, vi b) {
    return _mm512_sub_epi32(a, b);
}
static inline vi vi_and(vi a, vi b) {
    return _mm512_and_si512(a, b);
}
static inline vi vi_or(vi a, vi b) {
    return _mm512_or_si512(a, b);
}
static inline vi vi_xor(vi a, vi b) {
    return _mm512_xor_si512(a, b);
}
#define vi_shl(a, n) _mm512_slli_epi32(a, n)
#define vi_sar(a, n) _mm512_srai_epi32(a, n)
static inline vm vi_eq(vi a, vi b) {
    return _mm512_cmpeq_epi32_mask(a, b);
}
static inline vm vf_lt(vf a, vf b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
static inline vm vf_gt(vf a, vf b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}
static inline vm vf_ge(vf a, vf b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ);
}
static inline vm vf_eq(vf a, vf b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
static inline vm vf_nan(vf a) {
    return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
}
static inline vm vm_or(vm a, vm b) {
    return (vm)(a | b);
}
static inline vm vm_and_not(vm a, vm b) {
    return (vm)(a & ~b);
}
static inline int vm_any(vm a) {
    return a != 0;
}
static inline vf vf_select(vm m, vf a, vf b) {
    return _mm512_mask_blend_ps(m, b, a);
}
static inline vf vf_max(vf a, vf b) {
    return _mm512_max_ps(a, b);
}
static inline vf vf_zero_where(vm m, vf a) {
    return _mm512_maskz_mov_ps((vm)~m, a);
}
static inline float vf_fold(vf a) {
    __m256 y = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
static inline float vf_top(vf a) {
    return _mm512_reduce_max_ps(a);
}
static inline vf vf_set_half(uint16_t h) {
    return _mm512_cvtph_ps(_mm256_set1_epi16((short)h));
}
static inline vf vf_load_half(const uint16_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
static inline void vf_store_half(uint16_t *p, vf x) {
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
static inline vf vf_load_bf16(const uint16_t *p) {
    __m256i h = _mm256_loadu_si256((const __m256i *)(const void *)p);
    return vi_float(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}
static inline vf vf_load_i8(const int8_t *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}
static inline void vf_load_pairs(const float *p, vf *even, vf *odd) {
    const vi e = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    vf a = vf_load(p), b = vf_load(p + 16);
    *even = _mm512_permutex2var_ps(a, e, b);
    *odd = _mm512_permutex2var_ps(a, vi_add(e, vi_set(1)), b);
}
static inline void vf_store_pairs(float *p, vf even, vf odd) {
    const vi lo = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    vf_store(p, _mm512_permutex2var_ps(even, lo, odd));
    vf_store(p + 16, _mm512_permutex2var_ps(even, vi_add(lo, vi_set(8)), odd));
}

#include "target/host/vec/transpose_x86.h"

#endif
