// Log of the NPU program. FARF(level, …) writes through HAP_debug_v2; ALWAYS, ERROR and FATAL are always compiled in,
// HIGH, MEDIUM and LOW when FARF_HIGH, … is defined as 1 before this header. Lines are cut at 256 bytes.
#ifndef NPU_EMU_DSP_HAP_FARF_H
#define NPU_EMU_DSP_HAP_FARF_H

#define HAP_LEVEL_LOW    0
#define HAP_LEVEL_MEDIUM 1
#define HAP_LEVEL_HIGH   2
#define HAP_LEVEL_ERROR  3
#define HAP_LEVEL_FATAL  4

#ifndef FARF_LOW
#define FARF_LOW 0
#endif
#ifndef FARF_MEDIUM
#define FARF_MEDIUM 0
#endif
#ifndef FARF_HIGH
#define FARF_HIGH 0
#endif
#define FARF_ERROR        1
#define FARF_FATAL        1
#define FARF_ALWAYS       1
#define FARF_LOW_LEVEL    HAP_LEVEL_LOW
#define FARF_MEDIUM_LEVEL HAP_LEVEL_MEDIUM
#define FARF_HIGH_LEVEL   HAP_LEVEL_HIGH
#define FARF_ERROR_LEVEL  HAP_LEVEL_ERROR
#define FARF_FATAL_LEVEL  HAP_LEVEL_FATAL
#define FARF_ALWAYS_LEVEL HAP_LEVEL_HIGH

#define FARF(x, ...)                                                                   \
    do {                                                                               \
        if (FARF_##x) HAP_debug_v2(FARF_##x##_LEVEL, __FILE__, __LINE__, __VA_ARGS__); \
    } while (0)

void HAP_debug_v2(int level, const char *file, int line, const char *format, ...) __attribute__((format(printf, 4, 5)));
void HAP_debug_runtime(int level, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void HAP_debug(const char *message, int level, const char *file, int line);
int HAP_setFARFRuntimeLoggingParams(unsigned int mask, const char *files[], unsigned short file_count);

#endif
