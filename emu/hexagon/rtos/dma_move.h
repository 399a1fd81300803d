// What one descriptor of the user DMA engine moves: read out of it, checked, done. The engine is dma.c.
#ifndef EMU_DMA_MOVE_H
#define EMU_DMA_MOVE_H

#include "../strict/strict.h"
#include "emu_dsp.h"

enum syndrome { SYNDROME_ALIGNMENT = 1, SYNDROME_TYPE = 2, SYNDROME_ADDRESS = 3, SYNDROME_ROI = 6, SYNDROME_BUS = 7 };

// Reads the rectangle out of descriptor |d|. NULL, or what is wrong with *syndrome.
const char *emu_move_decode(const uint32_t *d, struct emu_move *m, enum syndrome *syndrome);

// NULL, or what is wrong with *syndrome and *where.
const char *emu_move_check(const struct emu_move *m, enum syndrome *syndrome, uint64_t *where);

// -1: an extended address is not mapped.
int emu_move_run(const struct emu_move *m);

#endif
