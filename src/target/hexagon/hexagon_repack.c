/* Written once over the block view of src/quant and the image table: a format's codes go into bit planes, its scales
 * where the table says. Instances with a row of the table as a constant, since most of the work is shifting by its
 * numbers. */
#include "target/hexagon/hexagon_repack.h"

#include <string.h>

#include "quant/quant.h"
#include "wire/codebook.h"
#include "wire/half.h"

#define INLINE static inline __attribute__((always_inline))

typedef struct planes {
    uint8_t *at[NPU_IMAGE_PLANES];
} planes;

/* The codes of all values, so that none is looked for twice; of equal values the first. */
static void invert_codebook(const npu_image_format *f, uint8_t codes[256]) {
#define VALUE(v) v,
    static const int8_t iq4[16] = {NPU_CODEBOOK_IQ4(VALUE)}, mxfp4[16] = {NPU_CODEBOOK_MXFP4(VALUE)};
#undef VALUE
    const int8_t *book = f->table == NPU_IMAGE_TABLE_IQ4 ? iq4 : mxfp4;
    for (int i = 15; f->table && i >= 0; i--) codes[(uint8_t)book[i]] = (uint8_t)i;
}

INLINE void codes_of(const npu_image_format *f, const uint8_t *inverse, const int8_t q[32], uint8_t codes[32]) {
    for (int i = 0; i < 32; i++) codes[i] = f->table ? inverse[(uint8_t)q[i]] : (uint8_t)(q[i] + f->offset);
}

/* |bits| of each code of row |row| into a tile's plane: words of four codes, the fields of one word from words in turn.
 */
INLINE void put_bits(uint8_t *plane, unsigned bits, unsigned shift, const uint8_t codes[32], unsigned row) {
    uint32_t mask = ((1u << bits) - 1) * 0x01010101u, word = 0;
    if (!bits) return;
    for (unsigned w = 0; w < 8; w++) {
        uint32_t four;
        memcpy(&four, codes + 4 * w, 4);
        word |= (four >> shift & mask) << w * bits % 8;
        if ((w + 1) * bits % 8) continue;
        memcpy(plane + w * bits / 8 * NPU_VECTOR_BYTES + row * 4, &word, 4);
        word = 0;
    }
}

INLINE void put_half(uint8_t *plane, uint32_t half, unsigned row, uint32_t value) {
    uint16_t h = (uint16_t)value;
    memcpy(plane + half / 2 * NPU_VECTOR_BYTES + row * 4 + half % 2 * 2, &h, 2);
}

INLINE void put_sub(const npu_image_format *f, const planes *to, uint32_t tile, unsigned row, const npu_block *b) {
    if (f->scale == NPU_IMAGE_SCALE_SUB16) {
        uint8_t *p = to->at[NPU_IMAGE_SCALES] + tile / 2 * NPU_VECTOR_BYTES + row * 4 + tile % 2;
        for (int half = 0; half < 2; half++) p[2 * half] = (uint8_t)(b->sub[half] | b->min[half] << 4);
        return;
    }
    uint32_t at = tile / 4 * NPU_VECTOR_BYTES + row * 4 + tile % 2 * 2 + tile / 2 % 2;
    to->at[NPU_IMAGE_SCALES][at] = (uint8_t)(b->sub[0] + f->bias);
    if (f->has_min) to->at[NPU_IMAGE_MINIMA][at] = (uint8_t)b->min[0];
}

