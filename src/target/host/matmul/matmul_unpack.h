/* Weights of LANES rows as vectors: one pair of functions a format family.
 *
 * A *unit* is the least number of 32-value blocks that a format stores together (1 or 8). |head| reads what belongs to
 * the unit, |block| gives block |b| of it: scales and minima, whose lanes are the rows, and eight registers of codes as
 * unsigned bytes in one of two orders:
 *   lanes    register j holds values 4j … 4j+3 of each row: a product with it needs no sums across lanes, but getting
 *            there takes many shuffles, of which a core does one in the time of two other operations
 *   quads    register j (4 + j) holds values 0 … 15 (16 … 31) of rows j, 4 + j, …: as loaded
 * Written in the vectors of a matmul_vec_<isa>.h, which is included first.
 */
#ifndef NPU_MATMUL_UNPACK_H
#define NPU_MATMUL_UNPACK_H

#if !defined(NPU_INLINE)
#error "include a matmul_vec_<isa>.h first"
#endif

/* One block of LANES rows. Which fields a format fills is said by its kind. */
typedef struct wblock {
    vi w[8];
    vf scale, min;
    vi sc0, sc1; /* int32 */
    vi mn;       /* int16 pairs */
} wblock;

/* What |head| keeps for |block|: transposed raw words. */
typedef struct wunit {
    int quads; /* the order; a constant to the compiler */
    vi low[16], high[8];
    vf d, dmin;
    vi s[4], m[4];
} wunit;

/* Where the rows are: row 4g + i at p[g] + i * stride, which is one x86 address; more pointers would not fit registers.
 */
typedef struct wrows {
    const uint8_t *p[GROUPS];
    uint64_t stride, stride3;
} wrows;

NPU_INLINE wrows rows_at(const uint8_t *p, uint64_t stride) {
    wrows r = {{p}, stride, 3 * stride};
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
    v_transpose(quad(r, 0, at), quad(r, 1, at), quad(r, 2, at), quad(r, 3, at), t);
}

/* 16 or 32 bytes of codes of each row, in the order of |u|. */
NPU_INLINE void codes4(const wunit *u, const wrows *r, int at, vi *t) {
    if (u->quads) {
        for (int j = 0; j < 4; j++) t[j] = quad(r, j, at);
    } else {
        words4(r, at, t);
    }
}

