/* The vectors that matmul_unpack.h and matmul_kernel.h are written in, as AVX-512 with VNNI: lanes for 16 rows. */
#ifndef NPU_MATMUL_VEC_AVX512_H
#define NPU_MATMUL_VEC_AVX512_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "base/inline.h"

typedef __m512i vi; /* 64 bytes or 16 words */
typedef __m512 vf;  /* 16 floats */

enum { LANES = 16, GROUPS = LANES / 4, STREAM_SIDES = 1, HAS_BYTE_DOT = 1, DOT_OFFSET = 128, READS_AHEAD = 1 };
enum { SIDES = 2, MAX_COLUMNS = 6, MAX_COLUMNS_HALVES = 4 }; /* of tiles: as registers allow */
enum { DOT_VECTORS = 1, DOT_COLUMNS = 6 };                   /* of those of floats */
#define NPU_MATMUL_BYTE_DOT

/* 16 bytes from each of GROUPS addresses. */
NPU_INLINE vi v_gather16(const uint8_t *const p[GROUPS]) {
    __m128i v[4];
    for (int g = 0; g < 4; g++) v[g] = _mm_loadu_si128((const __m128i *)p[g]);
    __m256i a = _mm256_inserti128_si256(_mm256_castsi128_si256(v[0]), v[1], 1);
    __m256i b = _mm256_inserti128_si256(_mm256_castsi128_si256(v[2]), v[3], 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}

/* Words of 4 x 4 matrices: word j of register i of each group goes to word i of register j. */
NPU_INLINE void v_transpose(vi a, vi b, vi c, vi d, vi *t) {
    vi ab = _mm512_unpacklo_epi32(a, b), cd = _mm512_unpacklo_epi32(c, d);
    vi ab2 = _mm512_unpackhi_epi32(a, b), cd2 = _mm512_unpackhi_epi32(c, d);
    t[0] = _mm512_unpacklo_epi64(ab, cd);
    t[1] = _mm512_unpackhi_epi64(ab, cd);
    t[2] = _mm512_unpacklo_epi64(ab2, cd2);
    t[3] = _mm512_unpackhi_epi64(ab2, cd2);
}

/* Lane 4g + j of the result: the sum of the four lanes of group g of register j. Mostly blends, which are cheap. */
NPU_INLINE vi v_sums_of_four(const vi *v) {
    vi ab = _mm512_add_epi32(_mm512_mask_blend_epi32(0xAAAA, v[0], v[1]),
                             _mm512_shuffle_epi32(_mm512_mask_blend_epi32(0xAAAA, v[1], v[0]), _MM_PERM_CDAB));
    vi cd = _mm512_add_epi32(_mm512_mask_blend_epi32(0xAAAA, v[2], v[3]),
                             _mm512_shuffle_epi32(_mm512_mask_blend_epi32(0xAAAA, v[3], v[2]), _MM_PERM_CDAB));
    return _mm512_add_epi32(_mm512_mask_blend_epi32(0xCCCC, ab, cd),
                            _mm512_shuffle_epi32(_mm512_mask_blend_epi32(0xCCCC, cd, ab), _MM_PERM_BADC));
}

/* The same, added to |start|, when the sums of two neighbouring lanes fit 16 bits: half of the work. */
NPU_INLINE vi v_sums_small(const vi *v, vi start) {
    const vi ones = _mm512_set1_epi16(1);
    vi ab = _mm512_madd_epi16(_mm512_packs_epi32(v[0], v[1]), ones);
    vi cd = _mm512_madd_epi16(_mm512_packs_epi32(v[2], v[3]), ones);
    return _mm512_dpwssd_epi32(start, _mm512_packs_epi32(ab, cd), ones);
}

/* The same when the lanes fit 16 bits. */
NPU_INLINE vi v_sums_half(const vi *v, vi start) {
    const vi ones = _mm512_set1_epi16(1);
    __m512 ab = _mm512_castsi512_ps(_mm512_madd_epi16(_mm512_packs_epi32(v[0], v[1]), ones));
    __m512 cd = _mm512_castsi512_ps(_mm512_madd_epi16(_mm512_packs_epi32(v[2], v[3]), ones));
    vi even = _mm512_castps_si512(_mm512_shuffle_ps(ab, cd, 0x88));
    vi odd = _mm512_castps_si512(_mm512_shuffle_ps(ab, cd, 0xDD));
    return _mm512_add_epi32(_mm512_add_epi32(even, start), odd);
}

/* Lane 4g + j: the sums of group g of registers j of |low| and |high|, which fit 16 bits, as a pair of halves. */
NPU_INLINE vi v_sums_pair(const vi *low, const vi *high) {
    const vi ones = _mm512_set1_epi16(1);
    vi v[4];
    for (int j = 0; j < 4; j++) v[j] = _mm512_madd_epi16(_mm512_packs_epi32(low[j], high[j]), ones);
    vi ab = _mm512_madd_epi16(_mm512_packs_epi32(v[0], v[1]), ones);
    vi cd = _mm512_madd_epi16(_mm512_packs_epi32(v[2], v[3]), ones);
    return _mm512_packs_epi32(ab, cd);
}

NPU_INLINE vi v_set8(int x) {
    return _mm512_set1_epi8((char)x);
}
NPU_INLINE vi v_set32(int x) {
    return _mm512_set1_epi32(x);
}
NPU_INLINE vi v_zero(void) {
    return _mm512_setzero_si512();
}
/* The same four words in each group, the first one last. */
NPU_INLINE vi v_group(int d, int c, int b, int a) {
    return _mm512_set4_epi32(d, c, b, a);
}
NPU_INLINE vi v_group16(const void *p) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)p));
}
NPU_INLINE vi v_and(vi a, vi b) {
    return _mm512_and_si512(a, b);
}
NPU_INLINE vi v_or(vi a, vi b) {
    return _mm512_or_si512(a, b);
}
NPU_INLINE vi v_or_and(vi a, vi b, vi mask) {
    return _mm512_ternarylogic_epi32(a, b, mask, 0xF8);
}
NPU_INLINE vi v_xor(vi a, vi b) {
    return _mm512_xor_si512(a, b);
}
NPU_INLINE vi v_add8(vi a, vi b) {
    return _mm512_add_epi8(a, b);
}
NPU_INLINE vi v_sub8(vi a, vi b) {
    return _mm512_sub_epi8(a, b);
}
NPU_INLINE vi v_add32(vi a, vi b) {
    return _mm512_add_epi32(a, b);
}
NPU_INLINE vi v_sub32(vi a, vi b) {
    return _mm512_sub_epi32(a, b);
}
NPU_INLINE vi v_mul32(vi a, vi b) {
    return _mm512_mullo_epi32(a, b);
}
NPU_INLINE vi v_srl16(vi v, int n) {
    return _mm512_srli_epi16(v, (unsigned)n);
}
NPU_INLINE vi v_sra16(vi v, int n) {
    return _mm512_srai_epi16(v, (unsigned)n);
}
NPU_INLINE vi v_srl32(vi v, int n) {
    return _mm512_srli_epi32(v, (unsigned)n);
}
NPU_INLINE vi v_sra32(vi v, int n) {
    return _mm512_srai_epi32(v, (unsigned)n);
}
NPU_INLINE vi v_sll32(vi v, int n) {
    return _mm512_slli_epi32(v, (unsigned)n);
}
NPU_INLINE vi v_sllv32(vi v, vi n) {
    return _mm512_sllv_epi32(v, n);
}
/* Bytes of a 16-byte table in each group. */
NPU_INLINE vi v_look_up(vi table, vi i) {
    return _mm512_shuffle_epi8(table, i);
}
/* v + add in the bytes where bits & bit is not 0. */
NPU_INLINE vi v_add_where(vi v, vi bits, vi bit, vi add) {
    return _mm512_mask_add_epi8(v, _mm512_test_epi8_mask(bits, bit), v, add);
}
/* a < b ? yes : no, signed words. */
NPU_INLINE vi v_if_less32(vi a, vi b, vi yes, vi no) {
    return _mm512_mask_blend_epi32(_mm512_cmplt_epi32_mask(a, b), no, yes);
}
/* Adds sums of four products of unsigned bytes of w and signed bytes of x. */
NPU_INLINE vi v_dot(vi sum, vi w, vi x) {
    return _mm512_dpbusd_epi32(sum, w, x);
}
/* What such a sum starts at, for |n|, and how it is read in the end: other machines have a shorter way. */
NPU_INLINE vi v_count_from(vi n) {
    return n;
}
NPU_INLINE vf v_counted(vi sum) {
    return _mm512_cvtepi32_ps(sum);
}
NPU_INLINE vi v_mul16(vi a, vi b) {
    return _mm512_mullo_epi16(a, b);
}
/* Sums of two products of signed halves, */
NPU_INLINE vi v_dot16(vi a, vi b) {
    return _mm512_dpwssd_epi32(_mm512_setzero_si512(), a, b);
}
/* and as floats, when they are below 2^22. */
NPU_INLINE vf v_dot16f(vi a, vi b) {
    return _mm512_cvtepi32_ps(v_dot16(a, b));
}

