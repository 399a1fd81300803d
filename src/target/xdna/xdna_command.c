/* Commands: the packet, the submit, the wait, and what a command's final state means. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "target/xdna/xdna_sys.h"

enum { PACKET_WORDS = 16, SLICE_MS = 5 };

static void put(uint32_t *words, uint64_t value) {
    words[0] = (uint32_t)value;
    words[1] = (uint32_t)(value >> 32);
}

/* Built anew for each submit: drivers fill the payload of a failed command with ones. */
static void build(const npu_xdna_context *c, uint32_t kernel, const npu_xdna_arg *args, uint32_t n_args, uint32_t *w) {
    const struct npu_xdna_ready *k = &c->kernels[kernel];
    memset(w, 0, (PACKET_WORDS + 1) * sizeof *w);
    w[1] = 1u << kernel;
    put(w + 2, AMDXDNA_OPCODE_RUN);
    put(w + 4, k->insts.address);
    w[6] = k->n_words;
    for (uint32_t i = 0; i < n_args; i++) put(w + 7 + 2 * (size_t)i, args[i].buffer->address + args[i].offset);
    uint32_t header =
        AMDXDNA_CMD_HEADER((uint32_t)AMDXDNA_STATE_NEW, (uint32_t)PACKET_WORDS, (uint32_t)AMDXDNA_START_CU);
    __atomic_store_n(w, header, __ATOMIC_RELEASE);
}

/* Handles of all buffers that the kernel driver has to pin, each once, ascending. */
static uint32_t list(const npu_xdna_context *c, uint32_t kernel, const npu_xdna_arg *args, uint32_t n_args,
                     uint32_t handles[NPU_XDNA_ARGS + 1]) {
    uint32_t n = 0;
    for (uint32_t i = 0; i <= n_args; i++) {
        uint32_t handle = i < n_args ? args[i].buffer->handle : c->kernels[kernel].insts.handle, at = 0;
        while (at < n && handles[at] < handle) at++;
        if (at < n && handles[at] == handle) continue;
        memmove(handles + at + 1, handles + at, (n - at) * sizeof *handles);
        handles[at] = handle;
        n++;
    }
    return n;
}

static npu_status check(const npu_xdna_context *c, uint32_t kernel, const npu_xdna_arg *args, uint32_t n_args,
                        npu_error *err) {
    NPU_TRY(npu__xdna_usable(c->owner, err));
    if (kernel >= c->n_kernels || n_args > NPU_XDNA_ARGS)
        return npu_fail(err, NPU_RANGE, "xdna.range", "kernel %u of %u with %u arguments", kernel, c->n_kernels,
                        n_args);
    for (uint32_t i = 0; i < n_args; i++)
        if (args[i].buffer->owner != c->owner || args[i].offset >= args[i].buffer->bytes || args[i].offset % 4)
            return npu_fail(err, NPU_RANGE, "xdna.range", "argument %u: offset %llu in a buffer of %llu bytes", i,
                            (unsigned long long)args[i].offset, (unsigned long long)args[i].buffer->bytes);
    return NPU_OK;
}

npu_status npu_xdna_submit(npu_xdna_context *c, uint32_t kernel, const npu_xdna_arg *args, uint32_t n_args,
                           npu_xdna_ticket *ticket, npu_error *err) {
    NPU_TRY(check(c, kernel, args, n_args, err));
    npu_xdna_slot *slot = c->slots;
    while (slot < c->slots + NPU_XDNA_QUEUE && slot->busy) slot++;
    if (slot == c->slots + NPU_XDNA_QUEUE)
        return npu_fail(err, NPU_REFUSED, "xdna.queue_full", "%d commands of the context are not waited for yet",
                        NPU_XDNA_QUEUE);
    uint32_t handles[NPU_XDNA_ARGS + 1];
    build(c, kernel, args, n_args, (uint32_t *)(void *)slot->cmd->data);
    struct amdxdna_exec_cmd exec = {.hwctx = c->handle,
                                    .type = AMDXDNA_EXEC_BUF,
                                    .cmd_handles = slot->cmd->handle,
                                    .args = (uint64_t)(uintptr_t)handles,
                                    .cmd_count = 1};
    exec.arg_count = list(c, kernel, args, n_args, handles);
    npu_status status = npu__xdna_ioctl(c->owner, AMDXDNA_EXEC_CMD, "EXEC_CMD", &exec, err);
    if (status == NPU_INTERNAL) { /* EINVAL: the context is not what it was */
        c->owner->lost = true;
        return npu_fail(err, NPU_DEVICE_LOST, "xdna.context_lost", "%s: EXEC_CMD was refused: the context is gone",
                        c->owner->info.node);
    }
    NPU_TRY(status);
    slot->ticket = exec.seq;
    slot->busy = true;
    *ticket = exec.seq;
    c->owner->counters.commands++;
    return NPU_OK;
}

