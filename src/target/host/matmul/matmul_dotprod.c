/* MUL_MAT on NEON with the dot product extension: the instances for each format, float dots. */
#include "target/host/matmul/matmul.h"
/* The vectors come first. */
#include "target/host/matmul/matmul_vec_neon.h"

#include "target/host/matmul/matmul_tile_dot.h"

#include "target/host/matmul/matmul_formats.h"
#include "target/host/matmul/matmul_float_neon.h"

#include "target/host/matmul/matmul_dot.h"

static const npu_mm_kernels kernels = {quantise, formats,   32 / SLICE, slice_row,
                                       dot_rows, widen_f16, widen_bf16, dot_f32};

npu_status npu_host_mul_mat_dotprod(const npu_host_call *call, npu_error *err) {
    return npu__mm_run(call, &kernels, err);
}
