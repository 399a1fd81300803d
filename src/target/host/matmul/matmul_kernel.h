/* MUL_MAT with integer weights and one activation row, as in decode. A matmul_<isa>.c includes this after its vectors
 * (by a header that has |panel|, for more rows) and instantiates both for each format with a constant
 * |wformat|.
 */
#ifndef NPU_MATMUL_KERNEL_H
#define NPU_MATMUL_KERNEL_H

#include "target/host/matmul/matmul_product.h"

NPU_INLINE void prefetch(const uint8_t *p, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i += 64) __builtin_prefetch(p + i, 0, 2);
}

/* Weights are read ahead in two steps, in the order of memory: from far into L2, from nearby into L1. One step alone
 * leaves a core with too few lines under way. */
enum { FAR_BYTES = 16 << 10, NEAR_BYTES = 4 << 10, PAGE_BYTES = 4 << 10 };

typedef struct reach {
    const uint8_t *far, *near;
} reach;

/* For the strip at |p| of |bytes| bytes; what this thread reads comes to an end at |end| and goes on at |after|. */
NPU_INLINE reach reach_from(const uint8_t *p, uint64_t bytes, const uint8_t *end, const uint8_t *after) {
    uint64_t far = bytes > FAR_BYTES ? bytes : FAR_BYTES, left = (uint64_t)(end - p);
    return (reach){far < left ? p + far : after + (far - left),
                   NEAR_BYTES < left ? p + NEAR_BYTES : after + (NEAR_BYTES - left)};
}

NPU_INLINE void read_ahead(reach *r, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i += 64) __builtin_prefetch(r->far + i, 0, 2);
    for (uint32_t i = 0; i < bytes; i += 64) __builtin_prefetch(r->near + i, 0, 3);
    r->far += bytes;
    r->near += bytes;
}

/* Weight rows of a strip: in place, or copied with zero rows behind them when fewer than |lanes| are left, so that the
 * vectors never read past the matrix. */
NPU_INLINE const uint8_t *strip_of(const npu_mm_task *task, uint32_t n, uint32_t count, uint32_t lanes,
                                   uint64_t row_bytes, uint8_t *copy, uint64_t *stride) {
    const uint8_t *p = task->w + n * task->stride;
    *stride = task->stride;
    if (count == lanes) return p;
    for (uint32_t i = 0; i < count; i++) memcpy(copy + i * row_bytes, p + i * task->stride, row_bytes);
    memset(copy + count * row_bytes, 0, (lanes - count) * row_bytes);
    *stride = row_bytes;
    return copy;
}

/* Packed rows from |n| on; LANES of them or the rest. */
NPU_INLINE wrows packed_rows(const wformat *f, const npu_mm_task *task, uint32_t n) {
    uint64_t strip = (uint64_t)task->blocks / f->unit_blocks * NPU_MM_PACK_ROWS * f->unit_bytes;
    return packed_at(task->packed + n / NPU_MM_PACK_ROWS * strip, n % NPU_MM_PACK_ROWS);
}

/* Asks for what comes after block |b| of the packed unit at |p|, for one activation row: rows lie in the order in which
 * they are read, but what reads ahead by itself stops at the end of a page. Where it is fast enough (READS_AHEAD), the
 * first line of the next page sets it going again, and more would only disturb it. */
NPU_INLINE void ask_ahead(const uint8_t *p, uint32_t block_bytes, uint32_t b) {
    if (READS_AHEAD) {
        if (b == 0) __builtin_prefetch((const uint8_t *)(((uintptr_t)p | (PAGE_BYTES - 1)) + 1), 0, 2);
        return;
    }
    NPU_UNROLL
    for (uint32_t at = (b * block_bytes + 63) / 64 * 64; at < (b + 1) * block_bytes; at += 64)
        __builtin_prefetch(p + NEAR_BYTES + at, 0, 3);
}

