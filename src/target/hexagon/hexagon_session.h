/* One session with the NPU program: bring-up, buffers, requests and answers. Knows no plan and no model.
 *
 * After TIMEOUT or DEVICE_LOST a session is dead: every later call fails at once, and its buffers are kept until close
 * has ended the NPU process, so that a late writer can't touch memory that somebody else got. One thread.
 */
#ifndef NPU_HEXAGON_SESSION_H
#define NPU_HEXAGON_SESSION_H

#include "target/hexagon/hexagon_device.h"
#include "wire/message.h"

typedef struct npu_hex_session npu_hex_session;

typedef struct npu_hex_buffer {
    npu_hex_session *session;
    struct npu_hex_buffer *next; /* of the session's list */
    uint8_t *data;
    uint64_t bytes;
    int fd;
    bool pinned;
    uint32_t mark; /* for whoever numbers buffers */
} npu_hex_buffer;

typedef struct npu_hex_counters {
    uint64_t submits, image_bytes, images, allocations;
} npu_hex_counters;

/* |params| as for the target. The library is |driver|'s, which must outlive the session. */
npu_status npu_hex_session_open(const npu_hex_driver *driver, const npu_target_params *params, npu_hex_session **out,
                                npu_error *err);
void npu_hex_session_close(npu_hex_session *session);
const npu_hw *npu_hex_session_hw(const npu_hex_session *session);
npu_hex_counters *npu_hex_session_counters(npu_hex_session *session);

/* Zeroed shared memory; |pinned| is not weights. */
npu_status npu_hex_buffer_alloc(npu_hex_session *session, uint64_t bytes, bool pinned, npu_hex_buffer **out,
                                npu_error *err);
void npu_hex_buffer_free(npu_hex_buffer *buffer);

/* Sends a batch whose image lies at |offset| of |image|. |*sequence| names it for wait. */
npu_status npu_hex_submit(npu_hex_session *session, const npu_hex_buffer *image, uint64_t offset, uint32_t bytes,
                          uint64_t image_id, const npu_step *step, uint64_t *sequence, npu_error *err);

/* The answer to |sequence|, which is waited for at most the session's time-out. |*op| gets the index of a failed op in
 * its image or -1. */
npu_status npu_hex_wait(npu_hex_session *session, uint64_t sequence, int32_t *op, npu_error *err);

#endif
