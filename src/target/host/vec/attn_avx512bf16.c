/* FLASH_ATTN of many rows in fast mode, with products of BF16: the generic kernel with such vectors. */
#include <string.h>

#include "target/host/ref/ref.h"
#include "target/host/vec/vec.h"
#include "target/host/vec/vec_avx512bf16.h"
#include "target/host/vec/vec_math.h"
#include "wire/format.h"

#define VEC_FN(name) npu_host_##name##_avx512bf16
#define FEW_FN(name) npu_host_##name##_avx512
#define FEW_TAKES(w) ((w)->call->src[0].t.ne[2] < NPU_HOST_FAST_ROWS)

#include "target/host/vec/kernels_attn.h"
