// Packet queue, host side: a queue is created here and its id exported to the NPU program.
#ifndef NPU_EMU_HOST_DSPQUEUE_H
#define NPU_EMU_HOST_DSPQUEUE_H

#include "AEEStdErr.h"
#include "../common/dspqueue_api.h"

AEEResult dspqueue_create(int domain, uint32_t flags, uint32_t req_queue_size, uint32_t resp_queue_size,
                          dspqueue_callback_t packet_callback, dspqueue_callback_t error_callback,
                          void *callback_context, dspqueue_t *queue);
AEEResult dspqueue_export(dspqueue_t queue, uint64_t *queue_id);

#endif
