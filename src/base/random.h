/* Numbers without a meaning, the same on every machine: inputs of measurements and tests. A linear congruential
 * generator (the MMIX one of D. Knuth), whose high bits are the good ones. Tokens are sampled by sample/. */
#ifndef NPU_BASE_RANDOM_H
#define NPU_BASE_RANDOM_H

#include <stdint.h>

static inline uint64_t npu_random_next(uint64_t *state) {
    return *state = *state * 6364136223846793005u + 1442695040888963407u;
}

/* One of 0 … n-1. */
static inline uint32_t npu_random_below(uint64_t *state, uint32_t n) {
    return (uint32_t)((npu_random_next(state) >> 33) % n);
}

#endif
