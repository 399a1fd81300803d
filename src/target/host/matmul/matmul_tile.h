/* The products of MUL_MAT with several activation rows, on every instruction set: a chunk of STRIP weight rows is
 * unpacked once, into L1, for all of them. What the unpacked chunk (a *panel*) holds and how it is multiplied is the
 * matter of a matmul_tile_<form>.h, which includes this after the vectors.
 */
#ifndef NPU_MATMUL_TILE_H
#define NPU_MATMUL_TILE_H

#include "target/host/matmul/matmul_kernel.h"

enum {
    CHUNK = 20, /* blocks unpacked at a time, at most */
    STRIP = SIDES * LANES,
};

/* Columns (activation rows) |a| … against |blocks| blocks of a panel of SIDES x LANES weight rows. */
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

/* What a panel is: vectors of a block of LANES rows, what fills them, and all columns against the panel in |t|. The
 * blocks of the sides take turns in it. The one of a form is |static const|, and so is a format: what is called through
 * them is then known where it is called and becomes part of it, each instance with the loops of its format alone. */
typedef struct mm_panel {
    int (*vectors)(const wformat *f);
    void (*put)(const wformat *f, const wblock *o, vi *v);
    void (*columns)(const wformat *f, mm_tile t, uint32_t rows);
} mm_panel;

NPU_INLINE uint32_t rows_on_side(const mm_tile *t, int g) {
    uint32_t before = (uint32_t)g * LANES;
    return t->count <= before ? 0 : t->count - before < LANES ? t->count - before : LANES;
}

/* The sums of side |g| in column |c| before the tile's blocks, */
NPU_INLINE vf begin_sums(const mm_tile *t, int g, int c) {
    return t->begin ? v_zerof() : v_loadf(t->y[c] + t->n + LANES * g, rows_on_side(t, g));
}

/* and after them. */
NPU_INLINE void end_sums(const mm_tile *t, int g, int c, vf y) {
    const uint32_t count = rows_on_side(t, g);
    if (t->bias) y = v_addf(y, v_loadf(t->bias + t->n + LANES * g, count));
    v_storef(t->y[c] + t->n + LANES * g, y, count);
}

/* Adds the products of a block |v| of the panel with |columns| columns |a| to their sums. */
typedef void mm_block_fn(const wformat *f, int columns, const vi *v, const npu_mm_act *a, uint64_t a_stride,
                         vf acc[SIDES][MAX_COLUMNS]);

/* |columns| columns, whose sums stay in registers, with blocks of |vectors| vectors a side. */
NPU_INLINE void tile_of(mm_block_fn *block, int vectors, const wformat *f, int columns, const mm_tile *t) {
    vf acc[SIDES][MAX_COLUMNS];
    NPU_UNROLL
    for (int i = 0; i < SIDES * columns; i++) acc[i % SIDES][i / SIDES] = begin_sums(t, i % SIDES, i / SIDES);
    const vi *v = t->panel;
    const npu_mm_act *a = t->a;
    for (uint32_t b = 0; b < t->blocks; b++, a++, v += SIDES * vectors) block(f, columns, v, a, t->a_stride, acc);
    NPU_UNROLL
    for (int i = 0; i < SIDES * columns; i++) end_sums(t, i % SIDES, i / SIDES, acc[i % SIDES][i / SIDES]);
}

/* All columns against the panel, |most| at a time at most, as evenly as can be over as few tiles as can be. */
NPU_INLINE void even_columns(const wformat *f, mm_tile t, uint32_t rows, uint32_t most,
                             void (*tile)(const wformat *f, uint32_t columns, const mm_tile *t)) {
    uint32_t parts = (rows + most - 1) / most;
    for (uint32_t i = 0, at = 0; i < parts; i++) {
        uint32_t columns = (rows - at) / (parts - i);
        tile(f, columns, &t);
        at += columns;
        t.a += columns * t.a_stride;
        t.y += columns;
    }
}

NPU_INLINE void unpack_unit(const mm_panel *form, const wformat *f, const wrows *r, vi *to) {
    wunit u;
    u.quads = 0;
    f->head(&u, r);
    NPU_UNROLL
    for (int b = 0; b < (int)f->unit_blocks; b++, to += SIDES * form->vectors(f)) {
        wblock o;
        block_of(f, &u, r, b, &o);
        form->put(f, &o, to);
    }
}

/* Where side |g| of unit |i| of a panel goes. */
NPU_INLINE vi *place_in(const mm_panel *form, const wformat *f, const mm_tile *t, uint32_t i, int g) {
    return (vi *)t->panel + (SIDES * i * f->unit_blocks + (uint32_t)g) * (uint32_t)form->vectors(f);
}

