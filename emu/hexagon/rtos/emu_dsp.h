// State of the NPU process behind the QuRT, HAP and dspqueue names. One process, one struct; each part is guarded by
// its own file's lock.
#ifndef EMU_RTOS_DSP_H
#define EMU_RTOS_DSP_H

#include "AEEStdErr.h"
#include "remote.h"
#include "faults.h"
#include "../common/proto.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Exported to the NPU program under its public name.
#define EMU_API __attribute__((visibility("default")))

#define EMU_LINE_BYTES 128u

extern struct emu_block *emu_block;

static inline void emu_count(enum emu_counter counter, uint64_t n) {
    atomic_fetch_add_explicit(&emu_block->counters[counter], n, memory_order_relaxed);
}

// Tells on stderr what a device would answer with corruption or a hang.
void emu_loud(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Meets a fault on request for the call |name|: true and *code when it must return at once.
bool emu_dsp_meet(const char *name, int *code);
// The same for the caller to act on EMU_FAULT_CODE (*value) and EMU_FAULT_SHORT; it has met every other action.
enum emu_fault_action emu_dsp_fault(const char *name, int64_t *value);

// --- memory below 4 GiB (lowmem.c) ---
int emu_low_init(void);
// Reserves |bytes| of the window; 0 when there is no room. Address and size in bytes are pages.
uint32_t emu_low_take(uint64_t bytes);
void emu_low_give(uint32_t address, uint64_t bytes);
uint8_t *emu_vtcm(void);
// Is |address| in the reserved ranges (window or VTCM, mapped or not)? The program's arena counts as its own memory.
bool emu_low_reserved(uint64_t address);

// --- window (window.c) ---
int emu_window_announce(int number, int fd, uint64_t bytes, uint32_t flags);
int emu_window_withdraw(int number);
void emu_window_forget(int number);
// The address of an announced and mapped buffer, NULL when it has none; *bytes its size, 0 when it was not announced.
void *emu_window_address(int number, uint64_t *bytes);
int emu_window_reference(int number, int change);

// Maps the first |bytes| of an announced buffer: NULL when it is not announced or a limit stands against it. Unmapping
// needs the same address and (in pages) size.
void *emu_window_map(int number, uint64_t bytes, int prot);
int emu_window_unmap(uint64_t address, uint64_t bytes);
// The address that a buffer announced with FASTRPC_MAP_FD has; counted.
int emu_window_get(int number, void **address);
int emu_window_put(int number);
// An address above 4 GiB that only emu_window_extended reaches, 0 for failure.
uint64_t emu_window_map_extended(int number, uint64_t bytes, int prot);

enum emu_access { EMU_READ = 1, EMU_WRITE = 2 };
// Is [address, +bytes) inside one mapping or VTCM with this access? NULL, or what is wrong with it.
const char *emu_window_check(uint64_t address, uint64_t bytes, enum emu_access access);
// Moves bytes between memory and an extended (above 4 GiB) mapping; -1 when |address| is in none.
int emu_window_extended(uint64_t address, void *memory, uint64_t bytes, bool write);

// --- queues (queue.c) ---
int emu_dsp_queue_create(uint64_t id, int fd);
int emu_dsp_queue_destroy(uint64_t id);

// --- invocations (channel.c) ---
int emu_channel_start(int fd);
// Finds the skel: in a native build by loading |path|, in an emulated one the one it was linked with.
npu_emu_skel_fn *emu_program_skel(const char *path, const char *symbol, int *code);
int emu_module_add(npu_emu_skel_fn *skel, uint64_t *module);

// --- process (process.c) ---
int emu_process_run(void);
// Ends the process, and says so to the host.
void emu_process_end(enum emu_exit_kind kind);

// --- watchdog (watchdog.c) ---
// Starts it when the host wants one; 0 or -1.
int emu_watchdog_start(void);
void emu_watchdog_step(void);
// This thread has a packet in hand, or came back to a queue.
void emu_watchdog_packet(bool taken);
void emu_watchdog_invocation(bool begins);

#endif
