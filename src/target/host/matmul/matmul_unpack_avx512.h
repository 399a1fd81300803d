/* Weights of 16 rows as vectors whose lanes are the rows: one pair of functions a format family.
 *
 * A *unit* is the least number of 32-value blocks that a format stores together (1 or 8). |head| reads what belongs to
 * the unit, |block| gives block |b| of it: eight registers of codes (register j holds values 4j … 4j+3 of each row, as
 * unsigned bytes), scales, minima. Included by matmul_avx512.c alone.
 */
#ifndef NPU_MATMUL_UNPACK_AVX512_H
#define NPU_MATMUL_UNPACK_AVX512_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define NPU_INLINE static inline __attribute__((always_inline))

/* 16 rows of one block. Which fields a format fills is said by its kind. */
typedef struct wblock {
    __m512i w[8];
    __m512 scale, min;
    __m512i sc0, sc1; /* int32 */
    __m512i mn;       /* int16 pairs */
} wblock;

/* What |head| keeps for |block|: transposed raw words. */
typedef struct wunit {
    __m512i low[16], high[8];
    __m512 d, dmin;
    __m512i s[4], m[4];
} wunit;

/* 16 bytes of four rows that are |step| bytes apart. */
NPU_INLINE __m512i quad(const uint8_t *p, uint64_t step) {
    __m256i a = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p)),
                                        _mm_loadu_si128((const __m128i *)(p + step)), 1);
    __m256i b = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(p + 2 * step))),
                                        _mm_loadu_si128((const __m128i *)(p + 3 * step)), 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}

/* 16 bytes of 16 rows, transposed: t[j] holds the j-th 32-bit word of each row. */
NPU_INLINE void words4(const uint8_t *p, uint64_t stride, __m512i *t) {
    __m512i a = quad(p, 4 * stride), b = quad(p + stride, 4 * stride);
    __m512i c = quad(p + 2 * stride, 4 * stride), d = quad(p + 3 * stride, 4 * stride);
    __m512i ab = _mm512_unpacklo_epi32(a, b), cd = _mm512_unpacklo_epi32(c, d);
    __m512i ab2 = _mm512_unpackhi_epi32(a, b), cd2 = _mm512_unpackhi_epi32(c, d);
    t[0] = _mm512_unpacklo_epi64(ab, cd);
    t[1] = _mm512_unpackhi_epi64(ab, cd);
    t[2] = _mm512_unpacklo_epi64(ab2, cd2);
    t[3] = _mm512_unpackhi_epi64(ab2, cd2);
}

NPU_INLINE void words8(const uint8_t *p, uint64_t stride, __m512i *t) {
    words4(p, stride, t);
    words4(p + 16, stride, t + 4);
}

/* A half of each row. */
NPU_INLINE __m512 halves(const uint8_t *p, uint64_t stride) {
    uint16_t h[16];
    for (int i = 0; i < 16; i++) memcpy(&h[i], p + (uint64_t)i * stride, 2);
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)h));
}

NPU_INLINE __m512i dwords(const uint8_t *p, uint64_t stride) {
    uint32_t h[16];
    for (int i = 0; i < 16; i++) memcpy(&h[i], p + (uint64_t)i * stride, 4);
    return _mm512_loadu_si512(h);
}

NPU_INLINE __m512 half_low(__m512i words) {
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words));
}

NPU_INLINE __m512 half_high(__m512i words) {
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(words, 16)));
}

NPU_INLINE __m512i bytes_and(__m512i v, int mask) {
    return _mm512_and_si512(v, _mm512_set1_epi8((char)mask));
}

/* v | (bits & mask), per byte. */
NPU_INLINE __m512i or_masked(__m512i v, __m512i bits, int mask) {
    return _mm512_ternarylogic_epi32(v, bits, _mm512_set1_epi8((char)mask), 0xF8);
}

/* Byte |i| of each word, as int32. */
NPU_INLINE __m512i byte_of(__m512i words, int i) {
    return _mm512_and_si512(_mm512_srli_epi32(words, (unsigned)(8 * i)), _mm512_set1_epi32(255));
}

NPU_INLINE __m512i signed_byte_of(__m512i words, int i) {
    return _mm512_srai_epi32(_mm512_slli_epi32(words, (unsigned)(24 - 8 * i)), 24);
}

/* 16 bytes of nibbles in t[0..3]: values j and j + 16 in the halves of byte j. */
NPU_INLINE void nibbles_split(const __m512i *t, __m512i *w) {
    for (int j = 0; j < 4; j++) {
        w[j] = bytes_and(t[j], 15);
        w[j + 4] = bytes_and(_mm512_srli_epi16(t[j], 4), 15);
    }
}

