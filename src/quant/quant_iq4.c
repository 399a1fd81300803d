/* 4-bit values that index an uneven table of 16 numbers: IQ4_NL, IQ4_XS.
 *   IQ4_NL  32 values: half d; 16 bytes, value j in the low and j + 16 in the high half of byte j
 *   IQ4_XS  256 values: half d; 16 bits and 4 bytes: top pairs and low halves of eight 6-bit scales; 128 bytes, every
 * 16 of them as in IQ4_NL
 */
#include "quant/quant_internal.h"
#include "wire/codebook.h"

#define VALUE(v) v,
static const int8_t levels[16] = {NPU_CODEBOOK_IQ4(VALUE)};

static void look_up(const uint8_t *p, int8_t q[32]) {
    npu__nibbles(p, q);
    for (int j = 0; j < 32; j++) q[j] = levels[q[j]];
}

void npu__block_iq4_nl(const uint8_t *row, size_t b, npu_block *out) {
    const uint8_t *p = row + b * 18;
    *out = (npu_block){.sub = {1, 1}, .d = npu__load_half(p)};
    look_up(p + 2, out->q);
}

void npu__block_iq4_xs(const uint8_t *row, size_t b, npu_block *out) {
    const uint8_t *p = row + b / 8 * 136;
    size_t group = b % 8;
    int low = p[4 + group / 2] >> (group % 2 * 4) & 15, high = npu__load_u16(p + 2) >> (group * 2) & 3;
    int scale = (low | high << 4) - 32;
    *out = (npu_block){.sub = {scale, scale}, .d = npu__load_half(p)};
    look_up(p + 8 + group * 16, out->q);
}

NPU__DEQUANT(iq4_nl, 0)
NPU__DEQUANT(iq4_xs, 0)
