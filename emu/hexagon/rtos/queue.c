// dspqueue_* in the NPU process: queues announced by the host, imported by their id. Reading and
// writing: common/queue_calls.c.
#include "emu_dsp.h"
#include "dspqueue.h"
#include "../common/futex.h"
#include "../common/queue_side.h"
#include "../strict/strict.h"

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

static AEEResult look(void *owner, int fd, struct emu_queue_buffer *buffer) {
    (void)owner;
    buffer->memory = emu_window_address(fd, &buffer->bytes);
    buffer->implicit = false;
    return buffer->bytes ? AEE_SUCCESS : AEE_ENOSUCHMAP;
}

static AEEResult reference(void *owner, int fd, int change) {
    (void)owner;
    return emu_window_reference(fd, change);
}

// What the library does with caches by a buffer's flags, and no more.
static void upkeep(const struct dspqueue_buffer *b, uint32_t clean, uint32_t invalidate) {
    uint64_t known;
    uint8_t *base = emu_window_address((int)b->fd, &known);
    if (base && b->flags & (clean | invalidate))
        emu_strict_clean((uintptr_t)base + b->offset, b->size, b->flags & clean, b->flags & invalidate);
}

static void pass(void *owner, bool leaves, const struct dspqueue_buffer *buffers, uint32_t count) {
    (void)owner;
    if (!leaves && emu_strict_cache()) emu_strict_receive();
    for (uint32_t i = 0; emu_strict_cache() && i < count; i++)
        if (leaves)
            upkeep(&buffers[i], DSPQUEUE_BUFFER_FLAG_FLUSH_SENDER, DSPQUEUE_BUFFER_FLAG_INVALIDATE_SENDER);
        else
            upkeep(&buffers[i], DSPQUEUE_BUFFER_FLAG_FLUSH_RECIPIENT, DSPQUEUE_BUFFER_FLAG_INVALIDATE_RECIPIENT);
    if (leaves) emu_strict_answer();
}

static const struct emu_queue_owner owner_calls = {look, reference, emu_dsp_meet, pass, emu_watchdog_packet, true};

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
