// One end of a packet queue, for both sides: reading, writing, peeking, waiting, and the thread that calls a packet
// callback. Compiled twice, once with the host's AEEStdErr.h and once with the DSP's: the codes carry each side's
// offset. Buffers of packets and faults are the owner's business, through emu_queue_owner.
#ifndef EMU_COMMON_QUEUE_SIDE_H
#define EMU_COMMON_QUEUE_SIDE_H

#include "AEEStdErr.h"
#include "dspqueue_api.h"
#include "ring.h"

#include <pthread.h>
#include <stdbool.h>

// A buffer a packet may name, as the side knows it.
struct emu_queue_buffer {
    uint8_t *memory; // NULL when the side has no address for it
    uint64_t bytes;
    bool implicit; // mapped for one invocation only: not for packets that leave
};

struct emu_queue_owner {
    // 0 or AEE_ENOSUCHMAP.
    AEEResult (*look)(void *owner, int fd, struct emu_queue_buffer *buffer);
    // Adds |change| to the references of |fd|; AEE_EBADPARM when there are fewer.
    AEEResult (*reference)(void *owner, int fd, int change);
    // A fault on request for the public call |name|: true and *code when the call must return at once.
    bool (*meet)(const char *name, int *code);
    // A packet with these buffers is about to leave (before the copy that is sent), or has come: caches and clocks of
    // strict mode. May be NULL.
    void (*pass)(void *owner, bool leaves, const struct dspqueue_buffer *buffers, uint32_t count);
    // This thread has taken a packet, or comes back to a queue. May be NULL.
    void (*has)(bool packet);
    // This side polls: a read counts for faults when it got a packet, so that "the n-th read" does not depend on how
    // often.
    bool polls;
};

// A side's struct dspqueue begins with it; the public calls of both sides are in queue_calls.c.
struct emu_queue_side {
    const struct emu_queue_owner *owner_calls;
    void *owner;
    struct emu_queue_header *header;
    struct emu_ring in, out;
    pthread_mutex_t read_lock, write_lock;
    _Atomic uint64_t early_wait_us, early_misses;
    uint64_t early_since_ns, early_until_ns;
    // listener of the packet callback
    dspqueue_callback_t packet_callback;
    dspqueue_t queue;
    void *context;
    pthread_t listener;
    atomic_bool stopping;
};

#define EMU_NOBLOCK 0u

void emu_queue_side_init(struct emu_queue_side *side, const struct emu_queue_owner *calls, void *owner,
                         struct emu_queue_header *header, const struct emu_ring *in, const struct emu_ring *out);
void emu_queue_side_end(struct emu_queue_side *side);
// Starts the thread that calls |callback|; 0 or an errno.
int emu_queue_listen(struct emu_queue_side *side, dspqueue_t queue, dspqueue_callback_t callback, void *context);

// |deadline_ns| EMU_NOBLOCK answers AEE_EWOULDBLOCK at once, any other time AEE_EEXPIRED when it has passed.
AEEResult emu_queue_write(struct emu_queue_side *side, uint32_t flags, uint32_t count, struct dspqueue_buffer *buffers,
                          uint32_t length, const uint8_t *message, uint64_t deadline_ns);
AEEResult emu_queue_read(struct emu_queue_side *side, uint32_t *flags, uint32_t max_buffers, uint32_t *count,
                         struct dspqueue_buffer *buffers, uint32_t max_length, uint32_t *length, uint8_t *message,
                         uint64_t deadline_ns);
AEEResult emu_queue_peek(struct emu_queue_side *side, uint32_t *flags, uint32_t *count, uint32_t *length,
                         uint64_t deadline_ns);
AEEResult emu_queue_stat(struct emu_queue_side *side, enum dspqueue_stat stat, uint64_t *value);
AEEResult emu_queue_early(struct emu_queue_side *side, uint32_t delay_us, uint32_t flags);

#endif
