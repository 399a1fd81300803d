/* Requests of a session and their answers, by queue or by plain invokes. Nothing is believed of an answer that does not
 * fit to what was asked. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "target/hexagon/hexagon_session_internal.h"
#include "wire/guard.h"

static npu_status lose(npu_hex_session *s, npu_status status) {
    if (!NPU_GUARD(DRIVER_LOST)) return status;
    npu__hex_lose(s, status == NPU_TIMEOUT ? NPU_TIMEOUT : NPU_DEVICE_LOST);
    return s->lost;
}

static npu_status bad_answer(npu_hex_session *s, npu_error *err) {
    lose(s, NPU_DEVICE_LOST);
    return npu_fail(err, NPU_DEVICE_LOST, "hexagon.bad_answer", "the NPU program answered with a malformed message");
}

/* The values may have gaps: a code without a name is none. */
static const struct {
    npu_status status;
    const char *name, *text;
} codes[] = {
#define NPU_WIRE_CODE(NAME, value, status, name, text) [value] = {NPU_##status, name, text},
#include "wire/npu_wire_codes.def"
};

static bool is_of_peers(uint32_t code) {
    return code == NPU_WIRE_PEER_FAILED || code == NPU_WIRE_PEER_LOST || code == NPU_WIRE_NO_FENCE;
}

/* Nothing is believed that does not fit to the request it answers. */
static npu_status take_answer(npu_hex_session *s, const npu_wire_response *a, uint32_t bytes, npu_error *err) {
    if (bytes != sizeof *a || a->magic != NPU_WIRE_MAGIC || a->version != NPU_WIRE_VERSION ||
        a->kind != NPU_WIRE_BATCH || (a->sequence != s->answered + 1 && NPU_GUARD(DRIVER_SEQUENCE)) ||
        a->sequence > s->sent)
        return bad_answer(s, err);
    uint32_t slot = a->sequence % NPU_HEX_DEPTH;
    if (a->code >= sizeof codes / sizeof codes[0] || !codes[a->code].name || a->op < NPU_WIRE_NO_OP ||
        (is_of_peers(a->code) && !s->requests[slot].has_peers) ||
        (a->op >= 0 && (uint32_t)a->op >= s->requests[slot].n_ops) || (a->code == NPU_WIRE_OK && a->op >= 0))
        return bad_answer(s, err);
    if (a->code == NPU_WIRE_QUEUE_FAILED) { /* its last word */
        lose(s, NPU_DEVICE_LOST);
        return npu_fail(err, NPU_DEVICE_LOST, codes[a->code].name, "%s is lost: %s: %s (0x%x)", s->name,
                        codes[a->code].text, npu_hex_result_name((int)a->index), a->index);
    }
    const npu_wire_response *before = &s->answers[(a->sequence - 1) % NPU_HEX_DEPTH];
    if (s->requests[slot].goes_on && before->code != NPU_WIRE_OK) {
        s->answers[slot] = *before;
    } else {
        s->answers[slot] = *a;
        if (a->op >= 0) s->answers[slot].op += (int32_t)s->requests[slot].first_op;
    }
    if (s->ring) s->requests[slot].answered_ns = npu_clock_ns();
    s->counters.mapped_bytes += a->mapped_bytes;
    s->counters.dma_bytes += a->dma_bytes;
    s->counters.cache_bytes += a->cache_bytes;
    s->counters.barriers += a->barriers;
    s->counters.fences += a->fences;
    s->answered = a->sequence;
    return NPU_OK;
}

npu_status npu_hex_give_up(npu_hex_session *s, npu_error *err) {
    return npu_fail(err, lose(s, NPU_TIMEOUT), "hexagon.timeout", "%s did not answer batch %llu within %g s", s->name,
                    (unsigned long long)s->answered + 1, (double)s->timeout_us / 1e6);
}

