/* One session with the NPU program: bring-up, buffers, requests and answers. Knows no plan and no model.
 *
 * After TIMEOUT or DEVICE_LOST a session is dead: every later call fails at once, and its buffers are kept until close
 * has ended the NPU process, so that a late writer can't touch memory that somebody else got. One thread.
 */
#ifndef NPU_HEXAGON_SESSION_H
#define NPU_HEXAGON_SESSION_H

#include "target/hexagon/hexagon_device.h"
#include "target/hexagon/hexagon_set.h"
#include "wire/message.h"

typedef struct npu_hex_session npu_hex_session;

enum { NPU_HEX_DEPTH = 32 /* requests that can be under way */ };

typedef struct npu_hex_buffer {
    npu_hex_session *session;                     /* whose it is */
    npu_hex_session *others[NPU_HEX_DEVICES - 1]; /* that know it too */
    uint32_t n_others;
    struct npu_hex_buffer *next; /* of the session's list */
    struct npu_hex_buffer *more; /* the next part of a weight in several buffers */
    uint64_t part_bytes;         /* of such a weight, in each buffer but the last; 0 = it has only this one */
    uint8_t *data;
    uint64_t bytes;
    int fd;
    bool pinned;
} npu_hex_buffer;

/* A batch, or a part of one, to be sent. */
typedef struct npu_hex_request {
    const npu_hex_buffer *image; /* which lies at |offset| of this buffer */
    uint64_t offset, image_id;
    uint32_t bytes;
    uint32_t first_op, n_ops; /* of the batch */
    uint32_t fence;           /* what its syncs count from */
    bool has_peers;           /* other devices work on the batch too */
    bool goes_on;             /* the part before is the request before: if that fails, so does this */
    npu_step step;
} npu_hex_request;

/* |params| as for the target. The library is |driver|'s, which must outlive the session. */
npu_status npu_hex_session_open(const npu_hex_driver *driver, const npu_target_params *params, npu_hex_session **out,
                                npu_error *err);
/* |n| of them, all or none, at |places|; |out| [n]. */
npu_status npu_hex_sessions_open(const npu_hex_driver *driver, const npu_target_params *params,
                                 const npu_hex_place *places, uint32_t n, npu_hex_session **out, npu_error *err);
void npu_hex_session_close(npu_hex_session *session);
/* Sessions that share buffers end together: no memory is given back while one of their processes may write to it. */
void npu_hex_sessions_close(npu_hex_session *const *sessions, uint32_t n);
const char *npu_hex_session_name(const npu_hex_session *session); /* "NPU 0:1" */
uint64_t npu_hex_session_timeout_us(const npu_hex_session *session);
uint64_t npu_hex_session_clock_us(const npu_hex_session *session); /* its watch's: for what has a time-out */
npu_status npu_hex_session_lost(const npu_hex_session *session);   /* NPU_OK while it lives */
bool npu_hex_session_has_queue(const npu_hex_session *session);    /* else plain invokes: a submit returns at the end */
/* Why there is no queue. |*status|: REFUSED when the library has none, else how making it or its first packet failed.
 */
const char *npu_hex_session_no_queue(const npu_hex_session *session, npu_status *status);
const npu_hw *npu_hex_session_hw(const npu_hex_session *session);
npu_target_counters *npu_hex_session_counters(npu_hex_session *session);
uint64_t npu_hex_session_window(const npu_hex_session *session); /* bytes that batches can map at once */

/* With params->trace: the buffer that the NPU program writes its trace to, else NULL; and when a request was sent and
 * its answer taken (base/clock.h), which is known for the last NPU_HEX_DEPTH ones. */
const npu_hex_buffer *npu_hex_session_ring(const npu_hex_session *session);
uint64_t npu_hex_session_answered(const npu_hex_session *session); /* sequence of the last answer */
void npu_hex_session_times(const npu_hex_session *session, uint64_t sequence, uint64_t *sent, uint64_t *answered);

/* Zeroed shared memory; |pinned|: stays in the window while there is anything else to give up. */
npu_status npu_hex_buffer_alloc(npu_hex_session *session, uint64_t bytes, bool pinned, npu_hex_buffer **out,
                                npu_error *err);
void npu_hex_buffer_free(npu_hex_buffer *buffer);
/* Makes the buffer known to one more session, for as long as it lives. */
npu_status npu_hex_buffer_share(npu_hex_buffer *buffer, npu_hex_session *with, npu_error *err);

/* Sends a request. |*sequence| names it for wait. */
npu_status npu_hex_submit(npu_hex_session *session, const npu_hex_request *request, uint64_t *sequence, npu_error *err);

/* The answer to |sequence|, which is waited for at most the session's time-out. The failure of an earlier part is its
 * failure too. */
npu_status npu_hex_wait(npu_hex_session *session, uint64_t sequence, npu_error *err);

/* Waiting for several sessions: takes what answers come within |us|, up to the one to |sequence|; |*done| says whether
 * that is there. Fails when the session is lost, not when nothing came. */
npu_status npu_hex_look(npu_hex_session *session, uint64_t sequence, uint64_t us, bool *done, npu_error *err);
/* How the answered |sequence| ended; |*code| gets what the NPU program said of it. */
npu_status npu_hex_result(npu_hex_session *session, uint64_t sequence, uint32_t *code, npu_error *err);
/* Gives up on a session that did not answer in time. */
npu_status npu_hex_give_up(npu_hex_session *session, npu_error *err);

#endif