INLINE void put_scales(const npu_image_format *f, const planes *to, uint32_t tile, unsigned row, const npu_block *b) {
    if (f->scale >= NPU_IMAGE_SCALE_SUB32) {
        put_sub(f, to, tile, row, b);
        if (tile % 8) return;
        put_half(to->at[NPU_IMAGE_SUPER], tile / 8 * 2, row, npu_float_to_half(b->d));
        put_half(to->at[NPU_IMAGE_SUPER], tile / 8 * 2 + 1, row, npu_float_to_half(b->m));
        return;
    }
    int wide = f->scale == NPU_IMAGE_SCALE_BF16; /* exact: such a scale is a power of two */
    put_half(to->at[NPU_IMAGE_SCALES], tile, row, wide ? npu_float_bits(b->d) >> 16 : npu_float_to_half(b->d));
    if (f->has_min) put_half(to->at[NPU_IMAGE_MINIMA], tile, row, npu_float_to_half(b->m));
}

/* What one row tile is made of. */
typedef struct source {
    const uint8_t *raw;
    uint64_t row_bytes;
    uint32_t k, rows;
    npu_block_fn *block_of;
    const uint8_t *inverse;
} source;

/* Tile by tile, because its vectors then stay in the first cache while their lanes come. */
INLINE void row_tile(const npu_image_format *f, const source *s, const planes *to) {
    for (uint32_t tile = 0; tile < s->k / NPU_TILE_K; tile++)
        for (unsigned row = 0; row < s->rows; row++) {
            npu_block b;
            uint8_t codes[32];
            s->block_of(s->raw + row * s->row_bytes, tile, &b);
            codes_of(f, s->inverse, b.q, codes);
            put_bits(to->at[NPU_IMAGE_LOW] + tile * f->low * NPU_VECTOR_BYTES, f->low, 0, codes, row);
            put_bits(to->at[NPU_IMAGE_HIGH] + tile * f->high * NPU_VECTOR_BYTES, f->high, f->low, codes, row);
            put_scales(f, to, tile, row, &b);
        }
}

#define NPU_IMAGE(NAME, low, high, table, offset, scale, min, bias)                                                  \
    static void row_tile_##NAME(const source *s, const planes *to) {                                                 \
        static const npu_image_format f = {0,   low, high, NPU_IMAGE_TABLE_##table, offset, NPU_IMAGE_SCALE_##scale, \
                                           min, bias};                                                               \
        row_tile(&f, s, to);                                                                                         \
    }
#include "wire/npu_images.def"

static void (*const row_tiles[NPU_IMAGE_COUNT])(const source *s, const planes *to) = {
#define NPU_IMAGE(NAME, low, high, table, offset, scale, min, bias) row_tile_##NAME,
#include "wire/npu_images.def"
};

static void reference_tile(const npu_image_format *f, const source *s, uint8_t *out) {
    planes to;
    if (s->rows < NPU_TILE_ROWS || s->k / NPU_TILE_K % 2) memset(out, 0, npu_image_row_tile_bytes(f, s->k));
    for (unsigned p = 0; p < NPU_IMAGE_PLANES; p++) to.at[p] = out + npu_image_plane_at(f, (npu_image_plane)p, s->k);
    row_tiles[npu_image_index(f)](s, &to);
}

void npu_hex_repack(npu_hex_row_tile_fn *const *fast, const npu_image_format *f, const uint8_t *raw, uint64_t row_bytes,
                    uint32_t k, uint32_t n, uint32_t first, uint32_t tiles, uint8_t *out) {
    uint8_t inverse[256] = {0};
    invert_codebook(f, inverse);
    uint64_t bytes = npu_image_row_tile_bytes(f, k);
    for (uint32_t t = first; t < first + tiles; t++) {
        uint32_t rows = n - t * NPU_TILE_ROWS < NPU_TILE_ROWS ? n - t * NPU_TILE_ROWS : NPU_TILE_ROWS;
        source s = {
            raw + t * (uint64_t)NPU_TILE_ROWS * row_bytes, row_bytes, k, rows, npu_quant_of(f->type)->block, inverse};
        if (fast && rows == NPU_TILE_ROWS)
            fast[npu_image_index(f)](s.raw, row_bytes, k, out + t * bytes);
        else
            reference_tile(f, &s, out + t * bytes);
    }
}
