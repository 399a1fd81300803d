/* 32 blocks at a time, because then one lane is a block for everything that is done once a block: largest magnitude,
 * scale, inverse, sums. Only the inverses go through scalar registers, since each multiplies a whole vector. */
#include "htp/hvx/hvx_quantise.h"

#include "htp/hvx/hvx_f32.h"

enum { GROUP = 32, BAD_SCALE = 0x7FC00000 }; /* of blocks that hold an infinity or a NaN */

/* The larger of lanes l and l + 16, of |a| in even lanes and of |b| in odd ones. Five rounds of it bring the maxima of
 * 32 vectors into one, in order when each round pairs vectors whose numbers differ in one bit, the highest first. */
HVX_INLINE HVX_Vector larger(HVX_Vector a, HVX_Vector b) {
    HVX_VectorPair both = Q6_W_vshuff_VVR(b, a, -4);
    return Q6_Vw_vmax_VwVw(Q6_V_lo_W(both), Q6_V_hi_W(both));
}
HVX_INLINE HVX_Vector largest_2(const HVX_Vector *x) {
    return larger(hvx_f32_abs(x[0]), hvx_f32_abs(x[16]));
}
HVX_INLINE HVX_Vector largest_4(const HVX_Vector *x) {
    return larger(largest_2(x), largest_2(x + 8));
}
HVX_INLINE HVX_Vector largest_8(const HVX_Vector *x) {
    return larger(largest_4(x), largest_4(x + 4));
}
HVX_INLINE HVX_Vector largest_16(const HVX_Vector *x) {
    return larger(largest_8(x), largest_8(x + 2));
}
/* Magnitudes order like the integers that are their bits, NaN last. */
HVX_INLINE HVX_Vector largest_32(const HVX_Vector *x) {
    return larger(largest_16(x), largest_16(x + 1));
}

/* Two blocks times their inverses, to the nearest, as 16-bit codes in order. */
HVX_INLINE HVX_Vector two_blocks(HVX_Vector a, HVX_Vector b, const float *inverse) {
    return hvx_nearest(hvx_f32_mul(a, hvx_f32_splat(inverse[0])), hvx_f32_mul(b, hvx_f32_splat(inverse[1])));
}

/* Four blocks to bytes in order; nothing of them where |keep| is 0. */
HVX_INLINE HVX_Vector four_blocks(const HVX_Vector *x, const float *inverse, const int32_t *keep) {
    HVX_Vector c[4];
    HVX_UNROLL for (int i = 0; i < 4; i++) c[i] = Q6_V_vand_VV(x[i], Q6_V_vsplat_R(keep[i]));
    return Q6_Vb_vpack_VhVh_sat(two_blocks(c[2], c[3], inverse + 2), two_blocks(c[0], c[1], inverse));
}

/* Neighbouring words of both, |a| first, added. */
HVX_INLINE HVX_Vector add_neighbours(HVX_Vector a, HVX_Vector b) {
    HVX_VectorPair both = Q6_W_vdeal_VVR(b, a, -4);
    return Q6_Vw_vadd_VwVw(Q6_V_lo_W(both), Q6_V_hi_W(both));
}

/* Lane b of the pair: sums of the first and of the last 16 codes of block b. */
HVX_INLINE HVX_VectorPair half_sums(const HVX_Vector *sums_of_4) {
    HVX_Vector s[4];
    HVX_UNROLL for (int i = 0; i < 4; i++) s[i] = add_neighbours(sums_of_4[2 * i], sums_of_4[2 * i + 1]);
    return Q6_W_vdeal_VVR(add_neighbours(s[2], s[3]), add_neighbours(s[0], s[1]), -4);
}

