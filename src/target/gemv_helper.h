/* gemv for graph-class targets: a batch of one MUL_MAT. Goes into their vtables as it is. */
#ifndef NPU_TARGET_GEMV_HELPER_H
#define NPU_TARGET_GEMV_HELPER_H

#include "target/target.h"

/* out[M][N] = x[M][K] * W[K][N], W from |args->weights| or, when that is NULL, from |args->tiles| as f32 [K][N]. It
 * makes and frees its buffers, keeps nothing resident, and waits. INVALID: an empty dimension or no weights. */
npu_status npu_gemv_by_submit(npu_target *target, const npu_gemv_args *args, float *out, npu_error *err);

#endif
