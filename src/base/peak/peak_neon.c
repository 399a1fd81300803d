/* See peak.h: NEON. */
#include <arm_neon.h>

#include "base/peak/peak.h"

uint64_t npu_peak_f32_neon(uint64_t rounds) {
    volatile float values[] = {0.999f, 0.5f}; /* unknown to the compiler */
    float32x4_t sum[NPU_PEAK_SUMS], a = vdupq_n_f32(values[0]), b = vdupq_n_f32(values[1]);
    NPU_PEAK_LOOP(sum, rounds, vdupq_n_f32((float)i), vfmaq_f32(sum[i], a, b), vaddq_f32);
    return vgetq_lane_u64(vreinterpretq_u64_f32(sum[0]), 0);
}
