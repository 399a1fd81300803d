/* The 256-value blocks with integer sub-scales: Q2_K, Q3_K, Q4_K, Q5_K, Q6_K. Fields in file order:
 *   Q2_K  16 bytes of scale (low) and minimum (high half); 64 bytes of 2-bit values; half d; half dmin
 *   Q3_K  32 bytes of third bits; 64 bytes of 2-bit values; 12 bytes of 6-bit scales; half d
 *   Q4_K  half d; half dmin; 12 bytes of 6-bit scales and minima; 128 bytes of 4-bit values
 *   Q5_K  as Q4_K, with 32 bytes of fifth bits before the values
 *   Q6_K  128 bytes of low halves; 64 bytes of top bit pairs; 16 signed bytes of scale; half d
 * Values: (d * scale) * q, less (dmin * minimum) where there are minima; q is centred in Q3_K and Q6_K. A block of 32
 * is an eighth of one of 256.
 */
#include "quant/quant_internal.h"

/* The bit pairs of an eighth: 32 bytes hold 128 values, each pair 32 values on. */
static void pairs_of(const uint8_t *p, size_t eighth, int8_t q[32]) {
    const uint8_t *from = p + eighth / 4 * 32;
    unsigned shift = eighth % 4 * 2;
    for (int j = 0; j < 32; j++) q[j] = (int8_t)(from[j] >> shift & 3);
}

void npu__block_q2_k(const uint8_t *row, size_t b, npu_block *out) {
    const uint8_t *p = row + b / 8 * 84, *scales = p + b % 8 * 2;
    *out = (npu_block){.sub = {scales[0] & 15, scales[1] & 15},
                       .min = {scales[0] >> 4, scales[1] >> 4},
                       .d = npu__load_half(p + 80),
                       .m = -npu__load_half(p + 82)};
    pairs_of(p + 16, b % 8, out->q);
}

/* The j-th of 16 6-bit scales: low halves in 8 bytes (scales 8 to 15 in their high halves), top bit pairs in 4 more. */
static int scale_q3(const uint8_t *packed, size_t j) {
    int low = packed[j % 8] >> (j / 8 * 4) & 15, high = packed[8 + j % 4] >> (j / 4 * 2) & 3;
    return (low | high << 4) - 32;
}

void npu__block_q3_k(const uint8_t *row, size_t b, npu_block *out) {
    const uint8_t *p = row + b / 8 * 110;
    size_t group = b % 8;
    *out = (npu_block){.sub = {scale_q3(p + 96, group * 2), scale_q3(p + 96, group * 2 + 1)},
                       .d = npu__load_half(p + 108)};
    pairs_of(p + 32, group, out->q);
    for (size_t j = 0; j < 32; j++) /* a clear third bit means minus four */
        out->q[j] = (int8_t)(out->q[j] + (p[j] >> group & 1) * 4 - 4);
}

/* The j-th of 8 6-bit scales and minima: four of each in the low six bits of 8 bytes; the others have their low halves
 * in the last 4 bytes and their top bit pairs above the first ones. */
static void scale_min_q4(const uint8_t *packed, size_t j, int *scale, int *minimum) {
    if (j < 4) {
        *scale = packed[j] & 63;
        *minimum = packed[j + 4] & 63;
    } else {
        *scale = (packed[j + 4] & 15) | packed[j - 4] >> 6 << 4;
        *minimum = packed[j + 4] >> 4 | packed[j] >> 6 << 4;
    }
}

/* Q4_K and Q5_K are one layout; |fifth| is NULL for the former. */
static void block_q4_q5(const uint8_t *head, const uint8_t *fifth, const uint8_t *values, size_t group,
                        npu_block *out) {
    int scale, minimum;
    scale_min_q4(head + 4, group, &scale, &minimum);
    *out = (npu_block){
        .sub = {scale, scale}, .min = {minimum, minimum}, .d = npu__load_half(head), .m = -npu__load_half(head + 2)};
    values += group / 2 * 32; /* 32 bytes hold two groups */
    for (int j = 0; j < 32; j++) out->q[j] = (int8_t)(values[j] >> group % 2 * 4 & 15);
    for (int j = 0; fifth && j < 32; j++) out->q[j] = (int8_t)(out->q[j] | (fifth[j] >> group & 1) << 4);
}

void npu__block_q4_k(const uint8_t *row, size_t b, npu_block *out) {
    const uint8_t *p = row + b / 8 * 144;
    block_q4_q5(p, NULL, p + 16, b % 8, out);
}

void npu__block_q5_k(const uint8_t *row, size_t b, npu_block *out) {
    const uint8_t *p = row + b / 8 * 176;
    block_q4_q5(p, p + 16, p + 48, b % 8, out);
}

void npu__block_q6_k(const uint8_t *row, size_t b, npu_block *out) {
    const uint8_t *p = row + b / 8 * 210, *scales = p + 192 + b % 8 * 2;
    *out = (npu_block){.sub = {(int8_t)scales[0], (int8_t)scales[1]}, .d = npu__load_half(p + 208)};
    const uint8_t *low =
        p + b % 8 / 4 * 64 + b % 2 * 32; /* 64 bytes of low halves and 32 of top pairs hold 128 values */
    unsigned shift = b % 4 / 2 * 4;
    pairs_of(p + 128, b % 8, out->q);
    for (int j = 0; j < 32; j++) out->q[j] = (int8_t)((low[j] >> shift & 15) + out->q[j] * 16 - 32);
}

NPU__DEQUANT(q2_k, 1)
NPU__DEQUANT(q3_k, 0)
NPU__DEQUANT(q4_k, 1)
NPU__DEQUANT(q5_k, 1)
NPU__DEQUANT(q6_k, 0)
