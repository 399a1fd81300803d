/* Shared buffers of a session: allocated and announced by the library, quarantined when the session is lost. */
#include <stdlib.h>

#include "target/hexagon/hexagon_session_internal.h"
#include "wire/guard.h"

/* Until a call fails, which |doing| names then, or took so long that the process was ended. */
static int get_memory(npu_hex_session *s, npu_hex_buffer *b, uint64_t bytes, const char **doing) {
    const npu_hex_driver *d = s->driver;
    *doing = d->rpcmem_alloc2 ? "allocating a buffer (rpcmem_alloc2)" : "allocating a buffer (rpcmem_alloc)";
    b->data = d->rpcmem_alloc2 ? d->rpcmem_alloc2(RPCMEM_HEAP_ID_SYSTEM, RPCMEM_DEFAULT_FLAGS, (size_t)bytes)
                               : d->rpcmem_alloc(RPCMEM_HEAP_ID_SYSTEM, RPCMEM_DEFAULT_FLAGS, (int)bytes);
    if (!b->data || npu_hex_watch_has_ended(s->watch)) return AEE_ENOMEMORY;
    *doing = "asking for a buffer's descriptor (rpcmem_to_fd)";
    b->fd = d->rpcmem_to_fd(b->data);
    if (b->fd < 0 || npu_hex_watch_has_ended(s->watch)) return AEE_ENOMEMORY;
    *doing = "announcing a buffer (fastrpc_mmap)";
    return d->fastrpc_mmap(s->domain, b->fd, b->data, 0, (size_t)bytes, FASTRPC_MAP_FD_DELAYED);
}

static npu_status fail_announcing(npu_hex_session *s, int result, const char *doing, npu_error *err) {
    npu_status status = npu_hex_status(result);
    if (npu_hex_watch_has_ended(s->watch)) {
        npu__hex_lose(s, NPU_TIMEOUT);
        return npu_fail(err, NPU_TIMEOUT, "hexagon.timeout",
                        "%s: %s took longer than %g s (`timeout_s`, but %d s at least), and its process was ended",
                        s->name, doing, npu_hex_watch_limit_s(s->watch), NPU_HEX_CALL_LEAST_S);
    }
    if (status == NPU_DEVICE_LOST) npu__hex_lose(s, status);
    return npu_fail(err, status, s->lost ? "hexagon.lost" : "hexagon.announce", "%s: %s: %s (0x%x)", s->name, doing,
                    npu_hex_result_name(result), (unsigned)result);
}

npu_status npu_hex_buffer_alloc(npu_hex_session *s, uint64_t bytes, bool pinned, npu_hex_buffer **out, npu_error *err) {
    const char *doing;
    *out = NULL;
    if (s->lost) return npu_fail(err, NPU_DEVICE_LOST, "hexagon.lost", "%s is lost", s->name);
    if (!bytes || bytes > s->hw.max_buffer_bytes)
        return npu_fail(err, NPU_NO_MEMORY, "hexagon.buffer_size", "a shared buffer of %llu bytes (at most %u)",
                        (unsigned long long)bytes, s->hw.max_buffer_bytes);
    bytes = (bytes + 4095) & ~4095ull;
    npu_hex_buffer *b = calloc(1, sizeof *b);
    if (!b) return npu_fail(err, NPU_NO_MEMORY, "hexagon.buffer", "out of memory");
    b->fd = -1;
    npu_hex_watch_begin(s->watch);
    int result = get_memory(s, b, bytes, &doing);
    bool has_memory = b->fd >= 0;
    if (result && b->data) s->driver->rpcmem_free(b->data);
    npu_hex_watch_end(s->watch);
    if (result) {
        free(b);
        if (has_memory || npu_hex_watch_has_ended(s->watch)) return fail_announcing(s, result, doing, err);
        return npu_fail(err, NPU_NO_MEMORY, "hexagon.rpcmem", "no shared memory for a buffer of %llu bytes",
                        (unsigned long long)bytes);
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

npu_status npu_hex_buffer_share(npu_hex_buffer *b, npu_hex_session *with, npu_error *err) {
    if (with == b->session) return NPU_OK;
    for (uint32_t i = 0; i < b->n_others; i++)
        if (b->others[i] == with) return NPU_OK;
    if (with->lost) return npu_fail(err, NPU_DEVICE_LOST, "hexagon.lost", "%s is lost", with->name);
    npu_hex_watch_begin(with->watch);
    int result = with->driver->fastrpc_mmap(with->domain, b->fd, b->data, 0, (size_t)b->bytes, FASTRPC_MAP_FD_DELAYED);
    npu_hex_watch_end(with->watch);
    if (result) return fail_announcing(with, result, "announcing a shared buffer (fastrpc_mmap)", err);
    b->others[b->n_others++] = with;
    return NPU_OK;
}

static void release(npu_hex_session *s, npu_hex_buffer *b) {
    for (uint32_t i = 0; i < b->n_others; i++)
        s->driver->fastrpc_munmap(b->others[i]->domain, b->fd, b->data, (size_t)b->bytes);
    s->driver->fastrpc_munmap(s->domain, b->fd, b->data, (size_t)b->bytes);
    s->driver->rpcmem_free(b->data);
    free(b);
}

static void drop_buffer(npu_hex_session *s, npu_hex_buffer *b) {
    npu_hex_buffer **at = &s->buffers;
    while (*at != b) at = &(*at)->next;
    *at = b->next;
    bool lost = s->lost != NPU_OK;
    for (uint32_t i = 0; i < b->n_others; i++) lost |= b->others[i]->lost != NPU_OK;
    if (lost && NPU_GUARD(DRIVER_QUARANTINE)) {
        b->next = s->quarantine;
        s->quarantine = b;
        return;
    }
    /* The NPU program drops its own mapping first: address space may come back only then. */
    npu_rpc_munmap drop = {.fd = b->fd};
    if (s->started && NPU_GUARD(DRIVER_UNMAP_FIRST))
        npu_hex_rpc(s->driver, s->handle, NPU_RPC_MUNMAP, &drop, sizeof drop, NULL, 0);
    for (uint32_t i = 0; i < b->n_others; i++)
        if (b->others[i]->started)
            npu_hex_rpc(s->driver, b->others[i]->handle, NPU_RPC_MUNMAP, &drop, sizeof drop, NULL, 0);
    release(s, b);
}

static void watch_all(npu_hex_session *s, npu_hex_session *const *others, uint32_t n, void (*what)(npu_hex_watch *)) {
    what(s->watch);
    for (uint32_t i = 0; i < n; i++) what(others[i]->watch);
}

void npu_hex_buffer_free(npu_hex_buffer *b) {
    npu_hex_session *s, *others[NPU_HEX_DEVICES - 1];
    if (!b) return;
    uint32_t n = b->n_others;
    s = b->session;
    for (uint32_t i = 0; i < n; i++) others[i] = b->others[i];
    watch_all(s, others, n, npu_hex_watch_begin);
    drop_buffer(s, b);
    watch_all(s, others, n, npu_hex_watch_end);
}

static void release_all(npu_hex_session *s, npu_hex_buffer *first) {
    for (npu_hex_buffer *b = first, *next; b; b = next) {
        next = b->next;
        release(s, b);
    }
}

void npu__hex_release_buffers(npu_hex_session *s) {
    release_all(s, s->quarantine);
    release_all(s, s->buffers);
    s->quarantine = s->buffers = NULL;
}
