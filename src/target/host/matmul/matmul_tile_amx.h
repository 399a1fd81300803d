/* The panel products of MUL_MAT on AMX: a block of 16 weight rows, as matmul_tile_block.h unpacks it, is a tile of
 * eight rows of 64 bytes; the codes of 16 activation rows are one of 16 rows of 32 bytes, as they lie. One instruction
 * gives the integer sums of a block of both, which vectors then scale and add in the order of the contract (numerics.md
 * §5). Blocks whose halves are summed apart take two instructions, of half of the bytes each.
 */
#ifndef NPU_MATMUL_TILE_AMX_H
#define NPU_MATMUL_TILE_AMX_H

#include "base/peak/tile_config.h"
#include "target/host/matmul/matmul_tile_block.h"

enum { TILE_ROWS = 16 };

/* Sums of one block: of its two halves, or in the first alone. */
typedef struct tile_sums {
    _Alignas(64) int32_t of[2][TILE_ROWS][LANES];
} tile_sums;

/* Tiles 0, 1 and 4 are sums and activations of 16 rows, 2, 3 and 5 of the |rest| that is left behind these; 6 and 7 are
 * weights. */
NPU_INLINE void configure(wkind kind, uint32_t rest) {
    const int bytes = has_halves(kind) ? 16 : 32;
    tile_config c = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        const int of_rest = i == 2 || i == 3 || i == 5;
        c.row_bytes[i] = (uint16_t)(i == 4 || i == 5 ? bytes : 64);
        c.rows[i] = (uint8_t)(i >= 6 ? bytes / 4 : of_rest && rest ? (int)rest : TILE_ROWS);
    }
    load_tile_config(&c);
}

/* The integer sums of the block |r| with the activation rows from |a| on. */
NPU_INLINE void block_products(wkind kind, int is_rest, const __m512i *r, const npu_mm_act *a, uint64_t a_stride,
                               tile_sums *to) {
    const uint64_t stride = a_stride * sizeof *a;
    _tile_loadd(6, r, 64);
    if (has_halves(kind)) _tile_loadd(7, r + 4, 64);
    if (is_rest) {
        _tile_zero(2);
        _tile_loadd(5, a->q, stride);
        _tile_dpbssd(2, 5, 6);
        _tile_stored(2, to->of[0], 64);
        if (!has_halves(kind)) return;
        _tile_zero(3);
        _tile_loadd(5, a->q + 16, stride);
        _tile_dpbssd(3, 5, 7);
        _tile_stored(3, to->of[1], 64);
        return;
    }
    _tile_zero(0);
    _tile_loadd(4, a->q, stride);
    _tile_dpbssd(0, 4, 6);
    _tile_stored(0, to->of[0], 64);
    if (!has_halves(kind)) return;
    _tile_zero(1);
    _tile_loadd(4, a->q + 16, stride);
    _tile_dpbssd(1, 4, 7);
    _tile_stored(1, to->of[1], 64);
}

/* |columns| activation rows against the weight rows on side |g| of the panel. The products of a block are asked for
 * before those of the last one are scaled. */
NPU_INLINE void tile_columns(wkind kind, int is_rest, int columns, int g, const mm_tile *t) {
    const int vectors = vectors_of(&of_kind[kind]);
    const __m512i *r = t->panel + g * vectors;
    const npu_mm_act *a = t->a;
    tile_sums sums[2];
    __m512 acc[TILE_ROWS];
    NPU_UNROLL
    for (int c = 0; c < TILE_ROWS; c++) acc[c] = c < columns ? begin_sums(t, g, c) : _mm512_setzero_ps();
    block_products(kind, is_rest, r, a, t->a_stride, &sums[0]);
    for (uint32_t b = 0; b < t->blocks; b++, a++, r += SIDES * vectors) {
        const tile_sums *now = &sums[b % 2];
        if (b + 1 < t->blocks)
            block_products(kind, is_rest, r + SIDES * vectors, a + 1, t->a_stride, &sums[(b + 1) % 2]);
        NPU_UNROLL
        for (int c = 0; c < columns; c++) {
            __m512i sum = _mm512_loadu_si512(now->of[0][c]);
            __m512 total = has_halves(kind) ? join_halves(kind, r, sum, _mm512_loadu_si512(now->of[1][c]))
                                            : _mm512_cvtepi32_ps(sum);
            acc[c] = add_block(kind, r, &a[(uint64_t)c * t->a_stride], total, acc[c]);
        }
    }
    NPU_UNROLL
    for (int c = 0; c < columns; c++) end_sums(t, g, c, acc[c]);
}

typedef void tiles_fn(const mm_tile *t, uint32_t columns);

/* A side that no row is left for is not multiplied. */
#define MM_TILES(name, kind)                                                                             \
    static void name##_tiles(const mm_tile *t, uint32_t columns) {                                       \
        (void)columns;                                                                                   \
        for (int g = 0; g < SIDES && rows_on_side(t, g); g++) tile_columns(kind, 0, TILE_ROWS, g, t);    \
    }                                                                                                    \
    static void name##_rest(const mm_tile *t, uint32_t columns) {                                        \
        for (int g = 0; g < SIDES && rows_on_side(t, g); g++) tile_columns(kind, 1, (int)columns, g, t); \
    }
MM_EACH_KIND(MM_TILES)
#undef MM_TILES

static tiles_fn *const tile_groups[KIND_COUNT][2] = {
    [KIND_PLAIN] = {plain_tiles, plain_rest},
    [KIND_MIN] = {min_tiles, min_rest},
    [KIND_TWO] = {two_tiles, two_rest},
    [KIND_PAIR] = {pair_tiles, pair_rest},
    [KIND_PAIR_MIN] = {pair_min_tiles, pair_min_rest},
};

static void tiled_columns(const wformat *f, mm_tile t, uint32_t rows) {
    __asm__ volatile("" ::: "memory"); /* compilers don't know that tiles are loaded from what was just written */
    for (uint32_t at = 0; at < rows; at += TILE_ROWS) {
        const uint32_t left = rows - at;
        tile_groups[f->kind][left < TILE_ROWS](&t, left);
        t.a += TILE_ROWS * t.a_stride;
        t.y += TILE_ROWS;
    }
}

NPU_INLINE void put_signed(const wformat *f, const wblock *o, __m512i *v) {
    put_block(f, o, 0, v);
}

static const mm_panel tile_panel = {vectors_of, put_signed, tiled_columns};

/* The tiles are this thread's from here on, and given back: else the system would keep them with every switch. */
NPU_INLINE void panel(const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1, uint8_t *scratch) {
    configure(f->kind, task->rows % TILE_ROWS);
    panel_with(&tile_panel, f, task, n0, n1, scratch);
    _tile_release();
}

#endif
