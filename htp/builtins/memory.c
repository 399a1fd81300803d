/* memcpy, memmove and memset for the real build, which takes nothing from a C library. Compilers call them by these
 * names. Only that build compiles this folder, without the compiler's own idea of these functions (-fno-builtin), or
 * each would become a call of itself. Large data goes by DMA and vectors: what comes here is structures and images. */
#include <stddef.h>
#include <stdint.h>

typedef uint64_t word __attribute__((may_alias));

enum { WORD = sizeof(word) };

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
void *__hexagon_memcpy_likely_aligned_min32bytes_mult8bytes(void *to, const void *from, size_t bytes);

/* Whole words only when both ends are aligned alike: Hexagon faults on others. */
static int aligned(const void *a, const void *b) {
    return (((uintptr_t)a | (uintptr_t)b) & (WORD - 1)) == 0;
}

static void copy_up(uint8_t *to, const uint8_t *from, size_t bytes) {
    size_t words = aligned(to, from) ? bytes / WORD : 0;
    word *w = (word *)to;
    const word *v = (const word *)from;
    for (size_t i = 0; i < words; i++) w[i] = v[i];
    for (size_t i = words * WORD; i < bytes; i++) to[i] = from[i];
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes) {
    copy_up(to, from, bytes);
    return to;
}

/* The compiler's choice for structures it takes to be aligned; "likely" is no promise. */
void *__hexagon_memcpy_likely_aligned_min32bytes_mult8bytes(void *to, const void *from, size_t bytes) {
    copy_up(to, from, bytes);
    return to;
}

void *memmove(void *to_, const void *from_, size_t bytes) {
    uint8_t *to = to_;
    const uint8_t *from = from_;
    if ((uintptr_t)to - (uintptr_t)from >= bytes) {
        copy_up(to, from, bytes);
    } else {
        while (bytes--) to[bytes] = from[bytes];
    }
    return to_;
}

void *memset(void *to_, int value, size_t bytes) {
    uint8_t *to = to_;
    size_t words = aligned(to, to) ? bytes / WORD : 0;
    word *w = (word *)to, fill = (uint8_t)value * 0x0101010101010101ull;
    for (size_t i = 0; i < words; i++) w[i] = fill;
    for (size_t i = words * WORD; i < bytes; i++) to[i] = (uint8_t)value;
    return to_;
}
