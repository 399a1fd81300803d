// Packet queue, DSP side: a queue is imported by the id the host exported.
#ifndef NPU_EMU_DSP_DSPQUEUE_H
#define NPU_EMU_DSP_DSPQUEUE_H

#include "AEEStdErr.h"
#include "../common/dspqueue_api.h"

AEEResult dspqueue_import(uint64_t queue_id, dspqueue_callback_t packet_callback, dspqueue_callback_t error_callback,
                          void *callback_context, dspqueue_t *queue);

#endif
