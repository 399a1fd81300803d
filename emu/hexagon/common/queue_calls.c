// The dspqueue_* calls that both sides have, under their public names: faults on request, then queue_side.h. Creating,
// importing and closing differ and are with each side.
#include "queue_side.h"

#include "futex.h"

#define EMU_API __attribute__((visibility("default")))

static struct emu_queue_side *side_of(dspqueue_t queue) {
    return (struct emu_queue_side *)queue;
}

static bool meet(dspqueue_t queue, const char *name, int *code) {
    return side_of(queue)->owner_calls->meet(name, code);
}

static void has(dspqueue_t queue, bool packet) {
    if (side_of(queue)->owner_calls->has) side_of(queue)->owner_calls->has(packet);
}

static AEEResult read_packet(dspqueue_t queue, const char *name, uint32_t *flags, uint32_t max_buffers, uint32_t *count,
                             struct dspqueue_buffer *buffers, uint32_t max_length, uint32_t *length, uint8_t *message,
                             uint64_t deadline) {
    struct emu_queue_side *side = side_of(queue);
    AEEResult result;
    int code;
    if (!side->owner_calls->polls && meet(queue, name, &code)) return code;
    has(queue, false);
    result = emu_queue_read(side, flags, max_buffers, count, buffers, max_length, length, message, deadline);
    if (!result) has(queue, true);
    if (!result && side->owner_calls->polls && meet(queue, "dspqueue_read", &code)) return code;
    return result;
}

EMU_API AEEResult dspqueue_write(dspqueue_t queue, uint32_t flags, uint32_t num_buffers,
                                 struct dspqueue_buffer *buffers, uint32_t message_length, const uint8_t *message,
                                 uint32_t timeout_us) {
    int code;
    if (meet(queue, "dspqueue_write", &code)) return code;
    has(queue, false);
    return emu_queue_write(side_of(queue), flags, num_buffers, buffers, message_length, message,
                           emu_deadline_us(timeout_us));
}

EMU_API AEEResult dspqueue_write_noblock(dspqueue_t queue, uint32_t flags, uint32_t num_buffers,
                                         struct dspqueue_buffer *buffers, uint32_t message_length,
                                         const uint8_t *message) {
    int code;
    if (meet(queue, "dspqueue_write_noblock", &code)) return code;
    has(queue, false);
    return emu_queue_write(side_of(queue), flags, num_buffers, buffers, message_length, message, EMU_NOBLOCK);
}

EMU_API AEEResult dspqueue_read(dspqueue_t queue, uint32_t *flags, uint32_t max_buffers, uint32_t *num_buffers,
                                struct dspqueue_buffer *buffers, uint32_t max_message_length, uint32_t *message_length,
                                uint8_t *message, uint32_t timeout_us) {
    return read_packet(queue, "dspqueue_read", flags, max_buffers, num_buffers, buffers, max_message_length,
                       message_length, message, emu_deadline_us(timeout_us));
}

EMU_API AEEResult dspqueue_read_noblock(dspqueue_t queue, uint32_t *flags, uint32_t max_buffers, uint32_t *num_buffers,
                                        struct dspqueue_buffer *buffers, uint32_t max_message_length,
                                        uint32_t *message_length, uint8_t *message) {
    return read_packet(queue, "dspqueue_read_noblock", flags, max_buffers, num_buffers, buffers, max_message_length,
                       message_length, message, EMU_NOBLOCK);
}

EMU_API AEEResult dspqueue_peek(dspqueue_t queue, uint32_t *flags, uint32_t *num_buffers, uint32_t *message_length,
                                uint32_t timeout_us) {
    int code;
    if (meet(queue, "dspqueue_peek", &code)) return code;
    has(queue, false);
    return emu_queue_peek(side_of(queue), flags, num_buffers, message_length, emu_deadline_us(timeout_us));
}

EMU_API AEEResult dspqueue_peek_noblock(dspqueue_t queue, uint32_t *flags, uint32_t *num_buffers,
                                        uint32_t *message_length) {
    int code;
    if (!side_of(queue)->owner_calls->polls && meet(queue, "dspqueue_peek_noblock", &code)) return code;
    return emu_queue_peek(side_of(queue), flags, num_buffers, message_length, EMU_NOBLOCK);
}

EMU_API AEEResult dspqueue_write_early_wakeup_noblock(dspqueue_t queue, uint32_t wakeup_delay, uint32_t packet_flags) {
    int code;
    if (meet(queue, "dspqueue_write_early_wakeup_noblock", &code)) return code;
    return emu_queue_early(side_of(queue), wakeup_delay, packet_flags);
}

EMU_API AEEResult dspqueue_get_stat(dspqueue_t queue, enum dspqueue_stat stat, uint64_t *value) {
    int code;
    if (meet(queue, "dspqueue_get_stat", &code)) return code;
    return emu_queue_stat(side_of(queue), stat, value);
}
