/* The trace of an NPU program: rings of events in one shared buffer, a ring for each of its threads.
 *
 * The buffer holds NPU_MAX_THREADS ring heads, then npu_trace_capacity events for each thread. The NPU program writes
 * events, counts those that found no room, and publishes both numbers when a batch ends; the host reads up to there and
 * moves |read|. Neither side believes the other's numbers: a place is a count modulo the capacity, which both compute.
 * Events are whole spans, written when they end, so a parent follows its children.
 */
#ifndef NPU_WIRE_TRACE_H
#define NPU_WIRE_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "wire/opplan.h"

typedef enum npu_trace_kind {
#define NPU_TRACE_KIND(NAME, value, track, name, amount, text) NPU_TRACE_##NAME = value,
#include "wire/npu_trace_kinds.def"
} npu_trace_kind;

enum {
    NPU_TRACE_NO_OP = 0xFFFF,
    NPU_TRACE_LEAST_BYTES = 1 << 16,
};

/* Times are ticks of the system timer, 19.2 MHz: 625/12 ns each. */
enum { NPU_TRACE_TICK_NUM = 625, NPU_TRACE_TICK_DEN = 12 };

typedef struct npu_trace_event {
    uint64_t begin;
    uint32_t ticks;    /* how long; UINT32_MAX = at least that */
    uint32_t sequence; /* low half of the batch's */
    uint16_t op;       /* index in the batch's image, NPU_TRACE_NO_OP = none */
    uint8_t kind;      /* npu_trace_kind */
    uint8_t reserved;
    uint32_t amount; /* what the kind says */
} npu_trace_event;

typedef struct npu_trace_ring {
    uint32_t written; /* events so far; the NPU program's */
    uint32_t dropped; /* " */
    uint32_t pad[30];
    uint32_t read; /* the host's, on a line of its own */
    uint32_t pad_host[31];
} npu_trace_ring;

_Static_assert(sizeof(npu_trace_event) == 24 && offsetof(npu_trace_event, amount) == 20, "wire layout");
_Static_assert(sizeof(npu_trace_ring) == 256 && offsetof(npu_trace_ring, read) == 128, "wire layout");

/* Events of one ring: a power of two, so that counts may wrap. |bytes| at least NPU_TRACE_LEAST_BYTES. */
static inline uint32_t npu_trace_capacity(uint32_t bytes, uint32_t threads) {
    uint32_t most = (bytes - NPU_MAX_THREADS * (uint32_t)sizeof(npu_trace_ring)) / threads / sizeof(npu_trace_event),
             n = 1;
    while (n <= most / 2) n *= 2;
    return n;
}

static inline npu_trace_ring *npu_trace_ring_of(void *buffer, uint32_t thread) {
    return (npu_trace_ring *)buffer + thread;
}

static inline npu_trace_event *npu_trace_events_of(void *buffer, uint32_t thread, uint32_t capacity) {
    return (npu_trace_event *)((npu_trace_ring *)buffer + NPU_MAX_THREADS) + (uint64_t)thread * capacity;
}

#endif
