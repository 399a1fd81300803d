/* Trace events of the NPU program (wire/trace.h): what each thread did, when, for which op.
 *
 * Every thread writes its own ring; the main thread names the batch and the op for all of them, and publishes what was
 * written when the batch ends. Off is a null pointer at every place that could record, and the one loop over units that
 * records, htp_pipe_run's, is compiled with and without, so that off costs next to nothing (tests/htp/trace_cost.py).
 * HTP_NO_TRACE leaves even that out, for that test.
 */
#ifndef HTP_TRACE_H
#define HTP_TRACE_H

#include "htp/platform/hap.h"
#include "wire/trace.h"

/* What the main thread is at. */
typedef struct htp_trace_now {
    uint32_t sequence;
    uint16_t op;
} htp_trace_now;

/* One thread's. */
typedef struct htp_trace {
    npu_trace_ring *ring;
    npu_trace_event *events;
    const htp_trace_now *now;
    uint32_t capacity, written, dropped;
    uint32_t flushed; /* events that have left the cache */
} htp_trace;

typedef struct htp_tracer {
    htp_trace_now now;
    uint32_t n; /* threads, 0 = off */
    htp_trace threads[NPU_MAX_THREADS];
    void *buffer;
    uint32_t bytes;
} htp_tracer;

#ifdef HTP_NO_TRACE
#define HTP_TRACED(trace) ((void)(trace), 0)
#else
#define HTP_TRACED(trace) ((trace) != 0)
#endif

static inline uint64_t htp_trace_time(void) {
    return HAP_perf_get_qtimer_count();
}

/* A span from |begin| to now. */
void htp_trace_add(htp_trace *t, npu_trace_kind kind, uint64_t begin, uint32_t amount);
/* The same with a known end. */
void htp_trace_span(htp_trace *t, npu_trace_kind kind, uint64_t begin, uint64_t end, uint32_t amount);

/* |buffer| as mapped, zeroed rings; stays the caller's. */
void htp_tracer_start(htp_tracer *tracer, void *buffer, uint32_t bytes, uint32_t threads);
/* Hands the batch's events to the host. */
void htp_tracer_publish(htp_tracer *tracer);

/* NULL when tracing is off. */
static inline htp_trace *htp_trace_of(htp_tracer *tracer, unsigned thread) {
    return tracer->n ? &tracer->threads[thread] : 0;
}

#endif
