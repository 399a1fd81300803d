/* Where a result is cut into parts for several devices: pure arithmetic on a tensor's shape. */
#ifndef NPU_HEXAGON_CUT_H
#define NPU_HEXAGON_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include "target/hexagon/hexagon_set.h"
#include "wire/tensor.h"

/* Cuts dimension |dim| (0 or 1) of |t| for |n| devices: device d has cuts[d] .. cuts[d + 1] - 1 of it, at every place
 * of the dimensions above, and everything of those below. Cuts are multiples of |unit| (of blocks, heads, row tiles)
 * and, so that no two devices write one 128-byte line, of as many units as make up whole lines; each device but the
 * last ones takes equally many, the remainder comes last.
 *
 * False: device 0 has all, because nothing else is safe or there is nothing to share: the tensor does not start on a
 * line, a dimension above does not step by whole lines, dimensions are not in order (one reaches into the next), or
 * there are fewer than two such pieces. cuts[] says so too. */
bool npu_hex_cut(const npu_tensor *t, unsigned dim, uint32_t unit, uint32_t n, uint32_t cuts[NPU_HEX_DEVICES + 1]);

/* As many of |step_bytes| as make up whole lines. */
uint32_t npu_hex_cut_lines(uint64_t step_bytes);

/* Shares |pieces| of |each| elements, |all| in total, among |n|. */
void npu_hex_cut_pieces(uint32_t pieces, uint32_t each, uint32_t all, uint32_t n, uint32_t cuts[NPU_HEX_DEVICES + 1]);

#endif
