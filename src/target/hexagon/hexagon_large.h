/* Weights in several buffers, and ops on them in pieces. Pure arithmetic. Private to this folder. */
#ifndef NPU_HEXAGON_LARGE_H
#define NPU_HEXAGON_LARGE_H

#include "target/hexagon/hexagon_lower.h"

/* How much of the weights' share of the window a part of a batch uses, if one op does not need more: all of it when the
 * model fits. |plan| or NULL. */
uint64_t npu_hex_step_bytes(const npu_hw *hw, const npu_plan *plan);

/* Rows of one buffer of |weight|, which has its layout on the device: whole row tiles, or all. 0 = it has more than two
 * dimensions, or a row tile is larger than a buffer can be: it is never parted. */
uint32_t npu_hex_part_rows(const npu_tensor *weight, uint64_t max_buffer_bytes);

/* In how many pieces op |op| of the program is done; 0 = as it is, on weights that are not in parts. */
uint32_t npu_hex_pieces(const npu_hex_program *program, const npu_op *op);

/* Makes |op| its piece |n|; |at|: its operands, sources first. A product has one weight then. */
void npu_hex_piece(npu_op *op, npu_hex_operand at[NPU_OP_SRCS + NPU_OP_DSTS], uint32_t n);

#endif
