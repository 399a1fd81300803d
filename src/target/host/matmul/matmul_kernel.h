/* The products of MUL_MAT, written once over the unpackers of matmul_unpack.h and the vectors of an instruction set. A
 * matmul_<isa>.c includes both and instantiates |stream| and a panel function for each format with a constant
 * |wformat|.
 *
 * The byte products of x86 want unsigned times signed: codes are stored unsigned, and the sum starts at minus the
 * offset times the sum of the activations, which is exact.
 */
#ifndef NPU_MATMUL_KERNEL_H
#define NPU_MATMUL_KERNEL_H

#include "target/host/matmul/matmul.h"
#include "target/host/matmul/matmul_unpack.h"

enum { CHUNK = 16 }; /* blocks unpacked at a time, so that they stay in L1 */

/* What follows the integer sum of a block (numerics.md §5). TWO: a scale for each 16 values. PAIR: the same where the
 * sums of 16 values fit 16 bits. */
typedef enum wkind { KIND_PLAIN, KIND_MIN, KIND_TWO, KIND_PAIR, KIND_PAIR_MIN, KIND_COUNT } wkind;

typedef struct wformat {
    wkind kind;
    int offset; /* codes are stored as c + offset, a power of two; 0 when they are unsigned anyway */
    int top;    /* the largest code as it is stored */
    uint32_t unit_blocks, unit_bytes;
    void (*head)(wunit *u, const wrows *r);
    void (*scales)(wunit *u, const wrows *r, int b, wblock *o);
    vi (*code)(wunit *u, const wrows *r, int b, int j);
} wformat;

/* Block |b| with its codes. */
NPU_INLINE void block_of(const wformat *f, wunit *u, const wrows *r, int b, wblock *o) {
    f->scales(u, r, b, o);
    NPU_UNROLL
    for (int j = 0; j < 8; j++) o->w[j] = f->code(u, r, b, j);
}

NPU_INLINE vi broadcast4(const void *p) {
    int32_t v;
    memcpy(&v, p, 4);
    return v_set32(v);
}

/* The activations' stored start is for an offset of 128. */
NPU_INLINE vi start_of(const int32_t *n, int offset) {
    if (!offset) return v_zero();
    return v_sra32(v_set32(*n), 7 - __builtin_ctz((unsigned)offset));
}

/* Products of 32 values of a block in quads with 32 activations, in the four lanes of a row each. */
NPU_INLINE void dot32x4(const wformat *f, const vi *w, const int8_t *q, vi *sum) {
    vi x0 = v_group16(q), x1 = v_group16(q + 16);
    for (int j = 0; j < 4; j++) {
#ifdef NPU_MATMUL_BYTE_DOT
        (void)f;
        sum[j] = v_dot(v_dot(v_zero(), w[j], x0), w[4 + j], x1);
#else
        vi top = v_set8(0x80);
        sum[j] = f->offset == 128 ? v_dot_signed(v_dot_signed(v_zero(), v_xor(w[j], top), x0), v_xor(w[4 + j], top), x1)
                                  : v_dot_small(w[j], x0, w[4 + j], x1);
#endif
    }
}

NPU_INLINE void dot16x4(const vi *w, const int8_t *q, vi *sum) {
    vi x = v_group16(q);
    for (int j = 0; j < 4; j++) sum[j] = v_dot(v_zero(), w[j], x);
}

/* The sums of each row in |part|, whose lanes each hold |products| products, + |start|. */
NPU_INLINE vi sums(const wformat *f, const vi *part, int products, vi start) {
    int most = products * f->top * 127;
    if (2 * most <= INT16_MAX) return v_sums_small(part, start);
    if (most <= INT16_MAX) return v_sums_half(part, start);
    return v_add32(v_sums_of_four(part), start);
}

