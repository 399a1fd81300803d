/* See hvx_image_row.h. One body over a row of npu_images.def, four tiles at a time: their codes are one vector of
 * bytes, taken by turns of tiles 0 2 1 3, so that widened to 16 bits the even bytes are tiles 0 and 1 by turns and the
 * odd ones tiles 2 and 3. Products with halves then give a tile a vector. Scales get to their lanes by vdelta and
 * vrdelta, whose control bytes are chosen so that the place in the list is one exclusive or. */
#include "htp/hvx/hvx_image_row.h"

#include "htp/hvx/hvx_codes.h"
#include "htp/hvx/hvx_dot_term.h"
#include "htp/hvx/hvx_q8_0.h"

#ifdef HTP_BUILD_REAL
#define UNROLL_FOURS HVX_UNROLL
#else /* the compiler's time */
#define UNROLL_FOURS
#endif

/* What is the same for all tiles of a row. */
typedef struct routes {
    HVX_Vector word, halves; /* a word to all lanes; sub-scales of halves of tiles to their lanes */
    HVX_Vector low, high;    /* words of the planes of codes to the lanes of the codes in them */
    HVX_Vector low_shift, high_shift;
    HVX_Vector book;
} routes;

/* --- routes --- */

/* The low byte of each word in all four. */
HVX_INLINE HVX_Vector four_times(HVX_Vector x) {
    x = Q6_V_vor_VV(x, Q6_Vw_vasl_VwR(x, 8));
    return Q6_V_vor_VV(x, Q6_Vw_vasl_VwR(x, 16));
}

HVX_INLINE int log2_fields(int bits) {
    return bits == 1 ? 3 : bits == 2 ? 2 : 1;
}

/* vdelta: lane l of the first four tiles takes word l / (8 / bits). Stages go from far to near, so the lowest bit of a
 * place is the last to be decided. */
HVX_INLINE HVX_Vector fields_route(int bits) {
    HVX_Vector lane = hvx_lane_numbers();
    HVX_Vector from = Q6_V_vxor_VV(lane, Q6_Vuw_vlsr_VuwR(lane, log2_fields(bits)));
    return four_times(Q6_Vw_vasl_VwR(from, 2));
}
HVX_INLINE HVX_Vector fields_shift(int bits) {
    HVX_Vector field = Q6_V_vand_VV(hvx_lane_numbers(), Q6_V_vsplat_R(8 / bits - 1));
    return Q6_Vw_vmpyi_VwRub(field, bits * 0x01010101);
}

HVX_INLINE routes routes_of(const npu_image_format *f) {
    routes r = {.book = f->table ? hvx_codebook(f) : Q6_V_vzero()};
    HVX_Vector place = four_times(Q6_Vw_vasl_VwR(hvx_lane_numbers(), 2)); /* of a byte's word */
    r.word = place;
    /* Sub-scales dealt twice are half of the tile, tile, place in the list, pair of tiles: the first bit stays a byte's
     * highest, the last its lowest, and its second is the tile. */
    HVX_Vector by_tile = Q6_V_vand_VV(Q6_V_vsplat_R(0x20200000), Q6_Vb_vsplat_R(0x20));
    by_tile = Q6_V_vxor_VV(by_tile, Q6_V_vand_VV(place, Q6_Vb_vsplat_R(0x20)));
    r.halves = Q6_V_vor_VV(by_tile, Q6_V_vand_VV(Q6_V_vor_VV(place, Q6_V_vsplat_R(0x02020000)), Q6_Vb_vsplat_R(0x1e)));
    if (f->low < 8) r.low = fields_route(f->low), r.low_shift = fields_shift(f->low);
    if (f->high) r.high = fields_route(f->high), r.high_shift = fields_shift(f->high);
    return r;
}

/* --- from lists to lanes --- */

/* Word |n| of a list in all lanes. */
HVX_INLINE HVX_Vector word_of(const HVX_Vector *list, const routes *r, uint32_t n) {
    return Q6_V_vdelta_VV(list[n / 32], Q6_V_vxor_VV(r->word, Q6_Vb_vsplat_R((int32_t)(n % 32 * 4))));
}

/* The |bits| of codes 128 g …, a byte each in order. */
HVX_INLINE HVX_Vector fields(const HVX_Vector *list, int bits, HVX_Vector route, HVX_Vector shift, uint32_t g) {
    if (bits == 8) return list[g];
    uint32_t times = 1u << log2_fields(bits);
    HVX_Vector here = Q6_V_vxor_VV(route, Q6_Vb_vsplat_R((int32_t)(g % times * (128 / times))));
    HVX_Vector words = Q6_V_vdelta_VV(list[g / times], here);
    return Q6_V_vand_VV(Q6_Vw_vlsr_VwVw(words, shift), Q6_Vb_vsplat_R((1 << bits) - 1));
}

