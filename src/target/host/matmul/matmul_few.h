/* MUL_MAT with few activation rows, as when some sequences are decoded together, on packed weights: a register of codes
 * is multiplied with all rows as soon as it is unpacked. A panel would be written, and read again for a handful of
 * products. For vectors that take a whole packed strip and leave registers for two sums a row.
 */
#ifndef NPU_MATMUL_FEW_H
#define NPU_MATMUL_FEW_H

#define NPU_MATMUL_FEW
#include "target/host/matmul/matmul_tile_dot.h"

/* Weights are asked for that far ahead, into L2: L1 turns over with the activations of all rows meanwhile, and a core
 * that waits for memory with all that L1 can wait for has to wait for these, too. */
enum { FEW_ROWS = 8, FEW_AHEAD_BYTES = 8 << 10 };

_Static_assert((int)LANES == (int)NPU_MM_PACK_ROWS, "a vector is a packed strip");

/* The sums of block |b| of the unit in |u| with block |at| of each column |a|: of the halves, or all in |high|. */
NPU_INLINE void few_products(const wformat *f, wunit *u, const wrows *r, int b, const wblock *o, int columns,
                             const npu_mm_act *const *a, uint32_t at, vi low[FEW_ROWS], vi high[FEW_ROWS]) {
    const int halves = has_halves(f->kind), more = has_offset(f->kind) ? DOT_OFFSET - f->offset : 0;
    vi sc[2];
    if (f->kind == KIND_PAIR_MIN) spread_scales(o, sc);
    NPU_UNROLL
    for (int j = 0; j < 8; j++) {
        vi code = f->code(u, r, b, j);
        if (more) code = v_add8(code, v_set8(more));
        if (f->kind == KIND_PAIR_MIN) code = v_mul16(code, sc[j / 4]);
        NPU_UNROLL
        for (int c = 0; c < columns; c++) {
            const npu_mm_act *one = a[c] + at;
            if (halves && j == 4) low[c] = high[c];
            if (j == 0 || (halves && j == 4)) high[c] = start_sum(f->kind, one, j);
            high[c] = v_dot_word(high[c], code, one->q, j);
        }
    }
}

/* The unit at |p|, whose first block is |at| of each column. What comes later is asked for, a block's share a block:
 * a core drops, or stops for, what it is asked for beyond what it can wait for. */
NPU_INLINE void few_unit(const wformat *f, const uint8_t *p, int columns, const npu_mm_act *const *a, uint32_t at,
                         vf acc[FEW_ROWS]) {
    const uint32_t bytes = NPU_MM_PACK_ROWS * f->unit_bytes / f->unit_blocks;
    wrows r = packed_at(p, 0);
    wunit u;
    u.quads = 0;
    f->head(&u, &r);
    NPU_UNROLL
    for (uint32_t b = 0; b < f->unit_blocks; b++) {
        wblock o;
        vi low[FEW_ROWS], high[FEW_ROWS];
        NPU_UNROLL
        for (uint32_t i = (b * bytes + 63) / 64 * 64; i < (b + 1) * bytes; i += 64)
            __builtin_prefetch(p + FEW_AHEAD_BYTES + i, 0, 2);
        if (b) __asm__ volatile("" : "+r"(p)); /* else compilers ask for all of a unit at once */
        r.p[0] = p;
        f->scales(&u, &r, (int)b, &o);
        few_products(f, &u, &r, (int)b, &o, columns, a, at + b, low, high);
        NPU_UNROLL
        for (int c = 0; c < columns; c++) {
            vf sum = v_counted(high[c]);
            if (f->kind == KIND_TWO) sum = v_fma(sum, v_float(o.sc1), v_mulf(v_counted(low[c]), v_float(o.sc0)));
            if (f->kind == KIND_PAIR) sum = v_dot16f(v_pair(low[c], high[c]), o.sc);
            acc[c] = scaled(f, &o, a[c] + at + b, sum, acc[c]);
        }
    }
}

/* Room for |columns| rows, of which there may be less: a column without one repeats the last and is not stored. */
NPU_INLINE void few_columns(const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1, int columns) {
    const npu_mm_act *a[FEW_ROWS];
    for (uint32_t c = 0; c < (uint32_t)columns; c++)
        a[c] = task->acts + (uint64_t)(c < task->rows ? c : task->rows - 1) * task->blocks;
    for (uint32_t n = n0; n < n1; n += LANES) {
        const uint32_t count = n1 - n < LANES ? n1 - n : LANES;
        const uint8_t *p = packed_rows(f, task, n).p[0];
        vf acc[FEW_ROWS];
        NPU_UNROLL
        for (int c = 0; c < columns; c++) acc[c] = v_zerof();
        for (uint32_t i = 0; i < task->blocks; i += f->unit_blocks, p += NPU_MM_PACK_ROWS * f->unit_bytes)
            few_unit(f, p, columns, a, i, acc);
        NPU_UNROLL
        for (uint32_t c = 0; c < (uint32_t)columns; c++) {
            if (c >= task->rows) break;
            if (task->bias) acc[c] = v_addf(acc[c], v_loadf(task->bias + n, count));
            v_storef(task->y[c] + n, acc[c], count);
        }
    }
}

NPU_INLINE void panel(const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1, uint8_t *scratch) {
    if (!task->packed || task->rows > FEW_ROWS) {
        panel_of_dots(f, task, n0, n1, scratch);
    } else if (task->rows > FEW_ROWS / 2) {
        few_columns(f, task, n0, n1, FEW_ROWS);
    } else {
        few_columns(f, task, n0, n1, FEW_ROWS / 2);
    }
}

#endif
