/* Weight images: how quantised weights lie in memory for the NPU, as data.
 *
 * The unit is a row tile: 32 rows of the weight matrix, all of K. A row tile is one contiguous stream for DMA, made of
 * planes, each a whole number of 128-byte vectors:
 *     codes   K/32 tiles of 32 x 32 codes in the order of the vrmpy instruction: 32-bit lane r belongs to row r
 *             8-bit codes: vector v holds k = 4v .. 4v+3; 4-bit codes: vector v holds k = 8v .. 8v+3 in the low and
 *             k = 8v+4 .. 8v+7 in the high halves of its bytes. Codes are unsigned:
 *             the format's own, plus 128 where it has signed ones.
 *     scales  f16, one vector for two neighbouring tiles: half 2r is row r of tile 2t, half 2r+1 row r of tile 2t+1
 *     minima  the same, only for formats that have them
 * Rows past N and the odd tile at the end hold zeros, so they add nothing. Row tiles follow each other. The host makes
 * images (src/target/hexagon/hexagon_repack.c); nobody else knows this layout but the kernels. Freestanding.
 */
#ifndef NPU_WIRE_IMAGE_H
#define NPU_WIRE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Values of npu_tensor.layout beside NPU_LAYOUT_GGUF. */
enum { NPU_LAYOUT_TILES = 1 };

enum { NPU_TILE_K = 32, NPU_VECTOR_BYTES = 128 };

typedef struct npu_image_format {
    uint8_t type;   /* GGUF type number */
    uint8_t bits;   /* of a code in the image: 4 or 8 */
    uint8_t offset; /* subtracted from a code: 8 for Q4_0, 128 for Q8_0 */
    uint8_t has_min;
} npu_image_format;

/* The row for a GGUF type, NULL when it has no image. */
const npu_image_format *npu_image_format_of(uint32_t type);

/* Sizes and places, all in bytes; |k| a multiple of 32 and at most NPU_IMAGE_MAX_K, so nothing here overflows. */
enum { NPU_IMAGE_MAX_K = 1 << 20 };

static inline uint32_t npu_image_code_bytes(const npu_image_format *f, uint32_t k) {
    return k / 8 * f->bits * 32;
}

/* Of the scale plane, and of the plane of minima. */
static inline uint32_t npu_image_scale_bytes(uint32_t k) {
    return (k / 32 + 1) / 2 * NPU_VECTOR_BYTES;
}

static inline uint32_t npu_image_row_tile_bytes(const npu_image_format *f, uint32_t k) {
    return npu_image_code_bytes(f, k) + npu_image_scale_bytes(k) * (f->has_min ? 2u : 1u);
}

static inline uint64_t npu_image_bytes(const npu_image_format *f, uint32_t k, uint32_t n) {
    return ((uint64_t)n + 31) / 32 * npu_image_row_tile_bytes(f, k);
}

#endif
