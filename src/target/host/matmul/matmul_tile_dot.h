/* The panel products of MUL_MAT where one instruction adds products of four bytes: tiles of SIDES vectors of weight
 * rows and up to MAX_COLUMNS activation rows, whose sums all stay in registers.
 */
#ifndef NPU_MATMUL_TILE_DOT_H
#define NPU_MATMUL_TILE_DOT_H

#include "target/host/matmul/matmul_tile_block.h"

_Static_assert(MAX_COLUMNS <= 6, "as many as |tile| has cases for");
_Static_assert((int)MAX_COLUMNS_HALVES <= (int)MAX_COLUMNS, "sums of halves have room in those of columns");

NPU_INLINE void put_for_dots(const wformat *f, const wblock *o, vi *v) {
    put_block(f, o, DOT_OFFSET, v);
}

/* Adds the products of vectors |first| … + 3 of the codes of each side with all columns. */
NPU_INLINE void dots(const vi *const r[SIDES], int first, const npu_mm_act *a, uint64_t a_stride, int columns,
                     vi sum[SIDES][MAX_COLUMNS]) {
    NPU_UNROLL
    for (int j = first; j < first + 4; j++) {
        NPU_UNROLL
        for (int i = 0; i < SIDES * columns; i++) {
            const int g = i % SIDES, c = i / SIDES;
            sum[g][c] = v_dot_word(sum[g][c], r[g][j], a[(uint64_t)c * a_stride].q, j);
        }
    }
}

NPU_INLINE void start_sums(wkind kind, int first, const npu_mm_act *a, uint64_t a_stride, int columns,
                           vi sum[SIDES][MAX_COLUMNS]) {
    NPU_UNROLL
    for (int i = 0; i < SIDES * columns; i++)
        sum[i % SIDES][i / SIDES] = start_sum(kind, &a[(uint64_t)(i / SIDES) * a_stride], first);
}

NPU_INLINE void tile_block(const wformat *f, int columns, const vi *v, const npu_mm_act *a, uint64_t a_stride,
                           vf acc[SIDES][MAX_COLUMNS]) {
    const vi *r[SIDES];
    vi sum[SIDES][MAX_COLUMNS], high[SIDES][MAX_COLUMNS];
    for (int g = 0; g < SIDES; g++) r[g] = v + g * vectors_of(f);
    start_sums(f->kind, 0, a, a_stride, columns, sum);
    dots(r, 0, a, a_stride, columns, sum);
    if (has_halves(f->kind)) start_sums(f->kind, 4, a, a_stride, columns, high);
    dots(r, 4, a, a_stride, columns, has_halves(f->kind) ? high : sum);
    NPU_UNROLL
    for (int i = 0; i < SIDES * columns; i++) {
        const int g = i % SIDES, c = i / SIDES;
        vf total = has_halves(f->kind) ? join_halves(f->kind, r[g], sum[g][c], high[g][c]) : v_counted(sum[g][c]);
        acc[g][c] = add_block(f->kind, r[g], &a[(uint64_t)c * a_stride], total, acc[g][c]);
    }
}

NPU_INLINE uint32_t most_columns(wkind kind) {
    return has_halves(kind) ? MAX_COLUMNS_HALVES : MAX_COLUMNS;
}

/* Nothing is made for numbers of columns that this kind or machine never takes: their sums would not fit, not even the
 * arrays. */
NPU_INLINE void tile_if_any(wkind kind, uint32_t columns, const mm_tile *t) {
    if (columns <= most_columns(kind)) tile_of(tile_block, vectors_of(&of_kind[kind]), &of_kind[kind], (int)columns, t);
}

NPU_INLINE void tile(wkind kind, uint32_t columns, const mm_tile *t) {
    switch (columns) {
    case 1:
        tile_if_any(kind, 1, t);
        break;
    case 2:
        tile_if_any(kind, 2, t);
        break;
    case 3:
        tile_if_any(kind, 3, t);
        break;
    case 4:
        tile_if_any(kind, 4, t);
        break;
    case 5:
        tile_if_any(kind, 5, t);
        break;
    case 6:
        tile_if_any(kind, 6, t);
        break;
    }
}

#define MM_TILES(name, kind)                                                        \
    static void name##_tile(const wformat *f, uint32_t columns, const mm_tile *t) { \
        (void)f;                                                                    \
        tile(kind, columns, t);                                                     \
    }
MM_EACH_KIND(MM_TILES)
#undef MM_TILES

static void all_columns(const wformat *f, mm_tile t, uint32_t rows) {
    static void (*const tiles[KIND_COUNT])(const wformat *, uint32_t, const mm_tile *) = {
        plain_tile, min_tile, two_tile, pair_tile, pair_min_tile};
    even_columns(f, t, rows, most_columns(f->kind), tiles[f->kind]);
}

static const mm_panel dot_panel = {vectors_of, put_for_dots, all_columns};

NPU_INLINE void panel_of_dots(const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1, uint8_t *scratch) {
    panel_with(&dot_panel, f, task, n0, n1, scratch);
}

#ifndef NPU_MATMUL_FEW /* matmul_few.h has another way besides */
NPU_INLINE void panel(const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1, uint8_t *scratch) {
    panel_of_dots(f, task, n0, n1, scratch);
}
#endif

#endif