/* A library may not keep the time that a call of a queue is given; an invoked batch has none. */
static void watch_queue(npu_hex_session *s) {
    npu_hex_watch_begin_within(s->watch, NPU_GUARD(DRIVER_QUEUE_WATCH) ? s->timeout_us : UINT64_MAX / 2);
}

/* Reads one answer; |none|: there was none up to |until| by the watch's clock, or this process was stopped meanwhile,
 * which is no error here. */
static npu_status read_answer(npu_hex_session *s, uint64_t until, bool *none, npu_error *err) {
    npu_wire_response a = {0};
    *none = false;
    uint32_t flags, buffers, bytes = 0;
    uint64_t now = npu_hex_session_clock_us(s), left = until > now ? until - now : 0;
    watch_queue(s);
    int result = s->driver->dspqueue_read(s->queue, &flags, 0, &buffers, NULL, sizeof a, &bytes, (uint8_t *)&a,
                                          npu__hex_queue_us(left));
    npu_hex_watch_end(s->watch);
    if (npu_hex_watch_has_ended(s->watch)) return npu_hex_give_up(s, err);
    if (!result) return take_answer(s, &a, bytes, err);
    npu_status status = npu_hex_status(result);
    if (status == NPU_TIMEOUT) {
        *none = true;
        return NPU_OK;
    }
    lose(s, status);
    if (npu_hex_violation(s->driver, s->domain, err)) return NPU_DEVICE_LOST;
    return npu_fail(err, s->lost, "hexagon.lost", "the process of %s is lost: %s (0x%x)", s->name,
                    npu_hex_result_name(result), (unsigned)result);
}

/* Reads one answer; the end of patience is the end of the session. */
static npu_status need_answer(npu_hex_session *s, uint64_t until, npu_error *err) {
    bool none;
    do {
        NPU_TRY(read_answer(s, until, &none, err));
    } while (none && npu_hex_session_clock_us(s) < until);
    return none ? npu_hex_give_up(s, err) : NPU_OK;
}

static npu_status fail_sending(npu_hex_session *s, int result, const char *doing, npu_error *err) {
    npu_status lost = lose(s, s->queue ? npu_hex_status(result) : NPU_DEVICE_LOST);
    if (npu_hex_violation(s->driver, s->domain, err)) return NPU_DEVICE_LOST;
    return npu_fail(err, lost, "hexagon.lost", "%s is lost: %s: %s (0x%x)", s->name, doing, npu_hex_result_name(result),
                    (unsigned)result);
}

static npu_status send(npu_hex_session *s, const npu_wire_request *r, npu_error *err) {
    npu_wire_response a = {0};
    int result;
    watch_queue(s);
    if (s->queue)
        result = s->driver->dspqueue_write(s->queue, 0, 0, NULL, sizeof *r, (const uint8_t *)r,
                                           npu__hex_queue_us(s->timeout_us));
    else
        result = npu_hex_rpc(s->driver, s->handle, NPU_RPC_BATCH, r, sizeof *r, &a, sizeof a);
    npu_hex_watch_end(s->watch);
    if (npu_hex_watch_has_ended(s->watch)) return npu_hex_give_up(s, err);
    if (result) return fail_sending(s, result, s->queue ? "sending a batch" : "invoking a batch", err);
    return s->queue ? NPU_OK : take_answer(s, &a, sizeof a, err);
}

