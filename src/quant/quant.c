/* The table from type number to reference functions. A new format: a row in wire/npu_formats.def, one here, one file.
 */
#include "quant/quant.h"

#include "quant/quant_internal.h"

static const npu_quant quants[NPU_TYPE_LIMIT] = {
    [NPU_TYPE_F32] = {npu__dequant_f32, npu__quant_f32},
    [NPU_TYPE_F16] = {npu__dequant_f16, npu__quant_f16},
    [NPU_TYPE_BF16] = {npu__dequant_bf16, npu__quant_bf16},
    [NPU_TYPE_Q4_0] = {npu__dequant_q4_0, NULL},
    [NPU_TYPE_Q4_1] = {npu__dequant_q4_1, NULL},
    [NPU_TYPE_Q5_0] = {npu__dequant_q5_0, NULL},
    [NPU_TYPE_Q5_1] = {npu__dequant_q5_1, NULL},
    [NPU_TYPE_Q8_0] = {npu__dequant_q8_0, npu__quant_q8_0},
    [NPU_TYPE_Q2_K] = {npu__dequant_q2_k, NULL},
    [NPU_TYPE_Q3_K] = {npu__dequant_q3_k, NULL},
    [NPU_TYPE_Q4_K] = {npu__dequant_q4_k, NULL},
    [NPU_TYPE_Q5_K] = {npu__dequant_q5_k, NULL},
    [NPU_TYPE_Q6_K] = {npu__dequant_q6_k, NULL},
    [NPU_TYPE_IQ4_NL] = {npu__dequant_iq4_nl, NULL},
    [NPU_TYPE_IQ4_XS] = {npu__dequant_iq4_xs, NULL},
    [NPU_TYPE_MXFP4] = {npu__dequant_mxfp4, NULL},
};

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
