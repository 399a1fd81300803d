/* MUL_MAT's integers (numerics.md §5): quantising activations, and one function a format family that gives a block of
 * 32 weights as codes, integer scales and minima. Byte layouts as in src/quant, whose dequantisers test this. */
#include "target/host/ref/ref.h"
#include "wire/format.h"

void npu_ref_quantise_act(const float *x, npu_ref_act *out) {
    uint32_t top = 0;
    for (int i = 0; i < 32; i++) {
        uint32_t bits = npu_float_bits(x[i]) & 0x7FFFFFFFu;
        if (bits > top) top = bits;
    }
    *out = (npu_ref_act){0};
    if (top >= 0x7F800000u) {
        out->d = out->s = NPU_F32_NAN;
        return;
    }
    float amax = npu_bits_float(top);
    if (amax < 0x1p-100f) return;
    float id = 127.0f / amax;
    out->d = amax / 127.0f;
    for (int i = 0; i < 32; i++) {
        float q = (x[i] * id + NPU_ROUND_MAGIC) - NPU_ROUND_MAGIC;
        q = q < -127.0f ? -127.0f : q > 127.0f ? 127.0f : q;
        out->q[i] = (int8_t)q;
        *(i < 16 ? &out->b0 : &out->b1) += out->q[i];
    }
    out->s = out->d * (float)(out->b0 + out->b1);
}

static uint32_t u16(const uint8_t *p) {
    return (uint32_t)(p[0] | p[1] << 8);
}

static float half(const uint8_t *p) {
    return npu_half_to_float((uint16_t)u16(p));
}

static void nibbles(const uint8_t *p, npu_ref_block *out) {
    for (int i = 0; i < 16; i++) {
        out->c[i] = p[i] & 15;
        out->c[i + 16] = p[i] >> 4;
    }
}

static void fifth_bits(const uint8_t *p, npu_ref_block *out) {
    uint32_t bits = u16(p) | u16(p + 2) << 16;
    for (int i = 0; i < 32; i++) out->c[i] |= (int32_t)(bits >> i & 1) << 4;
}

static void shift_codes(npu_ref_block *out, int32_t by) {
    for (int i = 0; i < 32; i++) out->c[i] -= by;
}

static void look_up(const int8_t *table, npu_ref_block *out) {
    for (int i = 0; i < 32; i++) out->c[i] = table[out->c[i]];
}

static void block_q4_0(const uint8_t *row, uint32_t b, npu_ref_block *out) {
    const uint8_t *p = row + b * 18;
    out->scale = half(p);
    nibbles(p + 2, out);
    shift_codes(out, 8);
}

static void block_q4_1(const uint8_t *row, uint32_t b, npu_ref_block *out) {
    const uint8_t *p = row + b * 20;
    out->scale = half(p);
    out->min = half(p + 2);
    out->has_min = 1;
    nibbles(p + 4, out);
}

static void block_q5_0(const uint8_t *row, uint32_t b, npu_ref_block *out) {
    const uint8_t *p = row + b * 22;
    out->scale = half(p);
    nibbles(p + 6, out);
    fifth_bits(p + 2, out);
    shift_codes(out, 16);
}

static void block_q5_1(const uint8_t *row, uint32_t b, npu_ref_block *out) {
    const uint8_t *p = row + b * 24;
    out->scale = half(p);
    out->min = half(p + 2);
    out->has_min = 1;
    nibbles(p + 8, out);
    fifth_bits(p + 4, out);
}

static void block_q8_0(const uint8_t *row, uint32_t b, npu_ref_block *out) {
    const uint8_t *p = row + b * 34;
    out->scale = half(p);
    for (int i = 0; i < 32; i++) out->c[i] = (int8_t)p[2 + i];
}

/* Value j of a 256-value block's bit pairs: 32 bytes hold 128 values, each pair 32 values on. */
static int32_t pair_of(const uint8_t *p, uint32_t j) {
    return p[j / 128 * 32 + j % 32] >> (j % 128 / 32 * 2) & 3;
}

static void block_q2_k(const uint8_t *row, uint32_t b, npu_ref_block *out) {
    const uint8_t *p = row + b / 8 * 84;
    uint32_t first = b % 8 * 32;
    out->scale = half(p + 80);
    out->min = -half(p + 82);
    out->has_min = out->split_min = 1;
    out->sc0 = p[first / 16] & 15;
    out->sc1 = p[first / 16 + 1] & 15;
    out->mn0 = p[first / 16] >> 4;
    out->mn1 = p[first / 16 + 1] >> 4;
    for (uint32_t i = 0; i < 32; i++) out->c[i] = pair_of(p + 16, first + i);
}

static int32_t scale_q3(const uint8_t *p, uint32_t j) {
    return ((p[j % 8] >> (j / 8 * 4) & 15) | (p[8 + j % 4] >> (j / 4 * 2) & 3) << 4) - 32;
}

