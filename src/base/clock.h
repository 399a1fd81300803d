/* The one clock: monotonic, for durations and deadlines. */
#ifndef NPU_BASE_CLOCK_H
#define NPU_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t npu_clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline uint64_t npu_clock_us(void) {
    return npu_clock_ns() / 1000;
}

#endif
