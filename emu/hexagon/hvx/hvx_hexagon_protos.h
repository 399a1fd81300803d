/* The HVX intrinsics of clang's header of this name, for a PC compiler: same names, same results (see the test in
 * tests/hvx, which compares each with the real instruction run by qemu-hexagon). Integer instructions up to v73, less
 * gather, scatter, v6mpy, the 3-by-2 multiplies with a register pair, and the sums of absolute differences. Float
 * instructions are a model only (hvx_float.h). */
#ifndef HVX_HEXAGON_PROTOS_H
#define HVX_HEXAGON_PROTOS_H

#include "hexagon_types.h"
#include "hvx_arith.h"
#include "hvx_float.h"
#include "hvx_logic.h"
#include "hvx_mul.h"
#include "hvx_permute.h"

#endif
