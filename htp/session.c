/* Bring-up and tear-down of a session: VTCM, memory, threads, the queue's main loop. Called by the skel. */
#include "htp/session.h"

#include "htp/memory.h"
#include "htp/platform/hap.h"
#include "htp/platform/machine.h"
#include "wire/guard.h"

enum {
    MAIN_STACK_BYTES = 65536,
    VTCM_TIMEOUT_US = 1000000,
    FENCE_TIMEOUT_US = 5000000,
    READ_TIMEOUT_US = 50000,
    REPORT_TIMEOUT_US = 1000000,
    STOP_POLLS = 200,
    STOP_POLL_US = 10000
};

static uint32_t count_threads(void) {
    qurt_sysenv_max_hthreads_t hw = {0};
    uint32_t threads = (uint32_t)qurt_hvx_get_units() >> 8 & 0xFF;
    if (qurt_sysenv_get_max_hw_threads(&hw) == QURT_EOK && hw.max_hthreads && hw.max_hthreads < threads)
        threads = hw.max_hthreads;
    if (!threads) threads = 1;
    return threads < NPU_MAX_THREADS ? threads : NPU_MAX_THREADS;
}

void htp_hwinfo(npu_rpc_hwinfo *info) {
    unsigned total = 0, available = 0;
    HAP_compute_res_query_VTCM(0, &total, 0, &available, 0);
    *info = (npu_rpc_hwinfo){
        .magic = NPU_WIRE_MAGIC,
        .version = NPU_WIRE_VERSION,
        .arch = htp_machine_arch(),
        .threads = count_threads(),
        .vtcm_bytes = total,
        .window_bytes = htp_machine_window(),
    };
}

static int vtcm_release_wanted(unsigned context_id, void *session) {
    (void)context_id;
    __atomic_store_n(&((htp_session *)session)->vtcm_wanted, 1, __ATOMIC_RELEASE);
    return 0;
}

static int start_vtcm(htp_session *s) {
    compute_res_attr_t attr;
    unsigned bytes = 0;
    void *vtcm = 0;
    if (HAP_compute_res_attr_init(&attr)) return 0;
    HAP_compute_res_attr_set_serialize(&attr, 0);
    HAP_compute_res_attr_set_cache_mode(&attr, 1);
    HAP_compute_res_attr_set_vtcm_param_v2(&attr, s->hw.vtcm_bytes, 0, s->hw.vtcm_bytes);
    HAP_compute_res_attr_set_release_callback(&attr, vtcm_release_wanted, s);
    s->vtcm_context = HAP_compute_res_acquire(&attr, VTCM_TIMEOUT_US);
    if (!s->vtcm_context) return 0;
    if (HAP_compute_res_attr_get_vtcm_ptr_v2(&attr, &vtcm, &bytes) || !vtcm || bytes < s->hw.vtcm_bytes) return 0;
    s->vtcm = vtcm;
    return HAP_compute_res_acquire_cached(s->vtcm_context, VTCM_TIMEOUT_US) == 0;
}

/* Votes may be refused without harm: the device then runs slower. */
static void vote_power(void) {
    enum { APPTYPE = 3, HVX = 2, COMPUTE = 4 };
    HAP_power_request_t apptype = {.type = APPTYPE, .body = {COMPUTE}}, hvx = {.type = HVX, .body = {1}};
    static const char context;
    HAP_power_set((void *)&context, &apptype);
    HAP_power_set((void *)&context, &hvx);
}

/* The queue failed with |result| in the place of batch |sequence|'s answer. The host would wait for it until its time
 * is up: it is told, or, where that can't be done either, finds the process gone. */
static void report_queue(htp_session *s, uint64_t sequence, int result) {
    npu_wire_response last = {.magic = NPU_WIRE_MAGIC,
                              .version = NPU_WIRE_VERSION,
                              .kind = NPU_WIRE_BATCH,
                              .sequence = sequence,
                              .code = NPU_WIRE_QUEUE_FAILED,
                              .op = NPU_WIRE_NO_OP,
                              .index = (uint32_t)result};
    if (dspqueue_write(s->queue, 0, 0, 0, sizeof last, (const uint8_t *)&last, REPORT_TIMEOUT_US)) __builtin_trap();
}

static void serve(void *argument) {
    htp_session *s = argument;
    uint64_t answered = 0;     /* batches */
    int result = 0, works = 0; /* works: something was answered */
    while (!__atomic_load_n(&s->quit, __ATOMIC_ACQUIRE)) {
        uint8_t message[256] __attribute__((aligned(8)));
        uint32_t flags = 0, buffers = 0, bytes = 0;
        result = dspqueue_read(s->queue, &flags, 0, &buffers, 0, sizeof message, &bytes, message, READ_TIMEOUT_US);
        if (result == AEE_EEXPIRED || result == AEE_EWOULDBLOCK) {
            result = 0;
            continue;
        }
        if (result) break;
        npu_wire_response response;
        htp_answer(s, message, bytes, &response);
        result = dspqueue_write(s->queue, 0, 0, 0, sizeof response, (const uint8_t *)&response, UINT32_MAX);
        if (result) break;
        works = 1;
        if (response.kind == NPU_WIRE_BATCH) answered = response.sequence;
    }
    /* One that never worked is found by its first packet, and the session does without. */
    if (result && works && NPU_GUARD(QUEUE_REPORT)) report_queue(s, answered + 1, result);
    __atomic_store_n(&s->main_ended, 1, __ATOMIC_RELEASE);
    qurt_thread_exit(0);
}

