// QuRT's locks on futex words. The objects have the device's sizes (16 bytes, a semaphore 8), so a program's own
// declarations of them fit; an object of zeros is an initialised one.
#include "emu_dsp.h"
#include "npu_emu_dsp.h"
#include "qurt.h"
#include "../common/futex.h"
#include "../strict/strict.h"

#include <string.h>

typedef _Atomic uint32_t word;

static word *at(void *object, unsigned index) {
    return (word *)object + index;
}

// --- mutex: word 0 is 0 free, 1 taken, 2 taken and waited for; 1 the owner and 2 the depth of a recursive one ---

static void word_lock(word *w) {
    uint32_t free_value = 0;
    emu_strict_step(EMU_STEP_LOCK);
    if (atomic_compare_exchange_strong(w, &free_value, 1)) return;
    while (atomic_exchange(w, 2)) emu_futex_wait(w, 2, EMU_FOREVER);
}

static void word_unlock(word *w) {
    if (atomic_exchange(w, 0) == 2) emu_futex_wake(w, 1);
    emu_strict_step(EMU_STEP_LOCK);
}

EMU_API void qurt_mutex_init(qurt_mutex_t *m) {
    memset(m, 0, sizeof *m);
}
EMU_API void qurt_mutex_destroy(qurt_mutex_t *m) {
    memset(m, 0, sizeof *m);
}
EMU_API void qurt_mutex_lock(qurt_mutex_t *m) {
    word_lock(at(m, 0));
}
EMU_API void qurt_mutex_unlock(qurt_mutex_t *m) {
    word_unlock(at(m, 0));
}

EMU_API int qurt_mutex_try_lock(qurt_mutex_t *m) {
    uint32_t free_value = 0;
    return atomic_compare_exchange_strong(at(m, 0), &free_value, 1) ? QURT_EOK : QURT_EFAILED;
}

EMU_API void qurt_rmutex_init(qurt_rmutex_t *m) {
    memset(m, 0, sizeof *m);
}
EMU_API void qurt_rmutex_destroy(qurt_rmutex_t *m) {
    memset(m, 0, sizeof *m);
}

EMU_API void qurt_rmutex_lock(qurt_rmutex_t *m) {
    uint32_t self = qurt_thread_get_id();
    if (atomic_load(at(m, 1)) != self) {
        word_lock(at(m, 0));
        atomic_store(at(m, 1), self);
    }
    m->word[2]++;
}

EMU_API void qurt_rmutex_unlock(qurt_rmutex_t *m) {
    if (--m->word[2]) return;
    atomic_store(at(m, 1), 0);
    word_unlock(at(m, 0));
}

EMU_API int qurt_rmutex_try_lock(qurt_rmutex_t *m) {
    uint32_t self = qurt_thread_get_id();
    if (atomic_load(at(m, 1)) != self) {
        if (qurt_mutex_try_lock(m)) return QURT_EFAILED;
        atomic_store(at(m, 1), self);
    }
    m->word[2]++;
    return QURT_EOK;
}

// --- condition: word 0 counts signals ---

EMU_API void qurt_cond_init(qurt_cond_t *c) {
    memset(c, 0, sizeof *c);
}
EMU_API void qurt_cond_destroy(qurt_cond_t *c) {
    memset(c, 0, sizeof *c);
}

EMU_API void qurt_cond_wait(qurt_cond_t *c, qurt_mutex_t *m) {
    uint32_t turn = atomic_load(at(c, 0));
    qurt_mutex_unlock(m);
    emu_futex_wait(at(c, 0), turn, EMU_FOREVER);
    qurt_mutex_lock(m);
}

EMU_API void qurt_cond_signal(qurt_cond_t *c) {
    atomic_fetch_add(at(c, 0), 1);
    emu_futex_wake(at(c, 0), 1);
}

EMU_API void qurt_cond_broadcast(qurt_cond_t *c) {
    atomic_fetch_add(at(c, 0), 1);
    emu_futex_wake(at(c, 0), INT_MAX);
}

// --- semaphore: word 0 the count, word 1 waiters ---

EMU_API int qurt_sem_init(qurt_sem_t *s) {
    qurt_sem_init_val(s, 1);
    return QURT_EOK;
}

EMU_API void qurt_sem_init_val(qurt_sem_t *s, unsigned short value) {
    memset(s, 0, sizeof *s);
    atomic_store(at(s, 0), value);
}

EMU_API int qurt_sem_destroy(qurt_sem_t *s) {
    memset(s, 0, sizeof *s);
    return QURT_EOK;
}

EMU_API int qurt_sem_add(qurt_sem_t *s, unsigned int count) {
    atomic_fetch_add(at(s, 0), count);
    if (atomic_load(at(s, 1))) emu_futex_wake(at(s, 0), (int)count);
    return QURT_EOK;
}

EMU_API int qurt_sem_up(qurt_sem_t *s) {
    return qurt_sem_add(s, 1);
}

EMU_API int qurt_sem_try_down(qurt_sem_t *s) {
    uint32_t count = atomic_load(at(s, 0));
    while (count)
        if (atomic_compare_exchange_weak(at(s, 0), &count, count - 1)) return QURT_EOK;
    return QURT_EFAILED;
}

EMU_API int qurt_sem_down(qurt_sem_t *s) {
    while (qurt_sem_try_down(s)) {
        atomic_fetch_add(at(s, 1), 1);
        emu_futex_wait(at(s, 0), 0, EMU_FOREVER);
        atomic_fetch_sub(at(s, 1), 1);
    }
    return QURT_EOK;
}

