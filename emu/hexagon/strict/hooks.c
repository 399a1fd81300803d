// What gcc's -fsanitize=thread puts before every access of a program to memory: the names of its runtime, done by us.
// Accesses to vectors come as ranges. Copies by the C library come by the linker's --wrap.
#include "strict.h"

#include <string.h>

// The program's memory below 4 GiB begins and ends here; nothing else is looked at.
#define LOW     0x10000000u
#define LOW_END 0xFE000000u
#define WINDOW  0xF0000000u // ends
#define OWN     0xF8000000u // ends, VTCM begins

void __tsan_init(void);

__attribute__((noinline)) static void low(uintptr_t address, size_t bytes, bool write, bool atomic) {
    if (address >= OWN) {
        if (emu_strict_vtcm()) emu_strict_vtcm_access(address, bytes, write);
    } else if (address < WINDOW && emu_strict_cache()) {
        if (write)
            emu_strict_write(address, bytes, atomic);
        else
            emu_strict_read(address, bytes, atomic);
    }
}

static inline void touch(const void *pointer, size_t bytes, bool write) {
    uintptr_t address = (uintptr_t)pointer;
    if (address - LOW < LOW_END - LOW && (address < WINDOW || address >= OWN)) low(address, bytes, write, false);
}

// A read of a word may be how the program sees the end of a transfer. Afterwards: what it saw is then really there.
static inline void saw(const void *pointer) {
    if (emu_strict_dma()) emu_strict_dma_seen(pointer);
}

EMU_API void __tsan_init(void) {}

#define HOOKS(bytes)                                            \
    void __tsan_read##bytes(const void *p);                     \
    void __tsan_write##bytes(const void *p);                    \
    void __tsan_unaligned_read##bytes(const void *p);           \
    void __tsan_unaligned_write##bytes(const void *p);          \
    EMU_API void __tsan_read##bytes(const void *p) {            \
        touch(p, bytes, false);                                 \
        if (bytes == 4) saw(p);                                 \
    }                                                           \
    EMU_API void __tsan_write##bytes(const void *p) {           \
        touch(p, bytes, true);                                  \
    }                                                           \
    EMU_API void __tsan_unaligned_read##bytes(const void *p) {  \
        touch(p, bytes, false);                                 \
    }                                                           \
    EMU_API void __tsan_unaligned_write##bytes(const void *p) { \
        touch(p, bytes, true);                                  \
    }
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
#undef HOOKS

void __tsan_read_range(const void *p, size_t bytes);
void __tsan_write_range(const void *p, size_t bytes);
EMU_API void __tsan_read_range(const void *p, size_t bytes) {
    touch(p, bytes, false);
}
EMU_API void __tsan_write_range(const void *p, size_t bytes) {
    touch(p, bytes, true);
}

static void atomic_touch(const volatile void *pointer, size_t bytes, bool write) {
    uintptr_t address = (uintptr_t)pointer;
    emu_strict_step(EMU_STEP_ATOMIC);
    if (address - LOW < LOW_END - LOW) low(address, bytes, write, true);
}

