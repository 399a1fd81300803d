#include "target/hexagon/hexagon_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "target/hexagon/hexagon_rpc.h"

enum { DEPTH = NPU_HEX_DEPTH, RING_BYTES = 16 << 20, ECHO_TIMEOUT_US = 500000, QUEUE_BYTES = DEPTH * 128 + 1024 };

struct npu_hex_session {
    const npu_hex_driver *driver;
    npu_logger logger;
    npu_hw hw;
    remote_handle64 handle;
    dspqueue_t queue; /* NULL: plain invokes */
    uint64_t timeout_us;
    uint64_t sent, answered;
    npu_wire_response answers[DEPTH]; /* by sequence */
    struct {
        uint32_t first_op, n_ops;
        bool goes_on;
        uint64_t sent_ns, answered_ns; /* only while tracing */
    } requests[DEPTH];                 /* by sequence */
    npu_hex_buffer *ring;              /* of the trace, NULL = none */
    npu_hex_buffer *buffers;
    npu_hex_buffer *quarantine;
    npu_target_counters counters;
    npu_status lost; /* NPU_OK while alive */
    bool open, started;
};

static uint64_t now_us(void) {
    return npu_clock_ns() / 1000;
}

const npu_hw *npu_hex_session_hw(const npu_hex_session *s) {
    return &s->hw;
}

npu_target_counters *npu_hex_session_counters(npu_hex_session *s) {
    return &s->counters;
}

const npu_hex_buffer *npu_hex_session_ring(const npu_hex_session *s) {
    return s->ring;
}

uint64_t npu_hex_session_answered(const npu_hex_session *s) {
    return s->answered;
}

void npu_hex_session_times(const npu_hex_session *s, uint64_t sequence, uint64_t *sent, uint64_t *answered) {
    *sent = s->requests[sequence % DEPTH].sent_ns;
    *answered = s->requests[sequence % DEPTH].answered_ns;
}

/* --- buffers --- */

npu_status npu_hex_buffer_alloc(npu_hex_session *s, uint64_t bytes, bool pinned, npu_hex_buffer **out, npu_error *err) {
    const npu_hex_driver *d = s->driver;
    *out = NULL;
    if (s->lost) return npu_fail(err, NPU_DEVICE_LOST, "hexagon.lost", "the Hexagon session is lost");
    if (!bytes || bytes > NPU_HEX_MAX_BUFFER)
        return npu_fail(err, NPU_NO_MEMORY, "hexagon.buffer_size", "a shared buffer of %llu bytes (at most %d)",
                        (unsigned long long)bytes, NPU_HEX_MAX_BUFFER);
    bytes = (bytes + 4095) & ~4095ull;
    npu_hex_buffer *b = calloc(1, sizeof *b);
    if (!b) return npu_fail(err, NPU_NO_MEMORY, "hexagon.buffer", "out of memory");
    b->data = d->rpcmem_alloc2 ? d->rpcmem_alloc2(RPCMEM_HEAP_ID_SYSTEM, RPCMEM_DEFAULT_FLAGS, (size_t)bytes)
                               : d->rpcmem_alloc(RPCMEM_HEAP_ID_SYSTEM, RPCMEM_DEFAULT_FLAGS, (int)bytes);
    b->fd = b->data ? d->rpcmem_to_fd(b->data) : -1;
    if (b->fd < 0) {
        npu_fail(err, NPU_NO_MEMORY, "hexagon.rpcmem", "no shared memory for a buffer of %llu bytes",
                 (unsigned long long)bytes);
        if (b->data) d->rpcmem_free(b->data);
        free(b);
        return NPU_NO_MEMORY;
    }
    int result = d->fastrpc_mmap(NPU_HEX_DOMAIN, b->fd, b->data, 0, (size_t)bytes, FASTRPC_MAP_FD_DELAYED);
    if (result) {
        d->rpcmem_free(b->data);
        free(b);
        return npu_hex_fail(err, result, "announcing a buffer (fastrpc_mmap)");
    }
    b->session = s;
    b->bytes = bytes;
    b->pinned = pinned;
    b->next = s->buffers;
    s->buffers = b;
    s->counters.allocations++;
    *out = b;
    return NPU_OK;
}

