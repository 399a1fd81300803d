/* The panel products of MUL_MAT on AVX2, which has byte products of pairs alone: tiles of 16 weight rows and up to 3
 * activation rows.
 *
 * A byte product gives sums of two in 16 bits. As many of them as fit are added as they are (|together|), and only then
 * made words, by a product with ones or with the scales of 16 values.
 */
#ifndef NPU_MATMUL_TILE_PAIRS_H
#define NPU_MATMUL_TILE_PAIRS_H

#include "target/host/matmul/matmul_tile.h"

_Static_assert((int)SIDES == 2 && (int)MAX_COLUMNS == 3, "as |products| and |tile| are written");

/* Columns whose products are at work together: one more than a tile has where their sums need not stay in registers. */
enum { COLUMNS = MAX_COLUMNS + 1 };

/* A block of LANES rows in a panel: codes[8], |codes|[8] when they are signed, scale, then by kind: nothing, min,
 * or from SC0 on. */
enum { SC0, SC1, MIN2, MN, N_SCALES };
_Static_assert(MOST_UNIT_BLOCKS *SIDES *(16 + 1 + N_SCALES) * sizeof(vi) <= NPU_MM_PANEL_BYTES, "room for a unit");

NPU_INLINE int at_scale(const wformat *f) {
    return is_signed(f) ? 16 : 8;
}

NPU_INLINE int vectors_of(const wformat *f) {
    int after = f->kind == KIND_PLAIN ? 0 : f->kind == KIND_MIN ? 1 : f->kind == KIND_PAIR_MIN ? N_SCALES : SC1 + 1;
    return at_scale(f) + 1 + after;
}

NPU_INLINE void put_block(const wformat *f, const wblock *o, vi *v) {
    for (int j = 0; j < 8; j++) {
        v[j] = is_signed(f) ? v_xor(o->w[j], v_set8(0x80)) : o->w[j];
        if (is_signed(f)) v[8 + j] = v_abs8(v[j]);
    }
    v += at_scale(f);
    *v++ = v_as_int(o->scale);
    if (f->kind == KIND_MIN) *v = v_as_int(o->min);
    if (!has_scales(f)) return;
    spread_scales(o, v);
    if (f->kind != KIND_PAIR_MIN) return;
    v[MIN2] = v_as_int(o->min);
    v[MN] = o->mn;
}

/* Products of |quads| x 4 codes of both sides with all columns, |step| of them added in 16 bits, times |factor| (one
 * for each half of a word), to |sum|, or added to what is there. |half|: of the codes with scales, 0 or 1. */
NPU_INLINE void dots(const wformat *f, const vi *const w[SIDES], const npu_mm_act *a, uint64_t a_stride, int columns,
                     int half, int quads, int step, const vi factor[SIDES], vi sum[SIDES][COLUMNS]) {
    const int starts = has_scales(f) && f->offset;
    NPU_UNROLL
    for (int first = 0; first < quads; first += step) {
        vi pairs[SIDES][COLUMNS];
        for (int c = 0; starts && c < columns; c++) pairs[0][c] = start16_of(f, &a[(uint64_t)c * a_stride], half);
        NPU_UNROLL
        for (int j = first; j < first + step; j++) {
            vi code[SIDES], size[SIDES]; /* |size|: of signed ones */
            NPU_UNROLL
            for (int g = 0; g < SIDES; g++) {
                code[g] = v_hold(w[g][4 * half + j]);
                if (is_signed(f)) size[g] = v_hold(w[g][8 + j]);
            }
            NPU_UNROLL
            for (int c = 0; c < columns; c++) {
                vi x = broadcast4(a[(uint64_t)c * a_stride].q + 16 * half + 4 * j);
                NPU_UNROLL
                for (int g = SIDES - 1; g >= 0; g--) {
                    vi product = is_signed(f) ? v_pairs(size[g], v_sign8(x, code[g])) : v_pairs(code[g], x);
                    pairs[g][c] = j > first ? v_add16(pairs[g][c], product)
                                  : starts  ? v_add16(pairs[0][c], product)
                                            : product;
                }
            }
        }
        NPU_UNROLL
        for (int i = 0; i < SIDES * columns; i++) {
            vi *s = &sum[i % SIDES][i / SIDES], part = v_dot16(pairs[i % SIDES][i / SIDES], factor[i % SIDES]);
            *s = half || first ? v_hold(v_add32(*s, part)) : part;
        }
    }
}

