/* The skel: the entry that FastRPC calls with a method number and buffers. Checks counts and lengths, then forwards.
 * A handle is the address of its session record. */
#include "htp/memory.h"
#include "htp/platform/fastrpc.h"
#include "htp/session.h"

typedef struct htp_handle {
    qurt_mutex_t lock; /* of start, stop and invoked batches */
    int started;
    htp_session session;
} htp_handle;

__attribute__((visibility("default"))) int npu_htp_skel_handle_invoke(remote_handle64 handle, uint32_t scalars,
                                                                      remote_arg *args);

static int open_handle(uint32_t scalars, remote_arg *args) {
    /* in: primitives, URI; out handle */
    if (REMOTE_SCALARS_INBUFS(scalars) != 2 || REMOTE_SCALARS_HANDLES(scalars) != 1) return AEE_EBADPARM;
    htp_handle *h = htp_alloc(sizeof *h);
    if (!h) return AEE_ENOMEMORY;
    h->started = 0;
    qurt_mutex_init(&h->lock);
    args[2].h64 = (uint64_t)(uintptr_t)h;
    return AEE_SUCCESS;
}

static int stop(htp_handle *h) {
    qurt_mutex_lock(&h->lock);
    int result = h->started ? htp_session_stop(&h->session) : AEE_SUCCESS;
    if (!result) h->started = 0;
    qurt_mutex_unlock(&h->lock);
    return result;
}

static int close_handle(htp_handle *h) {
    int result = stop(h);
    if (result) return result; /* its threads still use it */
    qurt_mutex_destroy(&h->lock);
    htp_free(h);
    return AEE_SUCCESS;
}

static int start(htp_handle *h, const npu_rpc_start *in) {
    qurt_mutex_lock(&h->lock);
    int result = h->started ? AEE_EBADSTATE : htp_session_start(&h->session, in);
    if (!result) h->started = 1;
    qurt_mutex_unlock(&h->lock);
    return result;
}

static int batch(htp_handle *h, const void *in, uint32_t bytes, npu_wire_response *out) {
    qurt_mutex_lock(&h->lock);
    int result = h->started && !h->session.has_main ? AEE_SUCCESS : AEE_EBADSTATE;
    if (!result) htp_answer(&h->session, in, bytes, out);
    qurt_mutex_unlock(&h->lock);
    return result;
}

int npu_htp_skel_handle_invoke(remote_handle64 handle, uint32_t scalars, remote_arg *args) {
    static const struct {
        uint8_t in, out; /* bytes */
    } methods[] = {
        [NPU_RPC_HWINFO] = {0, sizeof(npu_rpc_hwinfo)},
        [NPU_RPC_START] = {sizeof(npu_rpc_start), 0},
        [NPU_RPC_STOP] = {0, 0},
        [NPU_RPC_MUNMAP] = {sizeof(npu_rpc_munmap), 0},
        [NPU_RPC_BATCH] = {sizeof(npu_wire_request), sizeof(npu_wire_response)},
    };
    uint32_t method = REMOTE_SCALARS_METHOD(scalars);
    htp_handle *h = (htp_handle *)(uintptr_t)handle;
    if (method == NPU_RPC_OPEN) return open_handle(scalars, args);
    if (method == NPU_RPC_CLOSE) return close_handle(h);
    if (method >= sizeof methods / sizeof methods[0]) return AEE_EUNSUPPORTED;
    uint32_t in = methods[method].in, out = methods[method].out, n_in = in ? 1 : 0;
    if (REMOTE_SCALARS_INBUFS(scalars) != n_in || REMOTE_SCALARS_OUTBUFS(scalars) != (out ? 1u : 0u) ||
        REMOTE_SCALARS_HANDLES(scalars))
        return AEE_EBADPARM;
    if ((in && args[0].buf.nLen < in) || (out && args[n_in].buf.nLen < out)) return AEE_EBADPARM;
    /* Arguments may lie anywhere: work on aligned copies. */
    union {
        npu_rpc_start start;
        npu_rpc_munmap munmap;
        npu_wire_request request;
    } a = {{0}};
    union {
        npu_rpc_hwinfo hwinfo;
        npu_wire_response response;
    } b;
    if (in) htp_copy(&a, args[0].buf.pv, in);
    int result = AEE_SUCCESS;
    switch (method) {
    case NPU_RPC_HWINFO:
        htp_hwinfo(&b.hwinfo);
        break;
    case NPU_RPC_START:
        result = start(h, &a.start);
        break;
    case NPU_RPC_STOP:
        result = stop(h);
        break;
    case NPU_RPC_MUNMAP:
        if (h->started) htp_map_drop(&h->session.map, a.munmap.fd);
        break;
    case NPU_RPC_BATCH:
        result = batch(h, &a, (uint32_t)args[0].buf.nLen, &b.response);
        break;
    }
    if (!result && out) htp_copy(args[n_in].buf.pv, &b, out);
    return result;
}
