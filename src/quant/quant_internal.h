/* Private to quant/: the functions that the families give to the table, and bit-level helpers they share. */
#ifndef NPU_QUANT_INTERNAL_H
#define NPU_QUANT_INTERNAL_H

#include "quant/quant.h"
#include "wire/half.h"

npu_dequant_fn npu__dequant_f32, npu__dequant_f16, npu__dequant_bf16;
npu_dequant_fn npu__dequant_q4_0, npu__dequant_q4_1, npu__dequant_q5_0, npu__dequant_q5_1, npu__dequant_q8_0;
npu_dequant_fn npu__dequant_q2_k, npu__dequant_q3_k, npu__dequant_q4_k, npu__dequant_q5_k, npu__dequant_q6_k;
npu_dequant_fn npu__dequant_iq4_nl, npu__dequant_iq4_xs, npu__dequant_mxfp4;
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

#endif
