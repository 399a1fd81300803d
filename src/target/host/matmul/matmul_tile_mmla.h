/* The panel products of MUL_MAT on Arm's matrix instructions: one multiplies eight values of two weight rows with those
 * of two activation rows. The four lanes of a sum are row 0 in column 0 and 1, then row 1 in both.
 *
 * A panel has the codes of two rows in turn, eight of each, and two of what belongs to a row once. Activations are put
 * in that order when they are quantised (|pair|), not once for every strip of weights.
 */
#ifndef NPU_MATMUL_TILE_MMLA_H
#define NPU_MATMUL_TILE_MMLA_H

#include "target/host/matmul/matmul_tile_block.h"

enum {
    TILE_SIDES = 2,   /* sides of a panel that a tile takes: */
    ROW_PAIRS = 4,    /* so many pairs of rows, */
    COLUMN_PAIRS = 2, /* with so many of columns: as many sums as registers allow */
};

/* As matmul_tile_block.h has it, but from 8 on each vector twice, for the first and the last two rows. The scales of
 * both halves are words. */
enum { SCALES = 8, MINS = 10, SUM_MINS = 12, LOW_SCALES = 10, HIGH_SCALES = 12 };

enum { MOST_PAIR_VECTORS = 14 };
_Static_assert(MOST_UNIT_BLOCKS *SIDES *MOST_PAIR_VECTORS * sizeof(vi) <= NPU_MM_PANEL_BYTES, "room for a unit");

NPU_INLINE int pair_vectors_of(const wformat *f) {
    const uint8_t n[KIND_COUNT] = {10, 12, MOST_PAIR_VECTORS, MOST_PAIR_VECTORS, MOST_PAIR_VECTORS};
    return n[f->kind];
}

NPU_INLINE void put_twice(vi x, vi *v) {
    v[0] = vzip1q_s32(x, x);
    v[1] = vzip2q_s32(x, x);
}

NPU_INLINE void put_pairs(const wformat *f, const wblock *o, vi *v) {
    vi one[12];
    put_block(f, o, 0, one);
    for (int j = 0; j < 8; j += 2) {
        v[j] = vzip1q_s32(one[j], one[j + 1]);
        v[j + 1] = vzip2q_s32(one[j], one[j + 1]);
    }
    put_twice(one[8], v + SCALES);
    if (f->kind == KIND_MIN || f->kind == KIND_PAIR_MIN) put_twice(one[9], v + MINS);
    if (f->kind == KIND_PAIR_MIN) put_twice(one[10], v + SUM_MINS);
    if (has_halves(f->kind)) {
        put_twice(v_sra32(v_sll32(o->sc, 16), 16), v + LOW_SCALES);
        put_twice(v_sra32(o->sc, 16), v + HIGH_SCALES);
    }
}

/* Two words at |p| as lanes 0 and 1, and again. */
NPU_INLINE vi two_words(const void *p) {
    int64_t both;
    memcpy(&both, p, sizeof both);
    return vreinterpretq_s32_s64(vdupq_n_s64(both));
}

NPU_INLINE void swap_words(void *a, void *b) {
    uint32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    memcpy(a, &y, sizeof y);
    memcpy(b, &x, sizeof x);
}

/* Blocks of two neighbouring rows: |even| gets eight codes of each in turn up to the 16th, both |d|, and both pairs of
 * sums (from |n_high| on, which signed products don't need); |odd| the other codes and both |s|. */
static void pair(npu_mm_act *even, npu_mm_act *odd, uint32_t blocks) {
    for (; blocks; blocks--, even++, odd++) {
        int64x2_t a[2], b[2];
        for (int i = 0; i < 2; i++) {
            a[i] = vreinterpretq_s64_s8(vld1q_s8(even->q + 16 * i));
            b[i] = vreinterpretq_s64_s8(vld1q_s8(odd->q + 16 * i));
        }
        vst1q_s8(even->q, vreinterpretq_s8_s64(vzip1q_s64(a[0], b[0])));
        vst1q_s8(even->q + 16, vreinterpretq_s8_s64(vzip2q_s64(a[0], b[0])));
        vst1q_s8(odd->q, vreinterpretq_s8_s64(vzip1q_s64(a[1], b[1])));
        vst1q_s8(odd->q + 16, vreinterpretq_s8_s64(vzip2q_s64(a[1], b[1])));
        swap_words(&even->s, &odd->d);
        memcpy(&even->n_high, &even->b0, 4);
        memcpy(&even->b0, &odd->b0, 4);
    }
}