static uint32_t state_of(const npu_xdna_slot *slot) {
    uint32_t header = __atomic_load_n((const uint32_t *)(const void *)slot->cmd->data, __ATOMIC_ACQUIRE);
    return AMDXDNA_CMD_STATE(header);
}

/* That the wait succeeded says nothing: only one state is a success, and old drivers leave any other number there. */
static npu_status result(npu_xdna_context *c, uint32_t state, npu_error *err) {
    static const struct {
        uint32_t state;
        npu_status status;
        const char *code, *text;
    } rows[] = {
        {AMDXDNA_STATE_NEW, NPU_DEVICE_LOST, "xdna.command", "it was not run (state NEW)"},
        {AMDXDNA_STATE_ERROR, NPU_DEVICE_LOST, "xdna.command", "it failed (state ERROR)"},
        {AMDXDNA_STATE_ABORT, NPU_DEVICE_LOST, "xdna.context_lost", "its context was reset (state ABORT)"},
        {AMDXDNA_STATE_TIMEOUT, NPU_TIMEOUT, "xdna.timeout", "the driver's watchdog ended it (state TIMEOUT)"},
        {AMDXDNA_STATE_NORESPONSE, NPU_DEVICE_LOST, "xdna.command", "the device did not answer (state NORESPONSE)"},
    };
    if (state == AMDXDNA_STATE_COMPLETED) return NPU_OK;
    npu_xdna *dev = c->owner;
    dev->lost = true;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].state == state)
            return npu_fail(err, rows[i].status, rows[i].code, "%s: a command did not complete: %s", dev->info.node,
                            rows[i].text);
    return npu_fail(err, NPU_DEVICE_LOST, "xdna.command", "%s: a command did not complete: state %u", dev->info.node,
                    state);
}

static bool others_wait(const npu_xdna_context *c, const npu_xdna_slot *slot) {
    for (unsigned i = 0; i < NPU_XDNA_QUEUE; i++)
        if (c->slots[i].busy && &c->slots[i] != slot) return true;
    return false;
}

/* One wait until |deadline|: 0 or an errno. */
static int wait_once(npu_xdna_context *c, const npu_xdna_slot *slot, int64_t deadline) {
    struct amdxdna_timeline_wait wait = {.handles = (uint64_t)(uintptr_t)&c->syncobj,
                                         .points = (uint64_t)(uintptr_t)&slot->ticket,
                                         .timeout_ns = deadline,
                                         .count = 1,
                                         .flags = AMDXDNA_WAIT_FOR_SUBMIT};
    npu_xdna *dev = c->owner;
    return dev->driver.sys.ioctl(dev->fd, AMDXDNA_DRM_TIMELINE_WAIT, &wait) ? errno : 0;
}

/* Point 0 of a timeline means its newest point: while others are queued behind command 0 its own state is looked at
 * between short waits. */
static int wait_for(npu_xdna_context *c, const npu_xdna_slot *slot, int64_t deadline) {
    bool short_waits = slot->ticket == 0 && others_wait(c, slot);
    for (;;) {
        int64_t slice = short_waits ? npu__xdna_deadline_ns(SLICE_MS / 1e3) : deadline;
        int error = wait_once(c, slot, slice < deadline ? slice : deadline);
        if (error == EINTR && npu__xdna_deadline_ns(0) < deadline) continue;
        if (error != ETIME || state_of(slot) >= AMDXDNA_STATE_COMPLETED) return error == ETIME ? 0 : error;
        if (npu__xdna_deadline_ns(0) >= deadline) return ETIME;
    }
}

npu_status npu_xdna_wait(npu_xdna_context *c, npu_xdna_ticket ticket, npu_error *err) {
    npu_xdna *dev = c->owner;
    NPU_TRY(npu__xdna_usable(dev, err));
    npu_xdna_slot *slot = c->slots;
    while (slot < c->slots + NPU_XDNA_QUEUE && !(slot->busy && slot->ticket == ticket)) slot++;
    if (slot == c->slots + NPU_XDNA_QUEUE)
        return npu_fail(err, NPU_RANGE, "xdna.range", "command %llu is not waiting to be waited for",
                        (unsigned long long)ticket);
    int error = wait_for(c, slot, npu__xdna_deadline_ns(dev->timeout_s));
    slot->busy = false;
    if (error == ETIME) {
        dev->lost = true;
        return npu_fail(err, NPU_TIMEOUT, "xdna.timeout", "%s: no answer to a command within %g s", dev->info.node,
                        dev->timeout_s);
    }
    if (error) {
        npu_status status = npu__xdna_fail(dev, error, "SYNCOBJ_TIMELINE_WAIT", err);
        dev->lost = true;
        return status;
    }
    return result(c, state_of(slot), err);
}
