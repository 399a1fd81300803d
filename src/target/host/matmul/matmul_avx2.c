/* MUL_MAT on AVX2 with FMA and F16C: the quantiser, the instances for each format, float dots. */
#include "target/host/matmul/matmul.h"
/* The vectors come first. */
#include "target/host/matmul/matmul_vec_avx2.h"

#include "target/host/matmul/matmul_few_pairs.h"

#include "target/host/matmul/matmul_formats.h"
#include "target/host/matmul/matmul_float_avx2.h"
#include "target/host/matmul/matmul_narrow_x86.h"

#include "target/host/matmul/matmul_dot.h"

static const npu_mm_kernels kernels = {quantise,  formats,    32 / SLICE, slice_row, dot_rows,
                                       widen_f16, widen_bf16, dot_f32,    dot_f16,   dot_bf16};

npu_status npu_host_mul_mat_avx2(const npu_host_call *call, npu_error *err) {
    return npu__mm_run(call, &kernels, err);
}