/* A pair of columns, or the one that is left behind the pairs. */
typedef struct columns_of {
    const npu_mm_act *even, *odd;
    int lone; /* a constant to the compiler */
} columns_of;

/* Values 8i … 8i+7 of both columns. */
NPU_INLINE int8x16_t codes_at(const columns_of *c, int i) {
    if (c->lone) return vcombine_s8(vld1_s8(c->even->q + 8 * i), vdup_n_s8(0));
    return vld1q_s8(i < 2 ? c->even->q + 16 * i : c->odd->q + 16 * (i - 2));
}

/* Of both columns: the scale, the scaled sum, the sums of both halves. */
NPU_INLINE vf d_of(const columns_of *c) {
    return c->lone ? v_setf(c->even->d) : v_as_float(two_words(&c->even->d));
}

NPU_INLINE vf s_of(const columns_of *c) {
    return c->lone ? v_setf(c->even->s) : v_as_float(two_words(&c->odd->d));
}

NPU_INLINE vi sums_of(const columns_of *c) {
    return c->lone ? broadcast4(&c->even->b0) : two_words(&c->even->n_high);
}

/* A pair of rows on both sides, as |v| of the first: 0 and 1 are the first side's. */
NPU_INLINE const vi *of_rows(const vi *v, wkind kind, int i) {
    return v + i / 2 * pair_vectors_of(&of_kind[kind]) + i % 2;
}

/* The integer sums of a block of the panel with a pair of columns. */
NPU_INLINE void block_products(wkind kind, const vi *v, const columns_of *c, vi sum[ROW_PAIRS]) {
    vi high[ROW_PAIRS];
    NPU_UNROLL
    for (int i = 0; i < ROW_PAIRS; i++) sum[i] = high[i] = v_zero();
    NPU_UNROLL
    for (int j = 0; j < 4; j++) {
        int8x16_t x = codes_at(c, j);
        NPU_UNROLL
        for (int i = 0; i < ROW_PAIRS; i++) {
            vi *to = has_halves(kind) && j >= 2 ? &high[i] : &sum[i];
            *to = vmmlaq_s32(*to, as_s8(of_rows(v, kind, i)[2 * j]), x);
        }
    }
    if (!has_halves(kind)) return;
    NPU_UNROLL
    for (int i = 0; i < ROW_PAIRS; i++) {
        const vi *r = of_rows(v, kind, i);
        sum[i] = vmlaq_s32(vmulq_s32(sum[i], r[LOW_SCALES]), high[i], r[HIGH_SCALES]);
    }
}

/* Adds them, scaled, to |acc|. */
NPU_INLINE void add_products(wkind kind, const vi *v, const columns_of *c, const vi sum[ROW_PAIRS], vf acc[ROW_PAIRS]) {
    const vf d = d_of(c);
    NPU_UNROLL
    for (int i = 0; i < ROW_PAIRS; i++) {
        const vi *r = of_rows(v, kind, i);
        acc[i] = v_fma(v_mulf(v_as_float(r[SCALES]), d), v_float(sum[i]), acc[i]);
        if (kind == KIND_MIN) acc[i] = v_fma(v_as_float(r[MINS]), s_of(c), acc[i]);
        if (kind == KIND_PAIR_MIN) {
            vi mins = v_dot16(r[SUM_MINS], sums_of(c));
            acc[i] = v_fma(v_mulf(v_as_float(r[MINS]), d), v_float(mins), acc[i]);
        }
    }
}