/* Adds 16 where bit 4j+i of |bits| is set to byte i of w[j]. */
NPU_INLINE void fifth_bits(__m512i bits, __m512i *w) {
    const __m512i even = _mm512_set1_epi32(0x08040201), odd = _mm512_set1_epi32((int)0x80402010);
    const __m512i sixteen = _mm512_set1_epi8(16);
    for (int j = 0; j < 8; j += 2) {
        const __m512i spread =
            _mm512_add_epi8(_mm512_set4_epi32(0x0C0C0C0C, 0x08080808, 0x04040404, 0), _mm512_set1_epi8((char)(j / 2)));
        __m512i b = _mm512_shuffle_epi8(bits, spread);
        w[j] = _mm512_mask_add_epi8(w[j], _mm512_test_epi8_mask(b, even), w[j], sixteen);
        w[j + 1] = _mm512_mask_add_epi8(w[j + 1], _mm512_test_epi8_mask(b, odd), w[j + 1], sixteen);
    }
}

NPU_INLINE void no_head(wunit *u, const uint8_t *p, uint64_t stride) {
    (void)u, (void)p, (void)stride;
}

NPU_INLINE void block_q4_0(wunit *u, const uint8_t *p, uint64_t stride, int b, wblock *o) {
    (void)b;
    o->scale = halves(p, stride);
    words4(p + 2, stride, u->low);
    nibbles_split(u->low, o->w);
}

NPU_INLINE void block_q4_1(wunit *u, const uint8_t *p, uint64_t stride, int b, wblock *o) {
    (void)b;
    __m512i dm = dwords(p, stride);
    o->scale = half_low(dm);
    o->min = half_high(dm);
    words4(p + 4, stride, u->low);
    nibbles_split(u->low, o->w);
}

NPU_INLINE void block_q5_0(wunit *u, const uint8_t *p, uint64_t stride, int b, wblock *o) {
    (void)b;
    words4(p, stride, u->high);
    words4(p + 6, stride, u->low);
    o->scale = half_low(u->high[0]);
    nibbles_split(u->low, o->w);
    fifth_bits(_mm512_or_si512(_mm512_srli_epi32(u->high[0], 16), _mm512_slli_epi32(u->high[1], 16)), o->w);
}

NPU_INLINE void block_q5_1(wunit *u, const uint8_t *p, uint64_t stride, int b, wblock *o) {
    (void)b;
    words4(p, stride, u->high);
    words4(p + 8, stride, u->low);
    o->scale = half_low(u->high[0]);
    o->min = half_high(u->high[0]);
    nibbles_split(u->low, o->w);
    fifth_bits(u->high[1], o->w);
}

NPU_INLINE void block_q8_0(wunit *u, const uint8_t *p, uint64_t stride, int b, wblock *o) {
    (void)b;
    o->scale = halves(p, stride);
    words8(p + 2, stride, u->low);
    for (int j = 0; j < 8; j++) o->w[j] = _mm512_xor_si512(u->low[j], _mm512_set1_epi8((char)0x80));
}

NPU_INLINE void look_up(__m128i table, __m512i *w) {
    __m512i wide = _mm512_broadcast_i32x4(table);
    for (int j = 0; j < 8; j++) w[j] = _mm512_shuffle_epi8(wide, w[j]);
}

/* The format's levels + 128. */
NPU_INLINE __m128i iq4_levels(void) {
    return _mm_setr_epi8(1, 24, 45, 63, 79, 93, 106, 118, (char)129, (char)141, (char)153, (char)166, (char)181,
                         (char)197, (char)217, (char)241);
}

NPU_INLINE void block_iq4_nl(wunit *u, const uint8_t *p, uint64_t stride, int b, wblock *o) {
    block_q4_0(u, p, stride, b, o);
    look_up(iq4_levels(), o->w);
}

/* The doubled 4-bit floats + 16; the scale halved, its two smallest values subnormal. */
NPU_INLINE void block_mxfp4(wunit *u, const uint8_t *p, uint64_t stride, int b, wblock *o) {
    (void)b;
    uint8_t e8[16];
    for (int i = 0; i < 16; i++) e8[i] = p[(uint64_t)i * stride];
    __m512i e = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)e8));
    __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
    __mmask16 tiny = _mm512_cmplt_epi32_mask(e, _mm512_set1_epi32(2));
    o->scale = _mm512_castsi512_ps(_mm512_mask_sllv_epi32(normal, tiny, _mm512_set1_epi32(0x00200000), e));
    words4(p + 1, stride, u->low);
    nibbles_split(u->low, o->w);
    look_up(_mm_setr_epi8(16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4), o->w);
}

