/* The panel products of MUL_MAT on AVX2: tiles of 16 weight rows and up to 3 activation rows, whose sums stay in
 * registers. Included by matmul_avx2.c alone, in place of the plain |panel| of matmul_kernel.h.
 *
 * A byte product gives sums of two in 16 bits. As many of them as fit are added as they are (|together|), and only then
 * made words, by a product with ones or with the scales of 16 values.
 */
#ifndef NPU_MATMUL_TILE_AVX2_H
#define NPU_MATMUL_TILE_AVX2_H

#define NPU_MATMUL_TILES
#include "target/host/matmul/matmul_kernel.h"

enum { STRIP = NPU_MM_PACK_ROWS, SIDES = STRIP / LANES, MAX_COLUMNS = 3 };

/* A block of LANES rows in a panel: codes[8], |codes|[8] when they are signed, scale, then by kind: min, or what
 * |tile_scales| names. */
enum { SC0, SC1, MIN2, MN, N_SCALES };

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

/* A unit of LANES weight rows; the blocks of the SIDES take turns in the panel. */
NPU_INLINE void unpack_unit(const wformat *f, const wrows *r, vi *to) {
    wunit u;
    u.quads = 0;
    f->head(&u, r);
    NPU_UNROLL
    for (int b = 0; b < (int)f->unit_blocks; b++, to += SIDES * vectors_of(f)) {
        wblock o;
        block_of(f, &u, r, b, &o);
        put_block(f, &o, to);
    }
}

/* Columns |first| … of the activations against |blocks| blocks of a panel. */
typedef struct mm_tile {
    const vi *panel;
    uint32_t blocks;
    const npu_mm_act *a; /* first column, first block */
    uint64_t a_stride;   /* columns apart */
    float *const *y;
    uint32_t n, count; /* first weight row, how many there are of STRIP */
    int begin;         /* y holds nothing yet */
    const float *bias; /* not NULL: the last blocks of a row; add it */
} mm_tile;

/* Products of |quads| x 4 codes of both sides with all columns, |step| of them added in 16 bits, times |factor| (one
 * for each half of a word), to |sum|, or added to what is there. |half|: of the codes with scales, 0 or 1. */
NPU_INLINE void dots(const wformat *f, const vi *const w[SIDES], const npu_mm_act *a, uint64_t a_stride, int columns,
                     int half, int quads, int step, const vi factor[SIDES], vi sum[SIDES][MAX_COLUMNS]) {
    const int starts = has_scales(f) && f->offset;
    NPU_UNROLL
    for (int first = 0; first < quads; first += step) {
        vi pairs[SIDES][MAX_COLUMNS];
        for (int c = 0; starts && c < columns; c++) pairs[0][c] = start16_of(f, &a[(uint64_t)c * a_stride], half);
        NPU_UNROLL
        for (int j = first; j < first + step; j++) {
            vi code[SIDES];
            NPU_UNROLL
            for (int g = 0; g < SIDES; g++) code[g] = v_hold(w[g][4 * half + j]);
            NPU_UNROLL
            for (int c = 0; c < columns; c++) {
                vi x = broadcast4(a[(uint64_t)c * a_stride].q + 16 * half + 4 * j);
                NPU_UNROLL
                for (int g = SIDES - 1; g >= 0; g--) {
                    vi product = is_signed(f) ? v_pairs(w[g][8 + j], v_sign8(x, code[g])) : v_pairs(code[g], x);
                    pairs[g][c] = j > first ? v_add16(pairs[g][c], product)
                                  : starts  ? v_add16(pairs[0][c], product)
                                            : product;
                }
            }
        }
        NPU_UNROLL
        for (int i = 0; i < SIDES * columns; i++) {
            vi *s = &sum[i % SIDES][i / SIDES], part = v_dot16(pairs[i % SIDES][i / SIDES], factor[i % SIDES]);
            *s = half || first ? v_add32(*s, part) : part;
        }
    }
}

NPU_INLINE void tile_block(const wformat *f, int columns, const vi *v, const npu_mm_act *a, uint64_t a_stride,
                           vf acc[SIDES][MAX_COLUMNS]) {
    const vi *w[SIDES] = {v, v + vectors_of(f)};
    const vi *s[SIDES] = {w[0] + at_scale(f) + 1, w[1] + at_scale(f) + 1};
    vi sum[SIDES][MAX_COLUMNS];
    if (has_scales(f)) {
        dots(f, w, a, a_stride, columns, 0, 4, 4, (const vi[]){s[0][SC0], s[1][SC0]}, sum);
        dots(f, w, a, a_stride, columns, 1, 4, 4, (const vi[]){s[0][SC1], s[1][SC1]}, sum);
    } else {
        const vi ones = v_set16(1);
        dots(f, w, a, a_stride, columns, 0, 8, together(f), (const vi[]){ones, ones}, sum);
    }
    NPU_UNROLL
    for (int i = 0; i < SIDES * columns; i++) {
        int g = i % SIDES, c = i / SIDES;
        const npu_mm_act *one = &a[(uint64_t)c * a_stride];
        vf d = v_setf(one->d);
        if (f->offset && !is_signed(f) && !has_scales(f)) sum[g][c] = v_add32(sum[g][c], start_of(&one->n, f->offset));
        acc[g][c] = v_fma(v_mulf(v_as_float(w[g][at_scale(f)]), d), v_float(sum[g][c]), acc[g][c]);
        if (f->kind == KIND_MIN) acc[g][c] = v_fma(v_as_float(s[g][0]), v_setf(one->s), acc[g][c]);
        if (f->kind == KIND_PAIR_MIN) {
            vi mins = v_dot16(s[g][MN], broadcast4(&one->b0));
            acc[g][c] = v_fma(v_mulf(v_as_float(s[g][MIN2]), d), v_float(mins), acc[g][c]);
        }
    }
}

