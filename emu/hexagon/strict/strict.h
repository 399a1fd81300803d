// Strict mode of the NPU process (README, "Strict mode"): what the runtime tells it and asks it. Native programs only;
// under qemu all of this is nothing. The program's own accesses come through the hooks that the compiler puts before
// each of them (hooks.c).
#ifndef EMU_STRICT_H
#define EMU_STRICT_H

#include "../rtos/emu_dsp.h"

// A rectangle that DMA moves: |rows| of |row_bytes|, on each side an address and a stride.
struct emu_move {
    uint64_t src, dst, rows, row_bytes, src_stride, dst_stride;
};

// Points where another thread, device or the host may come in between.
enum emu_step { EMU_STEP_CACHE, EMU_STEP_ATOMIC, EMU_STEP_LOCK, EMU_STEP_DMA, EMU_STEP_EVENT };

#ifdef __hexagon__
static inline bool emu_strict_cache(void) {
    return false;
}
static inline bool emu_strict_dma(void) {
    return false;
}
static inline bool emu_strict_vtcm(void) {
    return false;
}
static inline void emu_strict_step(enum emu_step step) {
    (void)step;
}
static inline void emu_strict_report(const char *kind, const char *format, ...) {
    (void)kind, (void)format;
}
static inline void emu_strict_program(const void *function) {
    (void)function;
}
static inline void emu_strict_op(int index, const char *name) {
    (void)index, (void)name;
}
static inline int emu_strict_clocks(int fd) {
    return fd < 0 ? 0 : -1;
}
static inline void emu_strict_send(void) {}
static inline void emu_strict_answer(void) {}
static inline void emu_strict_receive(void) {}
static inline int emu_strict_map(uint32_t at, uint64_t bytes, int prot, int fd, int number, uint64_t buffer_bytes) {
    (void)at, (void)bytes, (void)prot, (void)fd, (void)number, (void)buffer_bytes;
    return -1;
}
static inline void emu_strict_unmap(uint32_t at, uint64_t bytes) {
    (void)at, (void)bytes;
}
static inline void emu_strict_clean(uint64_t address, uint64_t bytes, bool clean, bool invalidate) {
    (void)address, (void)bytes, (void)clean, (void)invalidate;
}
static inline void emu_strict_clean_all(bool invalidate) {
    (void)invalidate;
}
static inline uint8_t *emu_strict_memory(uint64_t address, uint64_t bytes, enum emu_access access, bool check) {
    (void)bytes, (void)access, (void)check;
    return (uint8_t *)(uintptr_t)address;
}
static inline void emu_strict_dma_drained(const char *when) {
    (void)when;
}
static inline void emu_strict_line(uint64_t address, bool clean, bool invalidate) {
    (void)address, (void)clean, (void)invalidate;
}
static inline bool emu_strict_wakes(void) {
    return false;
}
static inline void emu_strict_dma_row(uint64_t dst, uint64_t src, uint64_t bytes) {
    (void)dst, (void)src, (void)bytes;
}
static inline void emu_strict_dma_linked(uint32_t *descriptor, const struct emu_move *m) {
    (void)descriptor, (void)m;
}
static inline void emu_strict_dma_done(uint32_t *descriptor) {
    (void)descriptor;
}
static inline void emu_strict_dma_stopped(void) {}
static inline void emu_strict_dma_waited(void) {}
static inline unsigned emu_strict_dma_quantum(void) {
    return 0;
}
static inline void emu_strict_dma_pushed(uint32_t depth) {
    (void)depth;
}
static inline void emu_strict_dma_popped(void) {}
static inline void emu_strict_vtcm_reserve(uint32_t first, uint32_t bytes, bool owned) {
    (void)first, (void)bytes, (void)owned;
}
#else
static inline bool emu_strict_cache(void) {
    return emu_block->strict.cache != 0;
}
static inline bool emu_strict_dma(void) {
    return emu_block->strict.dma != 0;
}
static inline bool emu_strict_vtcm(void) {
    return emu_block->strict.vtcm != 0;
}

