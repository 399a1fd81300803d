/* What the CPU can do, found once at run time, and the named levels that --cpu-level forces. */
#ifndef NPU_BASE_CPU_H
#define NPU_BASE_CPU_H

#include <stdint.h>

#include "base/status.h"

enum {
    NPU_CPU_AVX2 = 1 << 0, /* with FMA and F16C */
    NPU_CPU_AVXVNNI = 1 << 1,
    NPU_CPU_AVX512 = 1 << 2, /* F, BW, VL, DQ and VNNI */
    NPU_CPU_AVX512BF16 = 1 << 3,
    NPU_CPU_AMX = 1 << 4, /* TILE, INT8, BF16; permission from the kernel was granted */
    NPU_CPU_NEON = 1 << 5,
    NPU_CPU_DOTPROD = 1 << 6,
    NPU_CPU_I8MM = 1 << 7,
};

/* The features of this machine. */
uint32_t npu_cpu_features(void);

/* The features of level |name| ("ref", "avx2", "avxvnni", "avx512", "avx512bf16", "amx", "neon", "dotprod", "i8mm";
 * NULL = all that is here). INVALID lists the names; UNSUPPORTED says that this machine lacks it. */
npu_status npu_cpu_level(const char *name, uint32_t *features, npu_error *err);

/* The |i|-th name in that list, NULL past the end. */
const char *npu_cpu_level_at(unsigned i);

/* Marketing name of the CPU for reports, e.g. from /proc/cpuinfo. */
void npu_cpu_name(char *out, uint32_t out_size);

#endif
