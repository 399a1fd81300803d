/* The products of a block of 32 weights and as many activations (numerics.md, section 5), written once over the
 * unpackers of matmul_unpack.h and the vectors of an instruction set: integer sums of packed rows, whose lanes are the
 * rows, or of rows in place, in quads; and what follows them.
 *
 * The byte products of x86 want unsigned times signed: codes are stored unsigned, and the sum starts at minus the
 * offset times the sum of the activations, which is exact.
 */
#ifndef NPU_MATMUL_PRODUCT_H
#define NPU_MATMUL_PRODUCT_H

#include "target/host/matmul/matmul.h"
#include "target/host/matmul/matmul_unpack.h"

/* What follows the integer sum of a block (numerics.md §5). TWO, PAIR and PAIR_MIN have a scale for each 16 values
 * (|has_scales|), PAIR and PAIR_MIN where the sums of these fit 16 bits. Halves of a block are summed apart for TWO and
 * PAIR (|has_halves|), while a PAIR_MIN's codes times their scales fit a signed byte. Codes of MIN and PAIR_MIN are
 * unsigned and have no offset, those of the others have one (|has_offset|). */
typedef enum wkind { KIND_PLAIN, KIND_MIN, KIND_TWO, KIND_PAIR, KIND_PAIR_MIN, KIND_COUNT } wkind;

/* Tiles are compiled for each kind: X(name, kind). */
#define MM_EACH_KIND(X) \
    X(plain, KIND_PLAIN) X(min, KIND_MIN) X(two, KIND_TWO) X(pair, KIND_PAIR) X(pair_min, KIND_PAIR_MIN)

enum { MOST_UNIT_BLOCKS = 8 }; /* of any format */

typedef struct wformat {
    wkind kind;
    int offset; /* codes are stored as c + offset, a power of two; 0 when they are unsigned anyway */
    int top;    /* the largest code as it is stored */
    uint32_t unit_blocks, unit_bytes;
    vi (*code)(wunit *u, const wrows *r, int b, int j);
    void (*head)(wunit *u, const wrows *r);
    void (*scales)(wunit *u, const wrows *r, int b, wblock *o);
    vi (*index)(wunit *u, const wrows *r, int b, int j); /* NULL, or code = LEVEL_STEP * index + rest[index] */
    const uint8_t *rest;
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

#ifndef NPU_MATMUL_DOT_WORD
/* v_dot with the |j|-th four of the bytes at |q| for each lane. */
NPU_INLINE vi v_dot_word(vi sum, vi w, const int8_t *q, int j) {
    return v_dot(sum, w, broadcast4(q + 4 * j));
}
#endif

/* The activations' stored start is for an offset of 128. */
NPU_INLINE vi start_of(const int32_t *n, int offset) {
    if (!offset) return v_zero();
    return v_sra32(v_set32(*n), 7 - __builtin_ctz((unsigned)offset));
}

/* The scales of the first and the last 16 values, each in both halves of its lane. */
NPU_INLINE void spread_scales(const wblock *o, vi *sc) {
    sc[0] = v_look_up(o->sc, v_group(0x0D0C0D0C, 0x09080908, 0x05040504, 0x01000100));
    sc[1] = v_look_up(o->sc, v_group(0x0F0E0F0E, 0x0B0A0B0A, 0x07060706, 0x03020302));
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

/* The same of codes that have an index. Both products of it and its rest are unsigned and fit 16 bits, of the one for
 * all of a block, of the other for half; a product of codes with a sign would need two more operations. */
NPU_INLINE void level_sums(const wformat *f, wunit *u, const wrows *r, int b, int sides, const npu_mm_act *a, vi *sum) {
    const vi rest = v_group16(f->rest);
    vi steps[STREAM_SIDES], rests[STREAM_SIDES];
    NPU_UNROLL
    for (int g = 0; g < sides; g++) sum[g] = start_of(&a->n, f->offset);
    NPU_UNROLL
    for (int i = 0; i < 8; i++) {
        const int j = i / 2 + i % 2 * 4;
        vi x = broadcast4(a->q + 4 * j);
        NPU_UNROLL
        for (int g = 0; g < sides; g++) {
            vi index = f->index(&u[g], &r[g], b, j), step = v_pairs(index, x),
               more = v_pairs(v_look_up(rest, index), x);
            steps[g] = i ? v_add16(steps[g], step) : step;
            rests[g] = i % 4 ? v_add16(rests[g], more) : more;
            if (i % 4 == 3) sum[g] = v_add32(sum[g], v_dot16(rests[g], v_set16(1)));
            if (i == 7) sum[g] = v_add32(sum[g], v_dot16(steps[g], v_set16(LEVEL_STEP)));
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
    } else if (f->index) {
        level_sums(f, u, r, b, sides, a, sum);
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
        /* One sum after the other: of two, compilers mix the loads, and lines asked for in no order are not read ahead.
         */
        return dot16_lanes(f, o->w + 4, a->q + 16, dot16_lanes(f, o->w, a->q, start_of(&a->n, start)));
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
NPU_INLINE vf scaled(const wformat *f, const wblock *o, const npu_mm_act *a, vf sum, vf acc) {
    vf d = v_setf(a->d);
    acc = v_fma(v_mulf(o->scale, d), sum, acc);
    if (f->kind == KIND_MIN) acc = v_fma(o->min, v_setf(a->s), acc);
    if (f->kind == KIND_PAIR_MIN) {
        vi mins = v_dot16(o->mn, broadcast4(&a->b0));
        acc = v_fma(v_mulf(o->min, d), v_float(mins), acc);
    }
    return acc;
}

#endif
