// See queue_side.h.
#include "queue_side.h"

#include "futex.h"

#include <string.h>

#define EARLY_DEFAULT_US 1000
#define EARLY_MOST_US    2500
#define BUFFER_BYTES     ((uint32_t)sizeof(struct dspqueue_buffer))

_Static_assert(sizeof(struct dspqueue_buffer) == 24, "the packet form is the same on every machine");

void emu_queue_side_init(struct emu_queue_side *side, const struct emu_queue_owner *calls, void *owner,
                         struct emu_queue_header *header, const struct emu_ring *in, const struct emu_ring *out) {
    memset(side, 0, sizeof *side);
    side->owner_calls = calls;
    side->owner = owner;
    side->header = header;
    side->in = *in;
    side->out = *out;
    pthread_mutex_init(&side->read_lock, NULL);
    pthread_mutex_init(&side->write_lock, NULL);
}

static bool broken(const struct emu_queue_side *side) {
    return atomic_load(&side->header->error) != 0;
}

// A write to a ring that can never be read again fails unless it must not look (write_noblock).
static AEEResult put_failed(const struct emu_queue_side *side, int failed, uint64_t deadline) {
    if (failed == EMSGSIZE) return AEE_EBADPARM;
    if (failed == EBADMSG) return AEE_EINVALIDFORMAT;
    if (deadline == EMU_NOBLOCK) return AEE_EWOULDBLOCK;
    return broken(side) ? AEE_EINTERRUPTED : AEE_SUCCESS;
}

static AEEResult put(struct emu_queue_side *side, uint32_t flags, const struct dspqueue_buffer *buffers, uint32_t count,
                     const uint8_t *message, uint32_t length, uint64_t deadline) {
    for (;;) {
        uint32_t event = emu_ring_event(side->out.read);
        AEEResult result;
        int failed;
        if (deadline != EMU_NOBLOCK && broken(side)) return AEE_EINTERRUPTED;
        pthread_mutex_lock(&side->write_lock);
        failed = emu_ring_put(&side->out, flags, buffers, count, BUFFER_BYTES, message, length);
        pthread_mutex_unlock(&side->write_lock);
        if (!failed) return AEE_SUCCESS;
        result = put_failed(side, failed, deadline);
        if (result) return result;
        if (emu_ring_wait(side->out.read, event, deadline)) return AEE_EEXPIRED;
    }
}

static AEEResult check_one(const struct emu_queue_side *side, struct dspqueue_buffer *b) {
    struct emu_queue_buffer known;
    AEEResult result = side->owner_calls->look(side->owner, (int)b->fd, &known);
    if (result || known.implicit) return AEE_ENOSUCHMAP;
    if (!b->size && b->offset < known.bytes && known.bytes - b->offset <= UINT32_MAX)
        b->size = (uint32_t)(known.bytes - b->offset);
    return !b->size || (uint64_t)b->offset + b->size > known.bytes ? AEE_EBADPARM : AEE_SUCCESS;
}

static AEEResult check(const struct emu_queue_side *side, struct dspqueue_buffer *buffers, uint32_t count) {
    AEEResult result = AEE_SUCCESS;
    for (uint32_t i = 0; i < count && !result; i++) result = check_one(side, &buffers[i]);
    return result;
}

static AEEResult count_reference(const struct emu_queue_side *side, const struct dspqueue_buffer *b) {
    if (b->flags & DSPQUEUE_BUFFER_FLAG_REF) return side->owner_calls->reference(side->owner, (int)b->fd, 1);
    if (b->flags & DSPQUEUE_BUFFER_FLAG_DEREF) return side->owner_calls->reference(side->owner, (int)b->fd, -1);
    return AEE_SUCCESS;
}

static void count_back(const struct emu_queue_side *side, const struct dspqueue_buffer *buffers, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        struct dspqueue_buffer other = buffers[i];
        if (other.flags & (DSPQUEUE_BUFFER_FLAG_REF | DSPQUEUE_BUFFER_FLAG_DEREF))
            other.flags ^= DSPQUEUE_BUFFER_FLAG_REF | DSPQUEUE_BUFFER_FLAG_DEREF;
        count_reference(side, &other);
    }
}

// All of them or none. Before the packet is in the ring: what the peer does about it must find them counted.
static AEEResult count_all(const struct emu_queue_side *side, const struct dspqueue_buffer *buffers, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (!count_reference(side, &buffers[i])) continue;
        count_back(side, buffers, i);
        return AEE_EBADPARM;
    }
    return AEE_SUCCESS;
}

