/* Dot products of quantised weights with int8 activations: 32 rows of the weight matrix (one a lane) by 1, 2 or 4 rows
 * of x, over all of K. The integer part is exact, the float part docs/numerics.md §5. Weights are one row tile of an
 * image (wire/image.h).
 *
 * Activations of one row are two planes: int8 codes in order, and one htp_act_block for each 32 of them. Both are read
 * by scalar loads, so they belong in cached memory, not in VTCM; codes 8-byte, blocks 16-byte aligned. */
#ifndef HTP_HVX_DOT_H
#define HTP_HVX_DOT_H

#include <stdint.h>

#include <hexagon_types.h>

#include "wire/image.h"

typedef struct htp_act_block {
    float d, s;        /* scale, scale * float(sum) */
    int32_t sum;       /* of the block's codes */
    int16_t low, high; /* of its first and of its last 16 */
} htp_act_block;

typedef struct htp_act_row {
    const int8_t *codes;
    const htp_act_block *blocks;
} htp_act_row;

typedef const HVX_Vector *htp_planes[NPU_IMAGE_PLANES];

/* y[c] = the 32 rows' results for x[c]. |tiles| = K / 32, not 0. Of |planes| only those are read that the image has. */
typedef void htp_dot_fn(const htp_planes planes, const htp_act_row *x, uint32_t tiles, HVX_Vector *y);

/* [row of npu_images.def][0, 1, 2]: 1, 2, 4 columns */
extern htp_dot_fn *const htp_dot[NPU_IMAGE_COUNT][3];

#endif
