/* Written once over the block view of src/quant and the image table: a format's codes go into bit planes, its scales
 * where the table says. */
#include "target/hexagon/hexagon_repack.h"

#include <string.h>

#include "quant/quant.h"
#include "wire/codebook.h"
#include "wire/half.h"

typedef struct target_tile {
    const npu_image_format *f;
    uint8_t *plane[NPU_IMAGE_PLANES];
} target_tile;

/* The code that stands for a value; of equal ones the first. */
static uint8_t code_of(const npu_image_format *f, int value) {
#define VALUE(v) v,
    static const int8_t iq4[16] = {NPU_CODEBOOK_IQ4(VALUE)}, mxfp4[16] = {NPU_CODEBOOK_MXFP4(VALUE)};
#undef VALUE
    if (f->table == NPU_IMAGE_TABLE_NONE) return (uint8_t)(value + f->offset);
    const int8_t *table = f->table == NPU_IMAGE_TABLE_IQ4 ? iq4 : mxfp4;
    uint8_t code = 0;
    while (code < 15 && table[code] != value) code++;
    return code;
}

/* |bits| of each code of row |row| into a tile's plane. */
static void put_bits(uint8_t *plane, unsigned bits, unsigned shift, const uint8_t codes[32], unsigned row) {
    for (unsigned k = 0; bits && k < 32; k++) {
        unsigned at = k / 4 * bits, code = codes[k] >> shift & ((1u << bits) - 1);
        plane[at / 8 * NPU_VECTOR_BYTES + row * 4 + k % 4] |= (uint8_t)(code << at % 8);
    }
}

static void put_half(uint8_t *plane, uint32_t half, unsigned row, uint32_t value) {
    uint8_t *p = plane + half / 2 * NPU_VECTOR_BYTES + row * 4 + half % 2 * 2;
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
}

static void put_sub(const target_tile *to, uint32_t tile, unsigned row, const npu_block *b) {
    if (to->f->scale == NPU_IMAGE_SCALE_SUB16) {
        uint8_t *p = to->plane[NPU_IMAGE_SCALES] + tile / 2 * NPU_VECTOR_BYTES + row * 4 + tile % 2;
        for (int half = 0; half < 2; half++) p[2 * half] = (uint8_t)(b->sub[half] | b->min[half] << 4);
        return;
    }
    uint32_t at = tile / 4 * NPU_VECTOR_BYTES + row * 4 + tile % 2 * 2 + tile / 2 % 2;
    to->plane[NPU_IMAGE_SCALES][at] = (uint8_t)(b->sub[0] + to->f->bias);
    if (to->f->has_min) to->plane[NPU_IMAGE_MINIMA][at] = (uint8_t)b->min[0];
}

static void put_block(const target_tile *to, uint32_t tile, unsigned row, const npu_block *b) {
    const npu_image_format *f = to->f;
    uint8_t codes[32];
    for (int i = 0; i < 32; i++) codes[i] = code_of(f, b->q[i]);
    put_bits(to->plane[NPU_IMAGE_LOW] + tile * f->low * NPU_VECTOR_BYTES, f->low, 0, codes, row);
    put_bits(to->plane[NPU_IMAGE_HIGH] + tile * f->high * NPU_VECTOR_BYTES, f->high, f->low, codes, row);
    if (f->scale >= NPU_IMAGE_SCALE_SUB32) {
        put_sub(to, tile, row, b);
        put_half(to->plane[NPU_IMAGE_SUPER], tile / 8 * 2, row, npu_float_to_half(b->d));
        put_half(to->plane[NPU_IMAGE_SUPER], tile / 8 * 2 + 1, row, npu_float_to_half(b->m));
        return;
    }
    int wide = f->scale == NPU_IMAGE_SCALE_BF16; /* exact: such a scale is a power of two */
    put_half(to->plane[NPU_IMAGE_SCALES], tile, row, wide ? npu_float_bits(b->d) >> 16 : npu_float_to_half(b->d));
    if (f->has_min) put_half(to->plane[NPU_IMAGE_MINIMA], tile, row, npu_float_to_half(b->m));
}

void npu_hex_repack(const npu_image_format *f, const uint8_t *raw, uint64_t row_bytes, uint32_t k, uint32_t n,
                    uint32_t first, uint32_t tiles, uint8_t *out) {
    npu_block_fn *block_of = npu_quant_of(f->type)->block;
    for (uint32_t t = first; t < first + tiles; t++) {
        uint8_t *base = out + (uint64_t)t * npu_image_row_tile_bytes(f, k);
        target_tile to = {.f = f};
        for (unsigned p = 0; p < NPU_IMAGE_PLANES; p++)
            to.plane[p] = base + npu_image_plane_at(f, (npu_image_plane)p, k);
        memset(base, 0, npu_image_row_tile_bytes(f, k));
        for (unsigned row = 0; row < 32 && t * 32 + row < n; row++)
            for (uint32_t b = 0; b < k / 32; b++) {
                npu_block one;
                block_of(raw + (t * 32ull + row) * row_bytes, b, &one);
                put_block(&to, b, row, &one);
            }
    }
}