static int start_main(htp_session *s, uint64_t queue_id) {
    int result = dspqueue_import(queue_id, 0, 0, 0, &s->queue);
    if (result) return result;
    qurt_thread_attr_t attr;
    qurt_thread_attr_init(&attr);
    static const char name[] = "npu-main";
    for (unsigned c = 0; c < sizeof name; c++) attr.name[c] = name[c];
    s->main_stack = htp_alloc(MAIN_STACK_BYTES);
    if (!s->main_stack) return AEE_ENOMEMORY;
    attr.stack_addr = s->main_stack;
    attr.stack_size = MAIN_STACK_BYTES;
    int priority = qurt_thread_get_priority(qurt_thread_get_id());
    attr.priority = (unsigned short)(priority > 11 ? priority - 10 : 1);
    if (qurt_thread_create(&s->main, &attr, serve, s) != QURT_EOK) return AEE_EFAILED;
    s->has_main = 1;
    return 0;
}

static int check_start(const npu_rpc_start *start) {
    npu_rpc_hwinfo here;
    htp_hwinfo(&here);
    if (start->magic != NPU_WIRE_MAGIC || start->version != NPU_WIRE_VERSION) return AEE_EVERSIONNOTSUPPORT;
    if (!start->threads || start->threads > here.threads || !start->vtcm_bytes || start->vtcm_bytes > here.vtcm_bytes ||
        start->arch != here.arch || start->hmx > here.hmx || !start->window_bytes ||
        start->max_buffer_bytes > 1u << 30 ||
        (start->trace_fd >= 0 && (start->trace_bytes < NPU_TRACE_LEAST_BYTES || start->trace_bytes > 1u << 30)))
        return AEE_EBADPARM;
    return 0;
}

/* 1 also when no trace is wanted. */
static int start_trace(htp_session *s, const npu_rpc_start *start) {
    if (start->trace_fd < 0) return 1;
    void *buffer = htp_map_raw(start->arch, start->trace_fd, start->trace_bytes);
    if (buffer) htp_tracer_start(&s->tracer, buffer, start->trace_bytes, start->threads);
    return buffer != 0;
}

int htp_session_start(htp_session *s, const npu_rpc_start *start) {
    int result = check_start(start);
    if (result) return result;
    *s = (htp_session){.hw = {.arch = start->arch,
                              .threads = start->threads,
                              .vtcm_bytes = start->vtcm_bytes,
                              .hmx = start->hmx,
                              .window_bytes = start->window_bytes,
                              .max_buffer_bytes = (uint32_t)start->max_buffer_bytes,
                              .line_bytes = 128}};
    s->fence_timeout_us = start->fence_timeout_us ? start->fence_timeout_us : FENCE_TIMEOUT_US;
    htp_map_init(&s->map, start->window_bytes, start->arch);
    s->scratch = htp_alloc(NPU_SCRATCH_BYTES);
    s->dma_rings = htp_alloc(NPU_MAX_THREADS * HTP_DMA_RING * 32);
    int priority = qurt_thread_get_priority(qurt_thread_get_id());
    if (!s->scratch || !s->dma_rings || !start_trace(s, start)) {
        result = AEE_ENOMEMORY;
    } else if (!start_vtcm(s)) {
        result = AEE_ERESOURCENOTFOUND;
    } else if (!htp_pool_start(&s->pool, start->threads, priority > 11 ? priority - 10 : 1, &s->tracer)) {
        result = AEE_EFAILED;
    } else {
        for (unsigned i = 0; i < NPU_MAX_THREADS; i++)
            htp_dma_init(&s->dma[i], (uint8_t *)s->dma_rings + i * HTP_DMA_RING * 32, start->arch,
                         htp_trace_of(&s->tracer, i));
        vote_power();
        if (start->queue_id) result = start_main(s, start->queue_id);
    }
    if (result) (void)htp_session_stop(s);
    return result;
}

int htp_session_stop(htp_session *s) {
    int status;
    __atomic_store_n(&s->quit, 1, __ATOMIC_RELEASE);
    for (int i = 0; s->has_main && !__atomic_load_n(&s->main_ended, __ATOMIC_ACQUIRE); i++) {
        if (i == STOP_POLLS) return AEE_EBADSTATE;
        qurt_sleep(STOP_POLL_US);
    }
    if (s->has_main) qurt_thread_join(s->main, &status);
    if (s->queue) dspqueue_close(s->queue);
    htp_free(s->main_stack);
    htp_pool_stop(&s->pool);
    if (s->vtcm) HAP_compute_res_release_cached(s->vtcm_context);
    if (s->vtcm_context) HAP_compute_res_release(s->vtcm_context);
    htp_images_free(s);
    htp_free(s->dma_rings);
    htp_free(s->scratch);
    htp_map_close(&s->map);
    if (s->tracer.buffer) htp_unmap_raw(s->hw.arch, s->tracer.buffer, s->tracer.bytes);
    return AEE_SUCCESS;
}