NPU_INLINE void codes8(const wunit *u, const wrows *r, int at, vi *t) {
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
NPU_INLINE vf halves(const wrows *r, int at) {
    int64_t four[GROUPS];
    for (int g = 0; g < GROUPS; g++) four[g] = four_of(r, g, at, 2);
    return v_halves(four);
}

/* A word of each row. */
NPU_INLINE vi dwords(const wrows *r, int at) {
    uint32_t w[LANES];
    for (int i = 0; i < LANES; i++) memcpy(&w[i], row_at(r, i / 4, i % 4, at), 4);
    return v_words(w);
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

/* Byte |i| of each word, as int32. */
NPU_INLINE vi byte_of(vi words, int i) {
    return v_and(v_srl32(words, (8 * i)), v_set32(255));
}

NPU_INLINE vi signed_byte_of(vi words, int i) {
    return v_sra32(v_sll32(words, (24 - 8 * i)), 24);
}

/* 16 bytes of nibbles a row: values j and j + 16 in the halves of byte j. */
NPU_INLINE void nibbles_split(const vi *t, vi *w) {
    for (int j = 0; j < 4; j++) {
        w[j] = bytes_and(t[j], 15);
        w[j + 4] = bytes_and(v_srl16(t[j], 4), 15);
    }
}

/* Adds 16 to each code whose bit is set in the 32 bits at |at| of its row. */
NPU_INLINE void fifth_bits(const wunit *u, const wrows *r, int at, vi *w) {
    vi words[4];
    codes4(u, r, at, words);
    for (int j = 0; j < 8; j++) {
        vi bits, from, bit; /* where the bits are, which byte of a group of four rows, which bit of it */
        if (u->quads) {
            bits = words[j % 4];
            from = v_add8(v_group(0x01010101, 0x01010101, 0, 0), v_set8(j / 4 * 2));
            bit = v_group((int)0x80402010, 0x08040201, (int)0x80402010, 0x08040201);
        } else {
            bits = words[0];
            from = v_add8(v_group(0x0C0C0C0C, 0x08080808, 0x04040404, 0), v_set8(j / 2));
            bit = v_set32(j % 2 ? (int)0x80402010 : 0x08040201);
        }
        w[j] = v_add_where(w[j], v_look_up(bits, from), bit, v_set8(16));
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
    vi dm = dwords(r, 0);
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
    vi dm = dwords(r, 0);
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
    for (int j = 0; j < 8; j++) o->w[j] = v_xor(u->low[j], v_set8(0x80));
}

NPU_INLINE void look_up(const uint8_t *table, vi *w) {
    vi wide = v_group16(table);
    for (int j = 0; j < 8; j++) w[j] = v_look_up(wide, w[j]);
}

/* The formats' levels + 128 and doubled 4-bit floats + 16. */
static const uint8_t iq4_levels[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};
static const uint8_t mxfp4_doubled[16] = {16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4};

NPU_INLINE void block_iq4_nl(wunit *u, const wrows *r, int b, wblock *o) {
    block_q4_0(u, r, b, o);
    look_up(iq4_levels, o->w);
}

/* The scale is halved to go with the doubled values; its two smallest values are subnormal. */
NPU_INLINE void block_mxfp4(wunit *u, const wrows *r, int b, wblock *o) {
    (void)b;
    int64_t four[GROUPS];
    for (int g = 0; g < GROUPS; g++) four[g] = four_of(r, g, 0, 1);
    vi e = v_bytes(four);
    vi normal = v_sll32(v_sub32(e, v_set32(1)), 23), tiny = v_sllv32(v_set32(0x00200000), e);
    o->scale = v_as_float(v_if_less32(e, v_set32(2), tiny, normal));
    codes4(u, r, 1, u->low);
    nibbles_split(u->low, o->w);
    look_up(mxfp4_doubled, o->w);
}

/* Q4_K, Q5_K: half d, half dmin, 12 bytes that hold eight 6-bit scales and minima. */
NPU_INLINE void head_q4_k(wunit *u, const wrows *r) {
    vi t[4];
    words4(r, 0, t);
    u->d = half_low(t[0]);
    u->dmin = half_high(t[0]);
    u->s[0] = bytes_and(t[1], 63);
    u->m[0] = bytes_and(t[2], 63);
    u->s[1] = or_masked(bytes_and(t[3], 15), v_srl32(t[1], 2), 48);
    u->m[1] = or_masked(bytes_and(v_srl32(t[3], 4), 15), v_srl32(t[2], 2), 48);
}

NPU_INLINE void scale_min_q4_k(const wunit *u, int b, wblock *o) {
    o->scale = v_mulf(u->d, v_float(byte_of(u->s[b / 4], b % 4)));
    vf min = v_mulf(u->dmin, v_float(byte_of(u->m[b / 4], b % 4)));
    o->min = negated(min);
}

/* 32 bytes hold two blocks. */
NPU_INLINE void nibbles_pair(wunit *u, const wrows *r, int at, int b, vi *w) {
    if (b % 2 == 0) codes8(u, r, at + b / 2 * 32, u->low);
    for (int j = 0; j < 8; j++) w[j] = bytes_and(b % 2 ? v_srl16(u->low[j], 4) : u->low[j], 15);
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
        vi bit = b < 4 ? v_sll32(u->high[j], (4 - b)) : v_srl32(u->high[j], (b - 4));
        o->w[j] = or_masked(o->w[j], bit, 16);
    }
}

/* Q6_K: 128 bytes of low halves, 64 of top pairs, 16 signed scales, half d. Half of the unit, 128 values, is in 64
 * bytes of low halves and 32 of top pairs. */
NPU_INLINE void head_q6_k(wunit *u, const wrows *r) {
    vi last[4];
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
        vi four = u->low[b % 2 * 8 + j], top = u->high[j];
        four = bytes_and(b % 4 < 2 ? four : v_srl16(four, 4), 15);
        top = b % 4 < 2 ? v_sll32(top, (4 - b % 4 * 2)) : v_srl32(top, (b % 4 * 2 - 4));
        o->w[j] = or_masked(four, top, 48);
    }
}

/* The two bits of Q2_K and Q3_K: 32 bytes hold four blocks. */
NPU_INLINE void pairs_of(wunit *u, const wrows *r, int at, int b, vi *w) {
    if (b % 4 == 0) codes8(u, r, at + b / 4 * 32, u->low);
    for (int j = 0; j < 8; j++) w[j] = bytes_and(v_srl16(u->low[j], (b % 4 * 2)), 3);
}

NPU_INLINE void head_q2_k(wunit *u, const wrows *r) {
    vi last[4];
    words4(r, 0, u->s);
    words4(r, 68, last);
    u->d = half_low(last[3]);
    u->dmin = negated(half_high(last[3]));
    for (int j = 0; j < 4; j++) {
        u->m[j] = bytes_and(v_srl32(u->s[j], 4), 15);
        u->s[j] = bytes_and(u->s[j], 15);
    }
}

NPU_INLINE void block_q2_k(wunit *u, const wrows *r, int b, wblock *o) {
    o->scale = u->d;
    o->min = u->dmin;
    o->sc0 = byte_of(u->s[b / 2], b % 2 * 2);
    o->sc1 = byte_of(u->s[b / 2], b % 2 * 2 + 1);
    vi two = v_srl32(u->m[b / 2], (b % 2 * 16));
    o->mn = v_or(v_and(two, v_set32(255)), v_sll32(v_and(two, v_set32(0xFF00)), 8));
    pairs_of(u, r, 16, b, o->w);
}

/* Q3_K: 32 bytes of third bits, 64 of pairs, 12 bytes of 6-bit scales, half d. The last 16 bytes are read as words. */
NPU_INLINE void head_q3_k(wunit *u, const wrows *r) {
    vi t[4], a[3];
    codes8(u, r, 0, u->high);
    words4(r, 94, t);
    u->d = half_high(t[3]);
    for (int j = 0; j < 3; j++) a[j] = v_or(v_srl32(t[j], 16), v_sll32(t[j + 1], 16));
    for (int j = 0; j < 4; j++) { /* scales 4j … 4j+3: low halves in the halves of a[j % 2], top pairs in a[2] */
        vi low = bytes_and(j < 2 ? a[j] : v_srl32(a[j - 2], 4), 15);
        vi top = j < 2 ? v_sll32(a[2], (4 - 2 * j)) : v_srl32(a[2], (2 * j - 4));
        u->s[j] = v_sub8(or_masked(low, top, 48), v_set8(32));
    }
}

NPU_INLINE void block_q3_k(wunit *u, const wrows *r, int b, wblock *o) {
    o->scale = u->d;
    o->sc0 = signed_byte_of(u->s[b / 2], b % 2 * 2);
    o->sc1 = signed_byte_of(u->s[b / 2], b % 2 * 2 + 1);
    pairs_of(u, r, 32, b, o->w);
    for (int j = 0; j < 8; j++) {
        vi bit = b < 2 ? v_sll32(u->high[j], (2 - b)) : v_srl32(u->high[j], (b - 2));
        o->w[j] = or_masked(o->w[j], bit, 4);
    }
}

/* IQ4_XS: half d, 16 bits of top pairs, 4 bytes of low halves of eight 6-bit scales; then as IQ4_NL. */
NPU_INLINE void head_iq4_xs(wunit *u, const wrows *r) {
    vi t[4];
    words4(r, 0, t);
    u->d = half_low(t[0]);
    u->s[0] = v_srl32(t[0], 16);
    u->s[1] = t[1];
}

NPU_INLINE void block_iq4_xs(wunit *u, const wrows *r, int b, wblock *o) {
    vi low = v_and(v_srl32(u->s[1], (4 * b)), v_set32(15));
    vi top = v_and(v_srl32(u->s[0], (2 * b)), v_set32(3));
    vi ls = v_sub32(v_or(low, v_sll32(top, 4)), v_set32(32));
    o->scale = v_mulf(u->d, v_float(ls));
    codes4(u, r, 8 + b * 16, u->low);
    nibbles_split(u->low, o->w);
    look_up(iq4_levels, o->w);
}

#endif
