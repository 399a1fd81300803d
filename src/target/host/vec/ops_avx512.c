/* The vector variants of all ops but MUL_MAT for this file's instruction set: the generic kernels with its vectors.
 * The list of variants (variants_ops.c) names them. */
#include <string.h>

#include "target/host/ref/ref.h"
#include "target/host/vec/vec.h"
#include "target/host/vec/vec_avx512.h"
#include "target/host/vec/vec_math.h"
#include "wire/format.h"

#define VEC_FN(name) npu_host_##name##_avx512
/* Attention of few rows is made of conversions and turning as much as of products, and those are cheaper for half as
 * long vectors: on Zen 4 a conversion of 16 halves holds up a multiply-add, two of 8 do half as much. */
#define FEW_FN(name) npu_host_##name##_avx2
#define FEW_TAKES(w) ((w)->few && (w)->call->src[1].t.type == NPU_TYPE_F16)

#include "target/host/vec/kernels_map.h"
#include "target/host/vec/kernels_rows.h"
#include "target/host/vec/kernels_rope.h"
#include "target/host/vec/kernels_copy.h"
#include "target/host/vec/kernels_attn.h"
