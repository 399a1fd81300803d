/* Dot product kernels; see hvx_dot.h. One body, specialised by a row of npu_images.def and a number of columns. Two
 * tiles go together, because that is what one vector of f16 scales covers, and because two independent chains of vrmpy
 * fill the packets: a chain alone would give one a packet. The offset of the codes enters as the accumulator's start,
 * -offset * sum of the activations, so codes stay unsigned as the scalar form of vrmpy wants them. Formats of 256
 * values take eight tiles a turn. */
#include "htp/hvx/hvx_dot.h"

#include "htp/hvx/hvx_codes.h"
#include "htp/hvx/hvx_dot_term.h"

#if defined HTP_BUILD_REAL || defined HTP_DOT_AS_REAL
#define AS_REAL
#define UNROLL_TILES HVX_UNROLL
#else /* the compiler's time */
#define UNROLL_TILES
#endif

enum { MAX_COLUMNS = 4 };

/* Where a dot product is: the next tile's codes and the columns' activations. */
typedef struct place {
    const HVX_Vector *low, *high;
    HVX_Vector book;
    const int8_t *x[MAX_COLUMNS];
    const htp_act_block *b[MAX_COLUMNS];
} place;

/* What scales two tiles: their scales, their minima or, in SUB16, sub-scales and minima of their halves as 16 bits. */
typedef struct scaling {
    HVX_Vector d[2], m[2], sub[2], min[2];
} scaling;

/* Eight activations as the two scalar operands of vrmpy. */
HVX_INLINE int64_t eight(const int8_t *codes) {
    int64_t q;
    memcpy(&q, __builtin_assume_aligned(codes, 8), sizeof q);
    return q;
}

/* Integer sums of tile |t| of the place, for each column; sums[c][1] is used by formats with scales for 16 values. */
HVX_INLINE void tile_sums(const npu_image_format *f, int columns, const place *p, int t, HVX_Vector sums[][2]) {
    const HVX_Vector *low = p->low + t * f->low, *high = p->high + t * f->high;
    int halves = f->scale == NPU_IMAGE_SCALE_SUB16;
    HVX_UNROLL for (int c = 0; c < columns; c++) {
        const htp_act_block *b = p->b[c] + t;
        sums[c][0] = f->offset ? Q6_V_vsplat_R(-f->offset * (halves ? b->low : b->sum)) : Q6_V_vzero();
        if (halves) sums[c][1] = f->offset ? Q6_V_vsplat_R(-f->offset * b->high) : Q6_V_vzero();
    }
    HVX_UNROLL for (int v = 0; v < 4; v++) {
        int half = halves ? v / 2 : 0;
        HVX_Vector first = hvx_codes(f, low, high, p->book, 2 * v);
        HVX_Vector second = hvx_codes(f, low, high, p->book, 2 * v + 1);
        HVX_UNROLL for (int c = 0; c < columns; c++) {
            int64_t q = eight(p->x[c] + 32 * t + 8 * v);
            sums[c][half] = Q6_Vw_vrmpyacc_VwVubRb(sums[c][half], first, (int32_t)q);
            sums[c][half] = Q6_Vw_vrmpyacc_VwVubRb(sums[c][half], second, (int32_t)(q >> 32));
        }
    }
}

/* Not by an index: what has one lies in memory. */
HVX_INLINE HVX_Vector of_tile(const HVX_Vector both[2], int t) {
    return t ? both[1] : both[0];
}

HVX_INLINE int32_t half_sums(const htp_act_block *b) {
    int32_t both;
    memcpy(&both, &b->low, sizeof both);
    return both;
}

HVX_INLINE void add_terms(const npu_image_format *f, int columns, const place *p, int t, const scaling *s,
                          HVX_Vector sums[][2], dot_sum *acc) {
    int halves = f->scale == NPU_IMAGE_SCALE_SUB16;
    HVX_Vector d = of_tile(s->d, t), m = of_tile(s->m, t), sub = of_tile(s->sub, t), min = of_tile(s->min, t);
    HVX_UNROLL for (int c = 0; c < columns; c++) {
        const htp_act_block *b = p->b[c] + t;
        HVX_Vector sum = sums[c][0];
        if (halves) sum = Q6_Vw_vmpyieacc_VwVwVh(Q6_Vw_vmpyio_VwVh(sums[c][1], sub), sum, sub);
        dot_term(&acc[c], sum, d, b->d);
        if (!f->has_min) continue;
        if (halves)
            dot_term(&acc[c], Q6_Vw_vdmpy_VhRh_sat(min, half_sums(b)), m, b->d);
        else
            dot_min_term(&acc[c], m, b->s);
    }
}

