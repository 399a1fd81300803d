// See matmul_loop.h.
#include "matmul.h"
#define EMU_MATMUL emu_matmul_avx2
#include "matmul_loop.h"
