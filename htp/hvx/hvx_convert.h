/* Rows of F32, F16, BF16 and Q8_0 as they lie in memory, packed, from and to vectors of f32: the bits of src/quant. */
#ifndef HTP_HVX_CONVERT_H
#define HTP_HVX_CONVERT_H

#include <stdint.h>

#include <hexagon_types.h>

/* |n| values of GGUF type |type|, for Q8_0 whole blocks. |in| and |y| are 128-byte aligned. Whole vectors are read and
 * written: of |y| as many as hold n values; up to 127 bytes past the values are read of |in| and written of |out|. */
void hvx_convert_to_f32(uint32_t type, const uint8_t *in, HVX_Vector *y, uint32_t n);
void hvx_convert_from_f32(uint32_t type, const HVX_Vector *x, uint8_t *out, uint32_t n);

/* Bytes of |n| packed values. */
uint32_t hvx_convert_bytes(uint32_t type, uint32_t n);

#endif
