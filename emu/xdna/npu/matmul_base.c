// See matmul_loop.h.
#include "matmul.h"
#define EMU_MATMUL emu_matmul_base
#include "matmul_loop.h"
