/* What the checks of htp/hvx share: random numbers, a vector's lanes, and how a difference is told. Each program is
 * compiled by kernel_check.py for the PC, for Hexagon (run by qemu-hexagon) and as the real build is; it prints its
 * first failures and exits with 1. */
#ifndef CHECKS_H
#define CHECKS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "htp/hvx/hvx_f32.h"

typedef union {
    HVX_Vector v;
    float f[32];
    uint32_t u[32];
    int32_t w[32];
    uint16_t h[64];
    uint8_t b[128];
} lanes;

static uint64_t rng = 0x5eed0d07;
static int failures;

static inline uint32_t next(void) {
    return (uint32_t)(npu_random_next(&rng) >> 32);
}

/* NaN is a class. */
static inline int same(float a, float b) {
    return npu_float_bits(a) == npu_float_bits(b) || (a != a && b != b);
}

static inline void expect(const char *what, float got, float want, int where) {
    if (same(got, want) || failures++ > 20) return;
    printf("%s: lane %d: got %08x, want %08x\n", what, where, npu_float_bits(got), npu_float_bits(want));
}

/* |scale| is what the real build's error is measured by. */
static inline void expect_near(const char *what, float got, float want, double scale, int where) {
#ifdef HTP_BUILD_REAL
    if (fabs((double)got - want) <= 2e-6 * scale + 0x1p-125) return; /* no subnormals there */
#else
    (void)scale;
#endif
    expect(what, got, want, where);
}

static inline int rounds_of(int argc, char **argv) {
    return argc > 1 ? atoi(argv[1]) : 400;
}
static inline int told(void) {
    printf("%d failures\n", failures);
    return failures != 0;
}

#endif