HVX_INLINE void store_records(HVX_Vector d, HVX_VectorPair sums, HVX_Vector *out) {
    HVX_Vector low = Q6_V_lo_W(sums), high = Q6_V_hi_W(sums), sum = Q6_Vw_vadd_VwVw(low, high);
    HVX_Vector s = hvx_f32_mul(d, hvx_f32_from_i32(sum)), bad = Q6_V_vsplat_R(BAD_SCALE);
    s = Q6_V_vmux_QVV(Q6_Q_vcmp_eq_VwVw(d, bad), bad, s); /* not every float format of the hardware has NaNs */
    HVX_VectorPair first = Q6_W_vshuff_VVR(s, d, -4);
    HVX_VectorPair second = Q6_W_vshuff_VVR(Q6_Vh_vshuffe_VhVh(high, low), sum, -4);
    HVX_VectorPair a = Q6_W_vshuff_VVR(Q6_V_lo_W(second), Q6_V_lo_W(first), -8);
    HVX_VectorPair b = Q6_W_vshuff_VVR(Q6_V_hi_W(second), Q6_V_hi_W(first), -8);
    out[0] = Q6_V_lo_W(a);
    out[1] = Q6_V_hi_W(a);
    out[2] = Q6_V_lo_W(b);
    out[3] = Q6_V_hi_W(b);
}

/* The scales of 32 blocks; what to multiply their values with, and all bits set where there is something to keep. */
HVX_INLINE HVX_Vector scales(HVX_Vector most, float *inverse, int32_t *keep) {
    HVX_Vector infinite = Q6_V_vsplat_R(0x7F7FFFFF), small = Q6_V_vsplat_R(0x0D800000), c127 = hvx_f32_splat(127.0f);
    HVX_VectorPred bad = Q6_Q_vcmp_gt_VwVw(most, infinite), none = Q6_Q_vcmp_gt_VwVw(small, most); /* below 2^-100 */
    HVX_VectorPred skip = Q6_Q_or_QQ(bad, none);
    HVX_Vector a = Q6_V_vmux_QVV(skip, c127, most), zero = Q6_V_vzero();
    *(HVX_Vector *)inverse = hvx_f32_div(hvx_f32_splat(127.0f * HVX_NEAREST_TIMES), a);
    *(HVX_Vector *)keep = Q6_V_vmux_QVV(skip, zero, Q6_V_vsplat_R(-1));
    HVX_Vector d = Q6_V_vmux_QVV(none, zero, hvx_f32_div(a, c127));
    return Q6_V_vmux_QVV(bad, Q6_V_vsplat_R(BAD_SCALE), d);
}

/* |vectors| of codes are wanted; the other blocks of the last group are zeros. */
static void groups(const HVX_Vector *x, uint32_t n, uint32_t vectors, HVX_Vector *codes, HVX_Vector *records) {
    HVX_Vector ones = Q6_Vb_vsplat_R(1);
    for (; n; n--) {
        float inverse[GROUP] __attribute__((aligned(128)));
        int32_t keep[GROUP] __attribute__((aligned(128)));
        HVX_Vector d = scales(largest_32(x), inverse, keep), sums[8];
        HVX_UNROLL for (int i = 0; i < 8; i++) {
            HVX_Vector bytes = four_blocks(x + 4 * i, inverse + 4 * i, keep + 4 * i);
            sums[i] = Q6_Vw_vrmpy_VubVb(ones, bytes);
            if ((uint32_t)i < vectors) codes[i] = bytes;
        }
        store_records(d, half_sums(sums), records);
        x += GROUP, codes += 8, records += 4;
    }
}

void htp_quantise(const HVX_Vector *x, uint32_t blocks, HVX_Vector *codes, htp_act_block *records) {
    uint32_t whole = blocks / GROUP, rest = blocks % GROUP;
    groups(x, whole, 8, codes, (HVX_Vector *)records);
    if (!rest) return;
    HVX_Vector last[GROUP];
    for (uint32_t i = 0; i < GROUP; i++) last[i] = i < rest ? x[whole * GROUP + i] : Q6_V_vzero();
    groups(last, 1, (rest + 3) / 4, codes + whole * 8, (HVX_Vector *)(records + whole * GROUP));
}
