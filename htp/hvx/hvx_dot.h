/* Dot products of quantised weights with int8 activations: 32 rows of the weight matrix (one a lane) by 1, 2 or 4 rows
 * of x, over all of K. The integer part is exact, the float part docs/numerics.md §5.
 *
 * Weights are one row tile of an image: per tile of 32 values of k the codes in vrmpy order,
 *     4 bits: four vectors; byte 4r+j of vector v has row r's code of k = 8v+j in its low half and of k = 8v+4+j in the
 * high 8 bits: eight vectors; byte 4r+j of vector v is row r's code of k = 4v+j, plus 128 for signed formats then the
 * scales: one vector of f16 for two tiles, half 2r for row r of the even tile, half 2r+1 for the odd one; minima
 * likewise. With an odd number of tiles the last odd halves are not used.
 *
 * Activations of one row are two planes: int8 codes in order, and one htp_act_block for each 32 of them. Both are read
 * by scalar loads, so they belong in cached memory, not in VTCM; codes 8-byte aligned. */
#ifndef HTP_HVX_DOT_H
#define HTP_HVX_DOT_H

#include <stdint.h>

#include <hexagon_types.h>

typedef struct htp_act_block {
    int32_t sum; /* of the block's codes */
    float d;     /* scale; the block's s = d * float(sum) is made where it is needed */
} htp_act_block;

typedef struct htp_act_row {
    const int8_t *codes;
    const htp_act_block *blocks;
} htp_act_row;

/* y[c] = the 32 rows' results for x[c]. |tiles| = K / 32, not 0. |minima| is only read by formats that have them. */
typedef void htp_dot_fn(const HVX_Vector *codes, const HVX_Vector *scales, const HVX_Vector *minima,
                        const htp_act_row *x, uint32_t tiles, HVX_Vector *y);

enum { HTP_DOT_Q4_0, HTP_DOT_Q4_1, HTP_DOT_Q8_0, HTP_DOT_FORMATS };

/* [format][0, 1, 2]: 1, 2, 4 columns */
extern htp_dot_fn *const htp_dot[HTP_DOT_FORMATS][3];

#endif
