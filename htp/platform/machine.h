/* What is one instruction on a device and a call under the emulator: user DMA, cache lines, pause. HTP_BUILD_REAL is
 * defined by the builds for real hardware; the qemu build is Hexagon code without these instructions. */
#ifndef HTP_PLATFORM_MACHINE_H
#define HTP_PLATFORM_MACHINE_H

#include <stdint.h>

#ifdef HTP_BUILD_REAL

static inline void htp_machine_dmlink(void *tail, void *next) {
    __asm__ volatile("release(%0):at" ::"r"(next) : "memory");
    __asm__ volatile("dmlink(%0, %1)" ::"r"(tail), "r"(next) : "memory");
}
static inline uint32_t htp_machine_dmpoll(void) {
    uint32_t state;
    __asm__ volatile("%0 = dmpoll" : "=r"(state) : : "memory");
    return state;
}
static inline void htp_machine_clean_invalidate(const void *line) {
    __asm__ volatile("dccleaninva(%0)" ::"r"(line) : "memory");
}
static inline void htp_machine_cache_fence(void) {
    __asm__ volatile("syncht" ::: "memory");
}
static inline void htp_machine_pause(void) {
    __asm__ volatile("pause(#8)" ::: "memory");
}
/* Waiting for another device: there is no such thing as its interrupt, so this thread looks again soon. */
static inline void htp_machine_line_wait(const void *line, uint32_t value, uint32_t us) {
    (void)line, (void)value, (void)us;
    __asm__ volatile("pause(#255)" ::: "memory");
}
static inline void htp_machine_line_wake(const void *line) {
    (void)line;
}
static inline uint32_t htp_machine_arch(void) {
    return __HEXAGON_ARCH__;
}
static inline uint32_t htp_machine_line(void) {
    return 128;
}
static inline void htp_machine_op(uint32_t index, const char *name) {
    (void)index, (void)name;
}
static inline void htp_machine_event(const char *name) {
    (void)name;
}
static inline void htp_machine_dma_pushed(uint32_t depth) {
    (void)depth;
}
static inline void htp_machine_dma_popped(void) {}
static inline uint64_t htp_machine_window(void) {
    return 0;
}
static inline int htp_machine_idle(void) {
    return 0;
}

#else

void npu_emu_dmlink(void *tail, void *next);
uint32_t npu_emu_dmpoll(void);
void npu_emu_dccleaninva(const void *address);
void npu_emu_line_wait(const void *word, uint32_t value, uint32_t timeout_us);
void npu_emu_line_wake(const void *word);
uint32_t npu_emu_arch(void);
uint32_t npu_emu_line(void);
void npu_emu_op(uint32_t index, const char *name);
void npu_emu_event(const char *name);
void npu_emu_dma_pushed(uint32_t depth);
void npu_emu_dma_popped(void);
uint64_t npu_emu_window(void);
int npu_emu_idle(void);
void *npu_emu_low_alloc(uint32_t bytes, uint32_t align);
void npu_emu_low_free(void *memory);

static inline void htp_machine_dmlink(void *tail, void *next) {
    npu_emu_dmlink(tail, next);
}
static inline uint32_t htp_machine_dmpoll(void) {
    return npu_emu_dmpoll();
}
static inline void htp_machine_clean_invalidate(const void *line) {
    npu_emu_dccleaninva(line);
}
static inline void htp_machine_cache_fence(void) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static inline void htp_machine_pause(void) {
#if defined __x86_64__
    __builtin_ia32_pause();
#endif
}
static inline void htp_machine_line_wait(const void *line, uint32_t value, uint32_t us) {
    npu_emu_line_wait(line, value, us);
}
static inline void htp_machine_line_wake(const void *line) {
    npu_emu_line_wake(line);
}
static inline uint32_t htp_machine_arch(void) {
    return npu_emu_arch();
}
/* Bytes of a cache line. */
static inline uint32_t htp_machine_line(void) {
    return npu_emu_line();
}
/* What follows is for the emulator, which checks it and names it in what it reports: an op begins, or
 * something else that a fault can be set on; a transfer of this
 * thread's queue, |depth| deep, was pushed, or waited for. */
static inline void htp_machine_op(uint32_t index, const char *name) {
    npu_emu_op(index, name);
}
static inline void htp_machine_event(const char *name) {
    npu_emu_event(name);
}
static inline void htp_machine_dma_pushed(uint32_t depth) {
    npu_emu_dma_pushed(depth);
}
static inline void htp_machine_dma_popped(void) {
    npu_emu_dma_popped();
}
static inline uint64_t htp_machine_window(void) {
    return npu_emu_window();
}
/* Whether batches are to be answered without running their ops: what the host costs by itself is measured so. */
static inline int htp_machine_idle(void) {
    return npu_emu_idle();
}

#endif
#endif
