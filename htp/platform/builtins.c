/* What the compiler calls behind the program's back, for the real build, which links with no library: memory moves and
 * integer division. The names are the compiler's. Compiled with -fno-builtin, so that none is turned into itself. */
#ifdef HTP_BUILD_REAL

#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
uint32_t __hexagon_udivsi3(uint32_t a, uint32_t b);
uint32_t __hexagon_umodsi3(uint32_t a, uint32_t b);
uint64_t __hexagon_udivdi3(uint64_t a, uint64_t b);
uint64_t __hexagon_umoddi3(uint64_t a, uint64_t b);
void __hexagon_memcpy_likely_aligned_min32bytes_mult8bytes(void *to, const void *from, uint32_t n);

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    uint8_t *t = to;
    const uint8_t *f = from;
    if (!(((uintptr_t)t | (uintptr_t)f) & 7))
        for (; n >= 8; n -= 8, t += 8, f += 8) *(uint64_t *)(void *)t = *(const uint64_t *)(const void *)f;
    while (n--) *t++ = *f++;
    return to;
}

void __hexagon_memcpy_likely_aligned_min32bytes_mult8bytes(void *to, const void *from, uint32_t n) {
    memcpy(to, from, n);
}

void *memmove(void *to, const void *from, size_t n) {
    uint8_t *t = to;
    const uint8_t *f = from;
    if (t <= f) return memcpy(to, from, n); /* ascending, and words only where both are aligned to them */
    while (n--) t[n] = f[n];
    return to;
}

void *memset(void *to, int value, size_t n) {
    uint8_t *t = to;
    while (n--) *t++ = (uint8_t)value;
    return to;
}

/* Shift and subtract; division by zero gives all ones, as good as any. */
static uint64_t divide(uint64_t a, uint64_t b, uint64_t *rest) {
    uint64_t q = 0;
    if (!b) {
        *rest = a;
        return UINT64_MAX;
    }
    int shift = __builtin_clzll(b) - (a ? __builtin_clzll(a) : 64);
    for (; shift >= 0; shift--) {
        q <<= 1;
        if (a >= b << shift) {
            a -= b << shift;
            q |= 1;
        }
    }
    *rest = a;
    return q;
}

uint32_t __hexagon_udivsi3(uint32_t a, uint32_t b) {
    uint64_t rest;
    return (uint32_t)divide(a, b, &rest);
}

uint32_t __hexagon_umodsi3(uint32_t a, uint32_t b) {
    uint64_t rest;
    divide(a, b, &rest);
    return (uint32_t)rest;
}

uint64_t __hexagon_udivdi3(uint64_t a, uint64_t b) {
    uint64_t rest;
    return divide(a, b, &rest);
}

uint64_t __hexagon_umoddi3(uint64_t a, uint64_t b) {
    uint64_t rest;
    divide(a, b, &rest);
    return rest;
}

#else
typedef int htp_builtins_are_the_toolchains; /* an empty file is no C */
#endif