npu_status npu_hex_submit(npu_hex_session *s, const npu_hex_request *q, uint64_t *sequence, npu_error *err) {
    if (s->lost) return npu_fail(err, NPU_DEVICE_LOST, "hexagon.lost", "%s is lost", s->name);
    while (s->sent - s->answered >= NPU_HEX_DEPTH && NPU_GUARD(DRIVER_DEPTH))
        NPU_TRY(need_answer(s, npu_hex_session_clock_us(s) + s->timeout_us, err));
    npu_wire_request r = {.magic = NPU_WIRE_MAGIC,
                          .version = NPU_WIRE_VERSION,
                          .kind = NPU_WIRE_BATCH,
                          .sequence = s->sent + 1,
                          .image_id = q->image_id,
                          .image_fd = q->image->fd,
                          .image_bytes = q->bytes,
                          .image_offset = q->offset,
                          .step = q->step,
                          .image_buffer_bytes = (uint32_t)q->image->bytes,
                          .fence = q->fence};
    s->sent++;
    s->counters.submits++;
    s->counters.message_bytes += sizeof r;
    *sequence = r.sequence;
    uint32_t slot = r.sequence % NPU_HEX_DEPTH;
    s->requests[slot].first_op = q->first_op;
    s->requests[slot].n_ops = q->n_ops;
    s->requests[slot].goes_on = q->goes_on;
    s->requests[slot].has_peers = q->has_peers;
    if (s->ring) s->requests[slot].sent_ns = npu_clock_ns();
    return send(s, &r, err);
}

npu_status npu_hex_wait(npu_hex_session *s, uint64_t sequence, npu_error *err) {
    if (sequence > s->sent || !sequence)
        return npu_fail(err, NPU_INVALID, "hexagon.event", "no batch %llu was sent", (unsigned long long)sequence);
    if (s->answered < sequence && s->lost) return npu_fail(err, NPU_DEVICE_LOST, "hexagon.lost", "%s is lost", s->name);
    for (uint64_t until = npu_hex_session_clock_us(s) + s->timeout_us; s->answered < sequence;)
        NPU_TRY(need_answer(s, until, err));
    uint32_t code;
    return npu_hex_result(s, sequence, &code, err);
}

npu_status npu_hex_look(npu_hex_session *s, uint64_t sequence, uint64_t us, bool *done, npu_error *err) {
    bool none = false;
    *done = s->answered >= sequence;
    if (!*done && s->lost) return npu_fail(err, NPU_DEVICE_LOST, "hexagon.lost", "%s is lost", s->name);
    for (uint64_t until = npu_hex_session_clock_us(s) + us; !*done && !none; *done = s->answered >= sequence)
        NPU_TRY(read_answer(s, until, &none, err));
    return NPU_OK;
}

npu_status npu_hex_result(npu_hex_session *s, uint64_t sequence, uint32_t *code, npu_error *err) {
    if (s->answered - sequence >= NPU_HEX_DEPTH)
        return npu_fail(err, NPU_INVALID, "hexagon.event", "batch %llu was sent too long ago",
                        (unsigned long long)sequence);
    const npu_wire_response *a = &s->answers[sequence % NPU_HEX_DEPTH];
    *code = a->code;
    if (a->code == NPU_WIRE_OK) return NPU_OK;
    if (a->code == NPU_WIRE_DMA_FAILED) lose(s, NPU_DEVICE_LOST);
    if (a->code == NPU_WIRE_MAP_FAILED && a->op < 0)
        return npu_fail(err, codes[a->code].status, codes[a->code].name,
                        "%s: buffer %u of a batch: %s; all of a batch's buffers must be there at once: its address "
                        "space or its number of mappings is too small (emulated: `emu` window=, slots=)",
                        s->name, a->index, codes[a->code].text);
    if (a->code == NPU_WIRE_MAP_KEPT)
        return npu_fail(err, codes[a->code].status, codes[a->code].name,
                        "%s: buffer %u of a batch: %s; on such a device all of a model must be mapped at once: take a "
                        "smaller model, a shorter `ctx` or more `npu_devices` (emulated: a larger `emu` window=, or "
                        "window_by_free=0)",
                        s->name, a->index, codes[a->code].text);
    if (a->op < 0 && !a->index)
        return npu_fail(err, codes[a->code].status, codes[a->code].name, "%s: %s", s->name, codes[a->code].text);
    char op[16] = "a batch";
    if (a->op >= 0) snprintf(op, sizeof op, "op %d", a->op);
    return npu_fail(err, codes[a->code].status, codes[a->code].name, "%s, %s, item %u: %s", s->name, op, a->index,
                    codes[a->code].text);
}