// Sets the receiver's addresses and counts references.
static AEEResult arrived(const struct emu_queue_side *side, struct dspqueue_buffer *buffers, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        struct dspqueue_buffer *b = &buffers[i];
        struct emu_queue_buffer known;
        AEEResult result = side->owner_calls->look(side->owner, (int)b->fd, &known);
        if (result) return result;
        if ((uint64_t)b->offset + b->size > known.bytes) return AEE_EBADITEM;
        result = count_reference(side, b);
        if (result) return result;
        b->address = 0;
        b->ptr = known.memory ? known.memory + b->offset : NULL;
    }
    return AEE_SUCCESS;
}

AEEResult emu_queue_write(struct emu_queue_side *side, uint32_t flags, uint32_t count, struct dspqueue_buffer *buffers,
                          uint32_t length, const uint8_t *message, uint64_t deadline) {
    struct dspqueue_buffer copy[DSPQUEUE_MAX_BUFFERS];
    AEEResult result;
    if (count > DSPQUEUE_MAX_BUFFERS || length > DSPQUEUE_MAX_MESSAGE_SIZE || (count && !buffers) ||
        (length && !message))
        return AEE_EBADPARM;
    if (count) memcpy(copy, buffers, count * sizeof *copy);
    for (uint32_t i = 0; i < count; i++)
        if ((copy[i].flags & (DSPQUEUE_BUFFER_FLAG_REF | DSPQUEUE_BUFFER_FLAG_DEREF)) ==
            (DSPQUEUE_BUFFER_FLAG_REF | DSPQUEUE_BUFFER_FLAG_DEREF))
            return AEE_EBADPARM;
    result = check(side, copy, count);
    if (!result) result = count_all(side, copy, count);
    if (result) return result;
    flags &= ~(uint32_t)(DSPQUEUE_PACKET_FLAG_MESSAGE | DSPQUEUE_PACKET_FLAG_BUFFERS | DSPQUEUE_PACKET_FLAG_WAKEUP);
    if (length) flags |= DSPQUEUE_PACKET_FLAG_MESSAGE;
    if (count) flags |= DSPQUEUE_PACKET_FLAG_BUFFERS;
    if (side->owner_calls->pass) side->owner_calls->pass(side->owner, true, copy, count);
    result = put(side, flags, copy, count, message, length, deadline);
    if (result) count_back(side, copy, count);
    return result;
}

AEEResult emu_queue_early(struct emu_queue_side *side, uint32_t delay_us, uint32_t flags) {
    flags |= DSPQUEUE_PACKET_FLAG_WAKEUP | DSPQUEUE_PACKET_FLAG_MESSAGE;
    return put(side, flags, NULL, 0, (const uint8_t *)&delay_us, sizeof delay_us, EMU_NOBLOCK);
}

// An early wake-up says that a packet will follow soon. It never reaches the caller; how long the packet took and
// whether it came in the announced time are statistics.
static void take_early(struct emu_queue_side *side, const struct emu_packet *packet) {
    uint32_t delay = 0;
    if (packet->message_bytes >= sizeof delay) memcpy(&delay, packet->message, sizeof delay);
    if (!delay) delay = EARLY_DEFAULT_US;
    if (delay > EARLY_MOST_US) delay = EARLY_MOST_US;
    side->early_since_ns = emu_now_ns();
    side->early_until_ns = side->early_since_ns + (uint64_t)delay * 1000;
    emu_ring_drop(&side->in, packet);
}

static void end_early(struct emu_queue_side *side) {
    uint64_t now = emu_now_ns();
    if (!side->early_since_ns) return;
    atomic_fetch_add(&side->early_wait_us, (now - side->early_since_ns) / 1000);
    if (now > side->early_until_ns) atomic_fetch_add(&side->early_misses, 1);
    side->early_since_ns = 0;
}

// Finds the next packet; with 0 the read lock is held and the caller must release it.
static AEEResult next_packet(struct emu_queue_side *side, struct emu_packet *packet, uint64_t deadline) {
    for (;;) {
        uint32_t event = emu_ring_event(side->in.write);
        int failed;
        pthread_mutex_lock(&side->read_lock);
        while (!(failed = emu_ring_look(&side->in, BUFFER_BYTES, packet)) &&
               (packet->flags & DSPQUEUE_PACKET_FLAG_WAKEUP))
            take_early(side, packet);
        if (!failed) {
            end_early(side);
            return AEE_SUCCESS;
        }
        pthread_mutex_unlock(&side->read_lock);
        if (failed == EBADMSG) return AEE_EINVALIDFORMAT;
        if (broken(side)) return AEE_EINTERRUPTED;
        if (deadline == EMU_NOBLOCK) return AEE_EWOULDBLOCK;
        if (side->packet_callback) return AEE_EBADPARM;
        if (emu_ring_wait(side->in.write, event, deadline)) return AEE_EEXPIRED;
    }
}

