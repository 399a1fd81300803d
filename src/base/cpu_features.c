/* What this machine can do: asked of the processor itself (cpuid, xgetbv; auxv on ARM), never of the compiler. In a
 * file of its own, so that a test can put other features in its place. */
#include "base/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

static int bit(uint32_t word, int n) {
    return word >> n & 1;
}

static uint64_t enabled_state(void) {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* The kernel hands out the tile registers only to a process that asks. */
static int tiles_allowed(void) {
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

uint32_t npu_cpu_features(void) {
    uint32_t a, b, c, d, a1 = 0, b1 = 0, c1 = 0, d1 = 0, found = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !bit(c, 27)) return 0;
    int fma_f16c = bit(c, 12) && bit(c, 29);
    uint64_t state = enabled_state();
    if ((state & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    if (a >= 1) __get_cpuid_count(7, 1, &a1, &b1, &c1, &d1);
    if (!bit(b, 5) || !fma_f16c) return 0;
    found |= NPU_CPU_AVX2;
    if (bit(a1, 4)) found |= NPU_CPU_AVXVNNI;
    int avx512 = bit(b, 16) && bit(b, 17) && bit(b, 30) && bit(b, 31) && bit(c, 11);
    if (!avx512 || (state & 0xE6) != 0xE6) return found;
    found |= NPU_CPU_AVX512;
    if (!bit(a1, 5)) return found;
    found |= NPU_CPU_AVX512BF16;
    if (bit(d, 22) && bit(d, 24) && bit(d, 25) && (state & 0x60000) == 0x60000 && tiles_allowed()) found |= NPU_CPU_AMX;
    return found;
}
#elif defined(__aarch64__)
#include <sys/auxv.h>

uint32_t npu_cpu_features(void) {
    enum { HWCAP_DOTPROD_BIT = 20, HWCAP2_I8MM_BIT = 13 };
    uint32_t found = NPU_CPU_NEON;
    if (getauxval(AT_HWCAP) >> HWCAP_DOTPROD_BIT & 1) found |= NPU_CPU_DOTPROD;
    if (found & NPU_CPU_DOTPROD && getauxval(AT_HWCAP2) >> HWCAP2_I8MM_BIT & 1) found |= NPU_CPU_I8MM;
    return found;
}
#else
uint32_t npu_cpu_features(void) {
    return 0;
}
#endif
