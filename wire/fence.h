/* Fences: how several devices that work on one batch wait for each other.
 *
 * Every device of a group owns one slot, a 128-byte line of shared memory that no other device writes. The host writes
 * it between batches, and within one in the place of a device that it has given up: one that is dead, or failed, or was
 * not sent all of the batch, though it may live. A slot says how far its owner has come: a sequence number that only
 * grows, and a status. The contract, in the order in which memory sees it:
 *
 * Owner, to signal number s with a status:
 *  1. all its stores up to here are in memory: transfers popped, lines that scalars or vectors wrote cleaned;
 *  2. status and number are stored at once, as one word (npu_fence_word), with release order;
 *  3. the line is cleaned and dropped, and the cache operation has ended (htp_memory_refresh). The line may be evicted
 *     at any time before: what others may find is the old pair or the new one.
 * Reader, to wait for number s:
 *  1. it drops its copy of the line, and the cache operation has ended;
 *  2. it loads number and status at once, as one word, with acquire order; when the number is not reached it goes back
 *     to 1;
 *  3. only then it reads what the owner wrote, dropping lines that it may hold (htp_op_refresh) or by DMA.
 * A status other than OK is the owner's last word in a batch: it comes with the batch's last number (npu_fence_last),
 * so that whatever others wait for is reached, and the owner signals nothing more, does nothing more, and answers what
 * else it is sent of the batch with a failure. So nobody who waits can miss it. Everyone who finds it fails with it,
 * and says so in turn.
 *
 * What the host says in a device's place it stores at once too, as one word. The owner may live, and be at work on what
 * it was sent of the batch before: its signals write over the host's word, which is said again until nobody is at work.
 * With two stores of either, or two loads, the number of the one could be taken with the status of the other: a
 * failure's number with OK.
 *
 * Numbers are compared as signed differences, so they may wrap, and do in the first batch of a run. A batch has the
 * NPU_FENCE_MOST ones from NPU_FENCE_FIRST + n * NPU_FENCE_MOST on: all of its requests count from numbers in that
 * range (npu_wire_request.fence), and the host takes the next range for the next batch, when nobody is at work any
 * more. So what a batch left in a slot, also a failure, is never reached in a later one. Before that the host writes
 * the start of the range and OK into every slot, and a device drops its own line at the start of each image, so that it
 * can't bring back what it had.
 */
#ifndef NPU_WIRE_FENCE_H
#define NPU_WIRE_FENCE_H

#include <stdint.h>

#include "wire/guard.h"

enum {
    NPU_FENCE_SLOTS = 8,      /* devices of a group */
    NPU_FENCE_MOST = 1 << 16, /* numbers of one batch: a power of two */
};

typedef struct npu_fence {
    union {
        struct {
            uint32_t sequence;
            uint32_t status; /* npu_wire_code */
        };
        uint64_t word; /* both: npu_fence_word */
    };
    uint32_t unused[30];
} npu_fence;

static inline uint64_t npu_fence_word(uint32_t sequence, uint32_t status) {
    return sequence | (uint64_t)status << 32;
}

static inline int npu_fence_reached(uint32_t sequence, uint32_t wanted) {
    return NPU_GUARD(FENCE_SIGNED_COMPARE) ? (int32_t)(sequence - wanted) >= 0 : sequence >= wanted;
}

#define NPU_FENCE_FIRST 0xFFFFFFFEu /* the first batch's range; shortly before numbers wrap */

/* The last number of the batch that |sequence| belongs to, and whether two numbers belong to one. */
static inline uint32_t npu_fence_last(uint32_t sequence) {
    return ((sequence - NPU_FENCE_FIRST) | (NPU_FENCE_MOST - 1)) + NPU_FENCE_FIRST;
}
static inline int npu_fence_same_batch(uint32_t a, uint32_t b) {
    return npu_fence_last(a) == npu_fence_last(b);
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
