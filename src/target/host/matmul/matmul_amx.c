/* MUL_MAT on AMX: tiles for many activation rows, AVX-512 for few. The results are the same bits. */
#include "target/host/matmul/matmul.h"
/* The vectors come first. */
#include "target/host/matmul/matmul_vec_avx512.h"

#include "target/host/matmul/matmul_tile_amx.h"

NPU_INLINE void panel(const wformat *f, const npu_mm_task *task, uint32_t n0, uint32_t n1, uint8_t *scratch) {
    if (task->rows < TILES_LEAST) {
        panel_of_dots(f, task, n0, n1, scratch);
    } else {
        panel_tiles(f, task, n0, n1, scratch);
    }
}

#include "target/host/matmul/matmul_formats.h"
#include "target/host/matmul/matmul_float_avx512.h"
#include "target/host/matmul/matmul_narrow_x86.h"

static const npu_mm_kernels kernels = {quantise,   formats, dot,      widen_f16,
                                       widen_bf16, dot_f16, dot_bf16, &npu__mm_fast_amx};

npu_status npu_host_mul_mat_amx(const npu_host_call *call, npu_error *err) {
    return npu__mm_run(call, &kernels, err);
}
