/* See peak.h: the dot product instructions of Armv8.2. */
#include <arm_neon.h>

#include "base/peak/peak.h"

uint64_t npu_peak_int8_dotprod(uint64_t rounds) {
    volatile int8_t value = 3;
    int8x16_t a = vdupq_n_s8(value);
    int32x4_t sum[NPU_PEAK_SUMS];
    for (int i = 0; i < NPU_PEAK_SUMS; i++) sum[i] = vdupq_n_s32(i);
    for (uint64_t n = 0; n < rounds; n++) {
        NPU_PEAK_UNROLL
        for (int i = 0; i < NPU_PEAK_SUMS; i++) sum[i] = vdotq_s32(sum[i], a, a);
    }
    for (int i = 1; i < NPU_PEAK_SUMS; i++) sum[0] = vaddq_s32(sum[0], sum[i]);
    return vgetq_lane_u64(vreinterpretq_u64_s32(sum[0]), 0);
}