NPU_INLINE uint32_t rows_on_side(const mm_tile *t, int g) {
    uint32_t before = (uint32_t)g * LANES;
    return t->count <= before ? 0 : t->count - before < LANES ? t->count - before : LANES;
}

NPU_INLINE void tile(const wformat *f, int columns, const mm_tile *t) {
    vf acc[SIDES][MAX_COLUMNS];
    NPU_UNROLL
    for (int i = 0; i < SIDES * columns; i++) {
        int g = i % SIDES, c = i / SIDES;
        acc[g][c] = t->begin ? v_zerof() : v_loadf(t->y[c] + t->n + LANES * g, rows_on_side(t, g));
    }
    const vi *v = t->panel;
    const npu_mm_act *a = t->a;
    for (uint32_t b = 0; b < t->blocks; b++, a++, v += SIDES * vectors_of(f))
        tile_block(f, columns, v, a, t->a_stride, acc);
    NPU_UNROLL
    for (int i = 0; i < SIDES * columns; i++) {
        int g = i % SIDES, c = i / SIDES;
        vf y = acc[g][c];
        if (t->bias) y = v_addf(y, v_loadf(t->bias + t->n + LANES * g, rows_on_side(t, g)));
        v_storef(t->y[c] + t->n + LANES * g, y, rows_on_side(t, g));
    }
}

/* All activation rows against the panel, as evenly as can be over as few tiles as can be. */
NPU_INLINE void all_columns(const wformat *f, mm_tile t, uint32_t rows) {
    uint32_t parts = (rows + MAX_COLUMNS - 1) / MAX_COLUMNS;
    for (uint32_t i = 0, at = 0; i < parts; i++) {
        uint32_t columns = (rows - at) / (parts - i);
        if (columns == 3) {
            tile(f, 3, &t);
        } else if (columns == 2) {
            tile(f, 2, &t);
        } else {
            tile(f, 1, &t);
        }
        at += columns;
        t.a += columns * t.a_stride;
        t.y += columns;
    }
}

/* Where the rows of each side are from unit |i| on; a side without rows repeats the first, and is not stored. */
NPU_INLINE wrows side_rows(const wformat *f, const npu_mm_task *task, const mm_tile *t, const uint8_t *p,
                           uint64_t stride, uint32_t i, int g) {
    uint32_t row = rows_on_side(t, g) ? (uint32_t)g * LANES : 0;
    if (!task->packed) return rows_at(p + row * stride + (uint64_t)i * f->unit_bytes, stride);
    wrows r = packed_rows(f, task, t->n + row);
    r.p[0] += (uint64_t)i * NPU_MM_PACK_ROWS * f->unit_bytes;
    return r;
}

/* As the plain |panel|: a chunk of 16 weight rows is unpacked once, into L1, for all activation rows. */
NPU_INLINE void panel(const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1, uint8_t *scratch) {
    const uint32_t units = task->blocks / f->unit_blocks, chunk = CHUNK / f->unit_blocks;
    const uint64_t row_bytes = (uint64_t)units * f->unit_bytes;
    mm_tile t = {.panel = (const vi *)scratch, .a_stride = task->blocks, .y = task->y};
    for (t.n = n0; t.n < n1; t.n += STRIP) {
        t.count = n1 - t.n < STRIP ? n1 - t.n : STRIP;
        uint64_t stride = 0;
        const uint8_t *p = NULL, *next = task->packed ? task->packed + (uint64_t)(t.n + STRIP) * row_bytes : NULL;
        if (!task->packed) {
            p = strip_of(task, t.n, t.count, STRIP, row_bytes, scratch + NPU_MM_PANEL_BYTES, &stride);
            next = t.n + STRIP < n1 ? p + STRIP * stride : task->after;
        }
        for (uint32_t i = 0; i < units; i += chunk) {
            uint32_t here = units - i < chunk ? units - i : chunk;
            for (uint32_t u = 0; u < here; u++, next += STRIP * f->unit_bytes) {
                prefetch(next, STRIP * f->unit_bytes);
                for (int g = 0; g < SIDES; g++) {
                    wrows r = side_rows(f, task, &t, p, stride, i + u, g);
                    vi *to = (vi *)scratch + (SIDES * u * f->unit_blocks + (uint32_t)g) * (uint32_t)vectors_of(f);
                    if (task->packed) r.packed = 1;
                    unpack_unit(f, &r, to);
                }
            }
            t.blocks = here * f->unit_blocks;
            t.begin = i == 0;
            t.bias = i + here == units ? task->bias : NULL;
            t.a = task->acts + (uint64_t)i * f->unit_blocks;
            all_columns(f, t, task->rows);
        }
    }
}

#endif
