// What the op tests (optest_*.c) share: programs that need only libc and check kernels against their references on
// random operands. Random numbers by seed, poisoned memory that ends with its last byte or lies between guards,
// failures that are counted and printed.
//
//   int main(int argc, char **argv) { return optest_run(argc, argv, all); }       [seed]
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTEST_GUARD = 256, OPTEST_POISON = 0xA5 };

static struct {
    uint64_t random;
    unsigned failures, checks;
    jmp_buf end;
} optest;

static inline uint32_t optest_random(void) {
    optest.random = optest.random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(optest.random >> 32);
}

// From -1 to 1.
static inline float optest_float(void) {
    return (float)(int32_t)optest_random() * 0x1p-31f;
}

static inline void optest_fill(void *to, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i++) ((uint8_t *)to)[i] = (uint8_t)(optest_random() >> 24);
}

// Counts a check; prints why it failed.
__attribute__((format(printf, 2, 3))) static inline bool optest_check(bool good, const char *format, ...) {
    va_list args;
    optest.checks++;
    if (good) return true;
    optest.failures++;
    va_start(args, format);
    printf("FAIL ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
    return false;
}

// Filled with |fill|; ends with the last byte, so that sanitizers see what reads or writes behind it. To be freed.
// Without memory the program ends with 2. On the main thread.
static inline void *optest_memory(uint64_t bytes, int fill) {
    void *p = malloc(bytes ? bytes : 1);
    if (!p) {
        printf("no memory for %llu bytes\n", (unsigned long long)bytes);
        longjmp(optest.end, 1);
    }
    memset(p, fill, bytes);
    return p;
}

// |bytes| between guards, on a line of 128 bytes; to be freed with optest_free. Guards are poisoned, the rest has
// |fill|.
static inline uint8_t *optest_guarded(uint64_t bytes, int fill) {
    uint8_t *p = aligned_alloc(128, (bytes + 127) / 128 * 128 + 2 * OPTEST_GUARD);
    if (!p) longjmp(optest.end, 1);
    memset(p, OPTEST_POISON, (bytes + 127) / 128 * 128 + 2 * OPTEST_GUARD);
    memset(p + OPTEST_GUARD, fill, bytes);
    return p + OPTEST_GUARD;
}

static inline bool optest_guards_hold(const uint8_t *guarded, uint64_t bytes) {
    bool good = true;
    for (int i = 0; i < OPTEST_GUARD; i++)
        good &= guarded[i - OPTEST_GUARD] == OPTEST_POISON && guarded[bytes + (uint64_t)i] == OPTEST_POISON;
    return good;
}

static inline void optest_free(uint8_t *guarded) {
    if (guarded) free(guarded - OPTEST_GUARD);
}

// The program: the seed is its argument, else 1.
static inline int optest_run(int argc, char **argv, void (*all)(void)) {
    optest.random = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    printf("seed %llu\n", (unsigned long long)optest.random);
    if (setjmp(optest.end)) return 2;
    all();
    printf("%u of %u checks failed\n", optest.failures, optest.checks);
    return optest.failures || !optest.checks;
}