static void release(npu_hex_session *s, npu_hex_buffer *b) {
    s->driver->fastrpc_munmap(NPU_HEX_DOMAIN, b->fd, b->data, (size_t)b->bytes);
    s->driver->rpcmem_free(b->data);
    free(b);
}

static void release_all(npu_hex_session *s, npu_hex_buffer *first) {
    for (npu_hex_buffer *b = first, *next; b; b = next) {
        next = b->next;
        release(s, b);
    }
}

static void drop_buffer(npu_hex_session *s, npu_hex_buffer *b) {
    npu_hex_buffer **at = &s->buffers;
    while (*at != b) at = &(*at)->next;
    *at = b->next;
    if (s->lost) {
        b->next = s->quarantine;
        s->quarantine = b;
        return;
    }
    /* The NPU program drops its own mapping first: address space may come back only then. */
    npu_rpc_munmap drop = {.fd = b->fd};
    if (s->started) npu_hex_rpc(s->driver, s->handle, NPU_RPC_MUNMAP, &drop, sizeof drop, NULL, 0);
    release(s, b);
}

void npu_hex_buffer_free(npu_hex_buffer *b) {
    if (b) drop_buffer(b->session, b);
}

/* --- bring-up --- */

static npu_status open_handle(npu_hex_session *s, npu_error *err) {
    const npu_hex_driver *d = s->driver;
    struct remote_rpc_control_unsigned_module unsigned_module = {NPU_HEX_DOMAIN, 1};
    int result = d->remote_session_control(DSPRPC_CONTROL_UNSIGNED_MODULE, &unsigned_module, sizeof unsigned_module);
    if (result) return npu_hex_fail(err, result, "asking for an unsigned NPU process");
    char module[128], uri[256];
    static char domain[] = "cdsp";
    snprintf(module, sizeof module, "file:///libnpu-htp-v%u.so?" NPU_RPC_INTERFACE "_skel_handle_invoke&_modver=1.0",
             s->hw.arch);
    remote_rpc_get_uri_t ask = {domain, sizeof domain - 1, 0, module, (uint32_t)strlen(module) + 1, uri, sizeof uri};
    if (d->remote_session_control(FASTRPC_GET_URI, &ask, sizeof ask)) /* older libraries: the suffix by hand */
        snprintf(uri, sizeof uri, "%s&_dom=cdsp", module);
    result = d->remote_handle64_open(uri, &s->handle);
    if (result) {
        npu_status status = npu_hex_status(result);
        return npu_fail(err, status, "hexagon.open", "opening the NPU program (%s): %s (0x%x)", uri,
                        npu_hex_result_name(result), (unsigned)result);
    }
    s->open = true;
    struct remote_rpc_control_latency latency = {RPC_PM_QOS, 100};
    if (d->remote_handle64_control &&
        d->remote_handle64_control(s->handle, DSPRPC_CONTROL_LATENCY, &latency, sizeof latency))
        npu_log(&s->logger, NPU_LOG_DEBUG, "hexagon: no latency vote");
    return NPU_OK;
}

static npu_status read_hwinfo(npu_hex_session *s, npu_error *err) {
    npu_rpc_hwinfo info = {0};
    int result = npu_hex_rpc(s->driver, s->handle, NPU_RPC_HWINFO, NULL, 0, &info, sizeof info);
    if (result) return npu_hex_fail(err, result, "asking the NPU program for its hardware");
    if (info.magic != NPU_WIRE_MAGIC || info.version != NPU_WIRE_VERSION)
        return npu_fail(err, NPU_REFUSED, "hexagon.version", "the NPU program speaks version %u, this build %d",
                        info.version, NPU_WIRE_VERSION);
    if (info.arch != s->hw.arch)
        return npu_fail(err, NPU_REFUSED, "hexagon.arch", "the NPU program is for v%u, the device is v%u", info.arch,
                        s->hw.arch);
    if (!info.threads || info.threads > NPU_MAX_THREADS || info.vtcm_bytes < NPU_HEX_VTCM_LEAST ||
        info.vtcm_bytes > NPU_HEX_VTCM_MOST)
        return npu_fail(err, NPU_REFUSED, "hexagon.hwinfo", "the NPU says %u threads and %u bytes of local memory",
                        info.threads, info.vtcm_bytes);
    s->hw.threads = info.threads;
    s->hw.vtcm_bytes = info.vtcm_bytes;
    s->hw.hmx = info.hmx;
    if (info.window_bytes && info.window_bytes < s->hw.window_bytes) s->hw.window_bytes = info.window_bytes;
    return NPU_OK;
}

