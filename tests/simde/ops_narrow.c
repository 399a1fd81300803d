/* The ops on NEON's vectors of 4 lanes in place of the AVX2 ones: what takes vectors for wider than they are fails on
 * any PC, without another machine's compiler. */
#include <string.h>

#include "base/cpu.h"
#include "target/host/ref/ref.h"
#include "target/host/vec/vec.h"
#include "target/host/vec/vec_neon.h"
#include "target/host/vec/vec_math.h"
#include "wire/format.h"

#define VEC_FN(name) npu_host_##name##_avx2

#include "target/host/vec/kernels_map.h"
#include "target/host/vec/kernels_rows.h"
#include "target/host/vec/kernels_rope.h"
#include "target/host/vec/kernels_copy.h"
#include "target/host/vec/kernels_attn.h"

/* In place of base/cpu_features.c: no wider level is there. */
uint32_t npu_cpu_features(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? NPU_CPU_AVX2 : 0;
}
