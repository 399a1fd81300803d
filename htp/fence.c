#include "htp/fence.h"

#include "htp/memory.h"
#include "htp/platform/hap.h"
#include "htp/platform/machine.h"
#include "wire/guard.h"

enum { SPINS = 64, SLEEP_US = 1000 };

void htp_fence_signal(npu_fence *own, uint32_t sequence, uint32_t status) {
    if (NPU_GUARD(FENCE_STATUS)) {
        __atomic_store_n(&own->word, npu_fence_word(sequence, status), __ATOMIC_RELEASE);
    } else {
        __atomic_store_n(&own->sequence, sequence, __ATOMIC_RELEASE);
        __atomic_store_n(&own->status, status, __ATOMIC_RELAXED);
    }
    if (NPU_GUARD(FENCE_CLEAN)) htp_memory_refresh(own, sizeof *own);
    htp_machine_line_wake(own);
}

/* A short spin, because a peer is seldom far behind; then the device sleeps where it can. */
uint32_t htp_fence_wait(npu_fence *fence, uint32_t wanted, uint64_t timeout_us) {
    uint64_t until = 0;
    for (uint32_t tries = 0;; tries++) {
        if (NPU_GUARD(FENCE_READ)) htp_memory_refresh(fence, sizeof *fence);
        uint64_t word = __atomic_load_n(&fence->word, __ATOMIC_ACQUIRE);
        uint32_t sequence = (uint32_t)word;
        if (npu_fence_reached(sequence, wanted)) return (uint32_t)(word >> 32);
        htp_machine_pause();
        if (tries < SPINS) continue;
        uint64_t now = HAP_perf_get_time_us();
        if (!until) until = now + timeout_us;
        if (now >= until && NPU_GUARD(FENCE_TIME_LIMIT)) return NPU_WIRE_NO_FENCE;
        htp_machine_line_wait(fence, sequence, SLEEP_US);
    }
}

static uint32_t wait_for(htp_fences *f, uint32_t slot, uint32_t wanted) {
    uint32_t code = htp_fence_wait(&f->slots[slot], wanted, f->timeout_us);
    f->peer = slot;
    if (code == NPU_WIRE_OK || code == NPU_WIRE_NO_FENCE) return code;
    f->peer_code = code;
    return NPU_WIRE_PEER_FAILED;
}

uint32_t htp_fences_sync(htp_fences *f, const npu_wire_sync *sync) {
    uint32_t sequence = f->base + (uint32_t)sync->number, code = NPU_WIRE_OK;
    if (sync->kind == NPU_SYNC_WAIT) return wait_for(f, sync->slot, sequence);
    htp_fence_signal(&f->slots[f->own], sequence, NPU_WIRE_OK);
    if (sync->kind == NPU_SYNC_SIGNAL) return NPU_WIRE_OK;
    for (uint32_t slot = 0; slot < sync->slot && code == NPU_WIRE_OK; slot++)
        if (slot != f->own) code = wait_for(f, slot, sequence);
    return code;
}

void htp_fences_fail(const htp_fences *f, uint32_t status) {
    if (NPU_GUARD(FENCE_FAIL)) htp_fence_signal(&f->slots[f->own], npu_fence_last(f->base), status);
}