NPU_INLINE vi v_load(const void *p) {
    return _mm512_loadu_si512(p);
}
NPU_INLINE void v_store(void *p, vi v) {
    _mm512_storeu_si512(p, v);
}
/* A half of each lane. */
NPU_INLINE vf v_load_halves(const void *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(p));
}
/* An unsigned byte of each lane, as words. */
NPU_INLINE vi v_load_bytes(const void *p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(p));
}
/* The low halves of |low| and |high| as pairs. */
NPU_INLINE vi v_pair(vi low, vi high) {
    return _mm512_mask_blend_epi16(0xAAAAAAAA, low, _mm512_slli_epi32(high, 16));
}
NPU_INLINE vf v_float(vi v) {
    return _mm512_cvtepi32_ps(v);
}
NPU_INLINE vf v_as_float(vi v) {
    return _mm512_castsi512_ps(v);
}
NPU_INLINE vi v_as_int(vf v) {
    return _mm512_castps_si512(v);
}
NPU_INLINE vf v_setf(float x) {
    return _mm512_set1_ps(x);
}
NPU_INLINE vf v_mulf(vf a, vf b) {
    return _mm512_mul_ps(a, b);
}
NPU_INLINE vf v_addf(vf a, vf b) {
    return _mm512_add_ps(a, b);
}
NPU_INLINE vf v_fma(vf a, vf b, vf c) {
    return _mm512_fmadd_ps(a, b, c);
}
NPU_INLINE vf v_zerof(void) {
    return _mm512_setzero_ps();
}
/* The first |n| lanes; the others are 0 and not touched in memory. */
NPU_INLINE vf v_loadf(const float *p, uint32_t n) {
    return _mm512_maskz_loadu_ps((__mmask16)(0xFFFFu >> (LANES - n)), p);
}
NPU_INLINE void v_storef(float *p, vf v, uint32_t n) {
    _mm512_mask_storeu_ps(p, (__mmask16)(0xFFFFu >> (LANES - n)), v);
}
/* The low half of each word as a binary16. */
NPU_INLINE vf v_half(vi words) {
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words));
}
/* Four binary16 numbers a group. Not by a load: it would have to wait for the stores of |four|. */
NPU_INLINE vf v_halves(const int64_t *four) {
    return _mm512_cvtph_ps(_mm256_setr_epi64x(four[0], four[1], four[2], four[3]));
}
/* Four unsigned bytes a group, as words. */
NPU_INLINE vi v_bytes(const int64_t *four) {
    return _mm512_cvtepu8_epi32(_mm_setr_epi32((int)four[0], (int)four[1], (int)four[2], (int)four[3]));
}
/* A word for each lane. */
NPU_INLINE vi v_words(const uint32_t *w) {
    __m128i v[4];
    for (int g = 0; g < 4; g++)
        v[g] = _mm_setr_epi32((int)w[4 * g], (int)w[4 * g + 1], (int)w[4 * g + 2], (int)w[4 * g + 3]);
    __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(v[0]), v[1], 1);
    __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(v[2]), v[3], 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

#endif
