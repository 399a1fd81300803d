/* CPU levels by name, and the name of the CPU. */
#include "base/cpu.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t features;
} levels[] = {
    {"ref", 0},
    {"avx2", NPU_CPU_AVX2},
    {"avxvnni", NPU_CPU_AVX2 | NPU_CPU_AVXVNNI},
    {"avx512", NPU_CPU_AVX2 | NPU_CPU_AVX512},
    {"avx512bf16", NPU_CPU_AVX2 | NPU_CPU_AVX512 | NPU_CPU_AVX512BF16},
    {"amx", NPU_CPU_AVX2 | NPU_CPU_AVX512 | NPU_CPU_AVX512BF16 | NPU_CPU_AMX},
    {"neon", NPU_CPU_NEON},
    {"dotprod", NPU_CPU_NEON | NPU_CPU_DOTPROD},
    {"i8mm", NPU_CPU_NEON | NPU_CPU_DOTPROD | NPU_CPU_I8MM},
};

enum { N_LEVELS = sizeof levels / sizeof levels[0] };

npu_status npu_cpu_level(const char *name, uint32_t *features, npu_error *err) {
    uint32_t here = npu_cpu_features();
    *features = here;
    if (!name) return NPU_OK;
    char list[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < N_LEVELS; i++) {
        if (!strcmp(levels[i].name, name)) {
            *features = levels[i].features;
            if ((levels[i].features & ~here) == 0) return NPU_OK;
            *features = 0;
            return npu_fail(err, NPU_UNSUPPORTED, "cpu.level_missing", "`cpu_level` %s: this machine lacks it", name);
        }
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", levels[i].name);
    }
    *features = 0;
    return npu_fail(err, NPU_INVALID, "cpu.level_unknown", "`cpu_level` %s: no such level (levels: %s)", name, list);
}

const char *npu_cpu_level_at(unsigned i) {
    return i < N_LEVELS ? levels[i].name : NULL;
}

void npu_cpu_name(char *out, uint32_t out_size) {
    if (!out_size) return;
    snprintf(out, out_size, "unknown CPU");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon || !colon[1]) continue;
        snprintf(out, out_size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    fclose(file);
}
