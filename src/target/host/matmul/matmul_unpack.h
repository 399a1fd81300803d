/* Weights of LANES rows as vectors: three functions a format family.
 *
 * A *unit* is the least number of 32-value blocks that a format stores together (1 or 8). |head| reads what belongs to
 * the unit, |scales| gives the scales and minima of block |b| of it, whose lanes are the rows, and |code| one of the
 * block's eight registers of codes as unsigned bytes, in one of two orders:
 *   lanes    register j holds values 4j … 4j+3 of each row: a product with it needs no sums across lanes, but getting
 *            there takes many shuffles, of which a core does one in the time of two other operations
 *   quads    register j (4 + j) holds values 0 … 15 (16 … 31) of rows j, 4 + j, …: as loaded
 * Written in the vectors of a matmul_vec_<isa>.h, which is included first.
 */
#ifndef NPU_MATMUL_UNPACK_H
#define NPU_MATMUL_UNPACK_H

#include "target/host/matmul/matmul.h"

#if !defined(NPU_INLINE)
#error "include a matmul_vec_<isa>.h first"
#endif

/* One block of LANES rows; codes are put here by whoever keeps them. Which other fields a format fills is said by its
 * kind. */
typedef struct wblock {
    vi w[8];
    vf scale, min;
    vi sc0, sc1; /* int32 */
    vi sc, mn;   /* int16 pairs */
} wblock;

/* What |head| keeps for |scales|: transposed raw words; and, where rows are not packed, what one call of |code| keeps
 * for later ones. */
typedef struct wunit {
    int quads; /* the order; a constant to the compiler */
    vi low[16], high[8];
    vf d, dmin;
    vi s[4], m[4];
} wunit;

/* Where the rows are: row 4g + i at p[g] + i * stride, which is one x86 address; more pointers would not fit registers.
 * Or packed (matmul_pack.c): what lies |at| bytes into a unit, in its packed order, is in the column of 16 rows at
 * p[0] + 16 * at. */
typedef struct wrows {
    const uint8_t *p[GROUPS];
    uint64_t stride, stride3;
    int packed;     /* a constant to the compiler */
    uint32_t first; /* packed: the first of our lanes among the 16 */
} wrows;

NPU_INLINE wrows packed_at(const uint8_t *p, uint32_t first) {
    wrows r;
    r.p[0] = p;
    r.packed = 1;
    r.first = first;
    return r;
}

/* Where something is in a unit: |at| in the file, |packed_at| in the packed order. */
NPU_INLINE int in_unit(const wrows *r, int at, int packed_at) {
    return r->packed ? packed_at : at;
}

NPU_INLINE const uint8_t *column(const wrows *r, int at, uint32_t bytes) {
    return r->p[0] + NPU_MM_PACK_ROWS * at + r->first * bytes;
}

NPU_INLINE wrows rows_at(const uint8_t *p, uint64_t stride) {
    wrows r = {{p}, stride, 3 * stride, 0, 0};
    for (int g = 0; g < GROUPS; g++) r.p[g] = p + (uint64_t)g * 4 * stride;
    return r;
}

NPU_INLINE void advance(wrows *r, uint32_t bytes) {
    for (int g = 0; g < GROUPS; g++) {
        r->p[g] += bytes;
        __asm__("" : "+r"(r->p[g])); /* else compilers go back to one pointer and an offset a row */
    }
}

NPU_INLINE const uint8_t *row_at(const wrows *r, int g, int i, int at) {
    return r->p[g] + (i == 3 ? r->stride3 : (uint64_t)i * r->stride) + at;
}

/* 16 bytes of rows i, 4 + i, … */
NPU_INLINE vi quad(const wrows *r, int i, int at) {
    const uint8_t *p[GROUPS];
    for (int g = 0; g < GROUPS; g++) p[g] = row_at(r, g, i, at);
    return v_gather16(p);
}

/* 16 bytes of each row, transposed: t[j] holds the j-th 32-bit word of each row. */
NPU_INLINE void words4(const wrows *r, int at, vi *t) {
    if (r->packed) {
        for (int j = 0; j < 4; j++) t[j] = v_load(column(r, at + 4 * j, 4));
        return;
    }
    v_transpose(quad(r, 0, at), quad(r, 1, at), quad(r, 2, at), quad(r, 3, at), t);
}