/* Q4_K, Q5_K: half d, half dmin, 12 bytes that hold eight 6-bit scales and minima. */
NPU_INLINE void head_q4_k(wunit *u, const uint8_t *p, uint64_t stride) {
    __m512i t[4];
    words4(p, stride, t);
    u->d = half_low(t[0]);
    u->dmin = half_high(t[0]);
    u->s[0] = bytes_and(t[1], 63);
    u->m[0] = bytes_and(t[2], 63);
    u->s[1] = or_masked(bytes_and(t[3], 15), _mm512_srli_epi32(t[1], 2), 48);
    u->m[1] = or_masked(bytes_and(_mm512_srli_epi32(t[3], 4), 15), _mm512_srli_epi32(t[2], 2), 48);
}

NPU_INLINE void scale_min_q4_k(const wunit *u, int b, wblock *o) {
    o->scale = _mm512_mul_ps(u->d, _mm512_cvtepi32_ps(byte_of(u->s[b / 4], b % 4)));
    __m512 min = _mm512_mul_ps(u->dmin, _mm512_cvtepi32_ps(byte_of(u->m[b / 4], b % 4)));
    o->min = _mm512_xor_ps(min, _mm512_set1_ps(-0.0f));
}

/* 32 bytes hold two blocks. */
NPU_INLINE void nibbles_pair(wunit *u, const uint8_t *p, uint64_t stride, int b, __m512i *w) {
    if (b % 2 == 0) words8(p + b / 2 * 32, stride, u->low);
    for (int j = 0; j < 8; j++) w[j] = bytes_and(b % 2 ? _mm512_srli_epi16(u->low[j], 4) : u->low[j], 15);
}

NPU_INLINE void block_q4_k(wunit *u, const uint8_t *p, uint64_t stride, int b, wblock *o) {
    scale_min_q4_k(u, b, o);
    nibbles_pair(u, p + 16, stride, b, o->w);
}

NPU_INLINE void head_q5_k(wunit *u, const uint8_t *p, uint64_t stride) {
    head_q4_k(u, p, stride);
    words8(p + 16, stride, u->high);
}

NPU_INLINE void block_q5_k(wunit *u, const uint8_t *p, uint64_t stride, int b, wblock *o) {
    scale_min_q4_k(u, b, o);
    nibbles_pair(u, p + 48, stride, b, o->w);
    for (int j = 0; j < 8; j++) {
        __m512i bit =
            b < 4 ? _mm512_slli_epi32(u->high[j], (unsigned)(4 - b)) : _mm512_srli_epi32(u->high[j], (unsigned)(b - 4));
        o->w[j] = or_masked(o->w[j], bit, 16);
    }
}

/* Q6_K: 128 bytes of low halves, 64 of top pairs, 16 signed scales, half d. Half of the unit, 128 values, is in 64
 * bytes of low halves and 32 of top pairs. */
NPU_INLINE void head_q6_k(wunit *u, const uint8_t *p, uint64_t stride) {
    __m512i last[4];
    words4(p + 192, stride, u->s);
    words4(p + 194, stride, last);
    u->d = half_high(last[3]);
}

NPU_INLINE void block_q6_k(wunit *u, const uint8_t *p, uint64_t stride, int b, wblock *o) {
    o->scale = u->d;
    o->sc0 = signed_byte_of(u->s[b / 2], b % 2 * 2);
    o->sc1 = signed_byte_of(u->s[b / 2], b % 2 * 2 + 1);
    if (b % 4 == 0) {
        words8(p + b / 4 * 64, stride, u->low);
        words8(p + b / 4 * 64 + 32, stride, u->low + 8);
        words8(p + 128 + b / 4 * 32, stride, u->high);
    }
    for (int j = 0; j < 8; j++) {
        __m512i four = u->low[b % 2 * 8 + j], top = u->high[j];
        four = bytes_and(b % 4 < 2 ? four : _mm512_srli_epi16(four, 4), 15);
        top = b % 4 < 2 ? _mm512_slli_epi32(top, (unsigned)(4 - b % 4 * 2))
                        : _mm512_srli_epi32(top, (unsigned)(b % 4 * 2 - 4));
        o->w[j] = or_masked(four, top, 48);
    }
}

/* The two bits of Q2_K and Q3_K: 32 bytes hold four blocks. */
NPU_INLINE void pairs_of(wunit *u, const uint8_t *p, uint64_t stride, int b, __m512i *w) {
    if (b % 4 == 0) words8(p + b / 4 * 32, stride, u->low);
    for (int j = 0; j < 8; j++) w[j] = bytes_and(_mm512_srli_epi16(u->low[j], (unsigned)(b % 4 * 2)), 3);
}