/* One or two tiles. */
HVX_INLINE void take_tiles(const npu_image_format *f, int columns, int tiles, place *p, const scaling *s,
                           dot_sum *acc) {
#ifdef AS_REAL
    HVX_Vector sums[2][MAX_COLUMNS][2];
    UNROLL_TILES for (int t = 0; t < tiles; t++) tile_sums(f, columns, p, t, sums[t]);
    UNROLL_TILES for (int t = 0; t < tiles; t++) add_terms(f, columns, p, t, s, sums[t], acc);
#else
    for (int t = 0; t < tiles; t++) {
        HVX_Vector sums[MAX_COLUMNS][2];
        tile_sums(f, columns, p, t, sums);
        add_terms(f, columns, p, t, s, sums, acc);
    }
#endif
    p->low += tiles * f->low;
    p->high += tiles * f->high;
    HVX_UNROLL for (int c = 0; c < columns; c++) {
        p->x[c] += tiles * 32;
        p->b[c] += tiles;
    }
}

HVX_INLINE void split(HVX_VectorPair pair, HVX_Vector out[2]) {
    out[0] = Q6_V_lo_W(pair);
    out[1] = Q6_V_hi_W(pair);
}

#if defined HTP_BUILD_QEMU && !defined AS_REAL

/* Scales for 32 values, a tile at a time: those of two tiles together would be stored. */
HVX_INLINE void plain_dot(const npu_image_format *f, int columns, const htp_planes planes, place *p, uint32_t tiles,
                          dot_sum *acc) {
    const HVX_Vector *scales = planes[NPU_IMAGE_SCALES], *minima = planes[NPU_IMAGE_MINIMA];
    int bf16 = f->scale == NPU_IMAGE_SCALE_BF16;
    for (uint32_t t = 0; t < tiles; t++) {
        scaling s = {.d = {Q6_V_vzero()}};
        s.d[0] = bf16 ? dot_widen_bf16_one(scales[t / 2], t & 1) : dot_widen_one(scales[t / 2], t & 1);
        if (f->has_min) s.m[0] = dot_widen_one(minima[t / 2], t & 1);
        take_tiles(f, columns, 1, p, &s, acc);
    }
}

#else

/* Scales for 32 values. */
HVX_INLINE scaling plain_scaling(const npu_image_format *f, const HVX_Vector *scales, const HVX_Vector *minima) {
    scaling s = {.d = {Q6_V_vzero()}};
    split(f->scale == NPU_IMAGE_SCALE_BF16 ? dot_widen_bf16(*scales) : dot_widen(*scales), s.d);
    if (f->has_min) split(dot_widen(*minima), s.m);
    return s;
}

HVX_INLINE void plain_dot(const npu_image_format *f, int columns, const htp_planes planes, place *p, uint32_t tiles,
                          dot_sum *acc) {
    const HVX_Vector *scales = planes[NPU_IMAGE_SCALES], *minima = planes[NPU_IMAGE_MINIMA];
#ifdef AS_REAL
    for (uint32_t pairs = tiles / 2; pairs; pairs--) {
        scaling s = plain_scaling(f, scales++, minima);
        if (f->has_min) minima++;
        take_tiles(f, columns, 2, p, &s, acc);
    }
    if (!(tiles & 1)) return;
    scaling s = plain_scaling(f, scales, minima);
    take_tiles(f, columns, 1, p, &s, acc);
#else
    for (uint32_t t = 0; t < tiles; t += 2) {
        scaling s = plain_scaling(f, scales++, minima);
        if (f->has_min) minima++;
        take_tiles(f, columns, tiles - t > 1 ? 2 : 1, p, &s, acc);
    }
#endif
}

#endif

