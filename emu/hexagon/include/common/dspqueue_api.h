// The packet queue between host and DSP: types, limits and the calls both sides have. Included by host/dspqueue.h and
// dsp/dspqueue.h after their AEEStdErr.h.
#ifndef NPU_EMU_DSPQUEUE_API_H
#define NPU_EMU_DSPQUEUE_API_H

#include <stdint.h>

typedef struct dspqueue *dspqueue_t;
typedef void (*dspqueue_callback_t)(dspqueue_t queue, AEEResult error, void *context);

#define DSPQUEUE_TIMEOUT_NONE 0xFFFFFFFFu

#define DSPQUEUE_MAX_BUFFERS        64
#define DSPQUEUE_MAX_MESSAGE_SIZE   65536
#define DSPQUEUE_MAX_QUEUE_SIZE     16777216
#define DSPQUEUE_MAX_PROCESS_QUEUES 64
#define DSPQUEUE_DEFAULT_REQ_SIZE   65536
#define DSPQUEUE_DEFAULT_RESP_SIZE  16384

enum dspqueue_packet_flags {
    DSPQUEUE_PACKET_FLAG_MESSAGE = 0x0001,
    DSPQUEUE_PACKET_FLAG_BUFFERS = 0x0002,
    DSPQUEUE_PACKET_FLAG_WAKEUP = 0x0004,
    DSPQUEUE_PACKET_FLAG_DRIVER_READY = 0x0008,
    DSPQUEUE_PACKET_FLAG_USER_READY = 0x0010,
};

enum dspqueue_buffer_flags {
    DSPQUEUE_BUFFER_FLAG_REF = 0x04,
    DSPQUEUE_BUFFER_FLAG_DEREF = 0x08,
    DSPQUEUE_BUFFER_FLAG_FLUSH_SENDER = 0x10,
    DSPQUEUE_BUFFER_FLAG_INVALIDATE_SENDER = 0x20,
    DSPQUEUE_BUFFER_FLAG_FLUSH_RECIPIENT = 0x40,
    DSPQUEUE_BUFFER_FLAG_INVALIDATE_RECIPIENT = 0x80,
};

// 24 bytes on every machine: fd is the host's number on both sides, |ptr| the receiver's own address.
struct dspqueue_buffer {
    uint32_t fd;
    uint32_t size;
    uint32_t offset;
    uint32_t flags;
    union {
        void *ptr;
        uint64_t address;
    };
};

enum dspqueue_stat {
    DSPQUEUE_STAT_READ_QUEUE_PACKETS = 1,
    DSPQUEUE_STAT_READ_QUEUE_BYTES = 2,
    DSPQUEUE_STAT_WRITE_QUEUE_PACKETS = 3,
    DSPQUEUE_STAT_WRITE_QUEUE_BYTES = 4,
    DSPQUEUE_STAT_EARLY_WAKEUP_WAIT_TIME = 5,
    DSPQUEUE_STAT_EARLY_WAKEUP_MISSES = 6,
    DSPQUEUE_STAT_SIGNALING_PERF = 7,
};

AEEResult dspqueue_close(dspqueue_t queue);
AEEResult dspqueue_write(dspqueue_t queue, uint32_t flags, uint32_t num_buffers, struct dspqueue_buffer *buffers,
                         uint32_t message_length, const uint8_t *message, uint32_t timeout_us);
AEEResult dspqueue_write_noblock(dspqueue_t queue, uint32_t flags, uint32_t num_buffers,
                                 struct dspqueue_buffer *buffers, uint32_t message_length, const uint8_t *message);
AEEResult dspqueue_read(dspqueue_t queue, uint32_t *flags, uint32_t max_buffers, uint32_t *num_buffers,
                        struct dspqueue_buffer *buffers, uint32_t max_message_length, uint32_t *message_length,
                        uint8_t *message, uint32_t timeout_us);
AEEResult dspqueue_read_noblock(dspqueue_t queue, uint32_t *flags, uint32_t max_buffers, uint32_t *num_buffers,
                                struct dspqueue_buffer *buffers, uint32_t max_message_length, uint32_t *message_length,
                                uint8_t *message);
AEEResult dspqueue_peek(dspqueue_t queue, uint32_t *flags, uint32_t *num_buffers, uint32_t *message_length,
                        uint32_t timeout_us);
AEEResult dspqueue_peek_noblock(dspqueue_t queue, uint32_t *flags, uint32_t *num_buffers, uint32_t *message_length);
AEEResult dspqueue_write_early_wakeup_noblock(dspqueue_t queue, uint32_t wakeup_delay, uint32_t packet_flags);
AEEResult dspqueue_get_stat(dspqueue_t queue, enum dspqueue_stat stat, uint64_t *value);

#endif