// --- report.c ---
// Notes the first violation for the host and ends the process (unless it is to go on). |kind| is a stable name.
void emu_strict_report(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The op that is running, for reports; -1 none. All transfers before it must have been popped.
void emu_strict_op(int index, const char *name);
// An answer leaves: no op is running, nothing is under way, the host may know all that was written.
void emu_strict_answer(void);

// --- code.c ---
// |function| is the program's.
void emu_strict_program(const void *function);
// Text for where in the program this thread is, "" for nowhere; |exactly|: with the line, which takes a process more.
void emu_strict_code(char *out, size_t size, bool exactly);

// --- random.c ---
// A number below |n|, by the setting "seed", different in each thread.
uint32_t emu_strict_random(uint32_t n);
// A pause here, by chance.
void emu_strict_step(enum emu_step step);
// Whether a wait on a futex shall end without a wake.
bool emu_strict_wakes(void);

// --- clocks.c ---
int emu_strict_clocks(int fd);
// A message leaves for the host, or has come from it: who gets it knows what was before.
void emu_strict_send(void);
void emu_strict_receive(void);
// This device in the upper 8 bits, its epoch below.
uint32_t emu_strict_now(void);
// What is written from now on is of a later epoch.
void emu_strict_release(void);
// What another agent wrote up to this moment is known to be there.
void emu_strict_acquire(uint32_t moment);
// Another agent's, and not known to have been before.
bool emu_strict_unordered(uint32_t moment);
// Text for an agent; |out| has room for it.
const char *emu_strict_agent(uint32_t moment, char out[32]);

// --- views.c, memory.c ---
// Maps a copy of the announced buffer |number| at |at|; 0 or -1.
int emu_strict_map(uint32_t at, uint64_t bytes, int prot, int fd, int number, uint64_t buffer_bytes);
void emu_strict_unmap(uint32_t at, uint64_t bytes);
// The lines of [address, +bytes); outside of mapped buffers nothing.
void emu_strict_clean(uint64_t address, uint64_t bytes, bool clean, bool invalidate);
void emu_strict_clean_all(bool invalidate);
// One line, once the thread has come to its next fence.
void emu_strict_line(uint64_t address, bool clean, bool invalidate);
void emu_strict_fence(void);
// The program's accesses to the window. |atomic|: stale values are what a loop that polls expects.
void emu_strict_read(uintptr_t address, size_t bytes, bool atomic);
void emu_strict_write(uintptr_t address, size_t bytes, bool atomic);
// The place of an address for DMA, past the cache, all |bytes| of it; |check| with what is wrong about the caches.
uint8_t *emu_strict_memory(uint64_t address, uint64_t bytes, enum emu_access access, bool check);

// --- vtcm.c ---
// [first, +bytes) has an owner now, or none.
void emu_strict_vtcm_reserve(uint32_t first, uint32_t bytes, bool owned);
void emu_strict_vtcm_access(uintptr_t address, size_t bytes, bool write);
// A row that a transfer reads or writes, where that is VTCM.
void emu_strict_vtcm_check_row(uint64_t address, uint64_t bytes, bool write);
// A transfer begins or ends (|by| 1 or -1) to have these bytes.
void emu_strict_vtcm_flight(uint64_t address, uint64_t bytes, bool target, int by);
// Whether a transfer has one of these bytes as its target, or, with |sources|, as its source.
bool emu_strict_vtcm_busy(uint64_t address, uint64_t bytes, bool sources);

// --- dma.c; per thread ---
void emu_strict_dma_row(uint64_t dst, uint64_t src, uint64_t bytes);
void emu_strict_dma_linked(uint32_t *descriptor, const struct emu_move *m);
void emu_strict_dma_done(uint32_t *descriptor);
// The program saw the word at |address|: the done bit of a descriptor?
void emu_strict_dma_seen(const void *address);
// The thread's engine stopped by a fault on request: its transfers won't end, and that is not the program's doing.
void emu_strict_dma_stopped(void);
void emu_strict_dma_waited(void);
unsigned emu_strict_dma_quantum(void);
void emu_strict_dma_pushed(uint32_t depth);
void emu_strict_dma_popped(void);
// Transfers of any thread that the program did not see the end of are a violation.
void emu_strict_dma_drained(const char *when);
#endif

#endif
