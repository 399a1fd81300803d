/* The panel products of MUL_MAT in fast mode on AMX: weights and activations are rounded to BF16, and a tile gathers
 * the sums of a whole chunk of blocks, which needs no scales on the way. Not the bits of numerics.md §5, and not the
 * same for any number of rows.
 */
#ifndef NPU_MATMUL_TILE_BF16_H
#define NPU_MATMUL_TILE_BF16_H

#include "base/peak/tile_config.h"
#include "target/host/matmul/matmul_tile.h"

enum { TILE_ROWS = 16, PAIRS = 16 };

_Static_assert(MOST_UNIT_BLOCKS *SIDES *PAIRS * sizeof(__m512i) <= NPU_MM_PANEL_BYTES, "room for a unit");
_Static_assert((int)SIDES == 2, "a tile for the weights of each, and for their sums");
_Static_assert(sizeof(npu_mm_act) == 32 * sizeof(uint16_t), "32 activations in BF16 take the place of a block's codes");

static void to_bf16(const float *x, npu_mm_act *acts, uint32_t blocks) {
    for (uint32_t b = 0; b < blocks; b++, x += 32) {
        __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + 16), _mm512_loadu_ps(x));
        memcpy(&acts[b], &both, sizeof both);
    }
}

/* Pairs of BF16: |even| in the low halves. */
NPU_INLINE __m512i bf16_pairs(__m512 even, __m512 odd) {
    __m512i low = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(even));
    __m512i high = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(odd));
    return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}

/* A half of each lane of |pairs|, the low or the high one, signed. */
NPU_INLINE __m512 half_of(__m512i pairs, int high) {
    return _mm512_cvtepi32_ps(_mm512_srai_epi32(high ? pairs : _mm512_slli_epi32(pairs, 16), 16));
}

/* Scale and minimum of the values of a half of a block. */
NPU_INLINE void scales_of(const wformat *f, const wblock *o, int half, __m512 *scale, __m512 *min) {
    *scale = o->scale;
    *min = f->kind == KIND_MIN ? o->min : _mm512_setzero_ps();
    if (f->kind == KIND_TWO) *scale = _mm512_mul_ps(*scale, _mm512_cvtepi32_ps(half ? o->sc1 : o->sc0));
    if (f->kind == KIND_PAIR || f->kind == KIND_PAIR_MIN) *scale = _mm512_mul_ps(*scale, half_of(o->sc, half));
    if (f->kind == KIND_PAIR_MIN) *min = _mm512_mul_ps(o->min, half_of(o->mn, half));
}

/* A block of 16 rows is a tile: row k has values 2k and 2k + 1 of each. */
NPU_INLINE void put_bf16(const wformat *f, const wblock *o, __m512i *v) {
    const __m512i byte = _mm512_set1_epi32(255), offset = _mm512_set1_epi32(f->offset);
    for (int j = 0; j < 8; j++) {
        __m512 scale, min, x[4];
        scales_of(f, o, j / 4, &scale, &min);
        for (int i = 0; i < 4; i++) {
            __m512i c = _mm512_and_si512(_mm512_srli_epi32(o->w[j], 8u * (unsigned)i), byte);
            x[i] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(c, offset)), scale, min);
        }
        v[2 * j] = bf16_pairs(x[0], x[1]);
        v[2 * j + 1] = bf16_pairs(x[2], x[3]);
    }
}

NPU_INLINE int pairs_of_block(const wformat *f) {
    (void)f;
    return PAIRS;
}

/* Tiles 0 and 1 (2 and 3) are the sums of both groups of weight rows with |first| (|second|) activation rows, which are
 * tile 4 (5); 6 and 7 are weights. */
static void shape_tiles(uint32_t first, uint32_t second) {
    tile_config c = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        c.row_bytes[i] = 64;
        c.rows[i] = (uint8_t)(i >= 6 ? PAIRS : i == 2 || i == 3 || i == 5 ? second : first);
    }
    load_tile_config(&c);
}

/* Adds |columns| rows of sums to those of the results. */
static void add_sums(const mm_tile *t, int g, uint32_t columns, const float sums[TILE_ROWS][LANES]) {
    for (int c = 0; c < (int)columns; c++) {
        __m512 y = _mm512_loadu_ps(sums[c]);
        end_sums(t, g, c, t->begin ? y : _mm512_add_ps(y, begin_sums(t, g, c)));
    }
}

/* The chunk against at most 16 activation rows, */
static void products_one(const mm_tile *t, uint32_t columns) {
    _Alignas(64) float sums[SIDES][TILE_ROWS][LANES];
    const __m512i *v = t->panel;
    _tile_zero(0);
    _tile_zero(1);
    for (uint32_t b = 0; b < t->blocks; b++, v += SIDES * PAIRS) {
        _tile_loadd(4, t->a + b, t->a_stride * sizeof *t->a);
        _tile_loadd(6, v, 64);
        _tile_loadd(7, v + PAIRS, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
    }
    _tile_stored(0, sums[0], 64);
    _tile_stored(1, sums[1], 64);
    for (int g = 0; g < SIDES; g++) add_sums(t, g, columns, (const float(*)[LANES])sums[g]);
}

/* and against 16 and at most 16 more. */
static void products_two(const mm_tile *t, uint32_t second) {
    _Alignas(64) float sums[2 * SIDES][TILE_ROWS][LANES];
    const __m512i *v = t->panel;
    const uint64_t stride = t->a_stride * sizeof *t->a;
    mm_tile more = *t;
    more.y += TILE_ROWS;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (uint32_t b = 0; b < t->blocks; b++, v += SIDES * PAIRS) {
        _tile_loadd(4, t->a + b, stride);
        _tile_loadd(5, t->a + b + TILE_ROWS * t->a_stride, stride);
        _tile_loadd(6, v, 64);
        _tile_loadd(7, v + PAIRS, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sums[0], 64);
    _tile_stored(1, sums[1], 64);
    _tile_stored(2, sums[2], 64);
    _tile_stored(3, sums[3], 64);
    for (int g = 0; g < SIDES; g++) {
        add_sums(t, g, TILE_ROWS, (const float(*)[LANES])sums[g]);
        add_sums(&more, g, second, (const float(*)[LANES])sums[SIDES + g]);
    }
}

static void bf16_columns(const wformat *f, mm_tile t, uint32_t rows) {
    (void)f;
    __asm__ volatile("" ::: "memory"); /* compilers don't know that tiles are loaded from what was just written */
    for (uint32_t left = rows; left;) {
        const uint32_t now = left < 2 * TILE_ROWS ? left : 2 * TILE_ROWS;
        if (left == rows || now < 2 * TILE_ROWS)
            shape_tiles(now < TILE_ROWS ? now : TILE_ROWS, now > TILE_ROWS ? now - TILE_ROWS : TILE_ROWS);
        if (now > TILE_ROWS) {
            products_two(&t, now - TILE_ROWS);
        } else {
            products_one(&t, now);
        }
        t.a += now * t.a_stride;
        t.y += now;
        left -= now;
    }
    _tile_release();
}

static const mm_panel bf16_panel = {pairs_of_block, put_bf16, bf16_columns};

NPU_INLINE void panel(const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1, uint8_t *scratch) {
    panel_with(&bf16_panel, f, task, n0, n1, scratch);
}

#endif
