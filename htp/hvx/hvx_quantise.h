/* Rows of f32 to activations in blocks of 32 (docs/numerics.md §5). */
#ifndef HTP_HVX_QUANTISE_H
#define HTP_HVX_QUANTISE_H

#include "htp/hvx/hvx_dot.h"

/* |blocks| of 32 values at |x|. Codes are written in whole vectors of 4 blocks, records in whole groups of 32: both
 * need that much room. Vectors are aligned; |records| lie in cached memory. */
void htp_quantise(const HVX_Vector *x, uint32_t blocks, HVX_Vector *codes, htp_act_block *records);

#endif
