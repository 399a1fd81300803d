/* The 256-value blocks with integer sub-scales: Q2_K, Q3_K, Q4_K, Q5_K, Q6_K. Fields in file order:
 *   Q2_K  16 bytes of scale (low) and minimum (high half); 64 bytes of 2-bit values; half d; half dmin
 *   Q3_K  32 bytes of third bits; 64 bytes of 2-bit values; 12 bytes of 6-bit scales; half d
 *   Q4_K  half d; half dmin; 12 bytes of 6-bit scales and minima; 128 bytes of 4-bit values
 *   Q5_K  as Q4_K, with 32 bytes of fifth bits before the values
 *   Q6_K  128 bytes of low halves; 64 bytes of top bit pairs; 16 signed bytes of scale; half d
 * Values: (d * scale) * q, less (dmin * minimum) where there are minima; q is centred in Q3_K and Q6_K.
 */
#include "quant/quant_internal.h"

enum { BLOCK = 256 };

void npu__dequant_q2_k(const void *src, float *dst, size_t n) {
    const uint8_t *block = src;
    for (size_t i = 0; i < n; i += BLOCK, block += 84) {
        const uint8_t *scales = block, *values = block + 16;
        float d = npu__load_half(block + 80), dmin = npu__load_half(block + 82);
        for (int j = 0; j < BLOCK; j++) { /* 32 bytes hold 128 values: four bit pairs, each 32 values on */
            float scale = d * (float)(scales[j / 16] & 15), minimum = dmin * (float)(scales[j / 16] >> 4);
            int q = values[j / 128 * 32 + j % 32] >> (j % 128 / 32 * 2) & 3;
            dst[i + j] = scale * (float)q - minimum;
        }
    }
}

/* The j-th of 16 6-bit scales: low halves in 8 bytes (scales 8 to 15 in their high halves), top bit pairs in 4 more. */
static int scale_q3(const uint8_t *packed, int j) {
    int low = packed[j % 8] >> (j / 8 * 4) & 15, high = packed[8 + j % 4] >> (j / 4 * 2) & 3;
    return (low | high << 4) - 32;
}

void npu__dequant_q3_k(const void *src, float *dst, size_t n) {
    const uint8_t *block = src;
    for (size_t i = 0; i < n; i += BLOCK, block += 110) {
        const uint8_t *high = block, *values = block + 32, *scales = block + 96;
        float d = npu__load_half(block + 108);
        for (int j = 0; j < BLOCK; j++) {
            int low = values[j / 128 * 32 + j % 32] >> (j % 128 / 32 * 2) & 3;
            int top = high[j % 32] >> (j / 32) & 1; /* a clear bit means minus four */
            dst[i + j] = d * (float)scale_q3(scales, j / 16) * (float)(low - (top ? 0 : 4));
        }
    }
}

/* The j-th of 8 6-bit scales and minima: four of each in the low six bits of 8 bytes; the others have their low halves
 * in the last 4 bytes and their top bit pairs above the first ones. */
static void scale_min_q4(const uint8_t *packed, int j, int *scale, int *minimum) {
    if (j < 4) {
        *scale = packed[j] & 63;
        *minimum = packed[j + 4] & 63;
    } else {
        *scale = (packed[j + 4] & 15) | packed[j - 4] >> 6 << 4;
        *minimum = packed[j + 4] >> 4 | packed[j] >> 6 << 4;
    }
}

/* Q4_K and Q5_K are one layout; |fifth| is NULL for the former. */
static void dequant_q4_q5(const uint8_t *head, const uint8_t *fifth, const uint8_t *values, float *dst) {
    float d = npu__load_half(head), dmin = npu__load_half(head + 2);
    for (int group = 0; group < 8; group++) {
        int scale, minimum;
        scale_min_q4(head + 4, group, &scale, &minimum);
        float s = d * (float)scale, m = dmin * (float)minimum;
        for (int j = 0; j < 32; j++) { /* 32 bytes hold two groups */
            int q = values[group / 2 * 32 + j] >> (group % 2 * 4) & 15;
            if (fifth) q |= (fifth[j] >> group & 1) << 4;
            dst[group * 32 + j] = s * (float)q - m;
        }
    }
}

void npu__dequant_q4_k(const void *src, float *dst, size_t n) {
    const uint8_t *block = src;
    for (size_t i = 0; i < n; i += BLOCK, block += 144) dequant_q4_q5(block, NULL, block + 16, dst + i);
}

void npu__dequant_q5_k(const void *src, float *dst, size_t n) {
    const uint8_t *block = src;
    for (size_t i = 0; i < n; i += BLOCK, block += 176) dequant_q4_q5(block, block + 16, block + 48, dst + i);
}

void npu__dequant_q6_k(const void *src, float *dst, size_t n) {
    const uint8_t *block = src;
    for (size_t i = 0; i < n; i += BLOCK, block += 210) {
        const uint8_t *low = block, *high = block + 128, *scales = block + 192;
        float d = npu__load_half(block + 208);
        for (int j = 0; j < BLOCK; j++) { /* 64 bytes of low halves and 32 of top pairs hold 128 values */
            int q = (low[j / 128 * 64 + j % 64] >> (j % 128 / 64 * 4) & 15) |
                    (high[j / 128 * 32 + j % 32] >> (j % 128 / 32 * 2) & 3) << 4;
            dst[i + j] = d * (float)(int8_t)scales[j / 16] * (float)(q - 32);
        }
    }
}
