/* malloc and its relatives of the npu program: glibc's own, counted while --host-cost asks for it. Libraries loaded by
 * the program use these too. Sanitizers bring their own allocator, other C libraries have no second name for it: then
 * nothing is counted. */
#include "cli/host_cost.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#if defined(__GLIBC__) && !defined(SANITIZED)

static int counting;
static int64_t allocations;

static void count(void) {
    if (__atomic_load_n(&counting, __ATOMIC_RELAXED)) __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
}

void cli_count_allocations(void) {
    __atomic_store_n(&allocations, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&counting, 1, __ATOMIC_SEQ_CST);
}

int64_t cli_allocations(void) {
    __atomic_store_n(&counting, 0, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&allocations, __ATOMIC_RELAXED);
}

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

void *malloc(size_t bytes) {
    count();
    return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes) {
    count();
    return __libc_calloc(n, bytes);
}

void *realloc(void *memory, size_t bytes) {
    count();
    return __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t align, size_t bytes) {
    count();
    return __libc_memalign(align, bytes);
}

int posix_memalign(void **out, size_t align, size_t bytes) {
    count();
    *out = __libc_memalign(align, bytes);
    return *out ? 0 : ENOMEM;
}

#else

void cli_count_allocations(void) {}

int64_t cli_allocations(void) {
    return -1;
}

#endif
