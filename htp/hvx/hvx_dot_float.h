/* Dot products of rows of plain numbers (docs/numerics.md §3, §4): lanes are k here, so every row has a vector of sums,
 * which are folded at the end, 32 rows at once. */
#ifndef HTP_HVX_DOT_FLOAT_H
#define HTP_HVX_DOT_FLOAT_H

#include <stdint.h>

#include <hexagon_types.h>

enum { HTP_DOT_FLOAT_COLUMNS = 4 };

/* y[c] lane r = row r of |w| (|rows|, at most 32, |stride| bytes apart) times x[c], for at most HTP_DOT_FLOAT_COLUMNS
 * columns; lanes from |rows| on mean nothing. |type|: F32, F16 or BF16. All aligned; what follows the k values of a row
 * in its last vector does not matter. */
void htp_dot_float(uint32_t type, const uint8_t *w, uint32_t stride, uint32_t rows, const HVX_Vector *const x[],
                   uint32_t columns, uint32_t k, HVX_Vector *y);

#endif
