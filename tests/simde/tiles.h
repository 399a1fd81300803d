/* AMX tiles in plain C, after the pseudo-code of Intel's manual: palette 1, eight tiles of at most 16 rows of 64 bytes,
 * a set for each thread. What faults on a processor (a bad configuration, an operand whose shape does not fit, a tile
 * before any configuration) ends the test with a line. */
#ifndef NPU_TESTS_SIMDE_TILES_H
#define NPU_TESTS_SIMDE_TILES_H

#include <stddef.h>
#include <stdint.h>

void simd_tile_loadconfig(const void *config);
void simd_tile_storeconfig(void *config);
void simd_tile_release(void);
void simd_tile_zero(int tile);
void simd_tile_loadd(int tile, const void *base, ptrdiff_t stride);
void simd_tile_stored(int tile, void *base, ptrdiff_t stride);

/* sum += a · b in bytes of which |a_signed| and |b_signed| have a sign (TDPBSSD and its kin), and in BF16. */
void simd_tile_dp_bytes(int sum, int a, int b, int a_signed, int b_signed);
void simd_tile_dp_bf16(int sum, int a, int b);

/* a · b + sum, rounded once to the nearest even; a subnormal operand or result is 0. */
float simd_bf16_fma(uint16_t a, uint16_t b, float sum);

#undef _tile_loadconfig
#undef _tile_storeconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_dpbssd
#undef _tile_dpbsud
#undef _tile_dpbusd
#undef _tile_dpbuud
#undef _tile_dpbf16ps
#define _tile_loadconfig(config)               simd_tile_loadconfig(config)
#define _tile_storeconfig(config)              simd_tile_storeconfig(config)
#define _tile_release()                        simd_tile_release()
#define _tile_zero(tile)                       simd_tile_zero(tile)
#define _tile_loadd(tile, base, stride)        simd_tile_loadd(tile, base, (ptrdiff_t)(stride))
#define _tile_stream_loadd(tile, base, stride) simd_tile_loadd(tile, base, (ptrdiff_t)(stride))
#define _tile_stored(tile, base, stride)       simd_tile_stored(tile, base, (ptrdiff_t)(stride))
#define _tile_dpbssd(sum, a, b)                simd_tile_dp_bytes(sum, a, b, 1, 1)
#define _tile_dpbsud(sum, a, b)                simd_tile_dp_bytes(sum, a, b, 1, 0)
#define _tile_dpbusd(sum, a, b)                simd_tile_dp_bytes(sum, a, b, 0, 1)
#define _tile_dpbuud(sum, a, b)                simd_tile_dp_bytes(sum, a, b, 0, 0)
#define _tile_dpbf16ps(sum, a, b)              simd_tile_dp_bf16(sum, a, b)

#endif
