// The product for one instruction set; called by compute.c.
#ifndef EMU_XDNA_MATMUL_H
#define EMU_XDNA_MATMUL_H

#include "device.h"

typedef void emu_matmul_fn(const npu_xdna_layout *l, const int8_t *a, const int8_t *b, int32_t *c, uint32_t rows);
emu_matmul_fn emu_matmul_base, emu_matmul_avx2;

#endif
