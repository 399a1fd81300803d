/* See peak.h: the dot product instructions of Armv8.2. */
#include <arm_neon.h>

#include "base/peak/peak.h"

uint64_t npu_peak_int8_dotprod(uint64_t rounds) {
    volatile int8_t value = 3;
    int8x16_t a = vdupq_n_s8(value);
    int32x4_t sum[NPU_PEAK_SUMS];
    NPU_PEAK_LOOP(sum, rounds, vdupq_n_s32(i), vdotq_s32(sum[i], a, a), vaddq_s32);
    return vgetq_lane_u64(vreinterpretq_u64_s32(sum[0]), 0);
}
