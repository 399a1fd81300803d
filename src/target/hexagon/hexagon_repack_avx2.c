/* Weight images on AVX2: an instance for each format. */
#include "target/host/matmul/matmul_vec_avx2.h"
/* The vectors come first. */
#include "target/hexagon/hexagon_repack_lanes.h"

npu_hex_row_tile_fn *const npu_hex_row_tiles_avx2[NPU_IMAGE_COUNT] = {
#define NPU_IMAGE(NAME, low, high, table, offset, scale, min, bias) lanes_tile_##NAME,
#include "wire/npu_images.def"
};
