/* A row of a weight image as f32, for GET_ROWS. A row is one lane of every vector of its row tile (wire/image.h); what
 * it has in a plane is a list of words, one of each vector in order, and lists begin vectors. */
#ifndef HTP_HVX_IMAGE_ROW_H
#define HTP_HVX_IMAGE_ROW_H

#include <stdint.h>

#include <hexagon_types.h>

#include "wire/image.h"

typedef const HVX_Vector *htp_lists[NPU_IMAGE_PLANES];

/* y = the row's 32 * |tiles| values, as src/quant has them; |tiles| not 0, in formats of blocks of 256 a multiple of 8.
 * Of |lists| only those are read that the image has, in whole vectors and, of 8-bit codes, up to the next eight tiles.
 */
typedef void htp_image_row_fn(const htp_lists lists, uint32_t tiles, HVX_Vector *y);

/* By row of npu_images.def. */
extern htp_image_row_fn *const htp_image_row[NPU_IMAGE_COUNT];

#endif
