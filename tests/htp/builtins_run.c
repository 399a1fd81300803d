/* htp/builtins run by qemu-hexagon: the program is linked with them before the compiler's own, so every division and
 * copy here goes through them. Exits with 1 after naming the first failures. */
#include <stdint.h>
#include <stdio.h>

int32_t __hexagon_divsi3(int32_t n, int32_t d);
int32_t __hexagon_modsi3(int32_t n, int32_t d);
uint32_t __hexagon_udivsi3(uint32_t n, uint32_t d);
uint32_t __hexagon_umodsi3(uint32_t n, uint32_t d);
int64_t __hexagon_divdi3(int64_t n, int64_t d);
int64_t __hexagon_moddi3(int64_t n, int64_t d);
uint64_t __hexagon_udivdi3(uint64_t n, uint64_t d);
uint64_t __hexagon_umoddi3(uint64_t n, uint64_t d);
void *memcpy(void *to, const void *from, __SIZE_TYPE__ bytes);
void *memmove(void *to, const void *from, __SIZE_TYPE__ bytes);
void *memset(void *to, int value, __SIZE_TYPE__ bytes);
void *__hexagon_memcpy_likely_aligned_min32bytes_mult8bytes(void *to, const void *from, __SIZE_TYPE__ bytes);

static uint64_t rng = 0x5eed0d1f;
static int failures;

static uint64_t next(void) {
    static const uint64_t edges[] = {1,          2,          3,          7,         10,         0x7fffffff,
                                     0x80000000, 0xffffffff, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX};
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (rng & 7) == 0 ? edges[(rng >> 8) % 12] : (rng * 0x9E3779B97F4A7C15ull) >> (rng & 63);
}

static void expect(const char *what, int right, uint64_t n, uint64_t d) {
    if (right || failures++ > 20) return;
    printf("%s: %llx / %llx\n", what, (unsigned long long)n, (unsigned long long)d);
}

/* Quotient and rest are right when they give n again and the rest is smaller than d and signed as n. Products wrap. */
static void divide(uint64_t n, uint64_t d) {
    uint32_t n4 = (uint32_t)n, d4 = (uint32_t)d;
    if (d) {
        uint64_t q = __hexagon_udivdi3(n, d), r = __hexagon_umoddi3(n, d);
        expect("udivdi3", q * d + r == n && r < d && q <= n, n, d);
        int64_t sn = (int64_t)n, sd = (int64_t)d, sr = __hexagon_moddi3(sn, sd);
        uint64_t size = sr < 0 ? 0u - (uint64_t)sr : (uint64_t)sr, of = sd < 0 ? 0u - d : d;
        expect("divdi3", (uint64_t)__hexagon_divdi3(sn, sd) * d + (uint64_t)sr == n && size < of, n, d);
        expect("moddi3", sr == 0 || (sr < 0) == (sn < 0), n, d);
    }
    if (d4) {
        uint32_t q = __hexagon_udivsi3(n4, d4), r = __hexagon_umodsi3(n4, d4);
        expect("udivsi3", q * d4 + r == n4 && r < d4 && q <= n4, n4, d4);
        int32_t sn = (int32_t)n4, sd = (int32_t)d4, sr = __hexagon_modsi3(sn, sd);
        uint32_t size = sr < 0 ? 0u - (uint32_t)sr : (uint32_t)sr, of = sd < 0 ? 0u - d4 : d4;
        expect("divsi3", (uint32_t)__hexagon_divsi3(sn, sd) * d4 + (uint32_t)sr == n4 && size < of, n4, d4);
        expect("modsi3", sr == 0 || (sr < 0) == (sn < 0), n4, d4);
    }
}

enum { ROOM = 160 };
static uint8_t from[ROOM] __attribute__((aligned(8))), to[ROOM] __attribute__((aligned(8))), want[ROOM];

/* Every place and length against loops of bytes that no compiler may turn into a call. */
static void move(unsigned a, unsigned b, unsigned bytes) {
    for (int kind = 0; kind < 4; kind++) {
        for (volatile unsigned i = 0; i < ROOM; i++) from[i] = (uint8_t)next(), to[i] = want[i] = (uint8_t)next();
        for (volatile unsigned i = 0; i < bytes; i++) want[b + i] = kind == 3 ? 0xC3 : from[a + i];
        void *r = kind == 0   ? memcpy(to + b, from + a, bytes)
                  : kind == 1 ? memmove(to + b, from + a, bytes)
                  : kind == 2 ? __hexagon_memcpy_likely_aligned_min32bytes_mult8bytes(to + b, from + a, bytes)
                              : memset(to + b, 0x1C3, bytes);
        int same = r == to + b;
        for (volatile unsigned i = 0; i < ROOM; i++) same &= to[i] == want[i];
        expect("copy", same, kind, bytes);
    }
    for (volatile unsigned i = 0; i < ROOM; i++) to[i] = want[i] = (uint8_t)next();
    for (volatile unsigned i = 0; i < bytes; i++) from[i] = to[a + i];
    for (volatile unsigned i = 0; i < bytes; i++) want[b + i] = from[i];
    int same = memmove(to + b, to + a, bytes) == to + b;
    for (volatile unsigned i = 0; i < ROOM; i++) same &= to[i] == want[i];
    expect("memmove within", same, a, b);
}

int main(void) {
    for (int i = 0; i < 40000; i++) divide(next(), next());
    for (unsigned i = 0; i < 3000; i++)
        move((unsigned)(next() % 17), (unsigned)(next() % 17), (unsigned)(next() % 140));
    move(0, 0, 128), move(8, 16, 128), move(16, 8, 128);
    printf("%d failures\n", failures);
    return failures != 0;
}
