// Packet rings of a queue: one memory file with two rings, requests (host to NPU) and responses. Layout and packet form
// are those of the vendor's shared queue, version 2; beside each state stands an event word to sleep on.
//
// Both sides use this file. It knows packets, not buffers' meaning: translating and counting references is the callers'
// job, as are result codes. One writer and one reader at a time for each ring: the callers lock.
#ifndef EMU_COMMON_RING_H
#define EMU_COMMON_RING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define EMU_RING_VERSION 2
#define EMU_RING_ALIGN   256

struct emu_ring_header {
    uint32_t queue_offset;
    uint32_t queue_length;
    uint32_t read_state_offset;
    uint32_t write_state_offset;
};

struct emu_queue_header {
    uint32_t version;
    _Atomic int32_t error;
    uint32_t flags;
    struct emu_ring_header request;
    struct emu_ring_header response;
    uint32_t queue_count;
    _Atomic uint32_t imported;
};

struct emu_ring_state {
    _Atomic uint32_t position;
    _Atomic uint32_t packet_count;
    _Atomic uint32_t wait_count;
    _Atomic uint32_t event;
};

// A ring as one process sees it, with checked addresses.
struct emu_ring {
    uint8_t *data;
    uint32_t length;
    struct emu_queue_header *header;
    struct emu_ring_state *read;
    struct emu_ring_state *write;
};

struct emu_packet {
    uint32_t flags;
    uint32_t buffers;
    uint32_t message_bytes;
    uint32_t bytes;
    uint32_t position;
    const uint8_t *buffer_data;
    const uint8_t *message;
};

// Bytes of the memory file for the two queue lengths, 0 when they are out of range.
size_t emu_queue_bytes(uint32_t request_length, uint32_t response_length);
void emu_queue_layout(void *memory, uint32_t request_length, uint32_t response_length);
// Fills both views from a mapping of |bytes|; -1 when the layout does not fit in them.
int emu_queue_view(void *memory, size_t bytes, struct emu_ring *request, struct emu_ring *response);

// 0, EMSGSIZE when it can never fit, EAGAIN when it does not fit now.
int emu_ring_put(struct emu_ring *ring, uint32_t flags, const void *buffers, uint32_t buffer_count,
                 uint32_t buffer_bytes, const void *message, uint32_t message_bytes);
// 0 and *packet, EAGAIN when empty, EBADMSG when the ring's content is not a packet (a hostile or broken peer).
int emu_ring_look(struct emu_ring *ring, uint32_t buffer_bytes, struct emu_packet *packet);
void emu_ring_drop(struct emu_ring *ring, const struct emu_packet *packet);

// Waits until something may have been written / may have been read since |event| was loaded.
uint32_t emu_ring_event(const struct emu_ring_state *state);
int emu_ring_wait(struct emu_ring_state *state, uint32_t event, uint64_t deadline_ns);
// Marks the queue as broken and wakes everybody who waits on it.
void emu_queue_break(struct emu_queue_header *header, struct emu_ring *request, struct emu_ring *response, int error);

#endif
