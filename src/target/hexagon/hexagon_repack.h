/* Weight images (wire/image.h) from raw GGUF blocks. */
#ifndef NPU_HEXAGON_REPACK_H
#define NPU_HEXAGON_REPACK_H

#include "wire/image.h"

/* Fills |tiles| row tiles from |first| of the image at |out|. |raw|: [n][k] in GGUF order, rows |row_bytes| apart. The
 * tiles of a weight may be made by several threads. */
void npu_hex_repack(const npu_image_format *format, const uint8_t *raw, uint64_t row_bytes, uint32_t k, uint32_t n,
                    uint32_t first, uint32_t tiles, uint8_t *out);

#endif