/* Register |j| of the bytes at |at| of each row, in the order of |u|. What is not one load is kept in |kept| the
 * |first| time, which must be in ascending order of |j|. */
NPU_INLINE vi raw(const wunit *u, const wrows *r, int at, int j, int first, vi *kept) {
    if (r->packed) return v_load(column(r, at + 4 * j, 4));
    if (first && u->quads) kept[j] = quad(r, j % 4, at + j / 4 * 16);
    if (first && !u->quads && j % 4 == 0) words4(r, at + 4 * j, kept + j);
    return kept[j];
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
NPU_INLINE vf halves(const wrows *r, int at) {
    if (r->packed) return v_load_halves(column(r, at, 2));
    int64_t four[GROUPS];
    for (int g = 0; g < GROUPS; g++) four[g] = four_of(r, g, at, 2);
    return v_halves(four);
}

/* A word of each row. */
NPU_INLINE vi dwords(const wrows *r, int at) {
    if (r->packed) return v_load(column(r, at, 4));
    uint32_t w[LANES];
    for (int i = 0; i < LANES; i++) memcpy(&w[i], row_at(r, i / 4, i % 4, at), 4);
    return v_words(w);
}

/* A byte of each row as a word. */
NPU_INLINE vi bytes_at(const wrows *r, int at) {
    if (r->packed) return v_load_bytes(column(r, at, 1));
    int64_t four[GROUPS];
    for (int g = 0; g < GROUPS; g++) four[g] = four_of(r, g, at, 1);
    return v_bytes(four);
}

/* The last word or half of a unit, at least 16 bytes into it. */
NPU_INLINE vi last_dword(const wrows *r, int at) {
    vi t[4];
    if (r->packed) return dwords(r, at);
    words4(r, at - 12, t);
    return t[3];
}

NPU_INLINE vf last_half(const wrows *r, int at) {
    if (r->packed) return halves(r, at);
    return v_half(v_srl32(last_dword(r, at - 2), 16));
}

NPU_INLINE vf half_low(vi words) {
    return v_half(words);
}

NPU_INLINE vf half_high(vi words) {
    return v_half(v_srl32(words, 16));
}

NPU_INLINE vf negated(vf v) {
    return v_as_float(v_xor(v_as_int(v), v_set32(INT32_MIN)));
}

NPU_INLINE vi bytes_and(vi v, int mask) {
    return v_and(v, v_set8(mask));
}

/* v | (bits & mask), per byte. */
NPU_INLINE vi or_masked(vi v, vi bits, int mask) {
    return v_or_and(v, bits, v_set8(mask));
}

/* Byte |i| of each word, as int32. A look-up of a byte whose number has the top bit is 0. */
NPU_INLINE vi byte_of(vi words, int i) {
    const int none = (int)0x80808000;
    return v_look_up(words, v_group(none | (12 + i), none | (8 + i), none | (4 + i), none | i));
}

/* Bytes |i| and i + 1 of each word, in the low or the high bytes of a pair of halves. */
NPU_INLINE vi pair_low(vi words, int i) {
    const int ones = (int)0x80018000, twos = 0x00010001 * i;
    return v_look_up(words, v_group((ones + twos) | 0x000C000C, (ones + twos) | 0x00080008, (ones + twos) | 0x00040004,
                                    ones + twos));
}

NPU_INLINE vi pair_high(vi words, int i) {
    const int at = 0x01800080 + 0x01000100 * i;
    return v_look_up(words, v_group(at | 0x0C000C00, at | 0x08000800, at | 0x04000400, at));
}

NPU_INLINE vi nibble(vi bytes, int high) {
    return bytes_and(high ? v_srl16(bytes, 4) : bytes, 15);
}

/* Of 16 bytes of nibbles a row: values j and j + 16 are in the halves of byte j. */
NPU_INLINE vi nibble_split(wunit *u, const wrows *r, int at, int j) {
    return nibble(raw(u, r, at, j % 4, j < 4, u->low), j / 4);
}

/* Adds 16 to each code whose bit is set in the 32 bits at |at| of its row. */
NPU_INLINE vi fifth_bit(wunit *u, const wrows *r, int at, int j, vi code) {
    vi bits, from, bit; /* where the bits are, which byte of a group of four rows, which bit of it */
    if (u->quads) {
        bits = raw(u, r, at, j % 4, j < 4, u->high);
        from = v_add8(v_group(0x01010101, 0x01010101, 0, 0), v_set8(j / 4 * 2));
        bit = v_group((int)0x80402010, 0x08040201, (int)0x80402010, 0x08040201);
    } else {
        bits = raw(u, r, at, 0, j == 0, u->high);
        from = v_add8(v_group(0x0C0C0C0C, 0x08080808, 0x04040404, 0), v_set8(j / 2));
        bit = v_set32(j % 2 ? (int)0x80402010 : 0x08040201);
    }
    return v_add_where(code, v_look_up(bits, from), bit, v_set8(16));
}

NPU_INLINE void no_head(wunit *u, const wrows *r) {
    (void)u, (void)r;
}

NPU_INLINE void scales_half(wunit *u, const wrows *r, int b, wblock *o) {
    (void)u, (void)b;
    o->scale = halves(r, 0);
}

NPU_INLINE void scales_half_min(wunit *u, const wrows *r, int b, wblock *o) {
    (void)u, (void)b;
    vi dm = dwords(r, 0);
    o->scale = half_low(dm);
    o->min = half_high(dm);
}

NPU_INLINE vi code_q4_0(wunit *u, const wrows *r, int b, int j) {
    (void)b;
    return nibble_split(u, r, 2, j);
}

NPU_INLINE vi code_q4_1(wunit *u, const wrows *r, int b, int j) {
    (void)b;
    return nibble_split(u, r, 4, j);
}

NPU_INLINE vi code_q5_0(wunit *u, const wrows *r, int b, int j) {
    (void)b;
    return fifth_bit(u, r, 2, j, nibble_split(u, r, 6, j));
}

NPU_INLINE vi code_q5_1(wunit *u, const wrows *r, int b, int j) {
    (void)b;
    return fifth_bit(u, r, 4, j, nibble_split(u, r, 8, j));
}

NPU_INLINE vi code_q8_0(wunit *u, const wrows *r, int b, int j) {
    (void)b;
    return v_xor(raw(u, r, 2, j, 1, u->low), v_set8(0x80));
}

/* The formats' levels + 128 and doubled 4-bit floats + 16. */
static const uint8_t iq4_levels[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};
static const uint8_t mxfp4_doubled[16] = {16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4};

/* What the levels are more than steps of 15, at most LEVEL_REST: for products of what is small and has no sign. */
enum { LEVEL_STEP = 15, LEVEL_REST = 19 };
static const uint8_t iq4_rest[16] = {1, 9, 15, 18, 19, 18, 16, 13, 9, 6, 3, 1, 1, 2, 7, 16};

NPU_INLINE vi index_iq4_nl(wunit *u, const wrows *r, int b, int j) {
    (void)b;
    return nibble_split(u, r, 2, j);
}

NPU_INLINE vi code_iq4_nl(wunit *u, const wrows *r, int b, int j) {
    return v_look_up(v_group16(iq4_levels), index_iq4_nl(u, r, b, j));
}

/* The scale is halved to go with the doubled values; its two smallest values are subnormal. */
NPU_INLINE void scales_mxfp4(wunit *u, const wrows *r, int b, wblock *o) {
    (void)u, (void)b;
    vi e = bytes_at(r, 0);
    vi normal = v_sll32(v_sub32(e, v_set32(1)), 23), tiny = v_sllv32(v_set32(0x00200000), e);
    o->scale = v_as_float(v_if_less32(e, v_set32(2), tiny, normal));
}

NPU_INLINE vi index_mxfp4(wunit *u, const wrows *r, int b, int j) {
    (void)b;
    return nibble_split(u, r, 1, j);
}

NPU_INLINE vi code_mxfp4(wunit *u, const wrows *r, int b, int j) {
    return v_look_up(v_group16(mxfp4_doubled), index_mxfp4(u, r, b, j));
}

#endif
