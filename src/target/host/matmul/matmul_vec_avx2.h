/* The vectors that matmul_unpack.h and matmul_kernel.h are written in, as AVX2: lanes for 8 rows. With
 * NPU_MATMUL_BYTE_DOT (AVX-VNNI) the byte products are one instruction. */
#ifndef NPU_MATMUL_VEC_AVX2_H
#define NPU_MATMUL_VEC_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "base/inline.h"

typedef __m256i vi; /* 32 bytes or 8 words */
typedef __m256 vf;  /* 8 floats */

enum { LANES = 8, GROUPS = LANES / 4, STREAM_SIDES = 2, READS_AHEAD = 0 };
enum { SIDES = 2, MAX_COLUMNS = 3, MAX_COLUMNS_HALVES = 2 }; /* of tiles: as registers allow */
enum { DOT_VECTORS = 1, DOT_COLUMNS = 3 };                   /* of those of floats */

/* 16 bytes from each of GROUPS addresses. */
NPU_INLINE vi v_gather16(const uint8_t *const p[GROUPS]) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p[0])),
                                   _mm_loadu_si128((const __m128i *)p[1]), 1);
}

/* Words of 4 x 4 matrices: word j of register i of each group goes to word i of register j. */
NPU_INLINE void v_transpose(vi a, vi b, vi c, vi d, vi *t) {
    vi ab = _mm256_unpacklo_epi32(a, b), cd = _mm256_unpacklo_epi32(c, d);
    vi ab2 = _mm256_unpackhi_epi32(a, b), cd2 = _mm256_unpackhi_epi32(c, d);
    t[0] = _mm256_unpacklo_epi64(ab, cd);
    t[1] = _mm256_unpackhi_epi64(ab, cd);
    t[2] = _mm256_unpacklo_epi64(ab2, cd2);
    t[3] = _mm256_unpackhi_epi64(ab2, cd2);
}

/* Lane 4g + j of the result: the sum of the four lanes of group g of register j. */
NPU_INLINE vi v_sums_of_four(const vi *v) {
    vi ab = _mm256_add_epi32(_mm256_blend_epi32(v[0], v[1], 0xAA),
                             _mm256_shuffle_epi32(_mm256_blend_epi32(v[1], v[0], 0xAA), 0xB1));
    vi cd = _mm256_add_epi32(_mm256_blend_epi32(v[2], v[3], 0xAA),
                             _mm256_shuffle_epi32(_mm256_blend_epi32(v[3], v[2], 0xAA), 0xB1));
    return _mm256_add_epi32(_mm256_blend_epi32(ab, cd, 0xCC),
                            _mm256_shuffle_epi32(_mm256_blend_epi32(cd, ab, 0xCC), 0x4E));
}

/* The same, added to |start|, when the sums of two neighbouring lanes fit 16 bits: half of the work. */
NPU_INLINE vi v_sums_small(const vi *v, vi start) {
    const vi ones = _mm256_set1_epi16(1);
    vi ab = _mm256_madd_epi16(_mm256_packs_epi32(v[0], v[1]), ones);
    vi cd = _mm256_madd_epi16(_mm256_packs_epi32(v[2], v[3]), ones);
    return _mm256_add_epi32(start, _mm256_madd_epi16(_mm256_packs_epi32(ab, cd), ones));
}

/* The same when the lanes fit 16 bits. */
NPU_INLINE vi v_sums_half(const vi *v, vi start) {
    const vi ones = _mm256_set1_epi16(1);
    __m256 ab = _mm256_castsi256_ps(_mm256_madd_epi16(_mm256_packs_epi32(v[0], v[1]), ones));
    __m256 cd = _mm256_castsi256_ps(_mm256_madd_epi16(_mm256_packs_epi32(v[2], v[3]), ones));
    vi even = _mm256_castps_si256(_mm256_shuffle_ps(ab, cd, 0x88));
    vi odd = _mm256_castps_si256(_mm256_shuffle_ps(ab, cd, 0xDD));
    return _mm256_add_epi32(_mm256_add_epi32(even, start), odd);
}

/* Lane 4g + j: the sums of group g of registers j of |low| and |high|, which fit 16 bits, as a pair of halves. */
NPU_INLINE vi v_sums_pair(const vi *low, const vi *high) {
    const vi ones = _mm256_set1_epi16(1);
    vi v[4];
    for (int j = 0; j < 4; j++) v[j] = _mm256_madd_epi16(_mm256_packs_epi32(low[j], high[j]), ones);
    vi ab = _mm256_madd_epi16(_mm256_packs_epi32(v[0], v[1]), ones);
    vi cd = _mm256_madd_epi16(_mm256_packs_epi32(v[2], v[3]), ones);
    return _mm256_packs_epi32(ab, cd);
}