/* Codes of tiles 4 g … as 16 bits, signed and centred: tiles 0 and 1 by turns, tiles 2 and 3. */
HVX_INLINE HVX_VectorPair codes_of(const npu_image_format *f, const htp_lists lists, const routes *r, uint32_t g) {
    HVX_Vector codes = fields(lists[NPU_IMAGE_LOW], f->low, r->low, r->low_shift, g);
    if (f->high)
        codes = Q6_Vw_vaslacc_VwVwR(codes, fields(lists[NPU_IMAGE_HIGH], f->high, r->high, r->high_shift, g), f->low);
    if (f->table) codes = Q6_Vb_vlut32_VbVbR_nomatch(codes, r->book, 0);
    if (f->offset) codes = Q6_Vb_vsub_VbVb(codes, Q6_Vb_vsplat_R(f->offset));
    return Q6_Wh_vsxt_Vb(Q6_Vh_vshuff_Vh(Q6_Vb_vshuff_Vb(codes)));
}

/* --- arithmetic: in the real build products and sums are qf32 up to the last --- */

/* What is between two tiles by turns and their vectors. */
HVX_INLINE HVX_VectorPair each(HVX_VectorPair a, HVX_VectorPair b, HVX_Vector (*operation)(HVX_Vector, HVX_Vector)) {
    return Q6_W_vcombine_VV(operation(Q6_V_hi_W(a), Q6_V_hi_W(b)), operation(Q6_V_lo_W(a), Q6_V_lo_W(b)));
}

#ifdef HTP_BUILD_REAL
HVX_INLINE HVX_VectorPair times_half(HVX_Vector q, HVX_Vector d) {
    return Q6_Wqf32_vmpy_VhfVhf(Q6_Vhf_vcvt_Vh(q), d);
}
HVX_INLINE HVX_Vector product(HVX_Vector a, HVX_Vector b) {
    return Q6_Vqf32_vmpy_Vqf32Vqf32(a, b);
}
HVX_INLINE HVX_Vector sum(HVX_Vector a, HVX_Vector b) {
    return Q6_Vqf32_vadd_Vqf32Vqf32(a, b);
}
HVX_INLINE HVX_Vector result(HVX_Vector x) {
    return Q6_Vsf_equals_Vqf32(x);
}
HVX_INLINE HVX_VectorPair numbers(HVX_Vector q) {
    return times_half(q, Q6_Vh_vsplat_R(0x3c00));
}
/* c * s * d, where all of |d| is the same half. Of integers whose product has more than a half's 11 bits each is one.
 */
HVX_INLINE HVX_VectorPair times_both(const npu_image_format *f, HVX_Vector c, HVX_Vector s, HVX_Vector d) {
    if (!f->table && f->low + f->high <= 5) return times_half(Q6_Vh_vmpyi_VhVh(c, s), d);
    return each(times_half(c, Q6_Vhf_vcvt_Vh(s)), dot_widen(d), product);
}
#else
#define times_half hvx_times_half
#define product    hvx_f32_mul
#define sum        hvx_f32_add
HVX_INLINE HVX_Vector result(HVX_Vector x) {
    return x;
}
HVX_INLINE HVX_VectorPair numbers(HVX_Vector q) {
    HVX_VectorPair w = Q6_Ww_vsxt_Vh(q);
    return Q6_W_vcombine_VV(hvx_f32_from_i32(Q6_V_hi_W(w)), hvx_f32_from_i32(Q6_V_lo_W(w)));
}
/* All products are exact, but the order decides on the sign of nothing. */
HVX_INLINE HVX_VectorPair times_both(const npu_image_format *f, HVX_Vector c, HVX_Vector s, HVX_Vector d) {
    (void)f;
    return each(times_half(s, d), numbers(c), product);
}
#endif

/* --- four tiles --- */

/* Scales for 32 values. */
HVX_INLINE void weigh_plain(const npu_image_format *f, const htp_lists lists, const routes *r, uint32_t g,
                            HVX_VectorPair codes, HVX_VectorPair x[2]) {
    HVX_UNROLL for (int i = 0; i < 2; i++) {
        HVX_Vector c = i ? Q6_V_hi_W(codes) : Q6_V_lo_W(codes), d = word_of(lists[NPU_IMAGE_SCALES], r, 2 * g + i);
        x[i] = f->scale == NPU_IMAGE_SCALE_BF16 ? each(numbers(c), dot_widen_bf16(d), product) : times_half(c, d);
        if (f->has_min) x[i] = each(x[i], dot_widen(word_of(lists[NPU_IMAGE_MINIMA], r, 2 * g + i)), sum);
    }
}

