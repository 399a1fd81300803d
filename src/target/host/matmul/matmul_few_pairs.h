/* MUL_MAT with few activation rows on AVX2, as when some sequences are decoded together, on packed weights. A unit of
 * 16 weight rows is unpacked, into L1, and at once multiplied with all rows, so that what reads, unpacks and multiplies
 * is under way together; and 4 rows at a time, whose sums wait in memory. In panels the rows left over of 3 are dear,
 * and weights are asked for by the chunk: more at once than a core can wait for.
 */
#ifndef NPU_MATMUL_FEW_PAIRS_H
#define NPU_MATMUL_FEW_PAIRS_H

#include "target/host/matmul/matmul_tile_pairs.h"

enum { FEW_ROWS = 16 };

_Static_assert((int)STRIP == (int)NPU_MM_PACK_ROWS, "both sides are a packed strip");

typedef vf few_sums[FEW_ROWS][SIDES];

/* A block |v| of the panel with |columns| rows of activations from |a| on. */
NPU_INLINE void few_block(const wformat *f, int columns, const vi *v, const npu_mm_act *a, uint64_t a_stride,
                          vf acc[][SIDES]) {
    vi sum[SIDES][COLUMNS];
    __asm__ volatile(""
                     : "+r"(v), "+r"(a)); /* else compilers keep what was unpacked, and do what calls have in common
                                             before them: more than there are registers */
    products(f, columns, v, a, a_stride, sum);
    NPU_UNROLL
    for (int i = 0; i < SIDES * columns; i++) {
        const int g = i % SIDES, c = i / SIDES;
        acc[c][g] = add_sum(f, v + g * vectors_of(f), &a[(uint64_t)c * a_stride], sum[g][c], acc[c][g]);
    }
}

/* The same with all rows of |task|, of which |a| is the first: 4 at a time, the rest as 3, 2 or, of 5, 3 and 2. */
NPU_INLINE void few_columns(const wformat *f, const npu_mm_task *task, const vi *v, const npu_mm_act *a, few_sums acc) {
    const uint64_t stride = task->blocks;
    for (uint32_t at = 0, n; at < task->rows; at += n, a += n * stride) {
        const uint32_t left = task->rows - at;
        n = left == COLUMNS + 1 ? COLUMNS - 1 : left < COLUMNS ? left : COLUMNS;
        if (n == 4) {
            few_block(f, 4, v, a, stride, acc + at);
        } else if (n == 3) {
            few_block(f, 3, v, a, stride, acc + at);
        } else {
            few_block(f, 2, v, a, stride, acc + at);
        }
    }
}

/* The unit at |p|, whose first block is |a| of the first row. What comes NEAR_BYTES later is asked for. */
NPU_INLINE void few_unit(const wformat *f, const npu_mm_task *task, const uint8_t *p, const npu_mm_act *a, vi *unit,
                         few_sums acc) {
    const uint32_t bytes = NPU_MM_PACK_ROWS * f->unit_bytes / f->unit_blocks;
    NPU_UNROLL
    for (int g = 0; g < SIDES; g++) {
        wrows r = packed_at(p, (uint32_t)g * LANES);
        unpack_unit(&pairs_panel, f, &r, unit + g * vectors_of(f));
    }
    for (uint32_t b = 0; b < f->unit_blocks; b++, a++, unit += SIDES * vectors_of(f)) {
        for (uint32_t i = (b * bytes + 63) / 64 * 64; i < (b + 1) * bytes; i += 64)
            __builtin_prefetch(p + NEAR_BYTES + i, 0, 3);
        few_columns(f, task, unit, a, acc);
    }
}

NPU_INLINE void few_rows(const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1, uint8_t *scratch) {
    for (uint32_t n = n0; n < n1; n += STRIP) {
        const uint8_t *p = packed_rows(f, task, n).p[0];
        few_sums acc;
        for (uint32_t c = 0; c < task->rows; c++) acc[c][0] = acc[c][1] = v_zerof();
        for (uint32_t i = 0; i < task->blocks; i += f->unit_blocks, p += NPU_MM_PACK_ROWS * f->unit_bytes)
            few_unit(f, task, p, task->acts + i, (vi *)scratch, acc);
        for (uint32_t i = 0; i < SIDES * task->rows; i++) {
            const uint32_t g = i % SIDES, c = i / SIDES, at = n + g * LANES;
            if (at >= n1) continue;
            const uint32_t count = n1 - at < LANES ? n1 - at : LANES;
            if (task->bias) acc[c][g] = v_addf(acc[c][g], v_loadf(task->bias + at, count));
            v_storef(task->y[c] + at, acc[c][g], count);
        }
    }
}

NPU_INLINE void panel(const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1, uint8_t *scratch) {
    if (task->packed && task->rows > 1 && task->rows <= FEW_ROWS) {
        few_rows(f, task, n0, n1, scratch);
    } else {
        panel_of_pairs(f, task, n0, n1, scratch);
    }
}

#endif
