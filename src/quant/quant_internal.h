/* Private to quant/: the functions that the families give to the table, and bit-level helpers they share. */
#ifndef NPU_QUANT_INTERNAL_H
#define NPU_QUANT_INTERNAL_H

#include "quant/quant.h"
#include "wire/half.h"

npu_dequant_fn npu__dequant_f32, npu__dequant_f16, npu__dequant_bf16;
npu_dequant_fn npu__dequant_q4_0, npu__dequant_q4_1, npu__dequant_q5_0, npu__dequant_q5_1, npu__dequant_q8_0;
npu_dequant_fn npu__dequant_q2_k, npu__dequant_q3_k, npu__dequant_q4_k, npu__dequant_q5_k, npu__dequant_q6_k;
npu_dequant_fn npu__dequant_iq4_nl, npu__dequant_iq4_xs, npu__dequant_mxfp4;
npu_block_fn npu__block_q4_0, npu__block_q4_1, npu__block_q5_0, npu__block_q5_1, npu__block_q8_0;
npu_block_fn npu__block_q2_k, npu__block_q3_k, npu__block_q4_k, npu__block_q5_k, npu__block_q6_k;
npu_block_fn npu__block_iq4_nl, npu__block_iq4_xs, npu__block_mxfp4;
npu_quant_fn npu__quant_f32, npu__quant_f16, npu__quant_bf16, npu__quant_q8_0;

static inline uint16_t npu__load_u16(const uint8_t *p) {
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t npu__load_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline float npu__load_half(const uint8_t *p) {
    return npu_half_to_float(npu__load_u16(p));
}

/* 16 bytes: value j in the low, value j + 16 in the high half of byte j. */
static inline void npu__nibbles(const uint8_t *p, int8_t q[32]) {
    for (int j = 0; j < 16; j++) {
        q[j] = (int8_t)(p[j] & 15);
        q[j + 16] = (int8_t)(p[j] >> 4);
    }
}

/* Values of a row from its blocks; a format's dequantiser is this with its block function as a constant. */
static inline void npu__from_blocks(npu_block_fn *block, int has_min, const void *src, float *dst, size_t n) {
    for (size_t i = 0; i < n; i += 32) {
        npu_block b;
        block(src, i / 32, &b);
        for (int half = 0; half < 2; half++) {
            float scale = b.d * (float)b.sub[half], minimum = b.m * (float)b.min[half];
            for (int j = half * 16; j < half * 16 + 16; j++) {
                float y = scale * (float)b.q[j];
                dst[i + (size_t)j] = has_min ? y + minimum : y;
            }
        }
    }
}

#define NPU__DEQUANT(format, has_min)                                   \
    void npu__dequant_##format(const void *src, float *dst, size_t n) { \
        npu__from_blocks(npu__block_##format, (has_min), src, dst, n);  \
    }

#endif
