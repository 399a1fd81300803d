/* A format is a row: how to take one block of 32 values apart into codes (as the image keeps them), scale and minimum.
 * The placing is the same for all. */
#include "target/hexagon/hexagon_repack.h"

#include <string.h>

#include "wire/format.h"

typedef struct block {
    uint8_t codes[32];
    uint16_t scale, min; /* f16 */
} block;

static uint16_t read_half(const uint8_t *p) {
    return (uint16_t)(p[0] | p[1] << 8);
}

static void read_nibbles(const uint8_t *p, uint8_t codes[32]) {
    for (int i = 0; i < 16; i++) {
        codes[i] = p[i] & 15;
        codes[i + 16] = p[i] >> 4;
    }
}

static void unpack_q4_0(const uint8_t *row, uint32_t b, block *out) {
    const uint8_t *p = row + b * 18;
    out->scale = read_half(p);
    read_nibbles(p + 2, out->codes);
}

static void unpack_q4_1(const uint8_t *row, uint32_t b, block *out) {
    const uint8_t *p = row + b * 20;
    out->scale = read_half(p);
    out->min = read_half(p + 2);
    read_nibbles(p + 4, out->codes);
}

static void unpack_q8_0(const uint8_t *row, uint32_t b, block *out) {
    const uint8_t *p = row + b * 34;
    out->scale = read_half(p);
    for (int i = 0; i < 32; i++) out->codes[i] = p[2 + i] ^ 0x80; /* signed to unsigned: + 128 */
}

static const struct {
    uint8_t type;
    void (*unpack)(const uint8_t *row, uint32_t b, block *out);
} unpackers[] = {
    {NPU_TYPE_Q4_0, unpack_q4_0},
    {NPU_TYPE_Q4_1, unpack_q4_1},
    {NPU_TYPE_Q8_0, unpack_q8_0},
};

static void place(const npu_image_format *f, const block *b, uint32_t row, uint8_t *codes) {
    if (f->bits == 8) {
        for (int v = 0; v < 8; v++) memcpy(codes + v * 128 + row * 4, b->codes + v * 4, 4);
        return;
    }
    for (int v = 0; v < 4; v++)
        for (int i = 0; i < 4; i++)
            codes[v * 128 + (int)row * 4 + i] = (uint8_t)(b->codes[v * 8 + i] | b->codes[v * 8 + 4 + i] << 4);
}

static void put_half(uint8_t *plane, uint32_t tile, uint32_t row, uint16_t value) {
    uint8_t *p = plane + tile / 2 * 128 + row * 4 + (tile & 1) * 2;
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
}

void npu_hex_repack(const npu_image_format *f, const uint8_t *raw, uint64_t row_bytes, uint32_t k, uint32_t n,
                    uint32_t first, uint32_t tiles, uint8_t *out) {
    size_t u = 0;
    while (unpackers[u].type != f->type) u++;
    for (uint32_t t = first; t < first + tiles; t++) {
        uint8_t *codes = out + (uint64_t)t * npu_image_row_tile_bytes(f, k);
        uint8_t *scales = codes + npu_image_code_bytes(f, k), *minima = scales + npu_image_scale_bytes(k);
        memset(codes, 0, npu_image_row_tile_bytes(f, k));
        for (uint32_t row = 0; row < 32 && t * 32 + row < n; row++) {
            const uint8_t *from = raw + (t * 32ull + row) * row_bytes;
            for (uint32_t b = 0; b < k / 32; b++) {
                block one;
                unpackers[u].unpack(from, b, &one);
                place(f, &one, row, codes + b * (f->bits * 128u));
                put_half(scales, b, row, one.scale);
                if (f->has_min) put_half(minima, b, row, one.min);
            }
        }
    }
}