/* Unpacks |units| units of the weight rows at |p|. |next|: what is unpacked in the same place of the next strip. */
NPU_INLINE void unpack_rows(const mm_panel *form, const wformat *f, const mm_tile *t, const uint8_t *p, uint64_t stride,
                            uint32_t units, const uint8_t *next) {
    for (uint32_t i = 0; i < units; i++, p += f->unit_bytes, next += STRIP * f->unit_bytes) {
        prefetch(next, STRIP * f->unit_bytes);
        for (int g = 0; g < SIDES; g++) {
            wrows r = rows_at(p + (uint64_t)g * LANES * stride, stride);
            unpack_unit(form, f, &r, place_in(form, f, t, i, g));
        }
    }
}

/* The same of packed rows from unit |first| on. What is unpacked after that, after all products with this, is asked
 * for: the units that follow, or the first ones of the next rows before |n1|. A side without rows repeats the first,
 * and is not stored. */
NPU_INLINE void unpack_packed(const mm_panel *form, const wformat *f, const npu_mm_task *task, const mm_tile *t,
                              uint32_t first, uint32_t units, uint32_t n1) {
    const uint32_t bytes = NPU_MM_PACK_ROWS * f->unit_bytes;
    const int ends = first + units == task->blocks / f->unit_blocks;
    const uint32_t next_n = ends ? t->n + STRIP : t->n, next_first = ends ? 0 : first + units;
    for (uint32_t i = 0; i < units; i++) {
        NPU_UNROLL
        for (int g = 0; g < SIDES; g++) {
            const uint32_t side = (uint32_t)g * LANES;
            if (side % NPU_MM_PACK_ROWS == 0 && next_n + side < n1)
                prefetch(packed_rows(f, task, next_n + side).p[0] + (uint64_t)(next_first + i) * bytes, bytes);
            wrows r = packed_rows(f, task, t->n + (rows_on_side(t, g) ? side : 0));
            r.p[0] += (uint64_t)(first + i) * bytes;
            unpack_unit(form, f, &r, place_in(form, f, t, i, g));
        }
    }
}

/* Units that are unpacked at a time, one at least: as few chunks of a row as can be, as even as can be, because sums
 * are stored and loaded again between them. Every form has room for a unit. */
NPU_INLINE uint32_t units_of_chunk(const mm_panel *form, const wformat *f, uint32_t units) {
    const uint32_t room = NPU_MM_PANEL_BYTES / (SIDES * (uint32_t)form->vectors(f) * (uint32_t)sizeof(vi));
    const uint32_t most = (room < CHUNK ? room : CHUNK) / f->unit_blocks;
    const uint32_t chunks = units > most ? (units + most - 1) / most : 1;
    return (units + chunks - 1) / chunks;
}

/* Weight rows n0 .. n1-1 with all activation rows of |task|: a strip of rows at a time, of which a chunk of blocks is
 * unpacked into |scratch|, multiplied with all columns and forgotten. Sums wait in the results from chunk to chunk; the
 * last one adds the bias. Rows in place are copied behind the panel when less than a strip is left, and what the next
 * strip has in the same place is asked for meanwhile. */
NPU_INLINE void panel_with(const mm_panel *form, const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1,
                           uint8_t *scratch) {
    const uint32_t units = task->blocks / f->unit_blocks, chunk = units_of_chunk(form, f, units);
    mm_tile t = {.panel = (const vi *)scratch, .a_stride = task->blocks, .y = task->y};
    for (t.n = n0; t.n < n1; t.n += STRIP) {
        t.count = n1 - t.n < STRIP ? n1 - t.n : STRIP;
        uint64_t stride = 0;
        const uint8_t *p = NULL, *next = NULL;
        if (!task->packed) {
            p = strip_of(task, t.n, t.count, STRIP, (uint64_t)units * f->unit_bytes, scratch + NPU_MM_PANEL_BYTES,
                         &stride);
            next = t.n + STRIP < n1 ? p + STRIP * stride : task->after;
        }
        for (uint32_t i = 0; i < units; i += chunk) {
            uint32_t here = units - i < chunk ? units - i : chunk;
            uint64_t at = (uint64_t)i * f->unit_bytes;
            if (task->packed) {
                unpack_packed(form, f, task, &t, i, here, n1);
            } else {
                unpack_rows(form, f, &t, p + at, stride, here, next + STRIP * at);
            }
            t.blocks = here * f->unit_blocks;
            t.begin = i == 0;
            t.bias = i + here == units ? task->bias : NULL;
            t.a = task->acts + (uint64_t)i * f->unit_blocks;
            form->columns(f, t, task->rows);
        }
    }
}

#endif
