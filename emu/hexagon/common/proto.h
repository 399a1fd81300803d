// What host library and NPU process share: the session block (settings and counters, one memory file a session), the
// messages of the control socket and those of an invoke channel. Fixed widths: an NPU process under qemu has 32 bits.
//
// An NPU process starts with the control socket as descriptor 3 and the session block as descriptor 4. The host speaks
// first on the control socket and waits for each answer; every invoking host thread has a channel of its own, a stream
// socket served by a thread of the NPU process. End of file on the control socket means the host is gone.
#ifndef EMU_COMMON_PROTO_H
#define EMU_COMMON_PROTO_H

#include <stdatomic.h>
#include <stdint.h>

#define EMU_CONTROL_FD  3
#define EMU_BLOCK_FD    4
#define EMU_BLOCK_MAGIC 0x31554D45u
#define EMU_FAULT_BYTES 2048
#define EMU_PATH_BYTES  1024
#define EMU_NAME_BYTES  128

enum emu_counter {
    EMU_COUNT_MAPPED_BYTES,
    EMU_COUNT_MAPPINGS,
    EMU_COUNT_DMA_DESCRIPTORS,
    EMU_COUNT_DMA_BYTES,
    EMU_COUNT_DMA_FAULTS,
    EMU_COUNT_INVOKES,
    EMU_COUNT_CACHE_OPS,
    EMU_COUNT_POWER_VOTES,
    EMU_COUNT_POWER_TYPES, // one bit for each type of vote that came
    EMU_COUNT_SMALL_STACKS,
    EMU_COUNT_EVENTS,
    EMU_COUNT_FAULTS_MET,
    // strict mode
    EMU_COUNT_LINES_CLEANED,
    EMU_COUNT_LINES_INVALIDATED,
    EMU_COUNT_EVICTIONS,
    EMU_COUNT_VTCM_SCALARS,
    EMU_COUNT_VIOLATIONS,
    EMU_COUNTERS
};

// How strict a process is: README, "Strict mode". All 0 in an ordinary one.
struct emu_strictness {
    uint32_t cache;      // the process sees a copy of shared buffers, which bytes enter and leave by lines
    uint32_t dma;        // transfers end at seeded times, targets are poisoned, pushes and pops are checked
    uint32_t vtcm;       // accesses to VTCM are checked and counted
    uint32_t line_bytes; // of a cache line
    uint32_t evict;      // chances in 1000: of writing a dirty line back early at a store,
    uint32_t preempt;    // and of a pause at each step of synchronisation
    uint32_t go_on;      // a violation is reported and the program goes on
};

#define EMU_KIND_BYTES      32
#define EMU_VIOLATION_BYTES 400

// The first violation of a process; |state| is 0 none, 1 being written, 2 there.
struct emu_violation {
    _Atomic uint32_t state;
    char kind[EMU_KIND_BYTES];
    char text[EMU_VIOLATION_BYTES];
};

struct emu_block {
    uint32_t magic;
    uint32_t effective_domain;
    uint32_t arch;
    uint32_t hw_threads;
    uint32_t hvx_contexts;
    uint32_t hvx_mode;
    uint32_t vtcm_bytes;
    uint32_t slots;
    uint64_t window_bytes;
    uint64_t seed;
    uint32_t pcycles_mhz;
    uint32_t farf_mask;
    uint32_t hmx_v2;
    uint32_t import_needs_callback;
    uint32_t window_by_free;
    uint32_t idle;
    uint32_t watchdog_ms; // 0: none
    uint32_t thread_priority;
    uint32_t host_pid;
    struct emu_strictness strict;
    struct emu_violation violation;
    // Fault rules of this process; |fault_turn| grows when the text changes, odd while it is being written.
    _Atomic uint32_t fault_turn;
    _Atomic uint32_t faults_met; // emu_faults.met of this process
    uint32_t exit_kind;
    char faults[EMU_FAULT_BYTES];
    _Atomic uint64_t counters[EMU_COUNTERS];
};

// Why the process ends, left in emu_block.exit_kind by the process itself or by the host that kills it.
// RESTART: the whole DSP restarts with it; RESTARTED: it ended by that of another one.
enum emu_exit_kind { EMU_EXIT_UNKNOWN, EMU_EXIT_ASKED, EMU_EXIT_KILLED, EMU_EXIT_RESTART, EMU_EXIT_RESTARTED };

enum emu_control_kind {
    EMU_CONTROL_READY = 1,
    EMU_CONTROL_CHANNEL,
    EMU_CONTROL_LOAD,
    EMU_CONTROL_MAP,
    EMU_CONTROL_UNMAP,
    EMU_CONTROL_FORGET,
    EMU_CONTROL_QUEUE_CREATE,
    EMU_CONTROL_QUEUE_DESTROY,
    EMU_CONTROL_CLOCKS,
    EMU_CONTROL_EXIT,
};

// |value| is a size or an id by kind; one descriptor may travel with the message.
struct emu_control {
    uint32_t kind;
    uint32_t flags;
    int32_t fd;
    int32_t result;
    uint64_t value;
    char name[EMU_NAME_BYTES];
    char path[EMU_PATH_BYTES];
};

// Who knows what of whom, for strict mode, in one memory file of the host process: clocks[a][b] is the last epoch of
// agent b whose writes agent a may rely on. An agent is an effective domain, 0 the host.
#define EMU_AGENTS 64

struct emu_clocks {
    _Atomic uint32_t known[EMU_AGENTS][EMU_AGENTS];
};

// The last write and a read of a cache line in memory: agent in the upper 8 bits, its epoch below.
struct emu_line {
    _Atomic uint32_t writer;
    _Atomic uint32_t reader;
};

// The last bytes of a shared buffer's file in strict mode: |lines| records lie before them, the buffer's bytes first.
struct emu_buffer_tail {
    uint32_t magic;
    uint32_t line_bytes;
    uint64_t bytes;
    uint64_t lines_at;
    uint64_t lines;
};

#define EMU_TAIL_MAGIC 0x4C494154u

// How a buffer was announced: MAPPED ones get an address at once.
enum emu_map_flags { EMU_MAP_NOW = 1, EMU_MAP_EXTENDED = 2, EMU_MAP_STATIC = 4 };

#define EMU_CALL_MAGIC 0x4C4C4143u

// Followed by |args| descriptions and the bytes of the in buffers that have no fd, in order.
struct emu_call {
    uint32_t magic;
    uint32_t scalars;
    uint32_t module;
    uint32_t args;
    uint64_t handle;
};

struct emu_call_arg {
    uint64_t bytes;
    uint64_t offset;
    int32_t fd;
    uint32_t pad;
};

// Followed, when result is 0, by the out buffers that have no fd and then the out handles as u64.
struct emu_answer {
    uint32_t magic;
    int32_t result;
};

#endif
