/* The unpackers of the formats whose units are eight blocks: as matmul_unpack.h, which has the rest and the tools. */
#ifndef NPU_MATMUL_UNPACK_K_H
#define NPU_MATMUL_UNPACK_K_H

#include "target/host/matmul/matmul_unpack.h"

/* Q4_K, Q5_K: half d, half dmin, 12 bytes that hold eight 6-bit scales and minima. */
NPU_INLINE void head_q4_k(wunit *u, const wrows *r) {
    vi t[4];
    words4(r, 0, t);
    u->d = half_low(t[0]);
    u->dmin = negated(half_high(t[0]));
    u->s[0] = bytes_and(t[1], 63);
    u->m[0] = bytes_and(t[2], 63);
    u->s[1] = or_masked(bytes_and(t[3], 15), v_srl32(t[1], 2), 48);
    u->m[1] = or_masked(bytes_and(v_srl32(t[3], 4), 15), v_srl32(t[2], 2), 48);
}

NPU_INLINE void scale_min_q4_k(const wunit *u, int b, wblock *o) {
    o->scale = v_mulf(u->d, v_float(byte_of(u->s[b / 4], b % 4)));
    o->min = v_mulf(u->dmin, v_float(byte_of(u->m[b / 4], b % 4)));
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
    words4(r, in_unit(r, 192, 0), u->s);
    u->d = last_half(r, in_unit(r, 208, 16));
}

NPU_INLINE void block_q6_k(wunit *u, const wrows *r, int b, wblock *o) {
    o->scale = u->d;
    vi two = pair_high(u->s[b / 2], b % 2 * 2);
    o->sc0 = v_sra32(v_sll32(two, 16), 24);
    o->sc1 = v_sra32(two, 24);
    if (b % 4 == 0) {
        int low = in_unit(r, b / 4 * 64, 18 + b / 4 * 96);
        codes8(u, r, low, u->low);
        codes8(u, r, low + 32, u->low + 8);
        codes8(u, r, in_unit(r, 128 + b / 4 * 32, low + 64), u->high);
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
    vi last = last_dword(r, in_unit(r, 80, 0));
    words4(r, in_unit(r, 0, 4), u->s);
    u->d = half_low(last);
    u->dmin = negated(half_high(last));
    for (int j = 0; j < 4; j++) {
        u->m[j] = bytes_and(v_srl32(u->s[j], 4), 15);
        u->s[j] = bytes_and(u->s[j], 15);
    }
}

NPU_INLINE void block_q2_k(wunit *u, const wrows *r, int b, wblock *o) {
    o->scale = u->d;
    o->min = u->dmin;
    o->sc = pair_low(u->s[b / 2], b % 2 * 2);
    o->mn = pair_low(u->m[b / 2], b % 2 * 2);
    pairs_of(u, r, in_unit(r, 16, 20), b, o->w);
}

/* Q3_K: 32 bytes of third bits, 64 of pairs, 12 bytes of 6-bit scales, half d. Where the last 16 bytes are read as
 * words of a row, they start at the end of the pairs. */
NPU_INLINE void head_q3_k(wunit *u, const wrows *r) {
    vi t[4], a[3];
    u->d = last_half(r, in_unit(r, 108, 12));
    codes8(u, r, in_unit(r, 0, 14), u->high);
    if (r->packed) {
        for (int j = 0; j < 3; j++) a[j] = dwords(r, 4 * j);
    } else {
        words4(r, 94, t);
        for (int j = 0; j < 3; j++) a[j] = v_or(v_srl32(t[j], 16), v_sll32(t[j + 1], 16));
    }
    for (int j = 0; j < 4; j++) { /* scales 4j … 4j+3: low halves in the halves of a[j % 2], top pairs in a[2] */
        vi low = bytes_and(j < 2 ? a[j] : v_srl32(a[j - 2], 4), 15);
        vi top = j < 2 ? v_sll32(a[2], (4 - 2 * j)) : v_srl32(a[2], (2 * j - 4));
        u->s[j] = v_sub8(or_masked(low, top, 48), v_set8(32));
    }
}

NPU_INLINE void block_q3_k(wunit *u, const wrows *r, int b, wblock *o) {
    o->scale = u->d;
    o->sc = v_sra16(pair_high(u->s[b / 2], b % 2 * 2), 8);
    pairs_of(u, r, in_unit(r, 32, 46), b, o->w);
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
