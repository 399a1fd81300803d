/* What is assumed of a chip where nothing could be measured. It is used for estimates (npu bench --estimate), and where
 * a split of a model over several NPUs weighs a barrier against bytes (hexagon_parts_sums.c). */
#ifndef NPU_TARGET_ASSUMED_H
#define NPU_TARGET_ASSUMED_H

#include <stdint.h>

enum {
    NPU_ASSUMED_BARRIER_NS = 3000,   /* all devices of a group meet */
    NPU_ASSUMED_MEMORY_MB_S = 77000, /* DDR, all NPUs together */
};

/* Bytes that memory moves in the time of a barrier. */
static inline uint64_t npu_assumed_barrier_bytes(void) {
    return (uint64_t)NPU_ASSUMED_BARRIER_NS * NPU_ASSUMED_MEMORY_MB_S / 1000;
}

/* What |n| devices read when each adds up all parts of |rows| x |width| sums for itself; adding them up by columns
 * reads an n-th of it and costs a barrier. */
static inline uint64_t npu_assumed_sum_bytes(uint64_t rows, uint64_t width, uint32_t n) {
    return rows * width * 4 * n * (n - 1);
}

#endif
