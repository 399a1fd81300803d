// dspqueue_* on the host: creation in shared memory, what packets may name, and the end of a queue whose NPU process
// died. Reading and writing: common/queue_calls.c.
#include "emu_host.h"
#include "dspqueue.h"
#include "../common/futex.h"
#include "../common/queue_side.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct dspqueue {
    struct emu_queue_side side;
    struct emu_session *session;
    uint32_t generation;
    uint64_t id;
    void *memory;
    size_t bytes;
    dspqueue_callback_t error_callback;
    void *context;
    bool reported; // its error callback has been begun
    bool *closed;  // while that is at work: what to set when it closes the queue itself
    pthread_t caller;
    struct dspqueue *next;
};

static AEEResult look(void *owner, int fd, struct emu_queue_buffer *buffer) {
    const struct dspqueue *queue = owner;
    const struct emu_mapping *mapping;
    emu_lock();
    mapping = emu_mapping_find(queue->session, fd);
    if (mapping) *buffer = (struct emu_queue_buffer){mapping->memory, mapping->bytes, mapping->implicit};
    emu_unlock();
    return mapping ? AEE_SUCCESS : AEE_ENOSUCHMAP;
}

static AEEResult reference(void *owner, int fd, int change) {
    const struct dspqueue *queue = owner;
    AEEResult result = AEE_SUCCESS;
    struct emu_mapping *mapping;
    emu_lock();
    mapping = emu_mapping_find(queue->session, fd);
    if (!mapping)
        result = AEE_ENOSUCHMAP;
    else if (change < 0 && !mapping->references)
        result = AEE_EBADPARM;
    else
        mapping->references += (uint32_t)change;
    emu_unlock();
    return result;
}

// The host's caches are coherent with the NPU's memory: flags of buffers mean nothing here.
static void pass(void *owner, bool leaves, const struct dspqueue_buffer *buffers, uint32_t count) {
    const struct dspqueue *queue = owner;
    (void)buffers, (void)count;
    if (!leaves) emu_strict_answered(queue->session);
}

static const struct emu_queue_owner owner_calls = {look, reference, emu_meet, pass, NULL, false};

