/* MXFP4 (OCP microscaling): 32 values; one byte of exponent, then 16 bytes, value j in the low and j + 16 in the high
 * half of byte j. A value is a 4-bit float (sign, two bits of exponent, one of fraction) times 2^(exponent - 127). */
#include "quant/quant_internal.h"
#include "wire/codebook.h"

#define VALUE(v) v,
static const int8_t doubled[16] = {NPU_CODEBOOK_MXFP4(VALUE)};

/* 2^(exponent - 128): half of the scale, to go with the doubled values. The two smallest are subnormal; the exponent
 * 255, a NaN in the OCP text, is an ordinary power of two to all who write GGUF files, and so here. */
static float half_scale(uint8_t exponent) {
    return npu_bits_float(exponent < 2 ? 0x00200000u << exponent : (uint32_t)(exponent - 1) << 23);
}

void npu__block_mxfp4(const uint8_t *row, size_t b, npu_block *out) {
    const uint8_t *p = row + b * 17;
    *out = (npu_block){.sub = {1, 1}, .d = half_scale(p[0])};
    npu__nibbles(p + 1, out->q);
    for (int j = 0; j < 32; j++) out->q[j] = doubled[out->q[j]];
}

NPU__DEQUANT(mxfp4, 0)
