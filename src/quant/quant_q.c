/* The 32-value blocks with one scale: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0.
 *   Q4_0  half d; 16 bytes, value j in the low and j + 16 in the high half of byte j         d * (q - 8)
 *   Q4_1  half d, half m; as Q4_0                                                            d * q + m
 *   Q5_0  half d; 32 bits, bit j the fifth bit of value j; as Q4_0                           d * (q - 16)
 *   Q5_1  half d, half m; the bits; as Q4_0                                                  d * q + m
 *   Q8_0  half d; 32 signed bytes                                                            d * q
 */
#include <math.h>

#include "quant/quant_internal.h"

enum { BLOCK = 32 };

static void fifth_bits(const uint8_t *p, int8_t q[32]) {
    uint32_t bits = npu__load_u32(p);
    for (int j = 0; j < BLOCK; j++) q[j] = (int8_t)(q[j] | (bits >> j & 1) << 4);
}

static void centre(int8_t q[32], int by) {
    for (int j = 0; j < BLOCK; j++) q[j] = (int8_t)(q[j] - by);
}

void npu__block_q4_0(const uint8_t *row, size_t b, npu_block *out) {
    const uint8_t *p = row + b * 18;
    *out = (npu_block){.sub = {1, 1}, .d = npu__load_half(p)};
    npu__nibbles(p + 2, out->q);
    centre(out->q, 8);
}

void npu__block_q4_1(const uint8_t *row, size_t b, npu_block *out) {
    const uint8_t *p = row + b * 20;
    *out = (npu_block){.sub = {1, 1}, .min = {1, 1}, .d = npu__load_half(p), .m = npu__load_half(p + 2)};
    npu__nibbles(p + 4, out->q);
}

void npu__block_q5_0(const uint8_t *row, size_t b, npu_block *out) {
    const uint8_t *p = row + b * 22;
    *out = (npu_block){.sub = {1, 1}, .d = npu__load_half(p)};
    npu__nibbles(p + 6, out->q);
    fifth_bits(p + 2, out->q);
    centre(out->q, 16);
}

void npu__block_q5_1(const uint8_t *row, size_t b, npu_block *out) {
    const uint8_t *p = row + b * 24;
    *out = (npu_block){.sub = {1, 1}, .min = {1, 1}, .d = npu__load_half(p), .m = npu__load_half(p + 2)};
    npu__nibbles(p + 8, out->q);
    fifth_bits(p + 4, out->q);
}

void npu__block_q8_0(const uint8_t *row, size_t b, npu_block *out) {
    const uint8_t *p = row + b * 34;
    *out = (npu_block){.sub = {1, 1}, .d = npu__load_half(p)};
    for (int j = 0; j < BLOCK; j++) out->q[j] = (int8_t)p[2 + j];
}

NPU__DEQUANT(q4_0, 0)
NPU__DEQUANT(q4_1, 1)
NPU__DEQUANT(q5_0, 0)
NPU__DEQUANT(q5_1, 1)
NPU__DEQUANT(q8_0, 0)

/* Largest magnitude of a block; infinity if any value is an infinity or a NaN. */
static float largest(const float *x) {
    float amax = 0;
    for (int j = 0; j < BLOCK; j++) {
        float a = fabsf(x[j]);
        if (!(a <= 3.402823466e38f)) return INFINITY;
        if (a > amax) amax = a;
    }
    return amax;
}

void npu__quant_q8_0(const float *src, void *dst, size_t n) {
    uint8_t *block = dst;
    for (size_t i = 0; i < n; i += BLOCK, block += 34) {
        float amax = largest(src + i);
        float d = amax / 127.0f, id = d != 0 ? 1.0f / d : 0.0f;
        uint16_t scale = isinf(amax) ? 0x7E00 : npu_float_to_half(d);
        block[0] = (uint8_t)scale;
        block[1] = (uint8_t)(scale >> 8);
        for (int j = 0; j < BLOCK; j++) {
            /* 1/d overflows for the smallest subnormal d: 0 * inf must not reach the conversion. */
            float q = isinf(amax) || isinf(id) ? 0.0f : roundf(src[i + j] * id);
            block[2 + j] = (uint8_t)(int8_t)fminf(fmaxf(q, -127.0f), 127.0f);
        }
    }
}