NPU_INLINE vi block_sum(const wformat *f, const wblock *o, const npu_mm_act *a) {
    vi low[4], high[4];
    if (f->kind == KIND_PLAIN || f->kind == KIND_MIN) {
        dot32x4(f, o->w, a->q, low);
        if (!f->offset || (!HAS_BYTE_DOT && f->offset == 128)) return sums(f, low, 8, v_zero());
        return sums(f, low, 8, start_of(&a->n, f->offset));
    }
    dot16x4(o->w, a->q, low);
    dot16x4(o->w + 4, a->q + 16, high);
    if (f->kind == KIND_TWO) {
        vi two = v_mul32(sums(f, low, 4, start_of(&a->n_low, f->offset)), o->sc0);
        return v_add32(two, v_mul32(sums(f, high, 4, start_of(&a->n_high, f->offset)), o->sc1));
    }
    vi sum = v_dot16(v_sums_pair(low, high), o->sc);
    if (!f->offset) return sum;
    return v_sub32(sum, v_sll32(v_dot16(o->sc, broadcast4(&a->b0)), __builtin_ctz((unsigned)f->offset)));
}

#ifdef NPU_MATMUL_PAIRS
NPU_INLINE int is_signed(const wformat *f) {
    return f->offset == 128;
}

/* How many registers of sums of two products can be added in 16 bits. */
NPU_INLINE int together(const wformat *f) {
    int fit = is_signed(f) ? 1 : INT16_MAX / (2 * 127 * f->top);
    return fit >= 8 ? 8 : fit >= 4 ? 4 : fit >= 2 ? 2 : 1;
}

/* Has a scale for each 16 values. */
NPU_INLINE int has_scales(const wformat *f) {
    return f->kind == KIND_TWO || f->kind == KIND_PAIR || f->kind == KIND_PAIR_MIN;
}

/* The scales of the first and the last 16 values, each in both halves of its lane. */
NPU_INLINE void spread_scales(const wblock *o, vi *sc) {
    sc[0] = v_look_up(o->sc, v_group(0x0D0C0D0C, 0x09080908, 0x05040504, 0x01000100));
    sc[1] = v_look_up(o->sc, v_group(0x0F0E0F0E, 0x0B0A0B0A, 0x07060706, 0x03020302));
}

/* What the sums of the first (|half| 0) or the last 16 values start at, for the halves of a lane, where they then fit
 * 16 bits: sums on the way may not, but wrap around and back. */
NPU_INLINE vi start16_of(const wformat *f, const npu_mm_act *a, int half) {
    vi start = broadcast4(a->start16 + 2 * half);
    return f->offset == 32 ? start : v_sra16(start, 5 - __builtin_ctz((unsigned)f->offset));
}

NPU_INLINE vi pairs_of(const wformat *f, vi w, vi x) {
    return is_signed(f) ? v_pairs_signed(v_xor(w, v_set8(0x80)), x) : v_pairs(w, x);
}

/* Sums of block |b| of each of |sides|, with a scale for each 16 values. */
NPU_INLINE void scaled_sums(const wformat *f, wunit *u, const wrows *r, int b, const wblock *o, int sides,
                            const npu_mm_act *a, vi *sum) {
    vi sc[STREAM_SIDES][2], pairs[STREAM_SIDES];
    NPU_UNROLL
    for (int g = 0; g < sides; g++) spread_scales(&o[g], sc[g]);
    NPU_UNROLL
    for (int j = 0; j < 8; j++) {
        vi x = broadcast4(a->q + 4 * j);
        if (j % 4 == 0 && f->offset) pairs[0] = start16_of(f, a, j / 4);
        NPU_UNROLL
        for (int g = sides - 1; g >= 0; g--) {
            vi product = pairs_of(f, f->code(&u[g], &r[g], b, j), x);
            pairs[g] = j % 4 ? v_add16(pairs[g], product) : f->offset ? v_add16(pairs[0], product) : product;
            if (j % 4 < 3) continue;
            vi part = v_dot16(pairs[g], sc[g][j / 4]);
            sum[g] = j < 4 ? part : v_add32(sum[g], part);
        }
    }
}

/* The same with one scale a block. Two codes of a byte follow each other. */
NPU_INLINE void plain_sums(const wformat *f, wunit *u, const wrows *r, int b, int sides, const npu_mm_act *a, vi *sum) {
    vi pairs[STREAM_SIDES];
    NPU_UNROLL
    for (int g = 0; g < sides; g++) sum[g] = start_of(&a->n, is_signed(f) ? 0 : f->offset);
    NPU_UNROLL
    for (int i = 0; i < 8; i++) {
        const int j = i / 2 + i % 2 * 4;
        vi x = broadcast4(a->q + 4 * j);
        NPU_UNROLL
        for (int g = 0; g < sides; g++) {
            vi product = pairs_of(f, f->code(&u[g], &r[g], b, j), x);
            pairs[g] = i % together(f) ? v_add16(pairs[g], product) : product;
            if ((i + 1) % together(f) == 0) sum[g] = v_add32(sum[g], v_dot16(pairs[g], v_set16(1)));
        }
    }
}

