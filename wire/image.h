/* Weight images: how quantised weights lie in memory for the NPU, as data.
 *
 * The unit is a row tile: 32 rows of the weight matrix, all of K. A row tile is one contiguous stream for DMA, made of
 * planes, each a whole number of 128-byte vectors whose 32-bit lane r belongs to row r. K/32 tiles of 32 x 32 codes:
 * - low, high: a plane of b bits has b vectors a tile; bits b*i .. b*i+b-1 of byte j of vector v's lanes are the code
 * of k = 4 * (v*8/b + i) + j, that is, vrmpy's order. A code is high << low bits | low.
 * - scales, HALF and BF16: one vector for two tiles, half t % 2 of a lane is tile t's.
 * - scales, SUB32: one vector of bytes for four tiles, in the order of tiles 0 2 1 3 (widened, pairs are neighbours).
 * - scales, SUB16: one vector of bytes for two tiles: byte 2 * half of the tile + t % 2; signed, or with minima the
 * scale in the low and the minimum in the high half.
 * - minima: as the scales; none in SUB16.
 * - super, SUB32 and SUB16: one vector for eight tiles: halves d and m.
 *
 * Numbers are as in npu_block (src/quant/quant.h): m is what is added. Rows past N and the odd tile at the end hold
 * zeros, so they add nothing. Row tiles follow each other. The host makes images
 * (src/target/hexagon/hexagon_repack.c); nobody else knows this layout but the kernels. Freestanding.
 */
#ifndef NPU_WIRE_IMAGE_H
#define NPU_WIRE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Values of npu_tensor.layout beside NPU_LAYOUT_GGUF. */
enum { NPU_LAYOUT_TILES = 1 };

enum { NPU_TILE_ROWS = 32, NPU_TILE_K = 32, NPU_VECTOR_BYTES = 128 };

enum { NPU_IMAGE_TABLE_NONE, NPU_IMAGE_TABLE_IQ4, NPU_IMAGE_TABLE_MXFP4 };
enum { NPU_IMAGE_SCALE_HALF, NPU_IMAGE_SCALE_BF16, NPU_IMAGE_SCALE_SUB32, NPU_IMAGE_SCALE_SUB16 };

typedef enum npu_image_plane {
    NPU_IMAGE_LOW,
    NPU_IMAGE_HIGH,
    NPU_IMAGE_SCALES,
    NPU_IMAGE_MINIMA,
    NPU_IMAGE_SUPER,
    NPU_IMAGE_PLANES
} npu_image_plane;

/* A row of npu_images.def. */
typedef struct npu_image_format {
    uint8_t type;      /* GGUF type number */
    uint8_t low, high; /* bits of a code */
    uint8_t table, offset, scale, has_min, bias;
} npu_image_format;

/* Rows in the order of the list: NPU_IMAGE_Q4_0 … */
enum {
#define NPU_IMAGE(NAME, low, high, table, offset, scale, min, bias) NPU_IMAGE_##NAME,
#include "wire/npu_images.def"
    NPU_IMAGE_COUNT
};

/* The row for a GGUF type, NULL when it has no image; and its number. */
const npu_image_format *npu_image_format_of(uint32_t type);
uint32_t npu_image_index(const npu_image_format *f);

/* Whether rows of |k| values have an image: whole blocks, at most NPU_IMAGE_MAX_K, so that no size here overflows. */
enum { NPU_IMAGE_MAX_K = 1 << 20 };
int npu_image_fits(const npu_image_format *f, uint32_t k);

/* Sizes and places in a row tile of |k| values. */
uint32_t npu_image_vectors(const npu_image_format *f, npu_image_plane plane, uint32_t k);
uint32_t npu_image_plane_at(const npu_image_format *f, npu_image_plane plane, uint32_t k);
uint32_t npu_image_row_tile_bytes(const npu_image_format *f, uint32_t k);

/* A product over a part of K takes of every row tile some vectors of each plane: a tensor of layout TILES with nb[1]
 * not 0 is a slice of an image of nb[1] values a row, from value nb[0] on; offset is the image's. It begins at a
 * multiple of npu_image_slice_unit, where a vector begins in every plane, and ends at one or at the image's end. */
uint32_t npu_image_slice_unit(const npu_image_format *f);
bool npu_image_is_slice(const npu_image_format *f, uint64_t first, uint32_t k, uint64_t whole);

static inline uint64_t npu_image_bytes(const npu_image_format *f, uint32_t k, uint32_t n) {
    return ((uint64_t)n + 31) / 32 * npu_image_row_tile_bytes(f, k);
}

#endif