AEEResult emu_queue_peek(struct emu_queue_side *side, uint32_t *flags, uint32_t *count, uint32_t *length,
                         uint64_t deadline) {
    struct emu_packet packet;
    AEEResult result = next_packet(side, &packet, deadline);
    if (result) return result;
    pthread_mutex_unlock(&side->read_lock);
    if (flags) *flags = packet.flags;
    if (count) *count = packet.buffers;
    if (length) *length = packet.message_bytes;
    return AEE_SUCCESS;
}

AEEResult emu_queue_read(struct emu_queue_side *side, uint32_t *flags, uint32_t max_buffers, uint32_t *count,
                         struct dspqueue_buffer *buffers, uint32_t max_length, uint32_t *length, uint8_t *message,
                         uint64_t deadline) {
    struct emu_packet packet;
    AEEResult result = next_packet(side, &packet, deadline);
    if (result) return result;
    if (packet.buffers > max_buffers || packet.message_bytes > max_length || packet.buffers > DSPQUEUE_MAX_BUFFERS) {
        pthread_mutex_unlock(&side->read_lock);
        return AEE_EBADPARM;
    }
    if (packet.buffers) memcpy(buffers, packet.buffer_data, packet.buffers * sizeof *buffers);
    if (packet.message_bytes) memcpy(message, packet.message, packet.message_bytes);
    emu_ring_drop(&side->in, &packet);
    pthread_mutex_unlock(&side->read_lock);
    if (flags) *flags = packet.flags;
    if (count) *count = packet.buffers;
    if (length) *length = packet.message_bytes;
    result = arrived(side, buffers, packet.buffers);
    if (side->owner_calls->pass) side->owner_calls->pass(side->owner, false, buffers, packet.buffers);
    return result;
}

static uint64_t used_bytes(const struct emu_ring *ring) {
    uint32_t write = atomic_load(&ring->write->position), read = atomic_load(&ring->read->position);
    return write >= read ? write - read : ring->length - read + write;
}

static uint64_t used_packets(const struct emu_ring *ring) {
    return atomic_load(&ring->write->packet_count) - atomic_load(&ring->read->packet_count);
}

AEEResult emu_queue_stat(struct emu_queue_side *side, enum dspqueue_stat stat, uint64_t *value) {
    if (!value) return AEE_EBADPARM;
    switch (stat) {
    case DSPQUEUE_STAT_READ_QUEUE_PACKETS:
        *value = used_packets(&side->in);
        return AEE_SUCCESS;
    case DSPQUEUE_STAT_READ_QUEUE_BYTES:
        *value = used_bytes(&side->in);
        return AEE_SUCCESS;
    case DSPQUEUE_STAT_WRITE_QUEUE_PACKETS:
        *value = used_packets(&side->out);
        return AEE_SUCCESS;
    case DSPQUEUE_STAT_WRITE_QUEUE_BYTES:
        *value = used_bytes(&side->out);
        return AEE_SUCCESS;
    case DSPQUEUE_STAT_EARLY_WAKEUP_WAIT_TIME:
        *value = atomic_exchange(&side->early_wait_us, 0);
        return AEE_SUCCESS;
    case DSPQUEUE_STAT_EARLY_WAKEUP_MISSES:
        *value = atomic_exchange(&side->early_misses, 0);
        return AEE_SUCCESS;
    case DSPQUEUE_STAT_SIGNALING_PERF:
        *value = 1000;
        return AEE_SUCCESS;
    default:
        return AEE_EBADPARM;
    }
}

// Calls the packet callback when something came in and packets are there; the callback reads until there are none.
static void *run_listener(void *argument) {
    struct emu_queue_side *side = argument;
    while (!atomic_load(&side->stopping)) {
        uint32_t event = emu_ring_event(side->in.write);
        if (used_bytes(&side->in)) side->packet_callback(side->queue, AEE_SUCCESS, side->context);
        if (atomic_load(&side->stopping) || broken(side)) break;
        emu_ring_wait(side->in.write, event, EMU_FOREVER);
    }
    return NULL;
}

int emu_queue_listen(struct emu_queue_side *side, dspqueue_t queue, dspqueue_callback_t callback, void *context) {
    int error;
    side->queue = queue;
    side->context = context;
    side->packet_callback = callback;
    error = pthread_create(&side->listener, NULL, run_listener, side);
    if (error) side->packet_callback = NULL;
    return error;
}

void emu_queue_side_end(struct emu_queue_side *side) {
    if (side->packet_callback) {
        atomic_store(&side->stopping, true);
        atomic_fetch_add(&side->in.write->event, 1);
        emu_futex_wake(&side->in.write->event, INT_MAX);
        pthread_join(side->listener, NULL);
    }
    pthread_mutex_destroy(&side->read_lock);
    pthread_mutex_destroy(&side->write_lock);
}