NPU_INLINE vi v_set8(int x) {
    return _mm256_set1_epi8((char)x);
}
NPU_INLINE vi v_set32(int x) {
    return _mm256_set1_epi32(x);
}
NPU_INLINE vi v_zero(void) {
    return _mm256_setzero_si256();
}
/* The same four words in each group, the first one last. */
NPU_INLINE vi v_group(int d, int c, int b, int a) {
    return _mm256_setr_epi32(a, b, c, d, a, b, c, d);
}
NPU_INLINE vi v_group16(const void *p) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
}
NPU_INLINE vi v_and(vi a, vi b) {
    return _mm256_and_si256(a, b);
}
NPU_INLINE vi v_or(vi a, vi b) {
    return _mm256_or_si256(a, b);
}
NPU_INLINE vi v_or_and(vi a, vi b, vi mask) {
    return _mm256_or_si256(a, _mm256_and_si256(b, mask));
}
NPU_INLINE vi v_xor(vi a, vi b) {
    return _mm256_xor_si256(a, b);
}
NPU_INLINE vi v_add8(vi a, vi b) {
    return _mm256_add_epi8(a, b);
}
NPU_INLINE vi v_sub8(vi a, vi b) {
    return _mm256_sub_epi8(a, b);
}
NPU_INLINE vi v_add32(vi a, vi b) {
    return _mm256_add_epi32(a, b);
}
NPU_INLINE vi v_sub32(vi a, vi b) {
    return _mm256_sub_epi32(a, b);
}
NPU_INLINE vi v_mul32(vi a, vi b) {
    return _mm256_mullo_epi32(a, b);
}
NPU_INLINE vi v_srl16(vi v, int n) {
    return _mm256_srli_epi16(v, n);
}
NPU_INLINE vi v_sra16(vi v, int n) {
    return _mm256_srai_epi16(v, n);
}
NPU_INLINE vi v_srl32(vi v, int n) {
    return _mm256_srli_epi32(v, n);
}
NPU_INLINE vi v_sra32(vi v, int n) {
    return _mm256_srai_epi32(v, n);
}
NPU_INLINE vi v_sll32(vi v, int n) {
    return _mm256_slli_epi32(v, n);
}
NPU_INLINE vi v_sllv32(vi v, vi n) {
    return _mm256_sllv_epi32(v, n);
}
/* Bytes of a 16-byte table in each group. */
NPU_INLINE vi v_look_up(vi table, vi i) {
    return _mm256_shuffle_epi8(table, i);
}
/* v + add in the bytes where bits & bit is not 0; |bit| has one bit a byte. */
NPU_INLINE vi v_add_where(vi v, vi bits, vi bit, vi add) {
    return _mm256_add_epi8(v, _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_and_si256(bits, bit), bit), add));
}
/* a < b ? yes : no, signed words. */
NPU_INLINE vi v_if_less32(vi a, vi b, vi yes, vi no) {
    return _mm256_blendv_epi8(no, yes, _mm256_cmpgt_epi32(b, a));
}

NPU_INLINE vi v_mul16(vi a, vi b) {
    return _mm256_mullo_epi16(a, b);
}

#ifdef NPU_MATMUL_BYTE_DOT
enum { HAS_BYTE_DOT = 1, DOT_OFFSET = 128 };
/* Adds sums of four products of unsigned bytes of w and signed bytes of x. */
NPU_INLINE vi v_dot(vi sum, vi w, vi x) {
    return _mm256_dpbusd_avx_epi32(sum, w, x);
}
/* What such a sum starts at, for |n|, and how it is read in the end, when it is below 2^22: it counts in the last bits
 * of 1.5 * 2^23 as a float, so that a subtraction makes a number of it. A conversion would take the ports of the
 * products, an addition has one beside them. */
enum { COUNT_BITS = 0x4B400000 };
NPU_INLINE vi v_count_from(vi n) {
    return _mm256_add_epi32(n, _mm256_set1_epi32(COUNT_BITS));
}
NPU_INLINE vf v_counted(vi sum) {
    return _mm256_sub_ps(_mm256_castsi256_ps(sum), _mm256_castsi256_ps(_mm256_set1_epi32(COUNT_BITS)));
}
/* Sums of two products of signed halves as floats, below 2^22 too. */
NPU_INLINE vf v_dot16f(vi a, vi b) {
    return v_counted(_mm256_dpwssd_avx_epi32(_mm256_set1_epi32(COUNT_BITS), a, b));
}
#else
enum { HAS_BYTE_DOT = 0 };
#define NPU_MATMUL_PAIRS
/* Sums of two products of bytes of w and signed bytes of x, in 16 bits; w is below 129. */
NPU_INLINE vi v_pairs(vi w, vi x) {
    return _mm256_maddubs_epi16(w, x);
}
NPU_INLINE vi v_abs8(vi v) {
    return _mm256_abs_epi8(v);
}
/* v with the sign of w, per byte. */
NPU_INLINE vi v_sign8(vi v, vi w) {
    return _mm256_sign_epi8(v, w);
}
/* As v_pairs for signed bytes of w. */
NPU_INLINE vi v_pairs_signed(vi w, vi x) {
    return v_pairs(v_abs8(w), v_sign8(x, w));
}
/* In a register from here on: else compilers load it again at each use, or sort sums of integers anew, for which they
 * keep all addends, more than there are registers. */
