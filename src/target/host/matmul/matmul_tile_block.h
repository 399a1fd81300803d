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

/* A block of LANES rows in a panel is the vectors w[8], scale, then by kind: min | sc0, sc1 | sc | min, mn. */
NPU_INLINE int vectors_of(const wformat *f) {
    const uint8_t n[KIND_COUNT] = {9, 10, 11, 10, 11};
    return n[f->kind];
}

/* Codes of formats that have an offset get |offset|, so that one product serves all formats of a kind. */
NPU_INLINE void put_block(const wformat *f, const wblock *o, int offset, vi *v) {
    const vi more = v_set8(offset - f->offset);
    vi sc[2];
    if (f->kind == KIND_PAIR_MIN) spread_scales(o, sc);
    for (int j = 0; j < 8; j++) {
        v[j] = has_offset(f->kind) ? v_add8(o->w[j], more) : o->w[j];
        if (f->kind == KIND_PAIR_MIN) v[j] = v_mul16(v[j], sc[j / 4]); /* two codes at once: 3 * 15 fits a byte */
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

/* Tiles are made once a kind, of which only the kind is looked at. */
static const wformat of_kind[KIND_COUNT] = {
    {.kind = KIND_PLAIN}, {.kind = KIND_MIN}, {.kind = KIND_TWO}, {.kind = KIND_PAIR}, {.kind = KIND_PAIR_MIN}};

#endif
