/* MUL_MAT on AMX: tiles for many activation rows, AVX-512 for few. The results are the same bits. */
#include "target/host/matmul/matmul.h"
/* The vectors come first. */
#include "target/host/matmul/matmul_vec_avx512.h"

#include "target/host/matmul/matmul_tile_amx.h"

#define NPU_MATMUL_MANY
#include "target/host/matmul/matmul_formats.h"

static const npu_mm_many tiles = {.rows = TILE_ROWS, .formats = formats};

npu_status npu_host_mul_mat_amx(const npu_host_call *call, npu_error *err) {
    npu_mm_kernels kernels = npu__mm_avx512;
    kernels.many = &tiles;
    kernels.fast = &npu__mm_fast_amx;
    return npu__mm_run(call, &kernels, err);
}