static int make_memory(struct dspqueue *queue, uint32_t request, uint32_t response, int *fd) {
    struct emu_ring in, out;
    queue->bytes = emu_queue_bytes(request, response);
    if (!queue->bytes) return AEE_EBADPARM;
    *fd = memfd_create("npu-emu-queue", MFD_CLOEXEC);
    if (*fd < 0 || ftruncate(*fd, (off_t)queue->bytes)) return AEE_ENOMEMORY;
    queue->memory = mmap(NULL, queue->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (queue->memory == MAP_FAILED) {
        queue->memory = NULL;
        return AEE_ENOMEMORY;
    }
    emu_queue_layout(queue->memory, request, response);
    if (emu_queue_view(queue->memory, queue->bytes, &out, &in)) return AEE_EBADPARM;
    emu_queue_side_init(&queue->side, &owner_calls, queue, queue->memory, &in, &out);
    return 0;
}

// Adds the queue to its session and tells the process. The session is already used for it.
static int attach(struct dspqueue *queue, int fd) {
    struct emu_session *session = queue->session;
    struct emu_control message = {.kind = EMU_CONTROL_QUEUE_CREATE};
    emu_lock();
    if (session->queue_count == DSPQUEUE_MAX_PROCESS_QUEUES) {
        emu_unlock();
        return AEE_ENOMORE;
    }
    queue->id = emu.next_queue++ << 32 | 0x80000000u;
    queue->generation = session->generation;
    queue->next = session->queues;
    session->queues = queue;
    session->queue_count++;
    emu_unlock();
    message.value = queue->id;
    return emu_session_ask(session, &message, fd);
}

// Takes the queue from its session. An error callback that is at work ends first, unless this is it.
static void detach(struct dspqueue *queue) {
    struct emu_session *session = queue->session;
    emu_lock();
    for (struct dspqueue **at = &session->queues; *at; at = &(*at)->next) {
        if (*at != queue) continue;
        *at = queue->next;
        session->queue_count--;
        break;
    }
    while (queue->closed && !pthread_equal(queue->caller, pthread_self())) pthread_cond_wait(&emu.changed, &emu.lock);
    if (queue->closed) *queue->closed = true;
    emu_unlock();
}

static void destroy(struct dspqueue *queue) {
    if (queue->memory) {
        emu_queue_side_end(&queue->side);
        munmap(queue->memory, queue->bytes);
    }
    free(queue);
}

static int build(struct dspqueue *queue, uint32_t request, uint32_t response, dspqueue_callback_t packet_callback) {
    int fd = -1, result = make_memory(queue, request, response, &fd);
    if (!result) {
        result = attach(queue, fd);
        if (!result && packet_callback && emu_queue_listen(&queue->side, queue, packet_callback, queue->context))
            result = AEE_ENOMEMORY;
        if (result) detach(queue);
    }
    if (fd >= 0) close(fd);
    return result;
}

EMU_API AEEResult dspqueue_create(int domain, uint32_t flags, uint32_t req_queue_size, uint32_t resp_queue_size,
                                  dspqueue_callback_t packet_callback, dspqueue_callback_t error_callback,
                                  void *callback_context, dspqueue_t *queue) {
    struct emu_session *session;
    struct dspqueue *made;
    int result, code;
    if (emu_meet("dspqueue_create", &code)) return code;
    if (!queue || flags || req_queue_size > DSPQUEUE_MAX_QUEUE_SIZE || resp_queue_size > DSPQUEUE_MAX_QUEUE_SIZE)
        return AEE_EBADPARM;
    emu_lock();
    domain = emu_default_domain(domain);
    session = emu_session_of(domain);
    emu_unlock();
    if (!session) return AEE_EUNSUPPORTED;
    result = emu_session_use(session, NULL);
    if (result) return result;
    made = calloc(1, sizeof *made);
    if (made) {
        made->session = session;
        made->error_callback = error_callback;
        made->context = callback_context;
        result = build(made, req_queue_size ? req_queue_size : DSPQUEUE_DEFAULT_REQ_SIZE,
                       resp_queue_size ? resp_queue_size : DSPQUEUE_DEFAULT_RESP_SIZE, packet_callback);
        if (result) destroy(made);
    } else {
        result = AEE_ENOMEMORY;
    }
    if (result)
        emu_session_leave(session);
    else
        *queue = made;
    return result;
}

EMU_API AEEResult dspqueue_close(dspqueue_t queue) {
    struct emu_control message = {.kind = EMU_CONTROL_QUEUE_DESTROY};
    struct emu_session *session;
    int code;
    if (emu_meet("dspqueue_close", &code)) return code;
    if (!queue) return AEE_EBADPARM;
    session = queue->session;
    if (!atomic_load(&queue->side.header->error) && atomic_load(&queue->side.header->imported)) return AEE_EBADPARM;
    detach(queue);
    message.value = queue->id;
    emu_session_ask(session, &message, -1);
    destroy(queue);
    emu_session_leave(session);
    return AEE_SUCCESS;
}

EMU_API AEEResult dspqueue_export(dspqueue_t queue, uint64_t *queue_id) {
    int code;
    if (emu_meet("dspqueue_export", &code)) return code;
    if (!queue || !queue_id) return AEE_EBADPARM;
    *queue_id = queue->id;
    return AEE_SUCCESS;
}

void emu_queues_break(struct emu_session *session) {
    for (struct dspqueue *q = session->queues; q; q = q->next)
        emu_queue_break(q->side.header, &q->side.in, &q->side.out, AEE_ENOSUCH);
}

void emu_queues_report(struct emu_session *session, uint32_t generation, int error) {
    for (;;) {
        dspqueue_callback_t call = NULL;
        struct dspqueue *queue;
        bool closed = false;
        emu_lock();
        for (queue = session->queues; queue; queue = queue->next) {
            if (queue->generation != generation || queue->reported) continue;
            queue->reported = true;
            if (!queue->error_callback) continue;
            call = queue->error_callback;
            queue->closed = &closed;
            queue->caller = pthread_self();
            break;
        }
        emu_unlock();
        if (!call) return;
        call(queue, error, queue->context);
        if (closed) continue;
        emu_lock();
        queue->closed = NULL;
        pthread_cond_broadcast(&emu.changed);
        emu_unlock();
    }
}
