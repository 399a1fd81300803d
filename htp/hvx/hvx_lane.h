/* Vectors of 32 floats by lane: masks, and lanes that change places, up to a 32 x 32 transpose. */
#ifndef HTP_HVX_LANE_H
#define HTP_HVX_LANE_H

#include "htp/hvx/hvx_f32.h"

/* 0, 1, … 31. */
static inline HVX_Vector hvx_lane_numbers(void) {
    static const int32_t numbers[32]
        __attribute__((aligned(128))) = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                         16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    return *(const HVX_Vector *)numbers;
}

/* Lanes first .. end - 1 of 32. */
static inline HVX_VectorPred hvx_lanes_between(uint32_t first, uint32_t end) {
    HVX_Vector lane = hvx_lane_numbers();
    return Q6_Q_and_QQn(Q6_Q_vcmp_gt_VwVw(Q6_V_vsplat_R((int32_t)end), lane),
                        Q6_Q_vcmp_gt_VwVw(Q6_V_vsplat_R((int32_t)first), lane));
}

/* x with the lanes from |n| on made +0. */
static inline HVX_Vector hvx_f32_keep(HVX_Vector x, uint32_t n) {
    return Q6_V_vmux_QVV(hvx_lanes_between(0, n), x, Q6_V_vzero());
}

/* log2(count) times: vector i is interleaved with vector i + count / 2, which moves the highest bit of a vector's
 * number into the lanes' numbers, and the highest of those into it. */
HVX_F32_INLINE void hvx_interleave(HVX_Vector *x, int count) {
    for (int round = 1; round < count; round *= 2) {
        HVX_Vector y[8];
        for (int i = 0; i < count / 2; i++) {
            HVX_VectorPair w = Q6_W_vshuff_VVR(x[i + count / 2], x[i], -4);
            y[2 * i] = Q6_V_lo_W(w);
            y[2 * i + 1] = Q6_V_hi_W(w);
        }
        for (int i = 0; i < count; i++) x[i] = y[i];
    }
}

/* A 32 x 32 transpose, out[j] lane i = in[i * stride] lane j, is five such rounds over 32 vectors: three, then two,
 * each in registers. hvx_transpose_last gives out[4 * i … 4 * i + 3]. */
HVX_F32_INLINE void hvx_transpose_first(const HVX_Vector *in, uint32_t stride, HVX_Vector between[32]) {
    for (uint32_t i = 0; i < 4; i++) {
        HVX_Vector x[8];
        for (uint32_t k = 0; k < 8; k++) x[k] = in[(i + 4 * k) * stride];
        hvx_interleave(x, 8);
        for (uint32_t k = 0; k < 8; k++) between[8 * i + k] = x[k];
    }
}
HVX_F32_INLINE void hvx_transpose_last(const HVX_Vector between[32], uint32_t i, HVX_Vector x[4]) {
    for (uint32_t k = 0; k < 4; k++) x[k] = between[i + 8 * k];
    hvx_interleave(x, 4);
}
static inline void hvx_transpose_32x32(const HVX_Vector *in, uint32_t stride, HVX_Vector out[32]) {
    HVX_Vector between[32];
    hvx_transpose_first(in, stride, between);
    for (uint32_t i = 0; i < 8; i++) {
        HVX_Vector x[4];
        hvx_transpose_last(between, i, x);
        for (uint32_t k = 0; k < 4; k++) out[4 * i + k] = x[k];
    }
}

#endif
