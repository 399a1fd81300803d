/* What panels hold where products add up four bytes or more: for a block of LANES rows eight vectors of codes, and what
 * follows the integer sums.
 */
#ifndef NPU_MATMUL_TILE_BLOCK_H
#define NPU_MATMUL_TILE_BLOCK_H

#include "target/host/matmul/matmul_tile.h"

/* Blocks whose halves are summed apart; a Q2_K's are not, because its codes are stored times their scales. */
NPU_INLINE int has_halves(wkind kind) {
    return kind == KIND_TWO || kind == KIND_PAIR;
}

NPU_INLINE int has_offset(wkind kind) {
    return kind != KIND_MIN && kind != KIND_PAIR_MIN;
}

enum { MOST_VECTORS = 11 };
_Static_assert(MOST_UNIT_BLOCKS *SIDES *MOST_VECTORS * sizeof(vi) <= NPU_MM_PANEL_BYTES, "room for a unit");

/* A block of LANES rows in a panel is the vectors w[8], scale, then by kind: min | sc0, sc1 | sc | min, mn. */
NPU_INLINE int vectors_of(const wformat *f) {
    const uint8_t n[KIND_COUNT] = {9, 10, MOST_VECTORS, 10, MOST_VECTORS};
    return n[f->kind];
}

/* Codes of formats that have an offset get |offset|, so that one product serves all formats of a kind. */
NPU_INLINE void put_block(const wformat *f, const wblock *o, int offset, vi *v) {
    const vi more = v_set8(offset - f->offset);
    vi sc[2];
    if (f->kind == KIND_PAIR_MIN) spread_scales(o, sc);
    for (int j = 0; j < 8; j++) {
        v[j] = has_offset(f->kind) ? v_add8(o->w[j], more) : o->w[j];
        if (f->kind == KIND_PAIR_MIN) v[j] = v_mul16(v[j], sc[j / 4]); /* two codes at once, each a byte */
    }
    v[8] = v_as_int(o->scale);
    if (f->kind == KIND_MIN || f->kind == KIND_PAIR_MIN) v[9] = v_as_int(o->min);
    if (f->kind == KIND_PAIR_MIN) v[10] = o->mn;
    if (f->kind == KIND_PAIR) v[9] = o->sc;
    if (f->kind == KIND_TWO) {
        v[9] = v_as_int(v_float(o->sc0));
        v[10] = v_as_int(v_float(o->sc1));
    }
}

/* What a sum starts at with the |j|-th vector of codes, of a block or, when its halves are summed apart, of one. */
NPU_INLINE vi start_sum(wkind kind, const npu_mm_act *a, int j) {
    const int32_t *n = !has_halves(kind) ? &a->n : j ? &a->n_high : &a->n_low;
    return v_count_from(start_of(n, has_offset(kind) ? DOT_OFFSET : 0));
}

/* The integer sum of a block |r| from those of its halves, which have scales of their own. Floats are exact here (all
 * is below 2^24), and two of their operations take the time of a product of words. */
NPU_INLINE vf join_halves(wkind kind, const vi *r, vi low, vi high) {
    if (kind == KIND_PAIR) return v_dot16f(v_pair(low, high), r[9]);
    return v_fma(v_counted(high), v_as_float(r[10]), v_mulf(v_counted(low), v_as_float(r[9])));
}

/* Adds the integer sum of a block |r| with the activations |a|, scaled. */
NPU_INLINE vf add_block(wkind kind, const vi *r, const npu_mm_act *a, vf sum, vf acc) {
    vf d = v_setf(a->d);
    acc = v_fma(v_mulf(v_as_float(r[8]), d), sum, acc);
    if (kind == KIND_MIN) acc = v_fma(v_as_float(r[9]), v_setf(a->s), acc);
    if (kind == KIND_PAIR_MIN) {
        vf mins = v_dot16f(r[10], broadcast4(&a->b0));
        acc = v_fma(v_mulf(v_as_float(r[9]), d), mins, acc);
    }
    return acc;
}

/* Tiles are made once a kind, of which only the kind is looked at. */
static const wformat of_kind[KIND_COUNT] = {
    {.kind = KIND_PLAIN}, {.kind = KIND_MIN}, {.kind = KIND_TWO}, {.kind = KIND_PAIR}, {.kind = KIND_PAIR_MIN}};

#endif
