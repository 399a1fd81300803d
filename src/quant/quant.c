/* The table from type number to reference functions. A new format: a row in wire/npu_formats.def, one here, one file.
 */
#include "quant/quant.h"

#include "quant/quant_internal.h"

#define BLOCKS(format, quant, d_at, m_at) \
    { npu__dequant_##format, quant, npu__block_##format, d_at, m_at }
static const npu_quant quants[NPU_TYPE_LIMIT] = {
    [NPU_TYPE_F32] = {npu__dequant_f32, npu__quant_f32, NULL, -1, -1},
    [NPU_TYPE_F16] = {npu__dequant_f16, npu__quant_f16, NULL, -1, -1},
    [NPU_TYPE_BF16] = {npu__dequant_bf16, npu__quant_bf16, NULL, -1, -1},
    [NPU_TYPE_Q4_0] = BLOCKS(q4_0, NULL, 0, -1),
    [NPU_TYPE_Q4_1] = BLOCKS(q4_1, NULL, 0, 2),
    [NPU_TYPE_Q5_0] = BLOCKS(q5_0, NULL, 0, -1),
    [NPU_TYPE_Q5_1] = BLOCKS(q5_1, NULL, 0, 2),
    [NPU_TYPE_Q8_0] = BLOCKS(q8_0, npu__quant_q8_0, 0, -1),
    [NPU_TYPE_Q2_K] = BLOCKS(q2_k, NULL, 80, 82),
    [NPU_TYPE_Q3_K] = BLOCKS(q3_k, NULL, 108, -1),
    [NPU_TYPE_Q4_K] = BLOCKS(q4_k, NULL, 0, 2),
    [NPU_TYPE_Q5_K] = BLOCKS(q5_k, NULL, 0, 2),
    [NPU_TYPE_Q6_K] = BLOCKS(q6_k, NULL, 208, -1),
    [NPU_TYPE_IQ4_NL] = BLOCKS(iq4_nl, NULL, 0, -1),
    [NPU_TYPE_IQ4_XS] = BLOCKS(iq4_xs, NULL, 0, -1),
    [NPU_TYPE_MXFP4] = BLOCKS(mxfp4, NULL, -1, -1),
};
#undef BLOCKS

const npu_quant *npu_quant_of(uint32_t type) {
    return type < NPU_TYPE_LIMIT && quants[type].dequant ? &quants[type] : NULL;
}

npu_status npu_quant_dequant_row(uint32_t type, const void *src, float *dst, size_t n) {
    const npu_quant *quant = npu_quant_of(type);
    if (!quant) return NPU_UNSUPPORTED;
    if (n % npu_format_of(type)->block_values != 0) return NPU_INVALID;
    quant->dequant(src, dst, n);
    return NPU_OK;
}

npu_status npu_quant_row(uint32_t type, const float *src, void *dst, size_t n) {
    const npu_quant *quant = npu_quant_of(type);
    if (!quant || !quant->quant) return NPU_UNSUPPORTED;
    if (n % npu_format_of(type)->block_values != 0) return NPU_INVALID;
    quant->quant(src, dst, n);
    return NPU_OK;
}
