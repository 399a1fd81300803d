/* Integer division for the real build, under the names Hexagon compilers call: the machine has no instruction for it,
 * and the vendor's library is not linked. Bit by bit from the highest that can be set; inner loops of ops do not
 * divide. Division by 0 gives all ones and the dividend as the rest, and no trap. */
#include <stdint.h>

uint32_t __hexagon_udivsi3(uint32_t n, uint32_t d);
uint32_t __hexagon_umodsi3(uint32_t n, uint32_t d);
int32_t __hexagon_divsi3(int32_t n, int32_t d);
int32_t __hexagon_modsi3(int32_t n, int32_t d);
uint64_t __hexagon_udivdi3(uint64_t n, uint64_t d);
uint64_t __hexagon_umoddi3(uint64_t n, uint64_t d);
int64_t __hexagon_divdi3(int64_t n, int64_t d);
int64_t __hexagon_moddi3(int64_t n, int64_t d);

static uint32_t divide32(uint32_t n, uint32_t d, uint32_t *rest) {
    uint32_t q = 0;
    *rest = n;
    if (d == 0) return UINT32_MAX;
    if (n < d) return 0;
    for (int shift = __builtin_clz(d) - __builtin_clz(n); shift >= 0; shift--) {
        uint32_t part = d << shift;
        if (n < part) continue;
        n -= part;
        q |= 1u << shift;
    }
    *rest = n;
    return q;
}

static uint64_t divide64(uint64_t n, uint64_t d, uint64_t *rest) {
    uint64_t q = 0;
    if (n >> 32 == 0 && d >> 32 == 0) {
        uint32_t low;
        q = divide32((uint32_t)n, (uint32_t)d, &low);
        *rest = low;
        return d ? q : UINT64_MAX;
    }
    *rest = n;
    if (d == 0) return UINT64_MAX;
    if (n < d) return 0;
    for (int shift = __builtin_clzll(d) - __builtin_clzll(n); shift >= 0; shift--) {
        uint64_t part = d << shift;
        if (n < part) continue;
        n -= part;
        q |= 1ull << shift;
    }
    *rest = n;
    return q;
}

static uint32_t size32(int32_t x) {
    return x < 0 ? 0u - (uint32_t)x : (uint32_t)x;
}
static uint64_t size64(int64_t x) {
    return x < 0 ? 0u - (uint64_t)x : (uint64_t)x;
}

uint32_t __hexagon_udivsi3(uint32_t n, uint32_t d) {
    uint32_t rest;
    return divide32(n, d, &rest);
}
uint32_t __hexagon_umodsi3(uint32_t n, uint32_t d) {
    uint32_t rest;
    divide32(n, d, &rest);
    return rest;
}
int32_t __hexagon_divsi3(int32_t n, int32_t d) {
    uint32_t rest, q = divide32(size32(n), size32(d), &rest);
    return (int32_t)((n ^ d) < 0 ? 0u - q : q);
}
int32_t __hexagon_modsi3(int32_t n, int32_t d) {
    uint32_t rest;
    divide32(size32(n), size32(d), &rest);
    return (int32_t)(n < 0 ? 0u - rest : rest);
}
uint64_t __hexagon_udivdi3(uint64_t n, uint64_t d) {
    uint64_t rest;
    return divide64(n, d, &rest);
}
uint64_t __hexagon_umoddi3(uint64_t n, uint64_t d) {
    uint64_t rest;
    divide64(n, d, &rest);
    return rest;
}
int64_t __hexagon_divdi3(int64_t n, int64_t d) {
    uint64_t rest, q = divide64(size64(n), size64(d), &rest);
    return (int64_t)((n ^ d) < 0 ? 0u - q : q);
}
int64_t __hexagon_moddi3(int64_t n, int64_t d) {
    uint64_t rest;
    divide64(size64(n), size64(d), &rest);
    return (int64_t)(n < 0 ? 0u - rest : rest);
}
