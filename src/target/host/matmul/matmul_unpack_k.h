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

NPU_INLINE void scales_q4_k(wunit *u, const wrows *r, int b, wblock *o) {
    (void)r;
    o->scale = v_mulf(u->d, v_float(byte_of(u->s[b / 4], b % 4)));
    o->min = v_mulf(u->dmin, v_float(byte_of(u->m[b / 4], b % 4)));
}

/* 32 bytes hold two blocks. */
NPU_INLINE vi nibble_pair(wunit *u, const wrows *r, int at, int b, int j) {
    return nibble(raw(u, r, at + b / 2 * 32, j, b % 2 == 0, u->low), b % 2);
}

NPU_INLINE vi code_q4_k(wunit *u, const wrows *r, int b, int j) {
    return nibble_pair(u, r, 16, b, j);
}

NPU_INLINE vi code_q5_k(wunit *u, const wrows *r, int b, int j) {
    vi bits = raw(u, r, 16, j, b == 0, u->high);
    return or_masked(nibble_pair(u, r, 48, b, j), b < 4 ? v_sll32(bits, (4 - b)) : v_srl32(bits, (b - 4)), 16);
}

/* Q6_K: 128 bytes of low halves, 64 of top pairs, 16 signed scales, half d. Half of the unit, 128 values, is in 64
 * bytes of low halves and 32 of top pairs. Packed (matmul_pack.c), the three parts of 32 bytes hold a block's codes
 * each, and above them the fourth's. */
NPU_INLINE void head_q6_k(wunit *u, const wrows *r) {
    words4(r, in_unit(r, 192, 0), u->s);
    u->d = last_half(r, in_unit(r, 208, 16));
}

NPU_INLINE void scales_q6_k(wunit *u, const wrows *r, int b, wblock *o) {
    (void)r;
    o->scale = u->d;
    o->sc = v_sra16(pair_high(u->s[b / 2], b % 2 * 2), 8);
    o->sc0 = v_sra32(v_sll32(o->sc, 16), 16);
    o->sc1 = v_sra32(o->sc, 16);
}

NPU_INLINE vi code_q6_k(wunit *u, const wrows *r, int b, int j) {
    if (r->packed) {
        vi part[3];
        for (int k = 0; k < 3; k++) part[k] = raw(u, r, 18 + b / 4 * 96 + k * 32, j, 1, u->low);
        if (b % 4 < 3) return bytes_and(part[b % 4], 63);
        vi low = or_masked(bytes_and(v_srl16(part[0], 6), 3), v_srl16(part[1], 4), 12);
        return or_masked(low, v_srl16(part[2], 2), 48);
    }
    vi four = raw(u, r, b / 4 * 64 + b % 2 * 32, j, b % 4 < 2, u->low + b % 2 * 8);
    vi top = raw(u, r, 128 + b / 4 * 32, j, b % 4 == 0, u->high);
    return or_masked(nibble(four, b % 4 / 2), b % 4 < 2 ? v_sll32(top, (4 - b % 4 * 2)) : v_srl32(top, (b % 4 * 2 - 4)),
                     48);
}

/* The two bits of Q2_K and Q3_K: 32 bytes hold four blocks. */
NPU_INLINE vi pair_of(wunit *u, const wrows *r, int at, int b, int j) {
    return bytes_and(v_srl16(raw(u, r, at + b / 4 * 32, j, b % 4 == 0, u->low), (b % 4 * 2)), 3);
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

NPU_INLINE void scales_q2_k(wunit *u, const wrows *r, int b, wblock *o) {
    (void)r;
    o->scale = u->d;
    o->min = u->dmin;
    o->sc = pair_low(u->s[b / 2], b % 2 * 2);
    o->mn = pair_low(u->m[b / 2], b % 2 * 2);
}

NPU_INLINE vi code_q2_k(wunit *u, const wrows *r, int b, int j) {
    return pair_of(u, r, in_unit(r, 16, 20), b, j);
}

/* Q3_K: 32 bytes of third bits, 64 of pairs, 12 bytes of 6-bit scales, half d. Where the last 16 bytes are read as
 * words of a row, they start at the end of the pairs. */
NPU_INLINE void head_q3_k(wunit *u, const wrows *r) {
    vi t[4], a[3];
    u->d = last_half(r, in_unit(r, 108, 12));
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

NPU_INLINE void scales_q3_k(wunit *u, const wrows *r, int b, wblock *o) {
    (void)r;
    o->scale = u->d;
    o->sc = v_sra16(pair_high(u->s[b / 2], b % 2 * 2), 8);
}

NPU_INLINE vi code_q3_k(wunit *u, const wrows *r, int b, int j) {
    vi bits = raw(u, r, in_unit(r, 0, 14), j, b == 0, u->high);
    return or_masked(pair_of(u, r, in_unit(r, 32, 46), b, j), b < 2 ? v_sll32(bits, (2 - b)) : v_srl32(bits, (b - 2)),
                     4);
}

/* IQ4_XS: half d, 16 bits of top pairs, 4 bytes of low halves of eight 6-bit scales; then as IQ4_NL. */
NPU_INLINE void head_iq4_xs(wunit *u, const wrows *r) {
    vi t[4];
    words4(r, 0, t);
    u->d = half_low(t[0]);
    u->s[0] = v_srl32(t[0], 16);
    u->s[1] = t[1];
}

NPU_INLINE void scales_iq4_xs(wunit *u, const wrows *r, int b, wblock *o) {
    (void)r;
    vi low = v_and(v_srl32(u->s[1], (4 * b)), v_set32(15));
    vi top = v_and(v_srl32(u->s[0], (2 * b)), v_set32(3));
    vi ls = v_sub32(v_or(low, v_sll32(top, 4)), v_set32(32));
    o->scale = v_mulf(u->d, v_float(ls));
}

NPU_INLINE vi index_iq4_xs(wunit *u, const wrows *r, int b, int j) {
    return nibble_split(u, r, 8 + b * 16, j);
}

NPU_INLINE vi code_iq4_xs(wunit *u, const wrows *r, int b, int j) {
    return v_look_up(v_group16(iq4_levels), index_iq4_xs(u, r, b, j));
}

#endif
