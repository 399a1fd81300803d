/* Fences: how several devices that work on one batch wait for each other.
 *
 * Every device of a group owns one slot, a 128-byte line of shared memory that nobody else writes while the device
 * lives; when it is dead the host does, in its place. A slot says how far its owner has come: a sequence number that
 * only grows. The owner writes the status, then the number, then cleans the line; a reader drops the line, reads the
 * number, and when it is reached the status. Numbers are compared as signed differences, so they may wrap. A status
 * other than OK comes with the last number of the batch: everyone who waits is let go, and reports it on.
 *
 * A batch's numbers count from npu_wire_request.fence, which the host raises for every batch by as many numbers as the
 * one before took. So what a batch left in a slot, also a failure, is never reached in a later one.
 */
#ifndef NPU_WIRE_FENCE_H
#define NPU_WIRE_FENCE_H

#include <stdint.h>

#include "wire/guard.h"

enum {
    NPU_FENCE_SLOTS = 8,      /* devices of a group */
    NPU_FENCE_MOST = 1 << 16, /* numbers that one batch may take */
};

typedef struct npu_fence {
    uint32_t sequence;
    uint32_t status; /* npu_wire_code */
    uint32_t unused[30];
} npu_fence;

static inline int npu_fence_reached(uint32_t sequence, uint32_t wanted) {
    return NPU_GUARD(FENCE_SIGNED_COMPARE) ? (int32_t)(sequence - wanted) >= 0 : sequence >= wanted;
}

/* What a device does before op |op| of an image, or after the last one when |op| is their number; entries in that
 * order. */
enum {
    NPU_SYNC_SIGNAL = 1,  /* says that it came to |number| */
    NPU_SYNC_WAIT = 2,    /* waits until slot |slot| has come there */
    NPU_SYNC_BARRIER = 3, /* both, for slots 0 .. |slot| - 1 */
};

typedef struct npu_wire_sync {
    uint32_t op;
    uint16_t kind; /* NPU_SYNC_* */
    uint16_t slot;
    int32_t number; /* added to npu_wire_request.fence */
    uint32_t reserved;
} npu_wire_sync;

_Static_assert(sizeof(npu_fence) == 128 && sizeof(npu_wire_sync) == 16, "wire layout");

#endif
