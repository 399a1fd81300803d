/* The 32-value blocks with one scale: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0.
 *   Q4_0  half d; 16 bytes, value j in the low and j + 16 in the high half of byte j         d * (q - 8)
 *   Q4_1  half d, half m; as Q4_0                                                            d * q + m
 *   Q5_0  half d; 32 bits, bit j the fifth bit of value j; as Q4_0                           d * (q - 16)
 *   Q5_1  half d, half m; the bits; as Q4_0                                                  d * q + m
 *   Q8_0  half d; 32 signed bytes                                                            d * q
 */
#include <math.h>

#include "quant/quant_internal.h"

enum { BLOCK = 32, HALF_BLOCK = 16 };

static int nibble(const uint8_t *q, int j) {
    return j < HALF_BLOCK ? q[j] & 15 : q[j - HALF_BLOCK] >> 4;
}

static int five_bits(const uint8_t *q, uint32_t high, int j) {
    return nibble(q, j) | (int)(high >> j & 1) << 4;
}

void npu__dequant_q4_0(const void *src, float *dst, size_t n) {
    const uint8_t *block = src;
    for (size_t i = 0; i < n; i += BLOCK, block += 18) {
        float d = npu__load_half(block);
        for (int j = 0; j < BLOCK; j++) dst[i + j] = d * (float)(nibble(block + 2, j) - 8);
    }
}

void npu__dequant_q4_1(const void *src, float *dst, size_t n) {
    const uint8_t *block = src;
    for (size_t i = 0; i < n; i += BLOCK, block += 20) {
        float d = npu__load_half(block), m = npu__load_half(block + 2);
        for (int j = 0; j < BLOCK; j++) dst[i + j] = d * (float)nibble(block + 4, j) + m;
    }
}

void npu__dequant_q5_0(const void *src, float *dst, size_t n) {
    const uint8_t *block = src;
    for (size_t i = 0; i < n; i += BLOCK, block += 22) {
        float d = npu__load_half(block);
        uint32_t high = npu__load_u32(block + 2);
        for (int j = 0; j < BLOCK; j++) dst[i + j] = d * (float)(five_bits(block + 6, high, j) - 16);
    }
}

void npu__dequant_q5_1(const void *src, float *dst, size_t n) {
    const uint8_t *block = src;
    for (size_t i = 0; i < n; i += BLOCK, block += 24) {
        float d = npu__load_half(block), m = npu__load_half(block + 2);
        uint32_t high = npu__load_u32(block + 4);
        for (int j = 0; j < BLOCK; j++) dst[i + j] = d * (float)five_bits(block + 8, high, j) + m;
    }
}

void npu__dequant_q8_0(const void *src, float *dst, size_t n) {
    const uint8_t *block = src;
    for (size_t i = 0; i < n; i += BLOCK, block += 34) {
        float d = npu__load_half(block);
        for (int j = 0; j < BLOCK; j++) dst[i + j] = d * (float)(int8_t)block[2 + j];
    }
}

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
