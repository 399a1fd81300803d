/* The XDNA number contract as pure functions: quantisation of weight columns and activation rows, rotation, padding,
 * dequantisation (docs/numerics.md §9). Used by the target, by what packs weights, and by the checks. No state, any
 * thread.
 */
#ifndef NPU_XDNA_NUMERICS_H
#define NPU_XDNA_NUMERICS_H

#include <stdint.h>

#include "base/inline.h"

enum { NPU_XDNA_MAX_HADAMARD = 4096 };

/* The two loops that are worth vectors; all sets give the same bits. */
typedef struct npu_xdna_math {
    const char *name;
    uint32_t features; /* of base/cpu.h that it needs */

    /* n codes of n values, and the scale that they are worth. With an infinity or NaN among the values the codes are 0
     * and the scale is NaN; with none of 2^-100 or more both are 0. */
    float (*quantise)(const float *x, uint32_t n, int8_t *codes);

    /* y[i] = float(sums[i]) * (row_scale * column_scales[i]) */
    void (*dequantise)(const int32_t *sums, uint32_t n, float row_scale, const float *column_scales, float *y);
} npu_xdna_math;

/* The best set for a machine with |features|. */
const npu_xdna_math *npu_xdna_math_for(uint32_t features);

/* The |i|-th set, the plain one first; NULL past the end. For tests: a set may need what the machine lacks. */
const npu_xdna_math *npu_xdna_math_at(unsigned i);

/* Rotates |n| values in place, block by block: multiplies each by the Hadamard matrix of |block| rows in Sylvester's
 * order, divided by sqrt(block), which is its own inverse. |block| is a power of two that divides n; 0 and 1 change
 * nothing. */
void npu_xdna_rotate(float *x, uint64_t n, uint32_t block);

/* Whether |block| can be a rotation of rows of |n| values: 0, or a power of two up to MAX_HADAMARD that divides n. */
int npu_xdna_block_fits(uint32_t block, uint64_t n);

/* Codes and scale of one activation row, or of one weight column, which is a row of the file's matrix: |real| values
 * are read from |x| and not one more, zeros follow up to |n|, then comes the rotation, then quantisation. |scratch| has
 * room for n values; it is not used without rotation. */
float npu_xdna_quantise(const npu_xdna_math *math, const float *x, uint32_t real, uint32_t n, uint32_t block,
                        float *scratch, int8_t *codes);

#endif
