/* Where codes and sums lie in the operands of a kernel: rows into A, groups of weight columns into B, sums out of C.
 * Faster forms of what wire/xdna_layout.h says element by element, and tested against it. Pure functions, any thread.
 */
#ifndef NPU_XDNA_PACK_H
#define NPU_XDNA_PACK_H

#include "wire/xdna_layout.h"

/* Row |m| of A from |l->k| codes. */
void npu_xdna_pack_row(const npu_xdna_layout *l, uint32_t m, const int8_t *codes, int8_t *a);

/* How many columns of B are packed at once. */
uint32_t npu_xdna_pack_group(const npu_xdna_layout *l);

/* Columns |n| … |n| + group - 1 of B (|n| a multiple of the group), each l->k codes in |codes|, one after the other. */
void npu_xdna_pack_columns(const npu_xdna_layout *l, uint32_t n, const int8_t *codes, int8_t *b);

/* The first |count| sums of row |m| of C. */
void npu_xdna_unpack_row(const npu_xdna_layout *l, uint32_t m, uint32_t count, const int32_t *c, int32_t *sums);

#endif
