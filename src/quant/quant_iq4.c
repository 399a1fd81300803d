/* 4-bit values that index an uneven table of 16 numbers: IQ4_NL, IQ4_XS.
 *   IQ4_NL  32 values: half d; 16 bytes, value j in the low and j + 16 in the high half of byte j
 *   IQ4_XS  256 values: half d; 16 bits and 4 bytes: top pairs and low halves of eight 6-bit scales; 128 bytes, every
 * 16 of them as in IQ4_NL
 */
#include "quant/quant_internal.h"

/* Part of the format: closer together near zero, where weights are many. */
static const int8_t levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

static void dequant_32(float scale, const uint8_t *values, float *dst) {
    for (int j = 0; j < 16; j++) {
        dst[j] = scale * (float)levels[values[j] & 15];
        dst[j + 16] = scale * (float)levels[values[j] >> 4];
    }
}

void npu__dequant_iq4_nl(const void *src, float *dst, size_t n) {
    const uint8_t *block = src;
    for (size_t i = 0; i < n; i += 32, block += 18) dequant_32(npu__load_half(block), block + 2, dst + i);
}

void npu__dequant_iq4_xs(const void *src, float *dst, size_t n) {
    const uint8_t *block = src;
    for (size_t i = 0; i < n; i += 256, block += 136) {
        float d = npu__load_half(block);
        unsigned high = npu__load_u16(block + 2);
        for (int group = 0; group < 8; group++) {
            int scale = (block[4 + group / 2] >> (group % 2 * 4) & 15) | (int)(high >> (group * 2) & 3) << 4;
            dequant_32(d * (float)(scale - 32), block + 8 + group * 16, dst + i + group * 32);
        }
    }
}
