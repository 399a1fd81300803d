/* How requests reach the NPU program: through a packet queue, or by plain invokes where there is none or it does not
 * answer. Starting the program and stopping it belong to this, because it is told of its end of the queue then. */
#include <stdio.h>

#include "base/clock.h"
#include "target/hexagon/hexagon_session_internal.h"
#include "wire/guard.h"

enum {
    QUEUE_BYTES = NPU_HEX_DEPTH * 128 + 1024,
    ECHO_LEAST_US = 500000,
    ECHO_LEAST_EMULATED_US = 2000000,
};

/* Plain invokes from here on; the reason is said where that will not do. */
static void miss_queue(npu_hex_session *s, const char *doing, int result) {
    s->no_queue_status = npu_hex_status(result);
    snprintf(s->no_queue, sizeof s->no_queue, "%s: %s (0x%x)", doing, npu_hex_result_name(result), (unsigned)result);
    npu_log(&s->logger, NPU_LOG_INFO, "hexagon: %s: no packet queue (%s), plain invokes", s->name, s->no_queue);
}

/* A queue when the library has them; |*id| 0 means plain invokes. */
static void make_queue(npu_hex_session *s, uint64_t *id) {
    const npu_hex_driver *d = s->driver;
    *id = 0;
    if (!d->dspqueue_create || !d->dspqueue_export || !d->dspqueue_close || !d->dspqueue_write || !d->dspqueue_read) {
        miss_queue(s, "the library has no such calls", AEE_EUNSUPPORTED);
        return;
    }
    int result = d->dspqueue_create(s->domain, 0, QUEUE_BYTES, QUEUE_BYTES, NULL, NULL, NULL, &s->queue);
    if (!result) result = d->dspqueue_export(s->queue, id);
    if (!result) return;
    miss_queue(s, "making it", result);
    if (s->queue) d->dspqueue_close(s->queue);
    s->queue = NULL;
    *id = 0;
}

static int start(npu_hex_session *s, uint64_t queue_id) {
    npu_rpc_start in = {.magic = NPU_WIRE_MAGIC,
                        .version = NPU_WIRE_VERSION,
                        .queue_id = queue_id,
                        .window_bytes = npu_hex_session_window(s),
                        .threads = s->hw.threads,
                        .vtcm_bytes = s->hw.vtcm_bytes,
                        .trace_fd = s->ring ? s->ring->fd : -1,
                        .trace_bytes = s->ring ? (uint32_t)s->ring->bytes : 0,
                        .arch = s->hw.arch,
                        .hmx = s->hw.hmx,
                        .fence_timeout_us = s->timeout_us,
                        .max_buffer_bytes = s->hw.max_buffer_bytes};
    int result = npu_hex_rpc(s->driver, s->handle, NPU_RPC_START, &in, sizeof in, NULL, 0);
    s->started = !result;
    return result;
}

/* AEE_EBADSTATE of the program itself: a thread of it hangs. */
#define STOP_STUCK 0x8000040Du

int npu__hex_transport_end(npu_hex_session *s) {
    int result = s->started ? npu_hex_rpc(s->driver, s->handle, NPU_RPC_STOP, NULL, 0, NULL, 0) : 0;
    s->started = false;
    if (!result && s->queue) result = s->driver->dspqueue_close(s->queue);
    if (result) npu__hex_lose(s, NPU_DEVICE_LOST);
    if (!result) s->queue = NULL;
    return result;
}

/* How long the first packet may take there and back. A queue that does not work is found at every opening, so a tenth
 * of what an answer may take has to be enough; a short --timeout leaves a device half a second, and emulation on a busy
 * machine what it needs. */
static uint64_t echo_limit_us(const npu_hex_session *s) {
    uint64_t limit = NPU_GUARD(DRIVER_ECHO_TIMEOUT) ? s->timeout_us / 10 : UINT32_MAX,
             least = s->driver->emulated ? ECHO_LEAST_EMULATED_US : ECHO_LEAST_US;
    if (limit < least) limit = least;
    return limit;
}

static const npu_wire_request echo_request = {
    .magic = NPU_WIRE_MAGIC, .version = NPU_WIRE_VERSION, .kind = NPU_WIRE_ECHO, .sequence = ~0ull};

static void send_echo(npu_hex_session *s) {
    uint64_t limit = echo_limit_us(s);
    s->echo_until_us = npu_clock_us() + limit;
    int result = s->driver->dspqueue_write(s->queue, 0, 0, NULL, sizeof echo_request, (const uint8_t *)&echo_request,
                                           npu__hex_queue_us(limit));
    s->echo_sent = !result;
    if (result) miss_queue(s, "sending its first packet", result);
}

/* One packet there and back shows that the queue works; it does not on some kernels. */
static bool has_echo(npu_hex_session *s) {
    npu_wire_response a;
    uint32_t flags, buffers, bytes = 0;
    uint64_t now = npu_clock_us(), left = s->echo_until_us > now ? s->echo_until_us - now : 0;
    if (!s->echo_sent) return false;
    int result = s->driver->dspqueue_read(s->queue, &flags, 0, &buffers, NULL, sizeof a, &bytes, (uint8_t *)&a,
                                          npu__hex_queue_us(left));
    if (!result && bytes == sizeof a && a.magic == NPU_WIRE_MAGIC && a.kind == NPU_WIRE_ECHO &&
        a.sequence == echo_request.sequence && !a.code)
        return true;
    miss_queue(s, result ? "waiting for its first answer" : "its first answer is malformed",
               result ? result : AEE_EINVALIDFORMAT);
    return false;
}

npu_status npu__hex_transport_begin(npu_hex_session *s, npu_error *err) {
    uint64_t queue_id;
    make_queue(s, &queue_id);
    int result = start(s, queue_id);
    if (!result && queue_id) send_echo(s);
    if (result && queue_id) miss_queue(s, "starting the NPU program with it", result);
    return result && !queue_id ? npu_hex_fail(err, result, "starting the NPU program") : NPU_OK;
}

npu_status npu__hex_transport_choose(npu_hex_session *s, npu_error *err) {
    if (!s->queue || has_echo(s)) return NPU_OK;
    int result = npu__hex_transport_end(s);
    if ((uint32_t)result == STOP_STUCK)
        return npu_fail(err, NPU_DEVICE_LOST, "hexagon.stuck", "the NPU program neither answers nor stops");
    if (result) return npu_hex_fail(err, result, "the NPU program ended at its first packet");
    result = start(s, 0);
    return result ? npu_hex_fail(err, result, "starting the NPU program") : NPU_OK;
}
