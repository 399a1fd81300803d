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

/* dot32 of a weight row with C rows of x: eight vectors hold the 32 lanes. */
NPU_INLINE void dot_tile(const npu_mm_dot *dot, uint32_t n, uint32_t m, int columns) {
    float32x4_t acc[2][8];
    const float *w = dot->w + n * dot->stride;
    NPU_UNROLL
    for (int i = 0; i < 8 * columns; i++) acc[i / 8][i % 8] = vdupq_n_f32(0);
    uint32_t k = 0;
    for (; k + 32 <= dot->k; k += 32) {
        NPU_UNROLL
        for (int i = 0; i < 8 * columns; i++) {
            acc[i / 8][i % 8] = vfmaq_f32(acc[i / 8][i % 8], vld1q_f32(w + k + 4 * (i % 8)),
                                          vld1q_f32(dot->x[m + (uint32_t)i / 8] + k + 4 * (i % 8)));
        }
    }
    for (int c = 0; c < columns; c++) {
        float lanes[32];
        for (int h = 0; h < 8; h++) vst1q_f32(lanes + 4 * h, acc[c][h]);
        end_dot(dot, n, m + (uint32_t)c, k, lanes);
    }
}

static void dot(const npu_mm_dot *d) {
    for (uint32_t n = 0; n < d->n_rows; n++) {
        uint32_t m = 0;
        for (; m + 2 <= d->rows; m += 2) dot_tile(d, n, m, 2);
        for (; m < d->rows; m++) dot_tile(d, n, m, 1);
    }
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
