/* Rows of plain numbers: F32, F16, BF16. NaNs keep sign and class, not always their payload (wire/half.h). */
#include "quant/quant_internal.h"

static void store_u16(uint8_t *p, uint16_t v) {
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

void npu__dequant_f32(const void *src, float *dst, size_t n) {
    const uint8_t *p = src;
    for (size_t i = 0; i < n; i++) dst[i] = npu_bits_float(npu__load_u32(p + 4 * i));
}

void npu__dequant_f16(const void *src, float *dst, size_t n) {
    const uint8_t *p = src;
    for (size_t i = 0; i < n; i++) dst[i] = npu__load_half(p + 2 * i);
}

void npu__dequant_bf16(const void *src, float *dst, size_t n) {
    const uint8_t *p = src;
    for (size_t i = 0; i < n; i++) dst[i] = npu_bf16_to_float(npu__load_u16(p + 2 * i));
}

void npu__quant_f32(const float *src, void *dst, size_t n) {
    uint8_t *p = dst;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = npu_float_bits(src[i]);
        store_u16(p + 4 * i, (uint16_t)bits);
        store_u16(p + 4 * i + 2, (uint16_t)(bits >> 16));
    }
}

void npu__quant_f16(const float *src, void *dst, size_t n) {
    uint8_t *p = dst;
    for (size_t i = 0; i < n; i++) store_u16(p + 2 * i, npu_float_to_half(src[i]));
}

void npu__quant_bf16(const float *src, void *dst, size_t n) {
    uint8_t *p = dst;
    for (size_t i = 0; i < n; i++) store_u16(p + 2 * i, npu_float_to_bf16(src[i]));
}
