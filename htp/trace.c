#include "htp/trace.h"

#include "htp/memory.h"
#include "wire/guard.h"

void htp_trace_span(htp_trace *t, npu_trace_kind kind, uint64_t begin, uint64_t end, uint32_t amount) {
    if (t->written - __atomic_load_n(&t->ring->read, __ATOMIC_ACQUIRE) >= t->capacity) {
        t->dropped++;
        return;
    }
    uint64_t ticks = end - begin;
    t->events[t->written++ & (t->capacity - 1)] =
        (npu_trace_event){.begin = begin,
                          .ticks = ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX,
                          .sequence = t->now->sequence,
                          .op = t->now->op,
                          .kind = (uint8_t)kind,
                          .amount = amount};
}

void htp_trace_add(htp_trace *t, npu_trace_kind kind, uint64_t begin, uint32_t amount) {
    htp_trace_span(t, kind, begin, htp_trace_time(), amount);
}

void htp_tracer_start(htp_tracer *tracer, void *buffer, uint32_t bytes, uint32_t threads) {
    uint32_t capacity = npu_trace_capacity(bytes, threads);
    *tracer = (htp_tracer){.n = threads, .buffer = buffer, .bytes = bytes, .now = {.op = NPU_TRACE_NO_OP}};
    for (uint32_t i = 0; i < threads; i++)
        tracer->threads[i] = (htp_trace){.ring = npu_trace_ring_of(buffer, i),
                                         .events = npu_trace_events_of(buffer, i, capacity),
                                         .now = &tracer->now,
                                         .capacity = capacity};
}

void htp_tracer_publish(htp_tracer *tracer) {
    for (uint32_t i = 0; i < tracer->n; i++) {
        htp_trace *t = &tracer->threads[i];
        uint32_t first = t->flushed & (t->capacity - 1), n = t->written - t->flushed;
        if (n > t->capacity) n = t->capacity; /* |read| is the host's, which may have moved it anywhere meanwhile */
        uint32_t straight = n < t->capacity - first ? n : t->capacity - first;
        if (NPU_GUARD(FLUSH_TRACE_EVENTS))
            htp_memory_refresh(t->events + first, (uint64_t)straight * sizeof *t->events);
        if (NPU_GUARD(FLUSH_TRACE_START)) htp_memory_refresh(t->events, (uint64_t)(n - straight) * sizeof *t->events);
        t->flushed = t->written;
        t->ring->dropped = t->dropped;
        __atomic_store_n(&t->ring->written, t->written, __ATOMIC_RELEASE);
        if (NPU_GUARD(FLUSH_TRACE_RING)) htp_memory_refresh(t->ring, sizeof *t->ring);
    }
}