/* A queue when the library has them; |*id| 0 means plain invokes. */
static void make_queue(npu_hex_session *s, uint64_t *id) {
    const npu_hex_driver *d = s->driver;
    *id = 0;
    if (!d->dspqueue_create || !d->dspqueue_export || !d->dspqueue_close || !d->dspqueue_write || !d->dspqueue_read)
        return;
    int result = d->dspqueue_create(NPU_HEX_DOMAIN, 0, QUEUE_BYTES, QUEUE_BYTES, NULL, NULL, NULL, &s->queue);
    if (!result) result = d->dspqueue_export(s->queue, id);
    if (!result) return;
    npu_log(&s->logger, NPU_LOG_INFO, "hexagon: no packet queue (%s), plain invokes", npu_hex_result_name(result));
    if (s->queue) d->dspqueue_close(s->queue);
    s->queue = NULL;
    *id = 0;
}

static int start(npu_hex_session *s, uint64_t queue_id) {
    npu_rpc_start in = {.magic = NPU_WIRE_MAGIC,
                        .version = NPU_WIRE_VERSION,
                        .queue_id = queue_id,
                        .window_bytes = s->hw.window_bytes,
                        .threads = s->hw.threads,
                        .vtcm_bytes = s->hw.vtcm_bytes,
                        .trace_fd = s->ring ? s->ring->fd : -1,
                        .trace_bytes = s->ring ? (uint32_t)s->ring->bytes : 0,
                        .arch = s->hw.arch,
                        .hmx = s->hw.hmx,
                        .max_buffer_bytes = NPU_HEX_MAX_BUFFER};
    int result = npu_hex_rpc(s->driver, s->handle, NPU_RPC_START, &in, sizeof in, NULL, 0);
    s->started = !result;
    return result;
}

static void stop(npu_hex_session *s) {
    if (s->started) npu_hex_rpc(s->driver, s->handle, NPU_RPC_STOP, NULL, 0, NULL, 0);
    s->started = false;
    if (s->queue) s->driver->dspqueue_close(s->queue);
    s->queue = NULL;
}

/* One packet there and back shows that the queue works; it does not on some kernels. */
static bool echo(npu_hex_session *s) {
    npu_wire_request r = {
        .magic = NPU_WIRE_MAGIC, .version = NPU_WIRE_VERSION, .kind = NPU_WIRE_ECHO, .sequence = ~0ull};
    npu_wire_response a;
    uint32_t flags, buffers, bytes = 0;
    if (s->driver->dspqueue_write(s->queue, 0, 0, NULL, sizeof r, (const uint8_t *)&r, ECHO_TIMEOUT_US)) return false;
    if (s->driver->dspqueue_read(s->queue, &flags, 0, &buffers, NULL, sizeof a, &bytes, (uint8_t *)&a, ECHO_TIMEOUT_US))
        return false;
    return bytes == sizeof a && a.magic == NPU_WIRE_MAGIC && a.kind == NPU_WIRE_ECHO && a.sequence == r.sequence &&
           !a.code;
}

static npu_status bring_up(npu_hex_session *s, bool traced, npu_error *err) {
    const npu_hex_arch *arch;
    NPU_TRY(npu_hex_device_arch(s->driver, &arch, err));
    s->hw = npu_hex_hw_of(arch);
    NPU_TRY(open_handle(s, err));
    NPU_TRY(read_hwinfo(s, err));
    if (traced) NPU_TRY(npu_hex_buffer_alloc(s, RING_BYTES, true, &s->ring, err));
    uint64_t queue_id;
    make_queue(s, &queue_id);
    int result = start(s, queue_id);
    if (queue_id && (result || !echo(s))) {
        npu_log(&s->logger, NPU_LOG_INFO, "hexagon: the packet queue does not answer, plain invokes");
        stop(s);
        result = start(s, 0);
    }
    return result ? npu_hex_fail(err, result, "starting the NPU program") : NPU_OK;
}

