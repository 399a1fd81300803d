/* The vector type of the host's generic kernels (vec/kernels_*.h) for AVX2 with FMA and F16C: 8 lanes.
 *
 * All vec_<isa>.h give the same names: vf (floats), vi (32-bit integers), vm (lane masks) and operations on them, every
 * one an IEEE operation with one rounding. Included only by ops_<isa>.c.
 */
#ifndef NPU_HOST_VEC_AVX2_H
#define NPU_HOST_VEC_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

/* What fits the registers: query rows whose scores, or whose sums of values, are at work; keys, of many rows. */
enum { VW = 8, VROWS = 3, VALUE_ROWS = 3, ROW_VECTORS = 3, MANY_KEYS = 4 };

typedef __m256 vf;
typedef __m256i vi;
typedef __m256 vm;

static inline vf vf_set(float x) {
    return _mm256_set1_ps(x);
}
static inline vf vf_load(const float *p) {
    return _mm256_loadu_ps(p);
}
static inline void vf_store(float *p, vf x) {
    _mm256_storeu_ps(p, x);
}
static inline vi vi_set(int32_t x) {
    return _mm256_set1_epi32(x);
}
/* Lanes below |n|. */
static inline vm vm_first(int n) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(n), lanes));
}
/* The first |n| < VW floats, the other lanes 0. */
static inline vf vf_load_part(const float *p, int n) {
    return _mm256_maskload_ps(p, _mm256_castps_si256(vm_first(n)));
}
static inline void vf_store_part(float *p, vf x, int n) {
    _mm256_maskstore_ps(p, _mm256_castps_si256(vm_first(n)), x);
}
static inline vf vf_add(vf a, vf b) {
    return _mm256_add_ps(a, b);
}
static inline vf vf_sub(vf a, vf b) {
    return _mm256_sub_ps(a, b);
}
static inline vf vf_mul(vf a, vf b) {
    return _mm256_mul_ps(a, b);
}
static inline vf vf_div(vf a, vf b) {
    return _mm256_div_ps(a, b);
}
static inline vf vf_fma(vf a, vf b, vf c) {
    return _mm256_fmadd_ps(a, b, c);
}
static inline vf vf_neg(vf a) {
    return _mm256_xor_ps(a, _mm256_set1_ps(-0.0f));
}
static inline vf vf_abs(vf a) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}
static inline vi vf_bits(vf a) {
    return _mm256_castps_si256(a);
}
static inline vf vi_float(vi a) {
    return _mm256_castsi256_ps(a);
}
static inline vf vi_convert(vi a) {
    return _mm256_cvtepi32_ps(a);
}
static inline vi vi_load(const int32_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
static inline vi vi_add(vi a, vi b) {
    return _mm256_add_epi32(a, b);
}
static inline vi vi_sub(vi a, vi b) {
    return _mm256_sub_epi32(a, b);
}
static inline vi vi_and(vi a, vi b) {
    return _mm256_and_si256(a, b);
}
static inline vi vi_or(vi a, vi b) {
    return _mm256_or_si256(a, b);
}
static inline vi vi_xor(vi a, vi b) {
    return _mm256_xor_si256(a, b);
}
#define vi_shl(a, n) _mm256_slli_epi32(a, n)
#define vi_sar(a, n) _mm256_srai_epi32(a, n)
static inline vm vi_eq(vi a, vi b) {
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b));
}
static inline vm vf_lt(vf a, vf b) {
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
static inline vm vf_gt(vf a, vf b) {
    return _mm256_cmp_ps(a, b, _CMP_GT_OQ);
}
static inline vm vf_ge(vf a, vf b) {
    return _mm256_cmp_ps(a, b, _CMP_GE_OQ);
}
static inline vm vf_eq(vf a, vf b) {
    return _mm256_cmp_ps(a, b, _CMP_EQ_OQ);
}
static inline vm vf_nan(vf a) {
    return _mm256_cmp_ps(a, a, _CMP_UNORD_Q);
}
static inline vm vm_or(vm a, vm b) {
    return _mm256_or_ps(a, b);
}
static inline vm vm_and_not(vm a, vm b) { /* a and not b */
    return _mm256_andnot_ps(b, a);
}
static inline int vm_any(vm a) {
    return _mm256_movemask_ps(a) != 0;
}
static inline vf vf_select(vm m, vf a, vf b) {
    return _mm256_blendv_ps(b, a, m);
}
/* The larger; of a number and NaN any. */
static inline vf vf_max(vf a, vf b) {
    return _mm256_max_ps(a, b);
}
/* +0 where |m|, else a. */
static inline vf vf_zero_where(vm m, vf a) {
    return _mm256_andnot_ps(m, a);
}
/* The lane tree of numerics.md §3 from h = VW/2 down. */
static inline float vf_fold(vf a) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
/* The largest lane; no NaN. */
static inline float vf_top(vf a) {
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}
static inline vf vf_set_half(uint16_t h) {
    return _mm256_cvtph_ps(_mm_set1_epi16((short)h));
}
static inline vf vf_load_half(const uint16_t *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
static inline void vf_store_half(uint16_t *p, vf x) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
static inline vf vf_load_bf16(const uint16_t *p) {
    return vi_float(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)), 16));
}
static inline vf vf_load_i8(const int8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}
/* 2 * VW floats: those at even and those at odd places, and back. */
static inline void vf_load_pairs(const float *p, vf *even, vf *odd) {
    vf a = vf_load(p), b = vf_load(p + 8);
    vf lo = _mm256_permute2f128_ps(a, b, 0x20), hi = _mm256_permute2f128_ps(a, b, 0x31);
    *even = _mm256_shuffle_ps(lo, hi, 0x88);
    *odd = _mm256_shuffle_ps(lo, hi, 0xDD);
}
static inline void vf_store_pairs(float *p, vf even, vf odd) {
    vf lo = _mm256_unpacklo_ps(even, odd), hi = _mm256_unpackhi_ps(even, odd);
    vf_store(p, _mm256_permute2f128_ps(lo, hi, 0x20));
    vf_store(p + 8, _mm256_permute2f128_ps(lo, hi, 0x31));
}

