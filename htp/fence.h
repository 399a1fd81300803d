/* Fences of a group of devices (wire/fence.h), as the NPU program uses them: signal, and wait with a time limit. Knows
 * no batch; htp/batch.c says when. On the main thread, when all transfers of the ops before have arrived: what a device
 * has written must be in memory before it says so. */
#ifndef HTP_FENCE_H
#define HTP_FENCE_H

#include "wire/message.h"

typedef struct htp_fences {
    npu_fence *slots;
    uint32_t own;        /* this device's slot */
    uint32_t base;       /* what numbers are added to */
    uint32_t most;       /* the last number of the batch: a failure says that it came there */
    uint64_t timeout_us; /* of one wait */
    uint32_t peer;       /* whose failure ended a wait, and with which code */
    uint32_t peer_code;
} htp_fences;

void htp_fence_signal(npu_fence *own, uint32_t sequence, uint32_t status);

/* NPU_WIRE_OK, or the status that came with the number, or NO_FENCE after |timeout_us|. */
uint32_t htp_fence_wait(npu_fence *fence, uint32_t wanted, uint64_t timeout_us);

/* Carries |sync| out. OK, PEER_FAILED with the peer and its code in |fences|, or NO_FENCE. */
uint32_t htp_fences_sync(htp_fences *fences, const npu_wire_sync *sync);

/* Lets go everybody who waits for this device, with |status|. */
void htp_fences_fail(const htp_fences *fences, uint32_t status);

#endif