npu_status npu_hex_session_open(const npu_hex_driver *driver, const npu_target_params *params, npu_hex_session **out,
                                npu_error *err) {
    *out = NULL;
    npu_hex_session *s = calloc(1, sizeof *s);
    if (!s) return npu_fail(err, NPU_NO_MEMORY, "hexagon.session", "out of memory");
    s->driver = driver;
    s->logger = params->logger;
    s->timeout_us = (uint64_t)((params->timeout_s > 0 ? params->timeout_s : driver->timeout_s) * 1e6);
    npu_status status = bring_up(s, params->trace != NULL, err);
    if (status != NPU_OK) {
        npu_hex_session_close(s);
        return status;
    }
    *out = s;
    return NPU_OK;
}

void npu_hex_session_close(npu_hex_session *s) {
    if (!s) return;
    if (!s->lost) {
        stop(s); /* unmaps them all */
        while (s->buffers) drop_buffer(s, s->buffers);
    } else if (s->open) {
        /* A process that hangs would hold the close up. Where the kernel can't do this, the close has to be enough. */
        struct remote_rpc_process_clean_params kill = {NPU_HEX_DOMAIN};
        s->driver->remote_session_control(FASTRPC_REMOTE_PROCESS_KILL, &kill, sizeof kill);
    }
    if (s->open) s->driver->remote_handle64_close(s->handle);
    if (s->queue) s->driver->dspqueue_close(s->queue); /* lost: only now can nobody have it any more */
    /* The NPU process has ended: nobody can write to these any more. */
    release_all(s, s->quarantine);
    release_all(s, s->buffers);
    free(s);
}

/* --- requests --- */

static npu_status lose(npu_hex_session *s, npu_status status) {
    s->lost = status == NPU_TIMEOUT ? NPU_TIMEOUT : NPU_DEVICE_LOST;
    return s->lost;
}

static npu_status bad_answer(npu_hex_session *s, npu_error *err) {
    lose(s, NPU_DEVICE_LOST);
    return npu_fail(err, NPU_DEVICE_LOST, "hexagon.bad_answer", "the NPU program answered with a malformed message");
}

/* The values may have gaps: a code without a name is none. */
static const struct {
    npu_status status;
    const char *name, *text;
} codes[] = {
#define NPU_WIRE_CODE(NAME, value, status, name, text) [value] = {NPU_##status, name, text},
#include "wire/npu_wire_codes.def"
};

/* Nothing is believed that does not fit to the request it answers. */
static npu_status take_answer(npu_hex_session *s, const npu_wire_response *a, uint32_t bytes, npu_error *err) {
    if (bytes != sizeof *a || a->magic != NPU_WIRE_MAGIC || a->version != NPU_WIRE_VERSION ||
        a->kind != NPU_WIRE_BATCH || a->sequence != s->answered + 1 || a->sequence > s->sent)
        return bad_answer(s, err);
    uint32_t slot = a->sequence % DEPTH;
    if (a->code >= sizeof codes / sizeof codes[0] || !codes[a->code].name || a->op < NPU_WIRE_NO_OP ||
        (a->op >= 0 && (uint32_t)a->op >= s->requests[slot].n_ops) || (a->code == NPU_WIRE_OK && a->op >= 0))
        return bad_answer(s, err);
    const npu_wire_response *before = &s->answers[(a->sequence - 1) % DEPTH];
    if (s->requests[slot].goes_on && before->code != NPU_WIRE_OK) {
        s->answers[slot] = *before;
    } else {
        s->answers[slot] = *a;
        if (a->op >= 0) s->answers[slot].op += (int32_t)s->requests[slot].first_op;
    }
    if (s->ring) s->requests[slot].answered_ns = npu_clock_ns();
    s->counters.mapped_bytes += a->mapped_bytes;
    s->answered = a->sequence;
    return NPU_OK;
}

