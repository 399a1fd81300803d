/* Fences of a group of devices, as the NPU program uses them: signal, and wait with a time limit. The order of memory
 * they keep is the contract of wire/fence.h: steps 2 and 3 of the owner, 1 and 2 of the reader are here. Step 1 of the
 * owner is the caller's: htp/batch.c calls on the main thread between ops, and an op ends when every transfer it pushed
 * is popped and every byte it wrote has arrived (htp_op_fn). Step 3 of the reader is the ops'. */
#ifndef HTP_FENCE_H
#define HTP_FENCE_H

#include "wire/message.h"

typedef struct htp_fences {
    npu_fence *slots;
    uint32_t own;        /* this device's slot */
    uint32_t base;       /* what numbers are added to */
    uint64_t timeout_us; /* of one wait */
    uint32_t peer;       /* whose failure ended a wait, and with which code */
    uint32_t peer_code;
} htp_fences;

/* Returns when both are in memory. */
void htp_fence_signal(npu_fence *own, uint32_t sequence, uint32_t status);

/* NPU_WIRE_OK, or the status that came with the number, or NO_FENCE after |timeout_us|. */
uint32_t htp_fence_wait(npu_fence *fence, uint32_t wanted, uint64_t timeout_us);

/* Carries |sync| out. OK, PEER_FAILED with the peer and its code in |fences|, or NO_FENCE. */
uint32_t htp_fences_sync(htp_fences *fences, const npu_wire_sync *sync);

/* The last word of this device in the batch: lets go everybody who waits for it, with |status|. */
void htp_fences_fail(const htp_fences *fences, uint32_t status);

#endif
