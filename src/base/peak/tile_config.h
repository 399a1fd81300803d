/* How the shapes of AMX tiles are told to the processor. */
#ifndef NPU_BASE_TILE_CONFIG_H
#define NPU_BASE_TILE_CONFIG_H

#include <immintrin.h>
#include <stdint.h>

/* The layout that LDTILECFG reads. */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

_Static_assert(sizeof(tile_config) == 64, "as the instruction reads it");

/* gcc's intrinsic says that it reads eight bytes of the 64: the others are held to be written by the empty statement.
 */
static inline void load_tile_config(const tile_config *c) {
    __asm__ volatile("" ::"r"(c) : "memory");
    _tile_loadconfig(c);
}

#endif
