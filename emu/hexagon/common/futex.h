// Waiting on a 32-bit word in memory shared by host and NPU process. Spurious returns are allowed: callers recheck.
#ifndef EMU_COMMON_FUTEX_H
#define EMU_COMMON_FUTEX_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EMU_FOREVER UINT64_MAX

static inline uint64_t emu_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t emu_deadline_us(uint32_t timeout_us) {
    return timeout_us == UINT32_MAX ? EMU_FOREVER : emu_now_ns() + (uint64_t)timeout_us * 1000u;
}

// Sleeps while *word is |value| and the deadline has not passed. Returns 0 to recheck, ETIMEDOUT when it has passed.
static inline int emu_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t deadline_ns) {
    struct timespec left, *timeout = NULL;
    if (deadline_ns != EMU_FOREVER) {
        uint64_t now = emu_now_ns();
        if (now >= deadline_ns) return ETIMEDOUT;
        left.tv_sec = (time_t)((deadline_ns - now) / 1000000000u);
        left.tv_nsec = (long)((deadline_ns - now) % 1000000000u);
        timeout = &left;
    }
    syscall(SYS_futex, (void *)word, FUTEX_WAIT, value, timeout, NULL, 0);
    return 0;
}

static inline void emu_futex_wake(_Atomic uint32_t *word, int threads) {
    syscall(SYS_futex, (void *)word, FUTEX_WAKE, threads, NULL, NULL, 0);
}

#endif