/* At most TURNED halves of each of VW rows: half c of row r goes to
 * to[vec_turned(c / 8 * 8) + c % 8 * TURNED_STEP + r]. */
#define VEC_TURN_HALVES
enum { TURNED = 16, TURNED_STEP = 16 };

static inline size_t vec_turned(size_t i) {
    return i;
}
static inline void vec_turn_halves(const uint8_t *rows, size_t stride, uint32_t n, uint16_t *to) {
    __m256i r[8], two[8], four[8];
    if (n < TURNED) {
        for (size_t c = 0; c < n; c++)
            for (size_t i = 0; i < 8; i++)
                memcpy(to + vec_turned(c / 8 * 8) + c % 8 * TURNED_STEP + i, rows + i * stride + 2 * c, 2);
        return;
    }
    for (size_t i = 0; i < 8; i++) r[i] = _mm256_loadu_si256((const __m256i *)(const void *)(rows + i * stride));
    for (int i = 0; i < 8; i += 2) {
        two[i] = _mm256_unpacklo_epi16(r[i], r[i + 1]);
        two[i + 1] = _mm256_unpackhi_epi16(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) { /* four[i + k]: halves 2k and 2k + 1 of each 128-bit lane, of rows i .. i + 3 */
        four[i] = _mm256_unpacklo_epi32(two[i], two[i + 2]);
        four[i + 1] = _mm256_unpackhi_epi32(two[i], two[i + 2]);
        four[i + 2] = _mm256_unpacklo_epi32(two[i + 1], two[i + 3]);
        four[i + 3] = _mm256_unpackhi_epi32(two[i + 1], two[i + 3]);
    }
    for (size_t k = 0; k < 4; k++) {
        __m256i *at = (__m256i *)(void *)(to + 32 * k);
        _mm256_storeu_si256(at, _mm256_unpacklo_epi64(four[k], four[4 + k]));
        _mm256_storeu_si256(at + 1, _mm256_unpackhi_epi64(four[k], four[4 + k]));
    }
}

#include "target/host/vec/transpose_x86.h"

#endif
