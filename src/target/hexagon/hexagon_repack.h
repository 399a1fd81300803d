/* Weight images (wire/image.h) from raw GGUF blocks. hexagon_repack.c is the reference; what vectors do, row tile by
 * row tile, is hexagon_repack_lanes.h, and gives the same bytes. Called by hexagon_weights.c. */
#ifndef NPU_HEXAGON_REPACK_H
#define NPU_HEXAGON_REPACK_H

#include "wire/image.h"

/* Names the images of all formats in the weight cache, those of every architecture alike; test hexagon_layout holds it
 * against the bytes. */
#define NPU_HEX_LAYOUT "hexagon images 1"

/* Makes one row tile from 32 rows of |k| values, |row_bytes| apart. */
typedef void npu_hex_row_tile_fn(const uint8_t *raw, uint64_t row_bytes, uint32_t k, uint8_t *out);

extern npu_hex_row_tile_fn *const npu_hex_row_tiles_avx2[NPU_IMAGE_COUNT];
extern npu_hex_row_tile_fn *const npu_hex_row_tiles_avx512[NPU_IMAGE_COUNT];
extern npu_hex_row_tile_fn *const npu_hex_row_tiles_neon[NPU_IMAGE_COUNT];

/* The best of these for a CPU with |features| (base/cpu.h), by number of image; NULL: none. */
npu_hex_row_tile_fn *const *npu_hex_row_tiles(uint32_t features);

/* Fills |tiles| row tiles from |first| of the image at |out|. |raw|: [n][k] in GGUF order, rows |row_bytes| apart. The
 * tiles of a weight may be made by several threads. |fast|: of npu_hex_row_tiles; NULL: the reference does all. */
void npu_hex_repack(npu_hex_row_tile_fn *const *fast, const npu_image_format *format, const uint8_t *raw,
                    uint64_t row_bytes, uint32_t k, uint32_t n, uint32_t first, uint32_t tiles, uint8_t *out);

#endif