NPU_INLINE vi v_hold(vi v) {
    __asm__("" : "+x"(v));
    return v;
}
NPU_INLINE vi v_add16(vi a, vi b) {
    return v_hold(_mm256_add_epi16(a, b));
}
NPU_INLINE vi v_set16(int x) {
    return _mm256_set1_epi16((short)x);
}
/* Adds sums of four products of bytes of w, below 128, and signed bytes of x: a pair of products fits 16 bits. */
NPU_INLINE vi v_dot(vi sum, vi w, vi x) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(w, x), _mm256_set1_epi16(1)));
}
/* The same for signed bytes of w: |w| <= 128 and |x| <= 127, so a pair again fits. */
NPU_INLINE vi v_dot_signed(vi sum, vi w, vi x) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(v_pairs_signed(w, x), _mm256_set1_epi16(1)));
}
/* The same for two registers whose bytes are below 64: all four pairs' halves fit 16 bits (4 * 63 * 127 = 32004). */
NPU_INLINE vi v_dot_small(vi w0, vi x0, vi w1, vi x1) {
    vi pairs = _mm256_add_epi16(_mm256_maddubs_epi16(w0, x0), _mm256_maddubs_epi16(w1, x1));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
#endif
/* Sums of two products of signed halves. */
NPU_INLINE vi v_dot16(vi a, vi b) {
    return _mm256_madd_epi16(a, b);
}

NPU_INLINE vi v_load(const void *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}
NPU_INLINE void v_store(void *p, vi v) {
    _mm256_storeu_si256((__m256i *)p, v);
}
/* A half of each lane. */
NPU_INLINE vf v_load_halves(const void *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(p));
}
/* An unsigned byte of each lane, as words. */
NPU_INLINE vi v_load_bytes(const void *p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(p));
}
/* The low halves of |low| and |high| as pairs. */
NPU_INLINE vi v_pair(vi low, vi high) {
    return _mm256_blend_epi16(low, _mm256_slli_epi32(high, 16), 0xAA);
}
NPU_INLINE vf v_float(vi v) {
    return _mm256_cvtepi32_ps(v);
}
NPU_INLINE vf v_as_float(vi v) {
    return _mm256_castsi256_ps(v);
}
NPU_INLINE vi v_as_int(vf v) {
    return _mm256_castps_si256(v);
}
NPU_INLINE vf v_setf(float x) {
    return _mm256_set1_ps(x);
}
NPU_INLINE vf v_mulf(vf a, vf b) {
    return _mm256_mul_ps(a, b);
}
NPU_INLINE vf v_addf(vf a, vf b) {
    return _mm256_add_ps(a, b);
}
NPU_INLINE vf v_fma(vf a, vf b, vf c) {
    return _mm256_fmadd_ps(a, b, c);
}
NPU_INLINE vf v_zerof(void) {
    return _mm256_setzero_ps();
}
NPU_INLINE vi v_first(uint32_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
/* The first |n| lanes; the others are 0 and not touched in memory. Whole vectors apart: masked stores take AMD's cores
 * a dozen cycles. */
NPU_INLINE vf v_loadf(const float *p, uint32_t n) {
    if (n == LANES) return _mm256_loadu_ps(p);
    return _mm256_maskload_ps(p, v_first(n));
}
NPU_INLINE void v_storef(float *p, vf v, uint32_t n) {
    if (n == LANES) {
        _mm256_storeu_ps(p, v);
    } else {
        _mm256_maskstore_ps(p, v_first(n), v);
    }
}
/* The low half of each word as a binary16. */
NPU_INLINE vf v_half(vi words) {
    vi low = _mm256_and_si256(words, _mm256_set1_epi32(0xFFFF));
    return _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
}
/* Four binary16 numbers a group. */
NPU_INLINE vf v_halves(const int64_t *four) {
    return _mm256_cvtph_ps(_mm_set_epi64x(four[1], four[0]));
}
/* Four unsigned bytes a group, as words. */
NPU_INLINE vi v_bytes(const int64_t *four) {
    return _mm256_cvtepu8_epi32(_mm_setr_epi32((int)four[0], (int)four[1], 0, 0));
}
/* A word for each lane. */
NPU_INLINE vi v_words(const uint32_t *w) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_setr_epi32((int)w[0], (int)w[1], (int)w[2], (int)w[3])),
                                   _mm_setr_epi32((int)w[4], (int)w[5], (int)w[6], (int)w[7]), 1);
}

#endif
