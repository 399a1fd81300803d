/* Weights of 16 rows as vectors: one pair of functions a format family.
 *
 * A *unit* is the least number of 32-value blocks that a format stores together (1 or 8). |head| reads what belongs to
 * the unit, |block| gives block |b| of it: scales and minima, whose lanes are the rows, and eight registers of codes as
 * unsigned bytes in one of two orders:
 *   lanes    register j holds values 4j … 4j+3 of each row: a product with it needs no sums across lanes, but getting
 *            there takes many shuffles, of which a core does one in the time of two other operations
 *   quads    register j (4 + j) holds values 0 … 15 (16 … 31) of rows j, 4 + j, 8 + j and 12 + j: as loaded
 * Included by matmul_avx512.c alone.
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
    int quads; /* the order; a constant to the compiler */
    __m512i low[16], high[8];
    __m512 d, dmin;
    __m512i s[4], m[4];
} wunit;

/* Where 16 rows are: row 4g + i at p[g] + i * stride, which is one x86 address; more pointers would not fit registers.
 */
typedef struct wrows {
    const uint8_t *p[4];
    uint64_t stride, stride3;
} wrows;

NPU_INLINE wrows rows_at(const uint8_t *p, uint64_t stride) {
    return (wrows){{p, p + 4 * stride, p + 8 * stride, p + 12 * stride}, stride, 3 * stride};
}

NPU_INLINE void advance(wrows *r, uint32_t bytes) {
    for (int g = 0; g < 4; g++) {
        r->p[g] += bytes;
        __asm__("" : "+r"(r->p[g])); /* else compilers go back to one pointer and 15 offsets */
    }
}

NPU_INLINE const uint8_t *row_at(const wrows *r, int g, int i, int at) {
    return r->p[g] + (i == 3 ? r->stride3 : (uint64_t)i * r->stride) + at;
}