/* Eight tiles: a scale and a minimum for all, each times one of its own a tile. */
HVX_INLINE void sub32_dot(const npu_image_format *f, int columns, const htp_planes planes, place *p, uint32_t tiles,
                          dot_sum *acc) {
    const HVX_Vector *scales = planes[NPU_IMAGE_SCALES], *minima = planes[NPU_IMAGE_MINIMA];
    const HVX_Vector *super = planes[NPU_IMAGE_SUPER];
    for (uint32_t blocks = tiles / 8; blocks; blocks--) {
        HVX_Vector d = Q6_Vh_vshuffe_VhVh(*super, *super), m = Q6_Vh_vshuffo_VhVh(*super, *super), sub[2], min[2];
        super++;
        UNROLL_TILES for (int four = 0; four < 2; four++) {
            split(Q6_Wuh_vzxt_Vub(*scales++), sub);
            if (f->has_min) split(Q6_Wuh_vzxt_Vub(*minima++), min);
            UNROLL_TILES for (int pair = 0; pair < 2; pair++) {
                scaling s = {.d = {Q6_V_vzero()}};
                split(dot_sub_scales(of_tile(sub, pair), d, f->bias), s.d);
                if (f->has_min) split(dot_sub_scales(of_tile(min, pair), m, 0), s.m);
                take_tiles(f, columns, 2, p, &s, acc);
            }
        }
    }
}

/* Eight tiles: their halves' sums are weighed as integers. */
HVX_INLINE void sub16_dot(const npu_image_format *f, int columns, const htp_planes planes, place *p, uint32_t tiles,
                          dot_sum *acc) {
    const HVX_Vector *scales = planes[NPU_IMAGE_SCALES], *super = planes[NPU_IMAGE_SUPER];
    HVX_Vector low_nibbles = Q6_Vb_vsplat_R(15);
    for (uint32_t blocks = tiles / 8; blocks; blocks--) {
        HVX_VectorPair both = dot_widen(*super++);
        HVX_Vector d = Q6_V_lo_W(both), m = Q6_V_hi_W(both);
        UNROLL_TILES for (int pair = 0; pair < 4; pair++) {
            HVX_Vector bytes = *scales++;
            scaling s = {.d = {d, d}, .m = {m, m}};
            if (f->has_min) {
                split(Q6_Wuh_vzxt_Vub(Q6_Vub_vlsr_VubR(bytes, 4)), s.min);
                bytes = Q6_V_vand_VV(bytes, low_nibbles);
            }
            split(Q6_Wh_vsxt_Vb(bytes), s.sub);
            take_tiles(f, columns, 2, p, &s, acc);
        }
    }
}

HVX_INLINE void dot(const npu_image_format *f, int columns, const htp_planes planes, const htp_act_row *rows,
                    uint32_t tiles, HVX_Vector *y) {
    dot_sum acc[MAX_COLUMNS];
    place p = {.low = planes[NPU_IMAGE_LOW], .high = planes[NPU_IMAGE_HIGH], .book = Q6_V_vzero()};
    if (f->table) p.book = hvx_codebook(f);
    HVX_UNROLL for (int c = 0; c < columns; c++) {
        dot_clear(&acc[c]);
        p.x[c] = rows[c].codes;
        p.b[c] = rows[c].blocks;
    }
    if (f->scale == NPU_IMAGE_SCALE_SUB32)
        sub32_dot(f, columns, planes, &p, tiles, acc);
    else if (f->scale == NPU_IMAGE_SCALE_SUB16)
        sub16_dot(f, columns, planes, &p, tiles, acc);
    else
        plain_dot(f, columns, planes, &p, tiles, acc);
    HVX_UNROLL for (int c = 0; c < columns; c++) dot_result(&acc[c], &y[c]);
}

#define COLUMNS(NAME, n)                                                                                         \
    static void dot_##NAME##_##n(const htp_planes planes, const htp_act_row *x, uint32_t tiles, HVX_Vector *y) { \
        dot(&image_##NAME, n, planes, x, tiles, y);                                                              \
    }
#define NPU_IMAGE(NAME, low, high, table, offset, scale, min, bias)                         \
    static const npu_image_format image_##NAME = {                                          \
        0, low, high, NPU_IMAGE_TABLE_##table, offset, NPU_IMAGE_SCALE_##scale, min, bias}; \
    COLUMNS(NAME, 1)                                                                        \
    COLUMNS(NAME, 2)                                                                        \
    COLUMNS(NAME, 4)
#include "wire/npu_images.def"

htp_dot_fn *const htp_dot[NPU_IMAGE_COUNT][3] = {
#define NPU_IMAGE(NAME, low, high, table, offset, scale, min, bias) {dot_##NAME##_1, dot_##NAME##_2, dot_##NAME##_4},
#include "wire/npu_images.def"
};
