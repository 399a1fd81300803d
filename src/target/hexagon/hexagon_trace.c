#include "target/hexagon/hexagon_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/op_trace.h"
#include "wire/trace.h"

enum { REQUESTS = NPU_HEX_DEPTH };

static const struct {
    const char *name, *amount;
    bool dma;
} kinds[] = {
#define THREAD                                                 false
#define DMA                                                    true
#define NPU_TRACE_KIND(NAME, value, track, name, amount, text) [value] = {name, amount, track},
#include "wire/npu_trace_kinds.def"
#undef THREAD
#undef DMA
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

typedef struct request {
    uint64_t sequence; /* 0 = none */
    const npu_batch *batch;
    uint32_t first_op, n_ops;
} request;

struct npu_hex_tracer {
    npu_trace *out;
    const npu_hex_session *session;
    uint8_t *ring; /* shared */
    uint32_t threads, capacity;
    uint32_t tracks[NPU_MAX_THREADS][2]; /* of a thread, of its DMA */
    uint32_t read[NPU_MAX_THREADS], dropped[NPU_MAX_THREADS];
    request requests[REQUESTS]; /* by sequence */
    bool aligned;
    int64_t least, most;     /* bounds of the host's clock minus the device's, ns */
    uint64_t latest, floor;  /* end of the last span, and as it was before this collecting; the host's clock */
    npu_trace_event *events; /* copies: the originals could change */
    npu_trace_interval *spans;
    npu_op_label label;
};

npu_status npu_hex_tracer_create(npu_trace *out, const npu_hex_session *session, const char *device,
                                 npu_hex_tracer **tracer, npu_error *err) {
    const npu_hex_buffer *ring = npu_hex_session_ring(session);
    npu_hex_tracer *t = calloc(1, sizeof *t);
    *tracer = t;
    if (t) {
        t->out = out;
        t->session = session;
        t->ring = ring->data;
        t->threads = npu_hex_session_hw(session)->threads;
        t->capacity = npu_trace_capacity((uint32_t)ring->bytes, t->threads);
        t->events = malloc(t->capacity * sizeof *t->events);
        t->spans = malloc(t->capacity * sizeof *t->spans);
    }
    if (!t || !t->events || !t->spans) return npu_fail(err, NPU_NO_MEMORY, "hexagon.trace", "no memory for a trace");
    uint32_t group = npu_trace_group(out, device);
    for (uint32_t i = 0; i < t->threads; i++) {
        char name[32];
        snprintf(name, sizeof name, i ? "worker %u" : "main", i);
        t->tracks[i][0] = npu_trace_track(out, group, name);
        snprintf(name, sizeof name, i ? "DMA of worker %u" : "DMA of main", i);
        t->tracks[i][1] = npu_trace_track(out, group, name);
    }
    return NPU_OK;
}

void npu_hex_tracer_free(npu_hex_tracer *t) {
    if (!t) return;
    free(t->events);
    free(t->spans);
    free(t);
}

void npu_hex_tracer_sent(npu_hex_tracer *t, uint64_t sequence, const npu_batch *batch, uint32_t first_op,
                         uint32_t n_ops) {
    t->requests[sequence % REQUESTS] = (request){sequence, batch, first_op, n_ops};
}

/* NULL when an event belongs to no request that was answered, or to an op or kind that is none. */
static const request *request_of(const npu_hex_tracer *t, const npu_trace_event *e) {
    const request *r = &t->requests[e->sequence % REQUESTS];
    if (!r->sequence || (uint32_t)r->sequence != e->sequence || e->kind >= KINDS || !kinds[e->kind].name) return NULL;
    return e->op == NPU_TRACE_NO_OP || e->op < r->n_ops ? r : NULL;
}

static int64_t device_ns(uint64_t ticks) {
    return (int64_t)(ticks / NPU_TRACE_TICK_DEN * NPU_TRACE_TICK_NUM +
                     ticks % NPU_TRACE_TICK_DEN * NPU_TRACE_TICK_NUM / NPU_TRACE_TICK_DEN);
}

/* A batch ran after its request was sent and before its answer was read: each one narrows the distance of the clocks.
 */
static void align(npu_hex_tracer *t, const npu_trace_event *e, const request *r) {
    uint64_t sent, answered;
    npu_hex_session_times(t->session, r->sequence, &sent, &answered);
    int64_t least = (int64_t)(sent - (uint64_t)device_ns(e->begin));
    int64_t most = (int64_t)(answered - (uint64_t)device_ns(e->begin + e->ticks));
    if (t->aligned && t->least > least) least = t->least;
    if (t->aligned && t->most < most) most = t->most;
    if (least > most) { /* they drifted apart: this batch alone */
        least = (int64_t)(sent - (uint64_t)device_ns(e->begin));
        most = (int64_t)(answered - (uint64_t)device_ns(e->begin + e->ticks));
    }
    t->least = least;
    t->most = most;
    t->aligned = true;
}

static uint64_t clamped(uint64_t x, uint64_t low, uint64_t high) {
    return x < low ? low : x > high ? high : x;
}

/* Requests of a batch overlap: a distance of the clocks that was narrowed since must not move them before what was
 * written already. */
static npu_trace_interval host_time(npu_hex_tracer *t, const npu_trace_event *e, const request *r, uint32_t id) {
    uint64_t sent, answered, offset = (uint64_t)t->least + ((uint64_t)t->most - (uint64_t)t->least) / 2;
    npu_hex_session_times(t->session, r->sequence, &sent, &answered);
    if (sent < t->floor) sent = t->floor;
    uint64_t end = clamped((uint64_t)device_ns(e->begin + e->ticks) + offset, sent, answered);
    if (t->latest < end) t->latest = end;
    return (npu_trace_interval){clamped((uint64_t)device_ns(e->begin) + offset, sent, answered), end, id};
}

static void describe(void *context, uint32_t id, npu_trace_span *out) {
    npu_hex_tracer *t = context;
    const npu_trace_event *e = &t->events[id];
    const request *r = request_of(t, e);
    npu_op_label *l = &t->label;
    uint32_t op = r->first_op + e->op;
    out->name = kinds[e->kind].name;
    out->category = kinds[e->kind].dma ? "dma" : "npu";
    l->n_notes = 0;
    if (e->op == NPU_TRACE_NO_OP) {
        l->notes[l->n_notes++] = (npu_trace_note){.name = "batch", .value = (int64_t)r->sequence};
    } else if (e->kind == NPU_TRACE_OP) {
        npu_op_describe(l, &r->batch->ops[op], r->batch->tensors, &r->batch->step, op);
        out->name = l->name;
        out->category = "op";
    } else {
        const npu_op_info *info = npu_op_find(r->batch->ops[op].code);
        l->notes[l->n_notes++] = (npu_trace_note){.name = "op", .value = op};
        l->notes[l->n_notes++] = (npu_trace_note){.name = "of", .text = info ? info->name : "op"};
    }
    if (kinds[e->kind].amount[0])
        l->notes[l->n_notes++] = (npu_trace_note){.name = kinds[e->kind].amount, .value = e->amount};
    out->notes = l->notes;
    out->n_notes = l->n_notes;
}

/* Copies the new events of a ring to |events|, up to the last batch whose answer is here; returns how many. */
static uint32_t take(npu_hex_tracer *t, uint32_t thread) {
    npu_trace_ring *ring = npu_trace_ring_of(t->ring, thread);
    const npu_trace_event *from = npu_trace_events_of(t->ring, thread, t->capacity);
    uint32_t answered = (uint32_t)npu_hex_session_answered(t->session), *read = &t->read[thread], n = 0;
    uint32_t written = __atomic_load_n(&ring->written, __ATOMIC_ACQUIRE);
    uint32_t dropped = *(volatile uint32_t *)&ring->dropped;
    npu_trace_drop(t->out, t->tracks[thread][0], dropped - t->dropped[thread]);
    t->dropped[thread] = dropped;
    if (written - *read > t->capacity) { /* more than there can be */
        npu_trace_drop(t->out, t->tracks[thread][0], written - *read);
        *read = written;
    }
    for (; *read != written; n++, ++*read) {
        t->events[n] = from[*read & (t->capacity - 1)];
        if ((int32_t)(t->events[n].sequence - answered) > 0) break;
    }
    __atomic_store_n(&ring->read, *read, __ATOMIC_RELEASE);
    return n;
}

/* The thread's own spans, or those of its DMA. */
static void write_track(npu_hex_tracer *t, uint32_t thread, bool dma, uint32_t n) {
    uint32_t spans = 0;
    for (uint32_t i = 0; i < n; i++) {
        const request *r = request_of(t, &t->events[i]);
        if (r && kinds[t->events[i].kind].dma == dma) t->spans[spans++] = host_time(t, &t->events[i], r, i);
    }
    npu_trace_spans(t->out, t->tracks[thread][dma], t->spans, spans, describe, t);
}

void npu_hex_tracer_collect(npu_hex_tracer *t) {
    t->floor = t->latest;
    for (uint32_t thread = 0; thread < t->threads; thread++) {
        uint32_t n = take(t, thread), unknown = 0;
        for (uint32_t i = 0; i < n; i++) {
            const request *r = request_of(t, &t->events[i]);
            if (r && t->events[i].kind == NPU_TRACE_BATCH && !thread) align(t, &t->events[i], r);
            unknown += !r;
        }
        npu_trace_drop(t->out, t->tracks[thread][0], unknown);
        write_track(t, thread, false, n);
        write_track(t, thread, true, n);
    }
    /* Batches live until their wait ends: what a device says of one later is of no request. */
    uint64_t answered = npu_hex_session_answered(t->session);
    for (request *r = t->requests; r < t->requests + REQUESTS; r++)
        if (r->sequence <= answered) r->sequence = 0;
}