/* The scales of block |b| of each of |sides| in |o|, its integer sums in |sum|. Codes are unpacked one register at a
 * time: those of a block and more sides do not fit the registers. */
NPU_INLINE void block_sums(const wformat *f, wunit *u, const wrows *r, int b, int sides, const npu_mm_act *a, wblock *o,
                           vi *sum) {
    NPU_UNROLL
    for (int g = 0; g < sides; g++) f->scales(&u[g], &r[g], b, &o[g]);
    if (has_scales(f)) {
        scaled_sums(f, u, r, b, o, sides, a, sum);
    } else {
        plain_sums(f, u, r, b, sides, a, sum);
    }
}
#else
/* Products of 16 values of a block in lanes with 16 activations, added to |sum|. */
NPU_INLINE vi dot16_lanes(const wformat *f, const vi *w, const int8_t *q, vi sum) {
#ifdef NPU_MATMUL_BYTE_DOT
    (void)f;
    for (int j = 0; j < 4; j++) sum = v_dot(sum, w[j], broadcast4(q + 4 * j));
#else
    vi top = v_set8(0x80);
    for (int j = 0; j < 4; j += 2) {
        vi x0 = broadcast4(q + 4 * j), x1 = broadcast4(q + 4 * j + 4);
        sum = f->offset == 128 ? v_dot_signed(v_dot_signed(sum, v_xor(w[j], top), x0), v_xor(w[j + 1], top), x1)
                               : v_add32(sum, v_dot_small(w[j], x0, w[j + 1], x1));
    }
#endif
    return sum;
}

NPU_INLINE vi block_sum_lanes(const wformat *f, const wblock *o, const npu_mm_act *a) {
    const int start = f->offset && (HAS_BYTE_DOT || f->offset != 128) ? f->offset : 0;
    if (f->kind == KIND_PLAIN || f->kind == KIND_MIN) {
        return v_add32(dot16_lanes(f, o->w, a->q, start_of(&a->n, start)),
                       dot16_lanes(f, o->w + 4, a->q + 16, v_zero()));
    }
    vi low = dot16_lanes(f, o->w, a->q, start_of(&a->n_low, start));
    vi high = dot16_lanes(f, o->w + 4, a->q + 16, start_of(&a->n_high, start));
    if (f->kind == KIND_TWO) return v_add32(v_mul32(low, o->sc0), v_mul32(high, o->sc1));
    return v_dot16(v_pair(low, high), o->sc);
}

NPU_INLINE void block_sums(const wformat *f, wunit *u, const wrows *r, int b, int sides, const npu_mm_act *a, wblock *o,
                           vi *sum) {
    NPU_UNROLL
    for (int g = 0; g < sides; g++) {
        block_of(f, &u[g], &r[g], b, &o[g]);
        sum[g] = block_sum_lanes(f, &o[g], a);
    }
}
#endif

/* Adds the integer sums |sum| of a block, scaled, to those of its rows. */
NPU_INLINE vf scaled(const wformat *f, const wblock *o, const npu_mm_act *a, vi sum, vf acc) {
    vf d = v_setf(a->d);
    acc = v_fma(v_mulf(o->scale, d), v_float(sum), acc);
    if (f->kind == KIND_MIN) acc = v_fma(o->min, v_setf(a->s), acc);
    if (f->kind == KIND_PAIR_MIN) {
        vi mins = v_dot16(o->mn, broadcast4(&a->b0));
        acc = v_fma(v_mulf(o->min, d), v_float(mins), acc);
    }
    return acc;
}

NPU_INLINE void prefetch(const uint8_t *p, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i += 64) __builtin_prefetch(p + i, 0, 2);
}

/* Weights are read ahead in two steps, in the order of memory: from far into L2, from nearby into L1. One step alone
 * leaves a core with too few lines under way. */