/* 16 bytes of rows i, 4 + i, 8 + i and 12 + i. */
NPU_INLINE __m512i quad(const wrows *r, int i, int at) {
    __m128i v[4];
    for (int g = 0; g < 4; g++) v[g] = _mm_loadu_si128((const __m128i *)row_at(r, g, i, at));
    __m256i a = _mm256_inserti128_si256(_mm256_castsi128_si256(v[0]), v[1], 1);
    __m256i b = _mm256_inserti128_si256(_mm256_castsi128_si256(v[2]), v[3], 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}

/* 16 bytes of 16 rows, transposed: t[j] holds the j-th 32-bit word of each row. */
NPU_INLINE void words4(const wrows *r, int at, __m512i *t) {
    __m512i a = quad(r, 0, at), b = quad(r, 1, at), c = quad(r, 2, at), d = quad(r, 3, at);
    __m512i ab = _mm512_unpacklo_epi32(a, b), cd = _mm512_unpacklo_epi32(c, d);
    __m512i ab2 = _mm512_unpackhi_epi32(a, b), cd2 = _mm512_unpackhi_epi32(c, d);
    t[0] = _mm512_unpacklo_epi64(ab, cd);
    t[1] = _mm512_unpackhi_epi64(ab, cd);
    t[2] = _mm512_unpacklo_epi64(ab2, cd2);
    t[3] = _mm512_unpackhi_epi64(ab2, cd2);
}

/* 16 or 32 bytes of codes of each row, in the order of |u|. */
NPU_INLINE void codes4(const wunit *u, const wrows *r, int at, __m512i *t) {
    if (u->quads) {
        for (int j = 0; j < 4; j++) t[j] = quad(r, j, at);
    } else {
        words4(r, at, t);
    }
}

NPU_INLINE void codes8(const wunit *u, const wrows *r, int at, __m512i *t) {
    codes4(u, r, at, t);
    codes4(u, r, at + 16, t + 4);
}

/* |bytes| (1 or 2) of four rows. Through integer registers: their ports are idle here, the shuffle ports are not. */
NPU_INLINE int64_t four_of(const wrows *r, int g, int at, int bytes) {
    uint64_t all = 0;
    for (int i = 3; i >= 0; i--) {
        uint16_t h = 0;
        memcpy(&h, row_at(r, g, i, at), (size_t)bytes);
        all = all << (8 * bytes) | h;
        __asm__("" : "+r"(all)); /* else compilers find vector instructions for it */
    }
    return (int64_t)all;
}

/* A half of each row. */
NPU_INLINE __m512 halves(const wrows *r, int at) {
    return _mm512_cvtph_ps(
        _mm256_setr_epi64x(four_of(r, 0, at, 2), four_of(r, 1, at, 2), four_of(r, 2, at, 2), four_of(r, 3, at, 2)));
}

/* A word of each row. */
NPU_INLINE __m512i dwords(const wrows *r, int at) {
    __m128i v[4];
    for (int g = 0; g < 4; g++) {
        uint32_t w[4];
        for (int i = 0; i < 4; i++) memcpy(&w[i], row_at(r, g, i, at), 4);
        v[g] = _mm_setr_epi32((int)w[0], (int)w[1], (int)w[2], (int)w[3]);
    }
    __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(v[0]), v[1], 1);
    __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(v[2]), v[3], 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
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

/* 16 bytes of nibbles a row: values j and j + 16 in the halves of byte j. */
NPU_INLINE void nibbles_split(const __m512i *t, __m512i *w) {
    for (int j = 0; j < 4; j++) {
        w[j] = bytes_and(t[j], 15);
        w[j + 4] = bytes_and(_mm512_srli_epi16(t[j], 4), 15);
    }
}

/* Adds 16 to each code whose bit is set in the 32 bits at |at| of its row. */
NPU_INLINE void fifth_bits(const wunit *u, const wrows *r, int at, __m512i *w) {
    const __m512i sixteen = _mm512_set1_epi8(16);
    __m512i words[4];
    codes4(u, r, at, words);
    for (int j = 0; j < 8; j++) {
        __m512i bits, from, bit; /* where the bits are, which byte of a group of four rows, which bit of it */
        if (u->quads) {
            bits = words[j % 4];
            from = _mm512_set4_epi32(0x01010101, 0x01010101, 0, 0);
            from = _mm512_add_epi8(from, _mm512_set1_epi8((char)(j / 4 * 2)));
            bit = _mm512_set4_epi32((int)0x80402010, 0x08040201, (int)0x80402010, 0x08040201);
        } else {
            bits = words[0];
            from = _mm512_set4_epi32(0x0C0C0C0C, 0x08080808, 0x04040404, 0);
            from = _mm512_add_epi8(from, _mm512_set1_epi8((char)(j / 2)));
            bit = _mm512_set1_epi32(j % 2 ? (int)0x80402010 : 0x08040201);
        }
        w[j] = _mm512_mask_add_epi8(w[j], _mm512_test_epi8_mask(_mm512_shuffle_epi8(bits, from), bit), w[j], sixteen);
    }
}

NPU_INLINE void no_head(wunit *u, const wrows *r) {
    (void)u, (void)r;
}

NPU_INLINE void block_q4_0(wunit *u, const wrows *r, int b, wblock *o) {
    (void)b;
    o->scale = halves(r, 0);
    codes4(u, r, 2, u->low);
    nibbles_split(u->low, o->w);
}

NPU_INLINE void block_q4_1(wunit *u, const wrows *r, int b, wblock *o) {
    (void)b;
    __m512i dm = dwords(r, 0);
    o->scale = half_low(dm);
    o->min = half_high(dm);
    codes4(u, r, 4, u->low);
    nibbles_split(u->low, o->w);
}

NPU_INLINE void block_q5_0(wunit *u, const wrows *r, int b, wblock *o) {
    (void)b;
    o->scale = halves(r, 0);
    codes4(u, r, 6, u->low);
    nibbles_split(u->low, o->w);
    fifth_bits(u, r, 2, o->w);
}

NPU_INLINE void block_q5_1(wunit *u, const wrows *r, int b, wblock *o) {
    (void)b;
    __m512i dm = dwords(r, 0);
    o->scale = half_low(dm);
    o->min = half_high(dm);
    codes4(u, r, 8, u->low);
    nibbles_split(u->low, o->w);
    fifth_bits(u, r, 4, o->w);
}

NPU_INLINE void block_q8_0(wunit *u, const wrows *r, int b, wblock *o) {
    (void)b;
    o->scale = halves(r, 0);
    codes8(u, r, 2, u->low);
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

NPU_INLINE void block_iq4_nl(wunit *u, const wrows *r, int b, wblock *o) {
    block_q4_0(u, r, b, o);
    look_up(iq4_levels(), o->w);
}

/* The doubled 4-bit floats + 16; the scale halved, its two smallest values subnormal. */
NPU_INLINE void block_mxfp4(wunit *u, const wrows *r, int b, wblock *o) {
    (void)b;
    int e8[4];
    for (int g = 0; g < 4; g++) e8[g] = (int)four_of(r, g, 0, 1);
    __m512i e = _mm512_cvtepu8_epi32(_mm_setr_epi32(e8[0], e8[1], e8[2], e8[3]));
    __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
    __mmask16 tiny = _mm512_cmplt_epi32_mask(e, _mm512_set1_epi32(2));
    o->scale = _mm512_castsi512_ps(_mm512_mask_sllv_epi32(normal, tiny, _mm512_set1_epi32(0x00200000), e));
    codes4(u, r, 1, u->low);
    nibbles_split(u->low, o->w);
    look_up(_mm_setr_epi8(16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4), o->w);
}

/* Q4_K, Q5_K: half d, half dmin, 12 bytes that hold eight 6-bit scales and minima. */
NPU_INLINE void head_q4_k(wunit *u, const wrows *r) {
    __m512i t[4];
    words4(r, 0, t);
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
NPU_INLINE void nibbles_pair(wunit *u, const wrows *r, int at, int b, __m512i *w) {
    if (b % 2 == 0) codes8(u, r, at + b / 2 * 32, u->low);
    for (int j = 0; j < 8; j++) w[j] = bytes_and(b % 2 ? _mm512_srli_epi16(u->low[j], 4) : u->low[j], 15);
}

NPU_INLINE void block_q4_k(wunit *u, const wrows *r, int b, wblock *o) {
    scale_min_q4_k(u, b, o);
    nibbles_pair(u, r, 16, b, o->w);
}

NPU_INLINE void head_q5_k(wunit *u, const wrows *r) {
    head_q4_k(u, r);
    codes8(u, r, 16, u->high);
}

NPU_INLINE void block_q5_k(wunit *u, const wrows *r, int b, wblock *o) {
    scale_min_q4_k(u, b, o);
    nibbles_pair(u, r, 48, b, o->w);
    for (int j = 0; j < 8; j++) {
        __m512i bit =
            b < 4 ? _mm512_slli_epi32(u->high[j], (unsigned)(4 - b)) : _mm512_srli_epi32(u->high[j], (unsigned)(b - 4));
        o->w[j] = or_masked(o->w[j], bit, 16);
    }
}

/* Q6_K: 128 bytes of low halves, 64 of top pairs, 16 signed scales, half d. Half of the unit, 128 values, is in 64
 * bytes of low halves and 32 of top pairs. */
NPU_INLINE void head_q6_k(wunit *u, const wrows *r) {
    __m512i last[4];
    words4(r, 192, u->s);
    words4(r, 194, last);
    u->d = half_high(last[3]);
}

NPU_INLINE void block_q6_k(wunit *u, const wrows *r, int b, wblock *o) {
    o->scale = u->d;
    o->sc0 = signed_byte_of(u->s[b / 2], b % 2 * 2);
    o->sc1 = signed_byte_of(u->s[b / 2], b % 2 * 2 + 1);
    if (b % 4 == 0) {
        codes8(u, r, b / 4 * 64, u->low);
        codes8(u, r, b / 4 * 64 + 32, u->low + 8);
        codes8(u, r, 128 + b / 4 * 32, u->high);
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
NPU_INLINE void pairs_of(wunit *u, const wrows *r, int at, int b, __m512i *w) {
    if (b % 4 == 0) codes8(u, r, at + b / 4 * 32, u->low);
    for (int j = 0; j < 8; j++) w[j] = bytes_and(_mm512_srli_epi16(u->low[j], (unsigned)(b % 4 * 2)), 3);
}

NPU_INLINE void head_q2_k(wunit *u, const wrows *r) {
    __m512i last[4];
    words4(r, 0, u->s);
    words4(r, 68, last);
    u->d = half_low(last[3]);
    u->dmin = _mm512_xor_ps(half_high(last[3]), _mm512_set1_ps(-0.0f));
    for (int j = 0; j < 4; j++) {
        u->m[j] = bytes_and(_mm512_srli_epi32(u->s[j], 4), 15);
        u->s[j] = bytes_and(u->s[j], 15);
    }
}

NPU_INLINE void block_q2_k(wunit *u, const wrows *r, int b, wblock *o) {
    o->scale = u->d;
    o->min = u->dmin;
    o->sc0 = byte_of(u->s[b / 2], b % 2 * 2);
    o->sc1 = byte_of(u->s[b / 2], b % 2 * 2 + 1);
    __m512i two = _mm512_srli_epi32(u->m[b / 2], (unsigned)(b % 2 * 16));
    o->mn = _mm512_or_si512(_mm512_and_si512(two, _mm512_set1_epi32(255)),
                            _mm512_slli_epi32(_mm512_and_si512(two, _mm512_set1_epi32(0xFF00)), 8));
    pairs_of(u, r, 16, b, o->w);
}

/* Q3_K: 32 bytes of third bits, 64 of pairs, 12 bytes of 6-bit scales, half d. The last 16 bytes are read as words. */
NPU_INLINE void head_q3_k(wunit *u, const wrows *r) {
    __m512i t[4], a[3];
    codes8(u, r, 0, u->high);
    words4(r, 94, t);
    u->d = half_high(t[3]);
    for (int j = 0; j < 3; j++) a[j] = _mm512_or_si512(_mm512_srli_epi32(t[j], 16), _mm512_slli_epi32(t[j + 1], 16));
    for (int j = 0; j < 4; j++) { /* scales 4j … 4j+3: low halves in the halves of a[j % 2], top pairs in a[2] */
        __m512i low = bytes_and(j < 2 ? a[j] : _mm512_srli_epi32(a[j - 2], 4), 15);
        __m512i top =
            j < 2 ? _mm512_slli_epi32(a[2], (unsigned)(4 - 2 * j)) : _mm512_srli_epi32(a[2], (unsigned)(2 * j - 4));
        u->s[j] = _mm512_sub_epi8(or_masked(low, top, 48), _mm512_set1_epi8(32));
    }
}

NPU_INLINE void block_q3_k(wunit *u, const wrows *r, int b, wblock *o) {
    o->scale = u->d;
    o->sc0 = signed_byte_of(u->s[b / 2], b % 2 * 2);
    o->sc1 = signed_byte_of(u->s[b / 2], b % 2 * 2 + 1);
    pairs_of(u, r, 32, b, o->w);
    for (int j = 0; j < 8; j++) {
        __m512i bit =
            b < 2 ? _mm512_slli_epi32(u->high[j], (unsigned)(2 - b)) : _mm512_srli_epi32(u->high[j], (unsigned)(b - 2));
        o->w[j] = or_masked(o->w[j], bit, 4);
    }
}

/* IQ4_XS: half d, 16 bits of top pairs, 4 bytes of low halves of eight 6-bit scales; then as IQ4_NL. */
NPU_INLINE void head_iq4_xs(wunit *u, const wrows *r) {
    __m512i t[4];
    words4(r, 0, t);
    u->d = half_low(t[0]);
    u->s[0] = _mm512_srli_epi32(t[0], 16);
    u->s[1] = t[1];
}

NPU_INLINE void block_iq4_xs(wunit *u, const wrows *r, int b, wblock *o) {
    __m512i low = _mm512_and_si512(_mm512_srli_epi32(u->s[1], (unsigned)(4 * b)), _mm512_set1_epi32(15));
    __m512i top = _mm512_and_si512(_mm512_srli_epi32(u->s[0], (unsigned)(2 * b)), _mm512_set1_epi32(3));
    __m512i ls = _mm512_sub_epi32(_mm512_or_si512(low, _mm512_slli_epi32(top, 4)), _mm512_set1_epi32(32));
    o->scale = _mm512_mul_ps(u->d, _mm512_cvtepi32_ps(ls));
    codes4(u, r, 8 + b * 16, u->low);
    nibbles_split(u->low, o->w);
    look_up(iq4_levels(), o->w);
}

#endif
