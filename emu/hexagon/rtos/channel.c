// Invocations in the NPU process: one thread a channel, that is, one for each host thread that invokes. It rebuilds the
// arguments in this process' own form and calls the skel.
#include "emu_dsp.h"
#include "message.h"
#include "../strict/strict.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_MODULES     16
#define MAX_ARGS        (255 + 255 + 15 + 15)
#define MOST_CALL_BYTES (1u << 30)
#define STACK_BYTES     (1u << 20)

static struct {
    pthread_mutex_t lock;
    npu_emu_skel_fn *skels[MAX_MODULES];
    uint32_t count;
} modules = {.lock = PTHREAD_MUTEX_INITIALIZER};

int emu_module_add(npu_emu_skel_fn *skel, uint64_t *module) {
    int result = AEE_SUCCESS;
    pthread_mutex_lock(&modules.lock);
    for (*module = 0; *module < modules.count && modules.skels[*module] != skel;) ++*module;
    if (*module == MAX_MODULES)
        result = AEE_ENOMORE;
    else if (*module == modules.count)
        modules.skels[modules.count++] = skel;
    pthread_mutex_unlock(&modules.lock);
    return result;
}

static npu_emu_skel_fn *skel_of(uint32_t module) {
    npu_emu_skel_fn *skel = NULL;
    pthread_mutex_lock(&modules.lock);
    if (module < modules.count) skel = modules.skels[module];
    pthread_mutex_unlock(&modules.lock);
    return skel;
}

struct invocation {
    struct emu_call call;
    struct emu_call_arg list[MAX_ARGS];
    remote_arg args[MAX_ARGS];
    uint8_t *inline_bytes;
};

static size_t inline_size(const struct invocation *v, uint32_t buffers) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < buffers; i++) {
        if (v->list[i].fd >= 0) continue;
        if (v->list[i].bytes > MOST_CALL_BYTES) return SIZE_MAX;
        total += (v->list[i].bytes + 15) / 16 * 16;
        if (total > MOST_CALL_BYTES) return SIZE_MAX;
    }
    return (size_t)total;
}

// Points every buffer argument at shared memory or at its part of |inline_bytes|. 0 or a code.
static int place(struct invocation *v, uint32_t buffers) {
    size_t at = 0;
    for (uint32_t i = 0; i < buffers; i++) {
        const struct emu_call_arg *arg = &v->list[i];
        uint64_t known;
        uint8_t *base;
        v->args[i].buf.nLen = (size_t)arg->bytes;
        if (arg->fd < 0) {
            v->args[i].buf.pv = v->inline_bytes + at;
            at += ((size_t)arg->bytes + 15) / 16 * 16;
            continue;
        }
        base = emu_window_address(arg->fd, &known);
        if (!base) return AEE_ENOSUCHMAP;
        if (arg->offset > known || arg->bytes > known - arg->offset) return AEE_EBADPARM;
        v->args[i].buf.pv = base + arg->offset;
    }
    return 0;
}

static int receive(int channel, struct invocation *v) {
    uint32_t in, buffers, handles;
    size_t bytes;
    int code;
    if (emu_stream_read(channel, &v->call, sizeof v->call) || v->call.magic != EMU_CALL_MAGIC ||
        v->call.args != REMOTE_SCALARS_LENGTH(v->call.scalars) ||
        emu_stream_read(channel, v->list, v->call.args * sizeof *v->list))
        return -1;
    in = REMOTE_SCALARS_INBUFS(v->call.scalars);
    buffers = in + REMOTE_SCALARS_OUTBUFS(v->call.scalars);
    handles = buffers + REMOTE_SCALARS_INHANDLES(v->call.scalars);
    memset(v->args, 0, sizeof *v->args * (v->call.args ? v->call.args : 1));
    bytes = inline_size(v, buffers);
    v->inline_bytes = bytes == SIZE_MAX ? NULL : calloc(1, bytes ? bytes : 1);
    if (!v->inline_bytes) return -1;
    code = place(v, buffers);
    if (code) return code;
    for (uint32_t i = 0; i < in; i++)
        if (v->list[i].fd < 0 && emu_stream_read(channel, v->args[i].buf.pv, v->args[i].buf.nLen)) return -1;
    for (uint32_t i = buffers; i < handles; i++)
        if (emu_stream_read(channel, &v->args[i], 8)) return -1;
    return 0;
}

static int answer(int channel, const struct invocation *v, int result) {
    struct emu_answer head = {EMU_CALL_MAGIC, result};
    uint32_t in = REMOTE_SCALARS_INBUFS(v->call.scalars), buffers = in + REMOTE_SCALARS_OUTBUFS(v->call.scalars);
    if (emu_stream_write(channel, &head, sizeof head)) return -1;
    if (result) return 0;
    for (uint32_t i = in; i < buffers; i++)
        if (v->list[i].fd < 0 && emu_stream_write(channel, v->args[i].buf.pv, v->args[i].buf.nLen)) return -1;
    for (uint32_t i = buffers + REMOTE_SCALARS_INHANDLES(v->call.scalars); i < v->call.args; i++)
        if (emu_stream_write(channel, &v->args[i], 8)) return -1;
    return 0;
}

// Arguments in shared memory: what the library invalidates before a call, and writes back after it.
static void upkeep(const struct invocation *v, bool after) {
    uint32_t in = REMOTE_SCALARS_INBUFS(v->call.scalars), buffers = in + REMOTE_SCALARS_OUTBUFS(v->call.scalars);
    for (uint32_t i = after ? in : 0; emu_strict_cache() && i < buffers; i++)
        if (v->list[i].fd >= 0) emu_strict_clean((uintptr_t)v->args[i].buf.pv, v->list[i].bytes, true, !after);
}

static int run_skel(struct invocation *v, npu_emu_skel_fn *skel) {
    int code;
    if (emu_dsp_meet("invoke", &code)) return code;
    if (emu_strict_cache()) emu_strict_receive();
    upkeep(v, false);
    code = skel((remote_handle64)v->call.handle, v->call.scalars, v->args);
    upkeep(v, true);
    if (emu_strict_cache()) emu_strict_send();
    return code;
}

static int call_skel(struct invocation *v) {
    npu_emu_skel_fn *skel = skel_of(v->call.module);
    int code;
    emu_count(EMU_COUNT_INVOKES, 1);
    if (!skel) return AEE_EINVHANDLE;
    emu_watchdog_invocation(true);
    code = run_skel(v, skel);
    emu_watchdog_invocation(false);
    return code;
}

static void *serve(void *argument) {
    int channel = (int)(intptr_t)argument, code = 0;
    struct invocation *v = malloc(sizeof *v);
    while (v && code >= 0) {
        v->inline_bytes = NULL;
        code = receive(channel, v);
        if (code != -1 && !answer(channel, v, code ? code : call_skel(v)))
            code = 0;
        else
            code = -1;
        free(v->inline_bytes);
    }
    free(v);
    close(channel);
    return NULL;
}

int emu_channel_start(int fd) {
    pthread_attr_t attr;
    pthread_t thread;
    int failed;
    if (fd < 0) return AEE_EBADPARM;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    failed = pthread_create(&thread, &attr, serve, (void *)(intptr_t)fd);
    pthread_attr_destroy(&attr);
    if (failed) close(fd);
    return failed ? AEE_EQURTTHREADCREATE : 0;
}