/* A scale of 256 values, |d|, times sub-scales. */
HVX_INLINE void weigh_sub(const npu_image_format *f, const htp_lists lists, const routes *r, uint32_t g,
                          HVX_VectorPair codes, HVX_VectorPair x[2]) {
    const HVX_Vector *scales = lists[NPU_IMAGE_SCALES];
    HVX_Vector both = word_of(lists[NPU_IMAGE_SUPER], r, g / 2), sub, min = Q6_V_vzero();
    HVX_Vector d = Q6_Vh_vshuffe_VhVh(both, both), m = Q6_Vh_vshuffo_VhVh(both, both);
    if (f->scale == NPU_IMAGE_SCALE_SUB32) {
        sub = word_of(scales, r, g);
        if (f->bias) sub = Q6_Vb_vsub_VbVb(sub, Q6_Vb_vsplat_R(f->bias));
        if (f->has_min) min = word_of(lists[NPU_IMAGE_MINIMA], r, g);
    } else {
        sub = Q6_Vb_vdeal_Vb(Q6_Vb_vdeal_Vb(scales[g / 16]));
        sub = Q6_V_vrdelta_VV(sub, Q6_V_vxor_VV(r->halves, Q6_Vb_vsplat_R((int32_t)(g % 16 * 2))));
        if (f->has_min) min = Q6_Vub_vlsr_VubR(sub, 4), sub = Q6_V_vand_VV(sub, Q6_Vb_vsplat_R(15));
    }
    HVX_VectorPair subs = Q6_Wh_vsxt_Vb(sub), mins = Q6_Wuh_vzxt_Vub(min);
    HVX_UNROLL for (int i = 0; i < 2; i++) {
        x[i] = times_both(f, i ? Q6_V_hi_W(codes) : Q6_V_lo_W(codes), i ? Q6_V_hi_W(subs) : Q6_V_lo_W(subs), d);
        if (f->has_min) x[i] = each(x[i], times_half(i ? Q6_V_hi_W(mins) : Q6_V_lo_W(mins), m), sum);
    }
}

HVX_INLINE void four_tiles(const npu_image_format *f, const htp_lists lists, const routes *r, uint32_t g,
                           HVX_Vector *y) {
    HVX_VectorPair x[2], codes = codes_of(f, lists, r, g);
    if (f->scale == NPU_IMAGE_SCALE_SUB32 || f->scale == NPU_IMAGE_SCALE_SUB16)
        weigh_sub(f, lists, r, g, codes, x);
    else
        weigh_plain(f, lists, r, g, codes, x);
    HVX_UNROLL for (int i = 0; i < 2; i++) {
        y[2 * i] = result(Q6_V_lo_W(x[i]));
        y[2 * i + 1] = result(Q6_V_hi_W(x[i]));
    }
}

/* The end of a row is made beside it, since it need not be eight tiles. */
HVX_INLINE void row(const npu_image_format *f, const htp_lists of_row, uint32_t tiles, HVX_Vector *restrict y) {
    const routes r = routes_of(f);
    htp_lists lists;
    HVX_Vector last[8];
    for (int p = 0; p < NPU_IMAGE_PLANES; p++) lists[p] = of_row[p]; /* no store can change these */
    uint32_t whole = tiles / 8, rest = tiles % 8;
    for (uint32_t b = 0; b < whole + (rest != 0); b++) {
        HVX_Vector *restrict to = b < whole ? y + 8 * b : last;
        UNROLL_FOURS for (uint32_t i = 0; i < 2; i++) four_tiles(f, lists, &r, 2 * b + i, to + 4 * i);
    }
    for (uint32_t i = 0; i < rest; i++) y[8 * whole + i] = last[i];
}

#define NPU_IMAGE(NAME, low, high, table, offset, scale, min, bias)                                                  \
    HVX_HOT void row_##NAME(const htp_lists lists, uint32_t tiles, HVX_Vector *restrict y) {                         \
        static const npu_image_format f = {0,   low, high, NPU_IMAGE_TABLE_##table, offset, NPU_IMAGE_SCALE_##scale, \
                                           min, bias};                                                               \
        row(&f, lists, tiles, y);                                                                                    \
    }
#include "wire/npu_images.def"

htp_image_row_fn *const htp_image_row[NPU_IMAGE_COUNT] = {
#define NPU_IMAGE(NAME, low, high, table, offset, scale, min, bias) row_##NAME,
#include "wire/npu_images.def"
};
