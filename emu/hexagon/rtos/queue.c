// dspqueue_* in the NPU process: queues announced by the host, imported by their id.
#include "emu_dsp.h"
#include "dspqueue.h"
#include "../common/futex.h"
#include "../common/queue_side.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct dspqueue {
    struct emu_queue_side side;
    uint64_t id;
    void *memory;
    size_t bytes;
    struct emu_ring in, out;
    bool imported;
    struct dspqueue *next;
};

static struct {
    pthread_mutex_t lock;
    struct dspqueue *queues;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

int emu_dsp_queue_create(uint64_t id, int fd) {
    struct dspqueue *queue = calloc(1, sizeof *queue);
    struct stat file;
    if (!queue || fd < 0 || fstat(fd, &file)) goto fail;
    queue->id = id;
    queue->bytes = (size_t)file.st_size;
    queue->memory = mmap(NULL, queue->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (queue->memory == MAP_FAILED) goto fail;
    if (emu_queue_view(queue->memory, queue->bytes, &queue->in, &queue->out)) goto fail_map;
    close(fd);
    pthread_mutex_lock(&all.lock);
    queue->next = all.queues;
    all.queues = queue;
    pthread_mutex_unlock(&all.lock);
    return 0;
fail_map:
    munmap(queue->memory, queue->bytes);
fail:
    if (fd >= 0) close(fd);
    free(queue);
    return AEE_ENOMEMORY;
}

int emu_dsp_queue_destroy(uint64_t id) {
    struct dspqueue *found = NULL;
    pthread_mutex_lock(&all.lock);
    for (struct dspqueue **link = &all.queues; *link; link = &(*link)->next) {
        if ((*link)->id != id || (*link)->imported) continue;
        found = *link;
        *link = found->next;
        break;
    }
    pthread_mutex_unlock(&all.lock);
    if (!found) return AEE_EBADPARM;
    munmap(found->memory, found->bytes);
    free(found);
    return 0;
}

static AEEResult check(void *owner, struct dspqueue_buffer *buffers, uint32_t count) {
    (void)owner;
    for (uint32_t i = 0; i < count; i++) {
        struct dspqueue_buffer *b = &buffers[i];
        uint64_t known;
        emu_window_address((int)b->fd, &known);
        if (!known) return AEE_ENOSUCHMAP;
        if (!b->size && b->offset < known && known - b->offset <= UINT32_MAX) b->size = (uint32_t)(known - b->offset);
        if (!b->size || (uint64_t)b->offset + b->size > known) return AEE_EBADPARM;
        if (b->flags & DSPQUEUE_BUFFER_FLAG_DEREF && emu_window_reference((int)b->fd, -1)) return AEE_EBADPARM;
        if (b->flags & DSPQUEUE_BUFFER_FLAG_DEREF) emu_window_reference((int)b->fd, 1);
    }
    return AEE_SUCCESS;
}

static AEEResult count_reference(const struct dspqueue_buffer *b) {
    if (b->flags & DSPQUEUE_BUFFER_FLAG_REF) return emu_window_reference((int)b->fd, 1);
    if (b->flags & DSPQUEUE_BUFFER_FLAG_DEREF) return emu_window_reference((int)b->fd, -1);
    return AEE_SUCCESS;
}

static void sent(void *owner, const struct dspqueue_buffer *buffers, uint32_t count) {
    (void)owner;
    for (uint32_t i = 0; i < count; i++) count_reference(&buffers[i]);
}

static AEEResult arrived(void *owner, struct dspqueue_buffer *buffers, uint32_t count) {
    (void)owner;
    for (uint32_t i = 0; i < count; i++) {
        struct dspqueue_buffer *b = &buffers[i];
        uint64_t known;
        uint8_t *base = emu_window_address((int)b->fd, &known);
        AEEResult result;
        if (!known) return AEE_ENOSUCHMAP;
        if ((uint64_t)b->offset + b->size > known) return AEE_EBADITEM;
        result = count_reference(b);
        if (result) return result;
        b->address = 0;
        b->ptr = base ? base + b->offset : NULL;
    }
    return AEE_SUCCESS;
}

static const struct emu_queue_owner owner_calls = {check, sent, arrived};

static AEEResult import(struct dspqueue *queue, dspqueue_callback_t packet_callback, void *context) {
    if (queue->imported) return AEE_EITEMBUSY;
    emu_queue_side_init(&queue->side, &owner_calls, queue, queue->memory, &queue->in, &queue->out);
    if (packet_callback && emu_queue_listen(&queue->side, queue, packet_callback, context)) {
        emu_queue_side_end(&queue->side);
        return AEE_EQURTTHREADCREATE;
    }
    queue->imported = true;
    atomic_store(&queue->side.header->imported, 1);
    return AEE_SUCCESS;
}

// The error callback has no use here: the process does not outlive the host.
EMU_API AEEResult dspqueue_import(uint64_t queue_id, dspqueue_callback_t packet_callback,
                                  dspqueue_callback_t error_callback, void *callback_context, dspqueue_t *queue) {
    AEEResult result = AEE_EBADPARM;
    int code;
    (void)error_callback;
    if (emu_dsp_meet("dspqueue_import", &code)) return code;
    if (!queue || (!packet_callback && emu_block->import_needs_callback)) return AEE_EBADPARM;
    pthread_mutex_lock(&all.lock);
    for (struct dspqueue *q = all.queues; q; q = q->next) {
        if (q->id != queue_id) continue;
        *queue = q;
        result = import(q, packet_callback, callback_context);
    }
    pthread_mutex_unlock(&all.lock);
    return result;
}

EMU_API AEEResult dspqueue_close(dspqueue_t queue) {
    int code;
    if (emu_dsp_meet("dspqueue_close", &code)) return code;
    if (!queue || !queue->imported) return AEE_EBADPARM;
    emu_queue_side_end(&queue->side);
    // The host may have the queue destroyed as soon as it sees the flag go; that waits for the lock.
    pthread_mutex_lock(&all.lock);
    atomic_store(&queue->side.header->imported, 0);
    queue->imported = false;
    pthread_mutex_unlock(&all.lock);
    return AEE_SUCCESS;
}

EMU_API AEEResult dspqueue_write(dspqueue_t queue, uint32_t flags, uint32_t num_buffers,
                                 struct dspqueue_buffer *buffers, uint32_t message_length, const uint8_t *message,
                                 uint32_t timeout_us) {
    int code;
    if (emu_dsp_meet("dspqueue_write", &code)) return code;
    return emu_queue_write(&queue->side, flags, num_buffers, buffers, message_length, message,
                           emu_deadline_us(timeout_us));
}

EMU_API AEEResult dspqueue_write_noblock(dspqueue_t queue, uint32_t flags, uint32_t num_buffers,
                                         struct dspqueue_buffer *buffers, uint32_t message_length,
                                         const uint8_t *message) {
    int code;
    if (emu_dsp_meet("dspqueue_write_noblock", &code)) return code;
    return emu_queue_write(&queue->side, flags, num_buffers, buffers, message_length, message, EMU_NOBLOCK);
}

EMU_API AEEResult dspqueue_read(dspqueue_t queue, uint32_t *flags, uint32_t max_buffers, uint32_t *num_buffers,
                                struct dspqueue_buffer *buffers, uint32_t max_message_length, uint32_t *message_length,
                                uint8_t *message, uint32_t timeout_us) {
    AEEResult result;
    int code;
    result = emu_queue_read(&queue->side, flags, max_buffers, num_buffers, buffers, max_message_length, message_length,
                            message, emu_deadline_us(timeout_us));
    // Counted when a packet was there, so that "the n-th read" does not depend on how often the program polls.
    if (!result && emu_dsp_meet("dspqueue_read", &code)) return code;
    return result;
}

EMU_API AEEResult dspqueue_read_noblock(dspqueue_t queue, uint32_t *flags, uint32_t max_buffers, uint32_t *num_buffers,
                                        struct dspqueue_buffer *buffers, uint32_t max_message_length,
                                        uint32_t *message_length, uint8_t *message) {
    AEEResult result;
    int code;
    result = emu_queue_read(&queue->side, flags, max_buffers, num_buffers, buffers, max_message_length, message_length,
                            message, EMU_NOBLOCK);
    if (!result && emu_dsp_meet("dspqueue_read", &code)) return code;
    return result;
}

EMU_API AEEResult dspqueue_peek(dspqueue_t queue, uint32_t *flags, uint32_t *num_buffers, uint32_t *message_length,
                                uint32_t timeout_us) {
    int code;
    if (emu_dsp_meet("dspqueue_peek", &code)) return code;
    return emu_queue_peek(&queue->side, flags, num_buffers, message_length, emu_deadline_us(timeout_us));
}

EMU_API AEEResult dspqueue_peek_noblock(dspqueue_t queue, uint32_t *flags, uint32_t *num_buffers,
                                        uint32_t *message_length) {
    return emu_queue_peek(&queue->side, flags, num_buffers, message_length, EMU_NOBLOCK);
}

EMU_API AEEResult dspqueue_write_early_wakeup_noblock(dspqueue_t queue, uint32_t wakeup_delay, uint32_t packet_flags) {
    return emu_queue_early(&queue->side, wakeup_delay, packet_flags);
}

EMU_API AEEResult dspqueue_get_stat(dspqueue_t queue, enum dspqueue_stat stat, uint64_t *value) {
    return emu_queue_stat(&queue->side, stat, value);
}
