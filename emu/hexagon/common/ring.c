// See ring.h. Positions and lengths read from shared memory are checked before use: the peer is another process.
#include "ring.h"

#include "futex.h"

#include <errno.h>
#include <string.h>

static uint32_t align(uint32_t value, uint32_t to) {
    return (value + to - 1) / to * to;
}

size_t emu_queue_bytes(uint32_t request_length, uint32_t response_length) {
    const uint32_t most = 16u << 20;
    if (request_length > most || response_length > most || request_length < 16 || response_length < 16) return 0;
    return align(sizeof(struct emu_queue_header), EMU_RING_ALIGN) + 4u * EMU_RING_ALIGN +
           align(request_length, EMU_RING_ALIGN) + align(response_length, EMU_RING_ALIGN);
}

void emu_queue_layout(void *memory, uint32_t request_length, uint32_t response_length) {
    struct emu_queue_header *h = memory;
    uint32_t at = align(sizeof *h, EMU_RING_ALIGN);
    h->version = EMU_RING_VERSION;
    h->queue_count = 2;
    h->flags = 1;
    h->request = (struct emu_ring_header){0, request_length, at, at + EMU_RING_ALIGN};
    at += 2 * EMU_RING_ALIGN;
    h->response = (struct emu_ring_header){0, response_length, at, at + EMU_RING_ALIGN};
    at += 2 * EMU_RING_ALIGN;
    h->request.queue_offset = at;
    h->response.queue_offset = at + align(request_length, EMU_RING_ALIGN);
}

static int ring_view(uint8_t *memory, size_t bytes, const struct emu_ring_header *h, struct emu_ring *ring) {
    size_t state = sizeof(struct emu_ring_state);
    if (h->queue_length < 16 || h->queue_length > bytes || h->queue_offset > bytes - h->queue_length ||
        h->read_state_offset > bytes - state || h->write_state_offset > bytes - state || h->queue_offset % 8 ||
        h->read_state_offset % 4 || h->write_state_offset % 4)
        return -1;
    ring->data = memory + h->queue_offset;
    ring->length = h->queue_length & ~7u;
    ring->header = (struct emu_queue_header *)memory;
    ring->read = (struct emu_ring_state *)(memory + h->read_state_offset);
    ring->write = (struct emu_ring_state *)(memory + h->write_state_offset);
    return 0;
}

int emu_queue_view(void *memory, size_t bytes, struct emu_ring *request, struct emu_ring *response) {
    struct emu_queue_header *h = memory;
    if (bytes < sizeof *h + 4 * EMU_RING_ALIGN || h->version != EMU_RING_VERSION) return -1;
    if (ring_view(memory, bytes, &h->request, request)) return -1;
    return ring_view(memory, bytes, &h->response, response);
}

static void move(struct emu_ring_state *state, uint32_t position) {
    atomic_store(&state->position, position);
    atomic_fetch_add(&state->event, 1);
    if (atomic_load(&state->wait_count)) emu_futex_wake(&state->event, INT_MAX);
}

static void publish(struct emu_ring_state *state, uint32_t position) {
    atomic_fetch_add(&state->packet_count, 1);
    move(state, position);
}

// Where |bytes| can be written: at the write position, or at the ring's start when they don't fit to its end; a zero
// header at the old position then sends the reader there. Some room always stays free, so that equal positions mean
// empty.
// |write| is loaded once by the caller: the peer could change it between two looks.
static int place(struct emu_ring *ring, uint32_t write, uint32_t bytes, uint32_t *at) {
    uint32_t read = atomic_load(&ring->read->position);
    if (bytes > ring->length - 8) return EMSGSIZE;
    if (write >= ring->length || read >= ring->length || write % 8 || read % 8) return EBADMSG;
    if (write < read) {
        *at = write;
        return bytes < read - write ? 0 : EAGAIN;
    }
    if (bytes < ring->length - write || (bytes == ring->length - write && read > 0)) {
        *at = write;
        return 0;
    }
    *at = 0;
    if (bytes < read) return 0;
    if (write == read) {
        // Empty, but the packet fits on neither side of the position: ask the reader to start over.
        memset(ring->data + write, 0, 8);
        move(ring->write, 0);
    }
    return EAGAIN;
}

int emu_ring_put(struct emu_ring *ring, uint32_t flags, const void *buffers, uint32_t buffer_count,
                 uint32_t buffer_bytes, const void *message, uint32_t message_bytes) {
    uint32_t body = align(buffer_count * buffer_bytes, 8), bytes = 8 + body + align(message_bytes, 8), at, after;
    uint32_t write = atomic_load(&ring->write->position);
    uint64_t head;
    int failed = place(ring, write, bytes, &at);
    if (failed) return failed;
    if (at != write) memset(ring->data + write, 0, 8);
    head = (uint64_t)(8 + body + message_bytes) | (uint64_t)(flags & 0xFFFFu) << 32 | (uint64_t)buffer_count << 48 |
           (uint64_t)(atomic_load(&ring->write->packet_count) & 0xFFu) << 56;
    memcpy(ring->data + at, &head, 8);
    if (buffer_count) memcpy(ring->data + at + 8, buffers, buffer_count * buffer_bytes);
    if (message_bytes) memcpy(ring->data + at + 8 + body, message, message_bytes);
    after = at + bytes;
    publish(ring->write, after >= ring->length ? 0 : after);
    return 0;
}

int emu_ring_look(struct emu_ring *ring, uint32_t buffer_bytes, struct emu_packet *packet) {
    uint32_t write = atomic_load(&ring->write->position), read = atomic_load(&ring->read->position);
    uint32_t bytes, body;
    uint64_t head;
    if (write >= ring->length || read >= ring->length || write % 8 || read % 8) return EBADMSG;
    if (write == read) return EAGAIN;
    memcpy(&head, ring->data + read, 8);
    if (!head) {
        if (write > read) return EBADMSG;
        read = 0;
        if (write == 0) {
            move(ring->read, 0);
            return EAGAIN;
        }
        memcpy(&head, ring->data, 8);
    }
    bytes = (uint32_t)head;
    packet->flags = (uint32_t)(head >> 32) & 0xFFFFu;
    packet->buffers = (uint32_t)(head >> 48) & 0xFFu;
    body = align(packet->buffers * buffer_bytes, 8);
    if (bytes < 8 + body || bytes > ring->length - read) return EBADMSG;
    packet->message_bytes = bytes - 8 - body;
    packet->bytes = align(bytes, 8);
    packet->position = read;
    packet->buffer_data = ring->data + read + 8;
    packet->message = packet->buffer_data + body;
    return 0;
}

void emu_ring_drop(struct emu_ring *ring, const struct emu_packet *packet) {
    uint32_t after = packet->position + packet->bytes;
    publish(ring->read, after >= ring->length ? 0 : after);
}

uint32_t emu_ring_event(const struct emu_ring_state *state) {
    return atomic_load(&state->event);
}

int emu_ring_wait(struct emu_ring_state *state, uint32_t event, uint64_t deadline_ns) {
    int result;
    atomic_fetch_add(&state->wait_count, 1);
    result = emu_futex_wait(&state->event, event, deadline_ns);
    atomic_fetch_sub(&state->wait_count, 1);
    return result;
}

void emu_queue_break(struct emu_queue_header *header, struct emu_ring *request, struct emu_ring *response, int error) {
    struct emu_ring_state *all[] = {request->read, request->write, response->read, response->write};
    atomic_store(&header->error, error);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        atomic_fetch_add(&all[i]->event, 1);
        emu_futex_wake(&all[i]->event, INT_MAX);
    }
}
