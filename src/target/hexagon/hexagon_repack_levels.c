/* Which instances of hexagon_repack_lanes.h a CPU can run. */
#include <stddef.h>

#include "base/cpu.h"
#include "target/hexagon/hexagon_repack.h"

npu_hex_row_tile_fn *const *npu_hex_row_tiles(uint32_t features) {
#if defined(__x86_64__)
    if (features & NPU_CPU_AVX512) return npu_hex_row_tiles_avx512;
    if (features & NPU_CPU_AVX2) return npu_hex_row_tiles_avx2;
#elif defined(__aarch64__)
    if (features & NPU_CPU_NEON) return npu_hex_row_tiles_neon;
#endif
    (void)features;
    return NULL;
}
