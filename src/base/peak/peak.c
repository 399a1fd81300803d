/* The table of peak.h, and reading for machines without wider loads. */
#include "base/peak/peak.h"

#include <stddef.h>

#include "base/cpu.h"

const npu_peak *npu_peaks(void) {
    static const npu_peak all[] = {
#if defined(__x86_64__)
        {"f32", "avx2", NPU_CPU_AVX2, NPU_PEAK_SUMS * 8, npu_peak_f32_avx2},
        {"f32", "avx512", NPU_CPU_AVX512, NPU_PEAK_SUMS * 16, npu_peak_f32_avx512},
        {"int8", "avx2", NPU_CPU_AVX2, NPU_PEAK_SUMS * 32, npu_peak_int8_avx2},
        {"int8", "avxvnni", NPU_CPU_AVXVNNI, NPU_PEAK_SUMS * 32, npu_peak_int8_avxvnni},
        {"int8", "avx512", NPU_CPU_AVX512, NPU_PEAK_SUMS * 64, npu_peak_int8_avx512},
        {"int8", "amx", NPU_CPU_AMX, 4 * 16 * 16 * 64, npu_peak_int8_amx},
        {"bf16", "avx512bf16", NPU_CPU_AVX512BF16, NPU_PEAK_SUMS * 32, npu_peak_bf16_avx512bf16},
        {"bf16", "amx", NPU_CPU_AMX, 4 * 16 * 16 * 32, npu_peak_bf16_amx},
#elif defined(__aarch64__)
        {"f32", "neon", NPU_CPU_NEON, NPU_PEAK_SUMS * 4, npu_peak_f32_neon},
        {"int8", "dotprod", NPU_CPU_DOTPROD, NPU_PEAK_SUMS * 16, npu_peak_int8_dotprod},
        {"int8", "i8mm", NPU_CPU_I8MM, NPU_PEAK_SUMS * 32, npu_peak_int8_i8mm},
#endif
        {0},
    };
    return all;
}

uint64_t npu_peak_read(const void *data, uint64_t bytes, uint32_t features) {
    const uint64_t *p = data;
    uint64_t sum[8] = {0};
#if defined(__x86_64__)
    if (features & NPU_CPU_AVX512) return npu_peak_read_avx512(data, bytes);
    if (features & NPU_CPU_AVX2) return npu_peak_read_avx2(data, bytes);
#else
    (void)features;
#endif
    for (uint64_t i = 0; i < bytes / 8; i += 8)
        for (size_t lane = 0; lane < 8; lane++) sum[lane] ^= p[i + lane];
    for (size_t lane = 1; lane < 8; lane++) sum[0] ^= sum[lane];
    return sum[0];
}
