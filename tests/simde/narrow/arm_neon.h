/* Arm's <arm_neon.h> on a PC (tests/simde/ops_narrow.c): SIMDe's, and what some versions of SIMDe lack. It has a name
 * of its own here and takes the intrinsic's by #undef and #define, so that it is the same with all of them. */
#ifndef NPU_TESTS_SIMDE_NARROW_ARM_NEON_H
#define NPU_TESTS_SIMDE_NARROW_ARM_NEON_H

#include <simde/arm/neon.h>

static inline float32x4_t narrow_divq_f32(float32x4_t a, float32x4_t b) {
    float x[4], y[4];
    vst1q_f32(x, a);
    vst1q_f32(y, b);
    for (int i = 0; i < 4; i++) x[i] /= y[i];
    return vld1q_f32(x);
}

#undef vdivq_f32
#define vdivq_f32(a, b) narrow_divq_f32(a, b)

#endif
