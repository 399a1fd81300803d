// The probe: an NPU program for the emulator's tests, written against the public names only. Hand-made skel, methods in
// probe.h.
#include "probe_program.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int opened, closed;
static struct {
    void *address;
    size_t bytes;
} kept;

static int check_args(uint32_t scalars, const remote_arg *args) {
    if (REMOTE_SCALARS_INBUFS(scalars) != 1 || REMOTE_SCALARS_OUTBUFS(scalars) != 1 ||
        args[0].buf.nLen < sizeof(struct probe_in) || args[1].buf.nLen < sizeof(struct probe_out))
        return AEE_EBADPARM;
    return AEE_SUCCESS;
}

static uint64_t sum(const uint8_t *bytes, uint64_t count) {
    uint64_t total = 0;
    for (uint64_t i = 0; i < count; i++) total += bytes[i];
    return total;
}

static int sum_fd(const struct probe_in *in, struct probe_out *out) {
    void *at = HAP_mmap(NULL, (int)in->bytes, HAP_PROT_READ | HAP_PROT_WRITE, 0, (int)in->fd, 0);
    if (at == (void *)-1) return AEE_EMMAP;
    out->value = sum(at, in->bytes);
    out->more = (uintptr_t)at;
    return HAP_munmap(at, (int)in->bytes);
}

static int sum_get(const struct probe_in *in, struct probe_out *out) {
    void *at;
    uint64_t physical;
    int result = HAP_mmap_get((int)in->fd, &at, &physical);
    if (result) return result;
    out->value = sum(at, in->bytes);
    out->more = (uintptr_t)at;
    return HAP_mmap_put((int)in->fd);
}

static int map(const struct probe_in *in, struct probe_out *out) {
    kept.address = HAP_mmap2(NULL, (size_t)in->bytes, (int)in->flags, 0, (int)in->fd, 0);
    kept.bytes = (size_t)in->bytes;
    out->value = (uintptr_t)kept.address;
    return kept.address == (void *)-1 ? AEE_EMMAP : AEE_SUCCESS;
}

static int import_once(uint64_t id) {
    dspqueue_t queue;
    int result = dspqueue_import(id, NULL, NULL, NULL, &queue);
    return result ? result : dspqueue_close(queue);
}

#define PATIENCE_MS 60000

static int meet(uint64_t n) {
    static atomic_uint here;
    atomic_fetch_add(&here, 1);
    for (int ms = 0; atomic_load(&here) < n; ms++) {
        if (ms == PATIENCE_MS) return AEE_EEXPIRED;
        qurt_sleep(1000);
    }
    return AEE_SUCCESS;
}

// An address the compiler can't know to be wild.
void probe_crash(void) {
    static volatile uintptr_t nowhere = 8;
    *(volatile int *)nowhere = 1;
}

static int call(uint32_t method, const struct probe_in *in, struct probe_out *out) {
    switch (method) {
    case PROBE_SUM_FD:
        return sum_fd(in, out);
    case PROBE_SUM_GET:
        return sum_get(in, out);
    case PROBE_MAP:
        return map(in, out);
    case PROBE_UNMAP:
        return HAP_munmap2((void *)(uintptr_t)in->value, (size_t)in->bytes);
    case PROBE_SLEEP:
        for (uint64_t us = 0; in->flags && us < in->value; us += 1000) qurt_sleep(1000), npu_emu_event("op");
        if (!in->flags) qurt_sleep(in->value);
        return AEE_SUCCESS;
    case PROBE_BUSY:
        for (clock_t begin = clock(); (uint64_t)(clock() - begin) < in->value * CLOCKS_PER_SEC / 1000000;)
            for (volatile int i = 0; i < 10000; i++) {
            }
        return AEE_SUCCESS;
    case PROBE_MEET:
        return meet(in->value);
    case PROBE_RELEASE:
        probe_queue_release();
        return AEE_SUCCESS;
    case PROBE_CRASH:
        probe_crash();
        return AEE_SUCCESS;
    case PROBE_EXIT:
        exit((int)in->value);
    case PROBE_FAIL:
        out->value = 77;
        return (int)in->value;
    case PROBE_QUEUE:
        return probe_queue_start(in->value, in->flags != 0);
    case PROBE_QUEUE_STOP:
        return probe_queue_stop();
    case PROBE_IMPORT:
        return import_once(in->value);
    case PROBE_STORE:
        *(volatile uint8_t *)kept.address = (uint8_t)in->value;
        return AEE_SUCCESS;
    case PROBE_CHECK:
        out->value = (uint64_t)probe_check((uint32_t)in->value, in->fd);
        return AEE_SUCCESS;
    case PROBE_CLOSES:
        out->value = (uint64_t)closed;
        return AEE_SUCCESS;
    default:
        return AEE_EUNSUPPORTED;
    }
}

__attribute__((visibility("default"))) int probe_skel_handle_invoke(remote_handle64 handle, uint32_t scalars,
                                                                    remote_arg *args) {
    uint32_t method = REMOTE_SCALARS_METHOD(scalars);
    struct probe_in in;
    int result;
    if (method == PROBE_OPEN) {
        if (((const char *)args[1].buf.pv)[*(uint32_t *)args[0].buf.pv - 1]) return AEE_EBADPARM;
        args[2].h64 = 0x1000u + (uint32_t)++opened;
        return AEE_SUCCESS;
    }
    if (handle <= 0x1000) return AEE_EINVHANDLE;
    if (method == PROBE_CLOSE) {
        closed++;
        return AEE_SUCCESS;
    }
    if (method == PROBE_ECHO) {
        if (args[1].buf.nLen != args[0].buf.nLen) return AEE_EBADPARM;
        if (args[0].buf.nLen) memcpy(args[1].buf.pv, args[0].buf.pv, args[0].buf.nLen);
        return AEE_SUCCESS;
    }
    result = check_args(scalars, args);
    if (result) return result;
    memcpy(&in, args[0].buf.pv, sizeof in);
    return call(method, &in, args[1].buf.pv);
}
