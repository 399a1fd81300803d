/* See peak.h: NEON. */
#include <arm_neon.h>

#include "base/peak/peak.h"

uint64_t npu_peak_f32_neon(uint64_t rounds) {
    volatile float values[] = {0.999f, 0.5f}; /* unknown to the compiler */
    float32x4_t sum[NPU_PEAK_SUMS], a = vdupq_n_f32(values[0]), b = vdupq_n_f32(values[1]);
    for (int i = 0; i < NPU_PEAK_SUMS; i++) sum[i] = vdupq_n_f32((float)i);
    for (uint64_t n = 0; n < rounds; n++) {
        NPU_PEAK_UNROLL
        for (int i = 0; i < NPU_PEAK_SUMS; i++) sum[i] = vfmaq_f32(sum[i], a, b);
    }
    for (int i = 1; i < NPU_PEAK_SUMS; i++) sum[0] = vaddq_f32(sum[0], sum[i]);
    return vgetq_lane_u64(vreinterpretq_u64_f32(sum[0]), 0);
}