EMU_API unsigned short qurt_sem_get_val(qurt_sem_t *s) {
    return (unsigned short)atomic_load(at(s, 0));
}

// --- barrier: word 0 the round, 1 arrived, 2 the size ---

EMU_API int qurt_barrier_init(qurt_barrier_t *b, unsigned int threads) {
    if (!threads) return QURT_EFAILED;
    memset(b, 0, sizeof *b);
    b->word[2] = threads;
    return QURT_EOK;
}

EMU_API int qurt_barrier_destroy(qurt_barrier_t *b) {
    memset(b, 0, sizeof *b);
    return QURT_EOK;
}

EMU_API int qurt_barrier_wait(qurt_barrier_t *b) {
    uint32_t round = atomic_load(at(b, 0));
    emu_strict_step(EMU_STEP_LOCK);
    if (atomic_fetch_add(at(b, 1), 1) + 1 == b->word[2]) {
        atomic_store(at(b, 1), 0);
        atomic_fetch_add(at(b, 0), 1);
        emu_futex_wake(at(b, 0), INT_MAX);
        return QURT_BARRIER_SERIAL_THREAD;
    }
    while (atomic_load(at(b, 0)) == round) emu_futex_wait(at(b, 0), round, EMU_FOREVER);
    return QURT_BARRIER_OTHER;
}

// --- signals: word 0 the bits, sticky until cleared ---

static unsigned int wait_bits(void *s, uint32_t mask, bool every) {
    for (;;) {
        uint32_t bits = atomic_load(at(s, 0));
        if (every ? (bits & mask) == mask : bits & mask) return bits;
        emu_futex_wait(at(s, 0), bits, EMU_FOREVER);
    }
}

static unsigned int set_bits(void *s, uint32_t mask) {
    uint32_t before = atomic_fetch_or(at(s, 0), mask);
    if ((before & mask) != mask) emu_futex_wake(at(s, 0), INT_MAX);
    return before;
}

EMU_API void qurt_signal_init(qurt_signal_t *s) {
    memset(s, 0, sizeof *s);
}
EMU_API void qurt_signal_destroy(qurt_signal_t *s) {
    memset(s, 0, sizeof *s);
}
EMU_API void qurt_signal_set(qurt_signal_t *s, unsigned int mask) {
    set_bits(s, mask);
}
EMU_API void qurt_signal_clear(qurt_signal_t *s, unsigned int mask) {
    atomic_fetch_and(at(s, 0), ~mask);
}
EMU_API unsigned int qurt_signal_get(qurt_signal_t *s) {
    return atomic_load(at(s, 0));
}
EMU_API unsigned int qurt_signal_wait_any(qurt_signal_t *s, unsigned int mask) {
    return wait_bits(s, mask, false);
}
EMU_API unsigned int qurt_signal_wait_all(qurt_signal_t *s, unsigned int mask) {
    return wait_bits(s, mask, true);
}

EMU_API unsigned int qurt_signal_wait(qurt_signal_t *s, unsigned int mask, unsigned int attribute) {
    return wait_bits(s, mask, attribute == QURT_SIGNAL_ATTR_WAIT_ALL);
}

EMU_API void qurt_anysignal_init(qurt_anysignal_t *s) {
    memset(s, 0, sizeof *s);
}
EMU_API void qurt_anysignal_destroy(qurt_anysignal_t *s) {
    memset(s, 0, sizeof *s);
}
EMU_API unsigned int qurt_anysignal_set(qurt_anysignal_t *s, unsigned int mask) {
    return set_bits(s, mask);
}
EMU_API unsigned int qurt_anysignal_get(qurt_anysignal_t *s) {
    return atomic_load(at(s, 0));
}
EMU_API unsigned int qurt_anysignal_wait(qurt_anysignal_t *s, unsigned int mask) {
    return wait_bits(s, mask, false);
}
EMU_API unsigned int qurt_anysignal_clear(qurt_anysignal_t *s, unsigned int mask) {
    return atomic_fetch_and(at(s, 0), ~mask);
}

// --- lines of memory that devices share: the kernel knows a word of a shared file by the file ---

static word *shared_word(const void *line) {
    if (emu_strict_cache()) return (word *)(void *)emu_strict_memory((uintptr_t)line, sizeof(word), EMU_READ, false);
    return (word *)(uintptr_t)line;
}

EMU_API void npu_emu_line_wait(const void *line, uint32_t value, uint32_t timeout_us) {
    emu_watchdog_step();
    emu_strict_step(EMU_STEP_LOCK);
    emu_futex_wait(shared_word(line), value, emu_deadline_us(timeout_us));
}

EMU_API void npu_emu_line_wake(const void *line) {
    emu_strict_step(EMU_STEP_LOCK);
    emu_futex_wake(shared_word(line), INT_MAX);
}

// --- futex ---

EMU_API int qurt_futex_wait(void *lock, int value) {
    emu_strict_step(EMU_STEP_LOCK);
    if (!emu_strict_wakes()) emu_futex_wait(at(lock, 0), (uint32_t)value, EMU_FOREVER);
    emu_strict_step(EMU_STEP_LOCK);
    return QURT_EOK;
}

EMU_API int qurt_futex_wake(void *lock, int threads) {
    emu_strict_step(EMU_STEP_LOCK);
    emu_futex_wake(at(lock, 0), threads);
    return QURT_EOK;
}
