/* What the four parts of a session share: bring-up (hexagon_session.c), the packet queue (hexagon_transport.c), buffers
 * (hexagon_buffer.c), requests (hexagon_submit.c). Private to these. */
#ifndef NPU_HEXAGON_SESSION_INTERNAL_H
#define NPU_HEXAGON_SESSION_INTERNAL_H

#include "target/hexagon/hexagon_watch.h"
#include "target/hexagon/hexagon_rpc.h"
#include "target/hexagon/hexagon_session.h"

struct npu_hex_session {
    const npu_hex_driver *driver;
    npu_logger logger;
    npu_hw hw;
    remote_handle64 handle;
    npu_hex_place place;
    int domain; /* effective: of NPU and session */
    uint32_t session_id;
    bool reserved; /* the library holds a session for us */
    char name[16];
    dspqueue_t queue; /* NULL: plain invokes */
    npu_status no_queue_status;
    char no_queue[128]; /* why there is none */
    uint64_t timeout_us, echo_until_us;
    bool echo_sent;
    uint64_t sent, answered;
    npu_wire_response answers[NPU_HEX_DEPTH]; /* by sequence */
    struct {
        uint32_t first_op, n_ops;
        bool goes_on, has_peers;
        uint64_t sent_ns, answered_ns; /* only while tracing */
    } requests[NPU_HEX_DEPTH];         /* by sequence */
    npu_hex_buffer *ring;              /* of the trace, NULL = none */
    npu_hex_buffer *buffers;
    npu_hex_buffer *quarantine;
    npu_target_counters counters;
    npu_status lost; /* NPU_OK while alive */
    bool open, started;
    npu_hex_watch *watch; /* of calls that have no time limit of their own */
};

/* The session is lost, as |status| says, and its process ended: a library may ask every process before it gives memory
 * back, so that one that hangs would hold up what the others of a set do. Its buffers stay. */
void npu__hex_lose(npu_hex_session *s, npu_status status);

/* Makes a packet queue where the library has them, starts the program and sends a first packet, without waiting for the
 * answer. Without a queue the session is one of plain invokes, and no_queue says why; that is no error. On failure the
 * session is to be closed, as after the next one. */
npu_status npu__hex_transport_begin(npu_hex_session *s, npu_error *err);

/* Waits for the first packet to come back, up to the limit set when it was sent; where it does not, the program is
 * started anew without a queue. NPU_DEVICE_LOST: it does not stop. */
npu_status npu__hex_transport_choose(npu_hex_session *s, npu_error *err);

/* Stops the program and closes the queue. Not 0: the library's code; a program that does not stop keeps what it has,
 * its end of the queue too, so that only the end of its process helps, and the session is lost. */
int npu__hex_transport_end(npu_hex_session *s);

/* How long one call to a queue waits: at most 71 minutes of a longer time-out; UINT32_MAX would be for ever. */
static inline uint32_t npu__hex_queue_us(uint64_t us) {
    return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX - 1;
}

/* Gives all buffers back to the library: only once nobody can write to them any more. */
void npu__hex_release_buffers(npu_hex_session *s);

#endif