#define ATOMIC(bits, type)                                                                                           \
    type __tsan_atomic##bits##_load(const volatile type *p, int order);                                              \
    void __tsan_atomic##bits##_store(volatile type *p, type value, int order);                                       \
    type __tsan_atomic##bits##_exchange(volatile type *p, type value, int order);                                    \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *old, type value, int order, int fail); \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type *p, type *old, type value, int order, int fail);   \
    EMU_API type __tsan_atomic##bits##_load(const volatile type *p, int order) {                                     \
        (void)order;                                                                                                 \
        atomic_touch(p, sizeof *p, false);                                                                           \
        type value = __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                           \
        saw((const void *)p);                                                                                        \
        return value;                                                                                                \
    }                                                                                                                \
    EMU_API void __tsan_atomic##bits##_store(volatile type *p, type value, int order) {                              \
        (void)order;                                                                                                 \
        atomic_touch(p, sizeof *p, true);                                                                            \
        __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                                \
    }                                                                                                                \
    EMU_API type __tsan_atomic##bits##_exchange(volatile type *p, type value, int order) {                           \
        (void)order;                                                                                                 \
        atomic_touch(p, sizeof *p, true);                                                                            \
        return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                                      \
    }                                                                                                                \
    EMU_API int __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *old, type value, int order,    \
                                                              int fail) {                                            \
        (void)order, (void)fail;                                                                                     \
        atomic_touch(p, sizeof *p, true);                                                                            \
        return __atomic_compare_exchange_n(p, old, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                    \
    }                                                                                                                \
    EMU_API int __tsan_atomic##bits##_compare_exchange_weak(volatile type *p, type *old, type value, int order,      \
                                                            int fail) {                                              \
        return __tsan_atomic##bits##_compare_exchange_strong(p, old, value, order, fail);                            \
    }
ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)
#undef ATOMIC

#define CHANGE(bits, type, name)                                                               \
    type __tsan_atomic##bits##_fetch_##name(volatile type *p, type value, int order);          \
    EMU_API type __tsan_atomic##bits##_fetch_##name(volatile type *p, type value, int order) { \
        (void)order;                                                                           \
        atomic_touch(p, sizeof *p, true);                                                      \
        return __atomic_fetch_##name(p, value, __ATOMIC_SEQ_CST);                              \
    }
#define CHANGES(name)          \
    CHANGE(8, uint8_t, name)   \
    CHANGE(16, uint16_t, name) \
    CHANGE(32, uint32_t, name) \
    CHANGE(64, uint64_t, name)
CHANGES(add)
CHANGES(sub)
CHANGES(and)
CHANGES(or)
CHANGES(xor)
#undef CHANGES
#undef CHANGE

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_signal_fence(int order);
EMU_API void __tsan_atomic_thread_fence(int order) {
    (void)order;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (emu_strict_cache()) emu_strict_fence();
    emu_strict_step(EMU_STEP_ATOMIC);
}
EMU_API void __tsan_atomic_signal_fence(int order) {
    (void)order;
}

// What -fsanitize=alignment calls: the place in the source, the type's description, and the address.
struct mismatch {
    const char *file;
    uint32_t line, column;
    const void *type;
    unsigned char log_alignment, kind;
};
void __ubsan_handle_type_mismatch_v1(const struct mismatch *what, uintptr_t address);
EMU_API void __ubsan_handle_type_mismatch_v1(const struct mismatch *what, uintptr_t address) {
    emu_strict_report("misaligned", "an access at %#llx, %s:%u, wants an alignment of %u", (unsigned long long)address,
                      what->file, what->line, 1u << what->log_alignment);
}

void *__wrap_memcpy(void *to, const void *from, size_t bytes);
void *__wrap_memmove(void *to, const void *from, size_t bytes);
void *__wrap_memset(void *to, int value, size_t bytes);
int __wrap_memcmp(const void *a, const void *b, size_t bytes);

EMU_API void *__wrap_memcpy(void *to, const void *from, size_t bytes) {
    if (!bytes) return to;
    touch(from, bytes, false);
    touch(to, bytes, true);
    return memcpy(to, from, bytes);
}
EMU_API void *__wrap_memmove(void *to, const void *from, size_t bytes) {
    if (!bytes) return to;
    touch(from, bytes, false);
    touch(to, bytes, true);
    return memmove(to, from, bytes);
}
EMU_API void *__wrap_memset(void *to, int value, size_t bytes) {
    if (bytes) touch(to, bytes, true);
    return memset(to, value, bytes);
}
EMU_API int __wrap_memcmp(const void *a, const void *b, size_t bytes) {
    if (!bytes) return 0;
    touch(a, bytes, false);
    touch(b, bytes, false);
    return memcmp(a, b, bytes);
}
