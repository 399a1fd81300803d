/* MUL_MAT in fast mode on AMX, for many activation rows: BF16 tiles in place of integers (matmul_amx.c has the rest).
 */
#include "target/host/matmul/matmul.h"
/* The vectors come first. */
#include "target/host/matmul/matmul_vec_avx512.h"

#include "target/host/matmul/matmul_tile_bf16.h"

#define NPU_MATMUL_MANY
#include "target/host/matmul/matmul_formats.h"

const npu_mm_many npu__mm_fast_amx = {NPU_HOST_FAST_ROWS, to_bf16, formats};
