/* Writes a trace file that ui.perfetto.dev opens: tracks, and spans on them, in the protobuf messages of Perfetto.
 *
 * Spans of one track nest. They come either as they happen (begin, end) or, from a device, afterwards as a list. Names
 * and notes are copied. Failure to write is kept and told by npu_trace_end_file; nothing here fails before. One thread
 * at a time. Used by the executor for the host's steps and by targets for what their device did.
 */
#ifndef NPU_TRACE_TRACE_H
#define NPU_TRACE_TRACE_H

#include <stdint.h>

#include "npu/status.h"

typedef struct npu_trace npu_trace;

/* What is shown when a span is clicked: a number, or |text| when it is not NULL. */
typedef struct npu_trace_note {
    const char *name, *text;
    int64_t value;
} npu_trace_note;

typedef struct npu_trace_span {
    const char *name, *category;
    const npu_trace_note *notes;
    uint32_t n_notes;
} npu_trace_span;

/* A trace that has no file yet: what comes stays in memory, so that groups and tracks can be made before it is sure
 * that anything will run. NO_MEMORY. Free with npu_trace_free. */
npu_status npu_trace_create(const char *path, npu_trace **out, npu_error *err);

/* Opens the file, in place of one of that name: when nothing can be refused any more. Later calls do nothing. IO when
 * it can't be written, CANCELLED when a signal ended the wait for a pipe's reader: nothing is lost, the call may be
 * repeated. */
npu_status npu_trace_start(npu_trace *trace, npu_error *err);

/* Ends the file, if there is one; what comes later goes nowhere. |*spans| and |*dropped|: what the file holds, and what
 * is missing. IO: it could not be written whole; a file, unlike a pipe or a device, is removed then. */
npu_status npu_trace_end_file(npu_trace *trace, uint64_t *spans, uint64_t *dropped, npu_error *err);
void npu_trace_free(npu_trace *trace); /* NULL is fine */

/* A group of tracks, shown as a process, and a track in it. Groups and tracks number from 1; 0, or a track on which
 * nothing is written, for want of memory: npu_trace_end_file says so. */
uint32_t npu_trace_group(npu_trace *trace, const char *name);
uint32_t npu_trace_track(npu_trace *trace, uint32_t group, const char *name);

void npu_trace_begin(npu_trace *trace, uint32_t track, const char *name, const char *category,
                     const npu_trace_note *notes, uint32_t n_notes);
void npu_trace_end(npu_trace *trace, uint32_t track);

/* Spans of one track in any order; |list| is sorted, |describe| tells the rest of each. One that reaches out of its
 * parent is cut to it. */
typedef struct npu_trace_interval {
    uint64_t begin, end; /* ns of base/clock.h */
    uint32_t id;
} npu_trace_interval;
typedef void npu_trace_describe_fn(void *user, uint32_t id, npu_trace_span *out);
void npu_trace_spans(npu_trace *trace, uint32_t track, npu_trace_interval *list, uint32_t n,
                     npu_trace_describe_fn *describe, void *user);

/* |n| spans of a track are missing from here on: counted, and shown on the track. */
void npu_trace_drop(npu_trace *trace, uint32_t track, uint64_t n);

#endif
