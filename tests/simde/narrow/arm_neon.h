/* Arm's <arm_neon.h> on a PC (tests/simde/ops_narrow.c): SIMDe's, and what SIMDe lacks. */
#ifndef NPU_TESTS_SIMDE_NARROW_ARM_NEON_H
#define NPU_TESTS_SIMDE_NARROW_ARM_NEON_H

#include <simde/arm/neon.h>

static inline float32x4_t vdivq_f32(float32x4_t a, float32x4_t b) {
    float x[4], y[4];
    vst1q_f32(x, a);
    vst1q_f32(y, b);
    for (int i = 0; i < 4; i++) x[i] /= y[i];
    return vld1q_f32(x);
}

#endif
