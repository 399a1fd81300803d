/* Preloaded by tests/faults.py: the NPU_FAIL_AT-th allocation of the process gives NULL, and with NPU_FAIL_ON=1 all
 * later ones too. Nothing fails before main has begun, where the C library itself would end the process. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

#define SHOWN __attribute__((visibility("default")))

static atomic_long left; /* until the failure; 0 = no failure */
static int keep_failing;

__attribute__((constructor)) static void begin(void) {
    const char *at = getenv("NPU_FAIL_AT"), *on = getenv("NPU_FAIL_ON");
    keep_failing = on && *on == '1';
    atomic_store(&left, at ? atol(at) : 0);
}

static int fails(void) {
    long now = atomic_load(&left);
    if (!now) return 0;
    if (now == 1) {
        errno = ENOMEM; /* the C library asserts it */
        if (!keep_failing) atomic_store(&left, 0);
        return 1;
    }
    atomic_store(&left, now - 1);
    return 0;
}

SHOWN void *malloc(size_t bytes) {
    return fails() ? NULL : __libc_malloc(bytes);
}

SHOWN void *calloc(size_t count, size_t bytes) {
    return fails() ? NULL : __libc_calloc(count, bytes);
}

SHOWN void *realloc(void *old, size_t bytes) {
    return fails() ? NULL : __libc_realloc(old, bytes);
}

SHOWN void *aligned_alloc(size_t alignment, size_t bytes) {
    return fails() ? NULL : __libc_memalign(alignment, bytes);
}
