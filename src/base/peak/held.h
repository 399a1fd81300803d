/* What keeps a value of a peak kernel in one of AVX2's 16 registers; used by the kernels of peak.h that compilers
 * spill. */
#ifndef NPU_BASE_PEAK_HELD_H
#define NPU_BASE_PEAK_HELD_H

#include <immintrin.h>

static inline __m256i npu_peak_held(__m256i x) {
    __asm__("" : "+x"(x));
    return x;
}

#endif
