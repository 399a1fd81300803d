/* The parts of MUL_MAT on NEON that no format enters: quantising activations, dots of floats, widening. Included by
 * matmul_neon.c, matmul_dotprod.c and matmul_i8mm.c. */
#ifndef NPU_MATMUL_FLOAT_NEON_H
#define NPU_MATMUL_FLOAT_NEON_H

#include <arm_neon.h>

#include "target/host/matmul/matmul_float.h"

/* numerics.md §5. No clamp: |x * id| <= 127 * (1 + 2^-22), which rounds to 127 at most. */
static void quantise(const float *x, npu_mm_act *acts, uint32_t blocks) {
    for (uint32_t b = 0; b < blocks; b++, x += 32) {
        npu_mm_act *a = &acts[b];
        float32x4_t v[8];
        uint32x4_t top = vdupq_n_u32(0);
        for (int i = 0; i < 8; i++) {
            v[i] = vld1q_f32(x + 4 * i);
            top = vmaxq_u32(top, vandq_u32(vreinterpretq_u32_f32(v[i]), vdupq_n_u32(0x7FFFFFFFu)));
        }
        uint32_t most = vmaxvq_u32(top);
        if (!begin_act(a, most)) continue;
        float amax = npu_bits_float(most), id = 127.0f / amax;
        int32x4_t low = vdupq_n_s32(0), high = low;
        for (int i = 0; i < 8; i += 2) {
            int32x4_t q0 = vcvtnq_s32_f32(vmulq_n_f32(v[i], id)), q1 = vcvtnq_s32_f32(vmulq_n_f32(v[i + 1], id));
            vst1_s8(a->q + 4 * i, vmovn_s16(vcombine_s16(vmovn_s32(q0), vmovn_s32(q1))));
            if (i < 4) {
                low = vaddq_s32(low, vaddq_s32(q0, q1));
            } else {
                high = vaddq_s32(high, vaddq_s32(q0, q1));
            }
        }
        int32_t b0 = vaddvq_s32(low), b1 = vaddvq_s32(high);
        end_act(a, amax, b0, b1);
    }
}

/* The tree of the 32 lanes. */
NPU_INLINE float sum_lanes(const float *lanes) {
    float32x4_t v[4];
    for (int h = 0; h < 4; h++) v[h] = vaddq_f32(vld1q_f32(lanes + 4 * h), vld1q_f32(lanes + 16 + 4 * h));
    float32x4_t v4 = vaddq_f32(vaddq_f32(v[0], v[2]), vaddq_f32(v[1], v[3]));
    float32x2_t v2 = vadd_f32(vget_low_f32(v4), vget_high_f32(v4));
    return vget_lane_f32(v2, 0) + vget_lane_f32(v2, 1);
}

NPU_INLINE void sum_four(const float (*lanes)[32], float *y) {
    for (int r = 0; r < 4; r++) y[r] = sum_lanes(lanes[r]);
}

static float dot_f32(const float *w, const float *x, uint32_t k) {
    float32x4_t acc[8];
    for (int h = 0; h < 8; h++) acc[h] = vdupq_n_f32(0);
    for (; k >= 32; k -= 32, w += 32, x += 32) {
        NPU_UNROLL
        for (int h = 0; h < 8; h++) acc[h] = vfmaq_f32(acc[h], vld1q_f32(w + 4 * h), vld1q_f32(x + 4 * h));
    }
    float lanes[32];
    for (int h = 0; h < 8; h++) vst1q_f32(lanes + 4 * h, acc[h]);
    for (uint32_t i = 0; i < k; i++) lanes[i] = __builtin_fmaf(w[i], x[i], lanes[i]);
    return sum_lanes(lanes);
}

static void widen_f16(const void *src, float *dst, size_t n) {
    const uint8_t *p = src;
    size_t i = 0;
    for (; i + 4 <= n; i += 4) vst1q_f32(dst + i, vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p + 2 * i))));
    widen_f16_rest(p, dst, i, n);
}

static void widen_bf16(const void *src, float *dst, size_t n) {
    const uint8_t *p = src;
    widen_bf16_rest(p, dst, 0, n);
}

#endif
