/* The NPU program's trace (wire/trace.h) as spans of the host's trace: one track for each of its threads and one for
 * that thread's DMA. Called by hexagon_target.c; nothing in it believes the NPU's numbers. */
#ifndef NPU_HEXAGON_TRACE_H
#define NPU_HEXAGON_TRACE_H

#include "target/hexagon/hexagon_session.h"
#include "trace/trace.h"

typedef struct npu_hex_tracer npu_hex_tracer;

/* For a session that was opened with a trace; |device| names the group of tracks. */
npu_status npu_hex_tracer_create(npu_trace *out, const npu_hex_session *session, const char *device,
                                 npu_hex_tracer **tracer, npu_error *err);
void npu_hex_tracer_free(npu_hex_tracer *tracer); /* NULL is fine */

/* A request that was sent: ops from |first_op| on of |batch|, which stays until its answer was collected. */
void npu_hex_tracer_sent(npu_hex_tracer *tracer, uint64_t sequence, const npu_batch *batch, uint32_t first_op,
                         uint32_t n_ops);

/* Writes what the NPU program published so far. */
void npu_hex_tracer_collect(npu_hex_tracer *tracer);

#endif