NPU_INLINE void head_q2_k(wunit *u, const uint8_t *p, uint64_t stride) {
    __m512i last[4];
    words4(p, stride, u->s);
    words4(p + 68, stride, last);
    u->d = half_low(last[3]);
    u->dmin = _mm512_xor_ps(half_high(last[3]), _mm512_set1_ps(-0.0f));
    for (int j = 0; j < 4; j++) {
        u->m[j] = bytes_and(_mm512_srli_epi32(u->s[j], 4), 15);
        u->s[j] = bytes_and(u->s[j], 15);
    }
}

NPU_INLINE void block_q2_k(wunit *u, const uint8_t *p, uint64_t stride, int b, wblock *o) {
    o->scale = u->d;
    o->min = u->dmin;
    o->sc0 = byte_of(u->s[b / 2], b % 2 * 2);
    o->sc1 = byte_of(u->s[b / 2], b % 2 * 2 + 1);
    __m512i two = _mm512_srli_epi32(u->m[b / 2], (unsigned)(b % 2 * 16));
    o->mn = _mm512_or_si512(_mm512_and_si512(two, _mm512_set1_epi32(255)),
                            _mm512_slli_epi32(_mm512_and_si512(two, _mm512_set1_epi32(0xFF00)), 8));
    pairs_of(u, p + 16, stride, b, o->w);
}

/* Q3_K: 32 bytes of third bits, 64 of pairs, 12 bytes of 6-bit scales, half d. The last 16 bytes are read as words. */
NPU_INLINE void head_q3_k(wunit *u, const uint8_t *p, uint64_t stride) {
    __m512i t[4], a[3];
    words8(p, stride, u->high);
    words4(p + 94, stride, t);
    u->d = half_high(t[3]);
    for (int j = 0; j < 3; j++) a[j] = _mm512_or_si512(_mm512_srli_epi32(t[j], 16), _mm512_slli_epi32(t[j + 1], 16));
    for (int j = 0; j < 4; j++) { /* scales 4j … 4j+3: low halves in the halves of a[j % 2], top pairs in a[2] */
        __m512i low = bytes_and(j < 2 ? a[j] : _mm512_srli_epi32(a[j - 2], 4), 15);
        __m512i top =
            j < 2 ? _mm512_slli_epi32(a[2], (unsigned)(4 - 2 * j)) : _mm512_srli_epi32(a[2], (unsigned)(2 * j - 4));
        u->s[j] = _mm512_sub_epi8(or_masked(low, top, 48), _mm512_set1_epi8(32));
    }
}

NPU_INLINE void block_q3_k(wunit *u, const uint8_t *p, uint64_t stride, int b, wblock *o) {
    o->scale = u->d;
    o->sc0 = signed_byte_of(u->s[b / 2], b % 2 * 2);
    o->sc1 = signed_byte_of(u->s[b / 2], b % 2 * 2 + 1);
    pairs_of(u, p + 32, stride, b, o->w);
    for (int j = 0; j < 8; j++) {
        __m512i bit =
            b < 2 ? _mm512_slli_epi32(u->high[j], (unsigned)(2 - b)) : _mm512_srli_epi32(u->high[j], (unsigned)(b - 2));
        o->w[j] = or_masked(o->w[j], bit, 4);
    }
}

/* IQ4_XS: half d, 16 bits of top pairs, 4 bytes of low halves of eight 6-bit scales; then as IQ4_NL. */
NPU_INLINE void head_iq4_xs(wunit *u, const uint8_t *p, uint64_t stride) {
    __m512i t[4];
    words4(p, stride, t);
    u->d = half_low(t[0]);
    u->s[0] = _mm512_srli_epi32(t[0], 16);
    u->s[1] = t[1];
}

NPU_INLINE void block_iq4_xs(wunit *u, const uint8_t *p, uint64_t stride, int b, wblock *o) {
    __m512i low = _mm512_and_si512(_mm512_srli_epi32(u->s[1], (unsigned)(4 * b)), _mm512_set1_epi32(15));
    __m512i top = _mm512_and_si512(_mm512_srli_epi32(u->s[0], (unsigned)(2 * b)), _mm512_set1_epi32(3));
    __m512i ls = _mm512_sub_epi32(_mm512_or_si512(low, _mm512_slli_epi32(top, 4)), _mm512_set1_epi32(32));
    o->scale = _mm512_mul_ps(u->d, _mm512_cvtepi32_ps(ls));
    words4(p + 8 + b * 16, stride, u->low);
    nibbles_split(u->low, o->w);
    look_up(iq4_levels(), o->w);
}

#endif