/* Reads one answer; |until| is the end of patience. */
static npu_status read_answer(npu_hex_session *s, uint64_t until, npu_error *err) {
    npu_wire_response a = {0};
    uint32_t flags, buffers, bytes = 0;
    uint64_t now = now_us(), left = until > now ? until - now : 0;
    int result = s->driver->dspqueue_read(s->queue, &flags, 0, &buffers, NULL, sizeof a, &bytes, (uint8_t *)&a,
                                          left > 1000000000 ? 1000000000 : (uint32_t)left);
    if (!result) return take_answer(s, &a, bytes, err);
    npu_status status = lose(s, npu_hex_status(result));
    if (status == NPU_TIMEOUT)
        return npu_fail(err, status, "hexagon.timeout", "the NPU did not answer batch %llu within %.1f s",
                        (unsigned long long)s->answered + 1, (double)s->timeout_us / 1e6);
    return npu_fail(err, status, "hexagon.lost", "the NPU process is lost: %s (0x%x)", npu_hex_result_name(result),
                    (unsigned)result);
}

static npu_status send(npu_hex_session *s, const npu_wire_request *r, npu_error *err) {
    if (s->queue) {
        int result =
            s->driver->dspqueue_write(s->queue, 0, 0, NULL, sizeof *r, (const uint8_t *)r, (uint32_t)s->timeout_us);
        if (!result) return NPU_OK;
        lose(s, npu_hex_status(result));
        return npu_hex_fail(err, result, "sending a batch");
    }
    npu_wire_response a = {0};
    int result = npu_hex_rpc(s->driver, s->handle, NPU_RPC_BATCH, r, sizeof *r, &a, sizeof a);
    if (!result) return take_answer(s, &a, sizeof a, err);
    lose(s, NPU_DEVICE_LOST);
    return npu_hex_fail(err, result, "invoking a batch");
}

npu_status npu_hex_submit(npu_hex_session *s, const npu_hex_request *q, uint64_t *sequence, npu_error *err) {
    if (s->lost) return npu_fail(err, NPU_DEVICE_LOST, "hexagon.lost", "the Hexagon session is lost");
    while (s->sent - s->answered >= DEPTH) NPU_TRY(read_answer(s, now_us() + s->timeout_us, err));
    npu_wire_request r = {.magic = NPU_WIRE_MAGIC,
                          .version = NPU_WIRE_VERSION,
                          .kind = NPU_WIRE_BATCH,
                          .sequence = s->sent + 1,
                          .image_id = q->image_id,
                          .image_fd = q->image->fd,
                          .image_bytes = q->bytes,
                          .image_offset = q->offset,
                          .step = q->step,
                          .image_buffer_bytes = q->image->bytes};
    s->sent++;
    s->counters.submits++;
    s->counters.message_bytes += sizeof r;
    *sequence = r.sequence;
    uint32_t slot = r.sequence % DEPTH;
    s->requests[slot].first_op = q->first_op;
    s->requests[slot].n_ops = q->n_ops;
    s->requests[slot].goes_on = q->goes_on;
    if (s->ring) s->requests[slot].sent_ns = npu_clock_ns();
    return send(s, &r, err);
}

npu_status npu_hex_wait(npu_hex_session *s, uint64_t sequence, npu_error *err) {
    if (sequence > s->sent || !sequence)
        return npu_fail(err, NPU_INVALID, "hexagon.event", "no batch %llu was sent", (unsigned long long)sequence);
    if (s->answered < sequence && s->lost)
        return npu_fail(err, NPU_DEVICE_LOST, "hexagon.lost", "the Hexagon session is lost");
    for (uint64_t until = now_us() + s->timeout_us; s->answered < sequence;) NPU_TRY(read_answer(s, until, err));
    if (s->answered - sequence >= DEPTH)
        return npu_fail(err, NPU_INVALID, "hexagon.event", "batch %llu was sent too long ago",
                        (unsigned long long)sequence);
    const npu_wire_response *a = &s->answers[sequence % DEPTH];
    if (a->code == NPU_WIRE_OK) return NPU_OK;
    if (codes[a->code].status == NPU_DEVICE_LOST) lose(s, NPU_DEVICE_LOST);
    return npu_fail(err, codes[a->code].status, codes[a->code].name, "NPU, op %d, item %u: %s", a->op, a->index,
                    codes[a->code].text);
}