/* |columns| columns against sides |side| and |side| + 1 of the panel. */
NPU_INLINE void tile_pairs(wkind kind, int columns, int side, const mm_tile *t) {
    const int pairs = (columns + 1) / 2, vectors = pair_vectors_of(&of_kind[kind]);
    vf acc[COLUMN_PAIRS][ROW_PAIRS];
    NPU_UNROLL
    for (int i = 0; i < TILE_SIDES * pairs; i++) {
        const int g = i % TILE_SIDES, p = i / TILE_SIDES;
        vf y0 = begin_sums(t, side + g, 2 * p), y1 = 2 * p + 1 < columns ? begin_sums(t, side + g, 2 * p + 1) : y0;
        acc[p][2 * g] = vzip1q_f32(y0, y1);
        acc[p][2 * g + 1] = vzip2q_f32(y0, y1);
    }
    const vi *v = t->panel + side * vectors;
    const npu_mm_act *a = t->a;
    for (uint32_t b = 0; b < t->blocks; b++, a++, v += SIDES * vectors) {
        columns_of c[COLUMN_PAIRS];
        vi sum[COLUMN_PAIRS][ROW_PAIRS];
        NPU_UNROLL
        for (int p = 0; p < pairs; p++) {
            const npu_mm_act *even = a + 2 * (uint64_t)p * t->a_stride;
            c[p] = (columns_of){even, even + t->a_stride, 2 * p + 1 == columns};
            block_products(kind, v, &c[p], sum[p]);
        }
        NPU_UNROLL
        for (int p = 0; p < pairs; p++) add_products(kind, v, &c[p], sum[p], acc[p]);
    }
    NPU_UNROLL
    for (int i = 0; i < TILE_SIDES * pairs; i++) {
        const int g = i % TILE_SIDES, p = i / TILE_SIDES;
        end_sums(t, side + g, 2 * p, vuzp1q_f32(acc[p][2 * g], acc[p][2 * g + 1]));
        if (2 * p + 1 < columns) end_sums(t, side + g, 2 * p + 1, vuzp2q_f32(acc[p][2 * g], acc[p][2 * g + 1]));
    }
}

typedef void tile_fn(const mm_tile *t, int side);

#define MM_TILE(name, kind, columns)                           \
    static void name##_##columns(const mm_tile *t, int side) { \
        tile_pairs(kind, columns, side, t);                    \
    }
#define MM_TILES(name, kind) MM_TILE(name, kind, 1) MM_TILE(name, kind, 2) MM_TILE(name, kind, 3) MM_TILE(name, kind, 4)
MM_TILES(plain, KIND_PLAIN)
MM_TILES(min, KIND_MIN)
MM_TILES(halves, KIND_TWO)
MM_TILES(pair_min, KIND_PAIR_MIN)
#undef MM_TILE
#undef MM_TILES

/* All columns, from pair to pair. */
static void all_columns(const wformat *f, mm_tile t, uint32_t rows) {
    static tile_fn *const tiles[KIND_COUNT][2 * COLUMN_PAIRS] = {
        [KIND_PLAIN] = {plain_1, plain_2, plain_3, plain_4},
        [KIND_MIN] = {min_1, min_2, min_3, min_4},
        [KIND_TWO] = {halves_1, halves_2, halves_3, halves_4},
        [KIND_PAIR] = {halves_1, halves_2, halves_3, halves_4},
        [KIND_PAIR_MIN] = {pair_min_1, pair_min_2, pair_min_3, pair_min_4},
    };
    for (uint32_t left = rows; left;) {
        const uint32_t now = left < 2 * COLUMN_PAIRS ? left : 2 * COLUMN_PAIRS;
        for (int side = 0; side < SIDES && rows_on_side(&t, side); side += TILE_SIDES)
            tiles[f->kind][now - 1](&t, side);
        t.a += now * t.a_stride;
        t.y += now;
        left -= now;
    }
}

static const mm_panel pairs_panel = {pair_vectors_of, put_pairs, all_columns};

NPU_INLINE void panel(const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1, uint8_t *scratch) {
    panel_with(&pairs_panel, f, task, n0, n1, scratch);
}

#endif
