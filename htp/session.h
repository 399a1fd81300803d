/* One session of the NPU program: everything between start and stop. */
#ifndef HTP_SESSION_H
#define HTP_SESSION_H

#include "htp/dma.h"
#include "htp/map.h"
#include "htp/platform/fastrpc.h"
#include "htp/pool.h"
#include "htp/trace.h"
#include "wire/check.h"
#include "wire/rpc.h"

/* A checked private copy of a batch image. */
typedef struct htp_image {
    npu_wire_image *copy; /* NULL = free entry */
    uint64_t id, last_use;
    uint32_t max_rows[NPU_ROWS_COUNT];
} htp_image;

typedef struct htp_session {
    npu_hw hw;
    htp_map map;
    htp_pool pool;
    htp_dma dma[NPU_MAX_THREADS];
    htp_tracer tracer;
    void *dma_rings;
    uint8_t *scratch;
    uint8_t *vtcm;
    uint32_t vtcm_context;
    int vtcm_wanted; /* set by the system: another client waits for VTCM */
    htp_image images[NPU_WIRE_KEPT_IMAGES];
    uint64_t batches;
    uint64_t cache_bytes; /* cleaned and dropped so far */
    uint64_t fence_timeout_us;
    uint32_t failed_fence; /* of the batch that failed here last; has_failed: it may go on */
    int has_failed;
    dspqueue_t queue;
    qurt_thread_t main;
    void *main_stack;
    int has_main, main_ended, quit;
} htp_session;

/* AEE codes; after failure nothing is left. */
int htp_session_start(htp_session *s, const npu_rpc_start *start);
/* Fails with EBADSTATE, and leaves everything as it is, when the main thread does not come out of its batch. */
int htp_session_stop(htp_session *s);

/* What this machine has. */
void htp_hwinfo(npu_rpc_hwinfo *info);

/* Answers one request (htp/batch.c). Any length; the response is always filled. */
void htp_answer(htp_session *s, const void *message, uint32_t bytes, npu_wire_response *response);
void htp_images_free(htp_session *s);

#endif
