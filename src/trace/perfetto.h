/* The few protobuf messages of a Perfetto trace, by hand: packets with track descriptors and track events. Field
 * numbers are those of perfetto_trace.proto. Called by trace.c. */
#ifndef NPU_TRACE_PERFETTO_H
#define NPU_TRACE_PERFETTO_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/intern.h"
#include "trace/packets.h"
#include "trace/trace.h"

typedef enum npu_perfetto_type {
    NPU_PERFETTO_BEGIN = 1,
    NPU_PERFETTO_END = 2,
    NPU_PERFETTO_INSTANT = 3
} npu_perfetto_type;

/* The packets of one track: what they have in common is written once, times count from the packet before. */
typedef struct npu_perfetto_sequence {
    uint64_t track, last;
    bool started;
    npu_intern texts;
} npu_perfetto_sequence;

/* Of a span's notes the first 6 are written; long texts are cut. A sequence begins with its track, a time that is not
 * after its first event's, and zeroes. */
void npu_perfetto_group(npu_packets *out, uint64_t uuid, uint32_t number, const char *name);
void npu_perfetto_track(npu_packets *out, uint64_t uuid, uint64_t parent, uint32_t order, const char *name);
void npu_perfetto_event(npu_perfetto_sequence *sequence, npu_packets *out, npu_perfetto_type type, uint64_t time,
                        const npu_trace_span *span);

#endif
