/* ALiBi slopes (docs/numerics.md §7) in two steps: the two bases need binary64 exp and log, which the host makes when
 * it lowers the op; a slope is then a power by repeated binary64 products, which the NPU has. Freestanding. */
#ifndef NPU_WIRE_ALIBI_H
#define NPU_WIRE_ALIBI_H

#include "wire/math64.h"
#include "wire/op.h"

/* Heads below this, a power of two, take the first base. */
static inline uint32_t npu_alibi_low(uint32_t heads) {
    uint32_t low = 1;
    while (low <= heads / 2) low *= 2;
    return low;
}

/* Host only. */
static inline npu_alibi npu_alibi_make(float max_bias, uint32_t heads) {
    uint32_t low = npu_alibi_low(heads);
    npu_alibi a = {{{0}}};
    if (!(max_bias > 0)) return a;
    for (int i = 0; i < 2; i++) {
        uint64_t bits = npu_bits64(npu_pow64(2, -(double)max_bias / (i ? 2 : 1) / low));
        a.base[i][0] = (uint32_t)bits;
        a.base[i][1] = (uint32_t)(bits >> 32);
    }
    return a;
}

/* Of head |h| of |heads|; 1 without ALiBi. */
static inline float npu_alibi_slope(const npu_alibi *a, float max_bias, uint32_t h, uint32_t heads) {
    uint32_t low = npu_alibi_low(heads), second = h >= low, times = second ? 2 * (h - low) + 1 : h + 1;
    if (!(max_bias > 0)) return 1.0f;
    double base = npu_double64((uint64_t)a->base[second][1] << 32 | a->base[second][0]), slope = 1;
    for (uint32_t i = 0; i < times; i++) slope *= base;
    return (float)slope;
}

#endif