/* Integer sums of a block |v| of the panel with |columns| columns |a|, less the start of those of formats that have an
 * offset and one scale. */
NPU_INLINE void products(const wformat *f, int columns, const vi *v, const npu_mm_act *a, uint64_t a_stride,
                         vi sum[SIDES][COLUMNS]) {
    const vi *w[SIDES] = {v, v + vectors_of(f)};
    const vi *s[SIDES] = {w[0] + at_scale(f) + 1, w[1] + at_scale(f) + 1};
    if (has_scales(f)) {
        dots(f, w, a, a_stride, columns, 0, 4, 4, (const vi[]){s[0][SC0], s[1][SC0]}, sum);
        dots(f, w, a, a_stride, columns, 1, 4, 4, (const vi[]){s[0][SC1], s[1][SC1]}, sum);
    } else {
        const vi ones = v_set16(1);
        dots(f, w, a, a_stride, columns, 0, 8, together(f), (const vi[]){ones, ones}, sum);
    }
}

/* Adds |sum| of the block |v| of one side with the activations |a|, scaled. */
NPU_INLINE vf add_sum(const wformat *f, const vi *v, const npu_mm_act *a, vi sum, vf acc) {
    const vi *s = v + at_scale(f) + 1;
    vf d = v_setf(a->d);
    if (f->offset && !is_signed(f) && !has_scales(f)) sum = v_add32(sum, start_of(&a->n, f->offset));
    acc = v_fma(v_mulf(v_as_float(v[at_scale(f)]), d), v_float(sum), acc);
    if (f->kind == KIND_MIN) acc = v_fma(v_as_float(s[0]), v_setf(a->s), acc);
    if (f->kind == KIND_PAIR_MIN) {
        vi mins = v_dot16(s[MN], broadcast4(&a->b0));
        acc = v_fma(v_mulf(v_as_float(s[MIN2]), d), v_float(mins), acc);
    }
    return acc;
}

NPU_INLINE void tile_block(const wformat *f, int columns, const vi *v, const npu_mm_act *a, uint64_t a_stride,
                           vf acc[SIDES][MAX_COLUMNS]) {
    vi sum[SIDES][COLUMNS];
    products(f, columns, v, a, a_stride, sum);
    NPU_UNROLL
    for (int i = 0; i < SIDES * columns; i++) {
        const int g = i % SIDES, c = i / SIDES;
        acc[g][c] = add_sum(f, v + g * vectors_of(f), &a[(uint64_t)c * a_stride], sum[g][c], acc[g][c]);
    }
}

NPU_INLINE void tile(const wformat *f, uint32_t columns, const mm_tile *t) {
    if (columns == 3) {
        tile_of(tile_block, vectors_of(f), f, 3, t);
    } else if (columns == 2) {
        tile_of(tile_block, vectors_of(f), f, 2, t);
    } else {
        tile_of(tile_block, vectors_of(f), f, 1, t);
    }
}

NPU_INLINE void all_columns(const wformat *f, mm_tile t, uint32_t rows) {
    even_columns(f, t, rows, MAX_COLUMNS, tile);
}

static const mm_panel pairs_panel = {vectors_of, put_block, all_columns};

NPU_INLINE void panel_of_pairs(const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1, uint8_t *scratch) {
    panel_with(&pairs_panel, f, task, n0, n1, scratch);
}

#endif
