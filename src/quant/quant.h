/* Reference packing and unpacking of tensor rows, one file a format family, reached through one table.
 *
 * These are the plain definitions that every vectorised or NPU kernel is checked against; dequantisation equals the
 * gguf Python package bit for bit (tests/quant_vs_gguf.py). Geometry lives in wire/format.h. No state, any thread.
 */
#ifndef NPU_QUANT_QUANT_H
#define NPU_QUANT_QUANT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "wire/format.h"

/* Both work on |n| values, a multiple of the format's block (not checked here). Source and destination don't overlap;
 * blocks need no alignment. */
typedef void npu_dequant_fn(const void *src, float *dst, size_t n);
typedef void npu_quant_fn(const float *src, void *dst, size_t n);

/* 32 neighbouring values as integers, which is all that others know of a packed format's bits: value j is
 * (d * sub[j / 16]) * q[j], plus m * min[j / 16] in formats with minima. d and m are as in the file (halves, so their
 * products with sub and min are exact; a power of two for MXFP4), m with the sign that makes it a sum. Formats without
 * sub-scales have sub = {1, 1}, those with one a block the same twice (numerics.md, section 5). */
typedef struct npu_block {
    int8_t q[32]; /* centred, or looked up */
    int32_t sub[2], min[2];
    float d, m;
} npu_block;

typedef void npu_block_fn(const uint8_t *row, size_t block, npu_block *out);

typedef struct npu_quant {
    npu_dequant_fn *dequant; /* every format has one */
    npu_quant_fn *quant;     /* F32, F16, BF16, Q8_0; NULL for the others */
    npu_block_fn *block;     /* NULL for plain numbers */
    int16_t d_at, m_at;      /* where a block of the file keeps d and m as halves; -1 = it does not */
} npu_quant;

/* The functions of a type number; NULL if npu has no such format. */
const npu_quant *npu_quant_of(uint32_t type);

/* Unpacks |n| values to float. UNSUPPORTED: no such format; INVALID: n is not a multiple of the block. */
npu_status npu_quant_dequant_row(uint32_t type, const void *src, float *dst, size_t n);

/* Packs |n| floats. UNSUPPORTED: the format is not packed here; INVALID: n is not a multiple of the block. Narrowing
 * rounds to nearest even. Q8_0: d = amax/127, q = roundf(x * (1/d)), the scale stored as half; a block that holds an
 * infinity or a NaN gets a NaN scale, so that it cannot turn into finite numbers unseen. */
npu_status npu_quant_row(uint32_t type, const float *src, void *dst, size_t n);

#endif