/* The unit at |p| of STREAM_SIDES vectors of rows, from the |first| of its rows on, whose sums are |acc|. */
NPU_INLINE void stream_unit(const wformat *f, const uint8_t *p, uint32_t first, const npu_mm_act *a, vf *acc) {
    const uint32_t block_bytes = NPU_MM_PACK_ROWS * f->unit_bytes / f->unit_blocks;
    wunit u[STREAM_SIDES];
    wrows r[STREAM_SIDES];
    NPU_UNROLL
    for (uint32_t g = 0; g < STREAM_SIDES; g++) {
        r[g] = packed_at(p, first + g * LANES);
        u[g].quads = 0;
        f->head(&u[g], &r[g]);
    }
    NPU_UNROLL
    for (uint32_t b = 0; b < f->unit_blocks; b++, a++) {
        wblock o[STREAM_SIDES];
        vi sum[STREAM_SIDES];
        ask_ahead(p, block_bytes, b);
        block_sums(f, u, r, (int)b, STREAM_SIDES, a, o, sum);
        __asm__("" : "+r"(p)); /* else compilers keep what a later block reads again */
        NPU_UNROLL
        for (int g = 0; g < STREAM_SIDES; g++) {
            acc[g] = scaled(f, &o[g], a, v_float(sum[g]), acc[g]);
            r[g].p[0] = p;
        }
    }
}

/* One activation row, packed weights. STREAM_SIDES vectors of rows go along together: a pass over the strip for each
 * would wait for memory in the first and leave it idle in the others. */
NPU_INLINE void stream_packed(const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1) {
    for (uint32_t n = n0; n < n1; n += STREAM_SIDES * LANES) {
        const uint32_t first = STREAM_SIDES * LANES == NPU_MM_PACK_ROWS ? 0 : n % NPU_MM_PACK_ROWS;
        const uint8_t *p = packed_rows(f, task, n).p[0];
        const npu_mm_act *a = task->acts;
        vf acc[STREAM_SIDES];
        NPU_UNROLL
        for (uint32_t g = 0; g < STREAM_SIDES; g++) acc[g] = v_zerof();
        for (uint32_t i = 0; i < task->blocks; i += f->unit_blocks, a += f->unit_blocks) {
            stream_unit(f, p, first, a, acc);
            p += NPU_MM_PACK_ROWS * f->unit_bytes;
        }
        for (uint32_t g = 0, at = n; g < STREAM_SIDES && at < n1; g++, at += LANES) {
            uint32_t count = n1 - at < LANES ? n1 - at : LANES;
            if (task->bias) acc[g] = v_addf(acc[g], v_loadf(task->bias + at, count));
            v_storef(task->y[0] + at, acc[g], count);
        }
    }
}

/* One activation row, weights in place. */
NPU_INLINE void stream_rows(const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1, uint8_t *scratch) {
    uint32_t units = task->blocks / f->unit_blocks;
    for (uint32_t n = n0; n < n1; n += LANES) {
        uint32_t count = n1 - n < LANES ? n1 - n : LANES;
        uint64_t stride;
        const uint8_t *p =
            strip_of(task, n, count, LANES, (uint64_t)units * f->unit_bytes, scratch + NPU_MM_PANEL_BYTES, &stride);
        const uint8_t *from = task->w + n * task->stride;
        reach ahead = reach_from(from, LANES * task->stride, task->w + n1 * task->stride, task->after);
        const npu_mm_act *a = task->acts;
        wrows r = rows_at(p, stride);
        vf acc = v_zerof();
        for (uint32_t i = 0; i < units; i++, advance(&r, f->unit_bytes)) {
            wunit u;
            u.quads = 1;
            f->head(&u, &r);
            NPU_UNROLL
            for (int b = 0; b < (int)f->unit_blocks; b++, a++) {
                wblock o;
                read_ahead(&ahead, LANES * f->unit_bytes / f->unit_blocks);
                block_of(f, &u, &r, b, &o);
                acc = scaled(f, &o, a, v_float(block_sum(f, &o, a)), acc);
            }
        }
        if (task->bias) acc = v_addf(acc, v_loadf(task->bias + n, count));
        v_storef(task->y[0] + n, acc, count);
    }
}

NPU_INLINE void stream(const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1, uint8_t *scratch) {
    if (task->packed) {
        stream_packed(f, task, n0, n1);
    } else {
        stream_rows(f, task, n0, n1, scratch);
    }
}

#endif
