// What the two sides of the emulated device say to each other: whole messages over a SOCK_SEQPACKET socket. Device
// memory is one shared memory file, sent with HELLO; everything else names places in it by offset.
#ifndef EMU_XDNA_PROTO_H
#define EMU_XDNA_PROTO_H

#include <stdint.h>

#define EMU_XDNA_SOCKET 3 // descriptor of the device process
#define EMU_XDNA_ARGS   8

enum emu_xdna_kind {
    EMU_XDNA_HELLO, // to the device: settings, and the memory file
    EMU_XDNA_EXEC,  // to the device: one command
    EMU_XDNA_RESET, // to the device: forget all commands of |context|
    EMU_XDNA_DONE,  // from the device: |state| of the command, and what it wrote
};

// A part of device memory. An argument reaches to the end of its buffer.
struct emu_xdna_range {
    uint64_t offset, bytes;
};

struct emu_xdna_message {
    uint32_t kind, context;
    uint64_t sequence;
    union {
        struct {
            uint64_t memory_bytes, seed;
            uint32_t generation; // 1, 2
            uint32_t columns;
            uint32_t shuffle; // commands of different contexts end in an order drawn from |seed|
        } hello;
        struct {
            struct emu_xdna_range pdi, insts, args[EMU_XDNA_ARGS];
            uint32_t n_args, columns; // of the context
            uint32_t fault;           // enum emu_fault_action
            int64_t value;
        } exec;
        struct {
            uint32_t state;
            struct emu_xdna_range wrote;
        } done;
    };
};

#endif
