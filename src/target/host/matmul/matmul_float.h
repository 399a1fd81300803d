/* What the float parts of MUL_MAT share on every instruction set: how a block of quantised activations begins and ends,
 * what follows the full blocks of a dot, and the last elements of a row that is widened. Included by the kernels'
 * files. */
#ifndef NPU_MATMUL_FLOAT_H
#define NPU_MATMUL_FLOAT_H

#include <string.h>

#include "target/host/matmul/matmul.h"
#include "wire/half.h"

/* |most|: bits of the largest absolute value. False when nothing is left to do: a block of zeros, or one that is not
 * finite (numerics.md, section 5). */
NPU_INLINE int begin_act(npu_mm_act *a, uint32_t most) {
    memset(a, 0, sizeof *a);
    if (most >= 0x7F800000u) a->d = a->s = npu_bits_float(0x7FC00000u);
    return most < 0x7F800000u && most >= 0x0D800000u; /* 2^-100 */
}

/* |b0|, |b1|: sums of the two halves' codes. */
NPU_INLINE void end_act(npu_mm_act *a, float amax, int32_t b0, int32_t b1) {
    a->d = amax / 127.0f;
    a->s = a->d * (float)(b0 + b1);
    a->b0 = (int16_t)b0;
    a->b1 = (int16_t)b1;
    a->n = -128 * (b0 + b1);
    a->n_low = -128 * b0;
    a->n_high = -128 * b1;
}

NPU_INLINE void widen_f16_rest(const uint8_t *p, float *dst, size_t i, size_t n) {
    for (; i < n; i++) dst[i] = npu_half_to_float((uint16_t)(p[2 * i] | p[2 * i + 1] << 8));
}

NPU_INLINE void widen_bf16_rest(const uint8_t *p, float *dst, size_t i, size_t n) {
    for (; i < n; i++) dst[i] = npu_bf16_to_float((uint16_t)(p[2 * i] | p[2 * i + 1] << 8));
}

#endif