static void block_q3_k(const uint8_t *row, uint32_t b, npu_ref_block *out) {
    const uint8_t *p = row + b / 8 * 110;
    uint32_t group = b % 8;
    out->scale = half(p + 108);
    out->sc0 = scale_q3(p + 96, group * 2);
    out->sc1 = scale_q3(p + 96, group * 2 + 1);
    for (uint32_t i = 0; i < 32; i++) out->c[i] = pair_of(p + 32, group * 32 + i) + (p[i] >> group & 1) * 4 - 4;
}

static void block_q4_q5_k(const uint8_t *p, const uint8_t *fifth, const uint8_t *values, uint32_t group,
                          npu_ref_block *out) {
    const uint8_t *packed = p + 4;
    int32_t sc, mn;
    if (group < 4) {
        sc = packed[group] & 63;
        mn = packed[group + 4] & 63;
    } else {
        sc = (packed[group + 4] & 15) | packed[group - 4] >> 6 << 4;
        mn = packed[group + 4] >> 4 | packed[group] >> 6 << 4;
    }
    out->scale = half(p) * (float)sc;
    out->min = -(half(p + 2) * (float)mn);
    out->has_min = 1;
    for (uint32_t i = 0; i < 32; i++) {
        out->c[i] = values[group / 2 * 32 + i] >> (group % 2 * 4) & 15;
        if (fifth) out->c[i] |= (fifth[i] >> group & 1) << 4;
    }
}

static void block_q4_k(const uint8_t *row, uint32_t b, npu_ref_block *out) {
    const uint8_t *p = row + b / 8 * 144;
    block_q4_q5_k(p, NULL, p + 16, b % 8, out);
}

static void block_q5_k(const uint8_t *row, uint32_t b, npu_ref_block *out) {
    const uint8_t *p = row + b / 8 * 176;
    block_q4_q5_k(p, p + 16, p + 48, b % 8, out);
}

static void block_q6_k(const uint8_t *row, uint32_t b, npu_ref_block *out) {
    const uint8_t *p = row + b / 8 * 210;
    uint32_t first = b % 8 * 32;
    out->scale = half(p + 208);
    out->sc0 = (int8_t)p[192 + first / 16];
    out->sc1 = (int8_t)p[192 + first / 16 + 1];
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t j = first + i;
        int32_t low = p[j / 128 * 64 + j % 64] >> (j % 128 / 64 * 4) & 15;
        out->c[i] = (low | pair_of(p + 128, j) << 4) - 32;
    }
}

static const int8_t iq4_levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
static const int8_t mxfp4_doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static void block_iq4_nl(const uint8_t *row, uint32_t b, npu_ref_block *out) {
    const uint8_t *p = row + b * 18;
    out->scale = half(p);
    nibbles(p + 2, out);
    look_up(iq4_levels, out);
}

static void block_iq4_xs(const uint8_t *row, uint32_t b, npu_ref_block *out) {
    const uint8_t *p = row + b / 8 * 136;
    uint32_t group = b % 8;
    int32_t ls = (p[4 + group / 2] >> (group % 2 * 4) & 15) | (int32_t)(u16(p + 2) >> (group * 2) & 3) << 4;
    out->scale = half(p) * (float)(ls - 32);
    nibbles(p + 8 + group * 16, out);
    look_up(iq4_levels, out);
}

static void block_mxfp4(const uint8_t *row, uint32_t b, npu_ref_block *out) {
    const uint8_t *p = row + b * 17;
    out->scale = npu_bits_float(p[0] < 2 ? 0x00200000u << p[0] : (uint32_t)(p[0] - 1) << 23);
    nibbles(p + 1, out);
    look_up(mxfp4_doubled, out);
}

typedef void block_fn(const uint8_t *row, uint32_t b, npu_ref_block *out);

static block_fn *const blocks[NPU_TYPE_LIMIT] = {
    [NPU_TYPE_Q4_0] = block_q4_0,   [NPU_TYPE_Q4_1] = block_q4_1,     [NPU_TYPE_Q5_0] = block_q5_0,
    [NPU_TYPE_Q5_1] = block_q5_1,   [NPU_TYPE_Q8_0] = block_q8_0,     [NPU_TYPE_Q2_K] = block_q2_k,
    [NPU_TYPE_Q3_K] = block_q3_k,   [NPU_TYPE_Q4_K] = block_q4_k,     [NPU_TYPE_Q5_K] = block_q5_k,
    [NPU_TYPE_Q6_K] = block_q6_k,   [NPU_TYPE_IQ4_NL] = block_iq4_nl, [NPU_TYPE_IQ4_XS] = block_iq4_xs,
    [NPU_TYPE_MXFP4] = block_mxfp4,
};

void npu_ref_block_of(uint32_t type, const uint8_t *row, uint32_t block, npu_ref_block *out) {
    *out = (npu_ref_block){.sc0 = 1, .sc1 = 1};
    blocks[type](row, block, out);
}
