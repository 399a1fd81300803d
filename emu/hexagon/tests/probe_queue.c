// The probe's queue: a thread (or the packet callback) that answers packets.
#include "probe_program.h"

#include <stdatomic.h>
#include <string.h>

static struct {
    dspqueue_t queue;
    qurt_thread_t thread;
    int has_thread;
    atomic_int stop, released;
} q;

static void act(const uint32_t *words, const struct dspqueue_buffer *buffers, uint32_t count, uint32_t *second) {
    if (words[0] == PROBE_PACKET_SUM && count && buffers[0].ptr) {
        *second = 0;
        for (uint32_t i = 0; i < buffers[0].size; i++) *second += ((const uint8_t *)buffers[0].ptr)[i];
    }
    while (words[0] == PROBE_PACKET_HOLD && !q.released) qurt_sleep(1000);
    if (words[0] == PROBE_PACKET_CRASH) probe_crash();
}

// Answers with the message and the buffers as they came; references are given back.
static void answer(uint8_t *message, uint32_t length, struct dspqueue_buffer *buffers, uint32_t count) {
    uint32_t words[2] = {0};
    memcpy(words, message, length < sizeof words ? length : sizeof words);
    act(words, buffers, count, &words[1]);
    if (words[0] == PROBE_PACKET_MUTE) return;
    if (words[0] == PROBE_PACKET_SUM) memcpy(message, words, sizeof words);
    for (uint32_t i = 0; i < count; i++)
        if (buffers[i].flags & DSPQUEUE_BUFFER_FLAG_REF) buffers[i].flags = DSPQUEUE_BUFFER_FLAG_DEREF;
    dspqueue_write(q.queue, 0, count, buffers, length, message, DSPQUEUE_TIMEOUT_NONE);
}

static uint8_t message[DSPQUEUE_MAX_MESSAGE_SIZE];
static struct dspqueue_buffer buffers[DSPQUEUE_MAX_BUFFERS];

static void run(void *argument) {
    uint32_t flags, count, length;
    (void)argument;
    while (!q.stop) {
        int result = dspqueue_peek(q.queue, &flags, &count, &length, 50000);
        if (result == AEE_EEXPIRED) continue;
        if (result) return;
        if (!dspqueue_read_noblock(q.queue, &flags, DSPQUEUE_MAX_BUFFERS, &count, buffers, sizeof message, &length,
                                   message))
            answer(message, length, buffers, count);
    }
}

static void on_packet(dspqueue_t queue, AEEResult error, void *context) {
    uint32_t flags, count, length;
    (void)error, (void)context;
    while (
        !dspqueue_read_noblock(queue, &flags, DSPQUEUE_MAX_BUFFERS, &count, buffers, sizeof message, &length, message))
        answer(message, length, buffers, count);
}

int probe_queue_start(uint64_t id, int by_callback) {
    qurt_thread_attr_t attr;
    int result = dspqueue_import(id, by_callback ? on_packet : NULL, NULL, NULL, &q.queue);
    if (result) return result;
    q.stop = q.released = 0;
    q.has_thread = !by_callback;
    if (by_callback) return AEE_SUCCESS;
    qurt_thread_attr_init(&attr);
    qurt_thread_attr_set_name(&attr, "probe-queue");
    qurt_thread_attr_set_stack_size(&attr, 16384);
    qurt_thread_attr_set_priority(&attr, 100);
    return qurt_thread_create(&q.thread, &attr, run, NULL);
}

void probe_queue_release(void) {
    q.released = 1;
}

int probe_queue_stop(void) {
    int status;
    q.stop = 1;
    if (q.has_thread) qurt_thread_join(q.thread, &status);
    return dspqueue_close(q.queue);
}
