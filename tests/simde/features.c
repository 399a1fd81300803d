/* In place of npu_cpu_features (base/cpu_features.c) where kernels were built with SIMDe: all that is built that way,
 * over what the machine itself must have. */
#include "base/cpu.h"

uint32_t npu_cpu_features(void) {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
    return NPU_CPU_AVX2 | NPU_CPU_AVXVNNI | NPU_CPU_AVX512 | NPU_CPU_AVX512BF16 | NPU_CPU_AMX;
}