enum { FAR_BYTES = 16 << 10, NEAR_BYTES = 4 << 10 };

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

/* The unit at |p| of STREAM_SIDES vectors of rows, from the |first| of its rows on, whose sums are |acc|. What comes
 * later is asked for: rows lie in the order in which they are read, but what reads ahead by itself stops at the end of
 * a page. */
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
        NPU_UNROLL
        for (uint32_t at = (b * block_bytes + 63) / 64 * 64; at < (b + 1) * block_bytes; at += 64)
            __builtin_prefetch(p + NEAR_BYTES + at, 0, 3);
        block_sums(f, u, r, (int)b, STREAM_SIDES, a, o, sum);
        __asm__("" : "+r"(p)); /* else compilers keep what a later block reads again */
        NPU_UNROLL
        for (int g = 0; g < STREAM_SIDES; g++) {
            acc[g] = scaled(f, &o[g], a, sum[g], acc[g]);
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
                acc = scaled(f, &o, a, block_sum(f, &o, a), acc);
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

#ifndef NPU_MATMUL_TILES
/* |here| units of LANES weight rows, unpacked: into lanes when they are packed, else into quads. */
NPU_INLINE void unpack_units(const wformat *f, wrows *r, uint32_t here, const uint8_t *next, wblock *v) {
    for (uint32_t k = 0; k < here; k++, next += LANES * f->unit_bytes) {
        wunit u;
        u.quads = !r->packed;
        if (!r->packed) prefetch(next, LANES * f->unit_bytes);
        f->head(&u, r);
        NPU_UNROLL
        for (int b = 0; b < (int)f->unit_blocks; b++) block_of(f, &u, r, b, v++);
        if (r->packed) {
            r->p[0] += NPU_MM_PACK_ROWS * f->unit_bytes;
        } else {
            advance(r, f->unit_bytes);
        }
    }
}

/* LANES weight rows in |r|, |count| of them real, from row |n| on, against all activation rows. */
NPU_INLINE void panel_strip(const wformat *f, const npu_mm_task *task, uint32_t n, uint32_t count, wrows r,
                            const uint8_t *next, wblock *v) {
    const uint32_t units = task->blocks / f->unit_blocks, chunk = CHUNK / f->unit_blocks;
    for (uint32_t i = 0; i < units; i += chunk) {
        uint32_t here = units - i < chunk ? units - i : chunk;
        unpack_units(f, &r, here, next + (uint64_t)i * LANES * f->unit_bytes, v);
        for (uint32_t m = 0; m < task->rows; m++) {
            const npu_mm_act *a = task->acts + (uint64_t)m * task->blocks + i * f->unit_blocks;
            vf acc = i ? v_loadf(task->y[m] + n, count) : v_zerof();
            for (uint32_t b = 0; b < here * f->unit_blocks; b++) {
                vi sum = r.packed ? block_sum_lanes(f, &v[b], &a[b]) : block_sum(f, &v[b], &a[b]);
                acc = scaled(f, &v[b], &a[b], sum, acc);
            }
            if (i + here == units && task->bias) acc = v_addf(acc, v_loadf(task->bias + n, count));
            v_storef(task->y[m] + n, acc, count);
        }
    }
}

/* Any number of activation rows: a chunk of LANES weight rows is unpacked once for all of them. */
NPU_INLINE void panel(const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1, uint8_t *scratch) {
    const uint64_t row_bytes = (uint64_t)task->blocks / f->unit_blocks * f->unit_bytes;
    for (uint32_t n = n0; n < n1; n += LANES) {
        uint32_t count = n1 - n < LANES ? n1 - n : LANES;
        if (task->packed) {
            panel_strip(f, task, n, count, packed_rows(f, task, n), scratch, (wblock *)scratch);
            continue;
        }
        uint64_t stride;
        const uint8_t *p = strip_of(task, n, count, LANES, row_bytes, scratch + NPU_MM_PANEL_BYTES, &stride);
        const uint8_t *next = n + LANES < n1 ? p + LANES * stride : task->after;
        panel_strip(f, task, n, count, rows_at(p, stride), next, (wblock *)scratch);
    }
}

#endif /* NPU_MATMUL_TILES */

#endif
