// What an NPU program may call under the emulator in place of instructions that a PC does not have: the user DMA
// engine, cache line operations, counters. On a device these are single instructions; a program's platform layer
// chooses.
//
// One DMA engine per thread, as on a device. Descriptors are the device's (16 bytes 1D, 32 bytes 2D), at 16-byte
// aligned addresses. A descriptor's next word is 32 bits: in a native build it names the address with the same upper
// half as the descriptor it stands in, so a ring must not cross a 4 GiB line (npu_emu_low_alloc gives memory that
// can't). Source and destination are 32-bit addresses: mapped buffers and VTCM are always below 4 GiB.
//
// Everything a device would answer with silent corruption or a hang is reported on stderr and counted ("dma_faults"):
// bad alignment, unknown type, a range that leaves its mapping or is not mapped, a write to a read-only mapping, type 9
// before v75, type 10 before v81. The engine then stops in state error with the syndrome of the device.
#ifndef NPU_EMU_DSP_H
#define NPU_EMU_DSP_H

#include <stdint.h>

#define NPU_EMU_DM0_IDLE  0u
#define NPU_EMU_DM0_RUN   1u
#define NPU_EMU_DM0_ERROR 2u

void npu_emu_dmstart(void *next);
void npu_emu_dmlink(void *tail, void *next);
// These return DM0: state in bits 1:0, descriptor address above.
uint32_t npu_emu_dmpoll(void);
uint32_t npu_emu_dmwait(void);
uint32_t npu_emu_dmpause(void);
void npu_emu_dmresume(uint32_t dm0);
void npu_emu_dmsyncht(void);
// DM2 priority and limits (kept, without effect), DM4 syndrome, DM5 faulting address.
uint32_t npu_emu_dmcfgrd(uint32_t index);
void npu_emu_dmcfgwr(uint32_t index, uint32_t value);

// For strict mode, which holds a program to its own words: a transfer of this thread's queue, which is |depth| deep,
// was pushed, or waited for.
void npu_emu_dma_pushed(uint32_t depth);
void npu_emu_dma_popped(void);

// Cache operations on the line of |address|: write back, drop, both. A line has 128 bytes unless setting "line" says
// less.
uint32_t npu_emu_line(void);
void npu_emu_dccleana(const void *address);
void npu_emu_dcinva(const void *address);
void npu_emu_dccleaninva(const void *address);

// In place of polling a line of shared memory that another device writes: sleeps while the 32-bit word at |word|, which
// is in a mapped buffer, is |value|, at most |timeout_us|; and wakes those who sleep so, in all NPU processes. A
// sleeper may return early: it looks for itself.
void npu_emu_line_wait(const void *word, uint32_t value, uint32_t timeout_us);
void npu_emu_line_wake(const void *word);

// Zeroed memory below 4 GiB, |align| a power of two; NULL when there is none.
void *npu_emu_low_alloc(uint32_t bytes, uint32_t align);
void npu_emu_low_free(void *memory);

// Marks a point of the program by name ("op", …), so that a fault can be set on its n-th passing.
void npu_emu_event(const char *name);

// Event "fence": this device is about to signal or to wait; strict mode wants no transfer under way then.
// The same for event "op", with what strict mode's reports say of it; |name| stays.
void npu_emu_op(uint32_t index, const char *name);

// Hexagon version of the emulated device, e.g. 73.
uint32_t npu_emu_arch(void);

// Bytes of host buffers that can be mapped at once (setting "window").
uint64_t npu_emu_window(void);

// Setting "idle": the program is asked to answer without computing.
int npu_emu_idle(void);

#endif
