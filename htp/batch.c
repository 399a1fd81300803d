/* Answering requests: takes batch images in (copy, check, keep), maps buffers, runs ops in order, reports the first
 * failure with its op. Runs on the session's main thread, or on an invoking one where there is no queue. */
#include "htp/fence.h"
#include "htp/memory.h"
#include "htp/op.h"
#include "htp/platform/hap.h"
#include "htp/platform/machine.h"
#include "wire/guard.h"

void htp_images_free(htp_session *s) {
    for (unsigned i = 0; i < NPU_WIRE_KEPT_IMAGES; i++) {
        htp_free(s->images[i].copy);
        s->images[i] = (htp_image){0};
    }
}

/* The kept image |id|; NULL when there is none. */
static htp_image *find_image(htp_session *s, uint64_t id) {
    for (unsigned i = 0; i < NPU_WIRE_KEPT_IMAGES; i++)
        if (id && s->images[i].copy && s->images[i].id == id) return &s->images[i];
    return 0;
}

/* Keeps a checked image in place of the one that was used longest ago, and only then: a message that is refused takes
 * nothing away. */
static htp_image *keep_image(htp_session *s, const htp_image *image) {
    htp_image *place = &s->images[0];
    for (unsigned i = 1; i < NPU_WIRE_KEPT_IMAGES && place->copy; i++)
        if (!s->images[i].copy || s->images[i].last_use < place->last_use) place = &s->images[i];
    htp_free(place->copy);
    *place = *image;
    return place;
}

/* Fills |image|, which is empty. A private copy first: a shared one could change between check and use. */
static int read_image(htp_session *s, const npu_wire_request *r, htp_image *image, npu_wire_fault *fault) {
    uint64_t end = r->image_offset + r->image_bytes;
    *fault = (npu_wire_fault){NPU_WIRE_NO_IMAGE, NPU_WIRE_NO_OP, 0, "image"};
    if (r->image_bytes < sizeof(npu_wire_image) || r->image_bytes > NPU_WIRE_MAX_IMAGE || r->image_offset % 8 ||
        end < r->image_offset || end > r->image_buffer_bytes || r->image_buffer_bytes > s->hw.max_buffer_bytes)
        return 0;
    npu_wire_buffer window = {r->image_fd, NPU_WIRE_BUFFER_PINNED, r->image_buffer_bytes};
    uint8_t *at;
    uint32_t index;
    if (htp_map_take(&s->map, &window, 1, &at, &index) != NPU_WIRE_OK) return 0;
    image->copy = htp_alloc(r->image_bytes);
    if (image->copy) {
        if (NPU_GUARD(REFRESH_IMAGE)) htp_memory_refresh(at + r->image_offset, r->image_bytes);
        s->cache_bytes += r->image_bytes;
        htp_copy(image->copy, at + r->image_offset, r->image_bytes);
    }
    htp_map_release(&s->map);
    if (!image->copy) {
        fault->code = NPU_WIRE_NO_MEMORY;
        return 0;
    }
    if (!npu_wire_check_image(image->copy, r->image_bytes, &s->hw, image->max_rows, fault)) {
        htp_free(image->copy);
        image->copy = 0;
        return 0;
    }
    image->id = r->image_id;
    return 1;
}

/* Fills the operand at the step's row counts. Returns 0 when it has no rows now. */
static int operand(const npu_wire_image *image, uint16_t index, const npu_step *step, uint8_t *const *addresses,
                   npu_tensor *t, uint8_t **data) {
    *data = 0;
    if (index == NPU_NO_TENSOR) return 1;
    const npu_tensor *from = &npu_wire_tensors(image)[index];
    *t = npu_tensor_at_step(from, step);
    *data = addresses[t->buffer] + t->offset;
    return t->ne[t->rows_dim] != 0;
}

static uint32_t run_op(htp_session *s, const npu_wire_image *image, const npu_op *op, const npu_step *step,
                       uint8_t *const *addresses, uint32_t *index) {
    htp_op o = {.session = s, .op = op, .kernel = op->kernel};
    int rows = !(op->flags & NPU_OP_SKIPPED);
    for (unsigned i = 0; i < NPU_OP_SRCS; i++) {
        uint8_t *data;
        rows &= operand(image, op->src[i], step, addresses, &o.src[i], &data);
        o.src_data[i] = data;
    }
    for (unsigned i = 0; i < NPU_OP_DSTS; i++)
        rows &= operand(image, op->dst[i], step, addresses, &o.dst[i], &o.dst_data[i]);
    if (!rows) return NPU_WIRE_OK;
    htp_machine_op(s->tracer.now.op, npu_op_find(op->code)->name);
    htp_trace *trace = htp_trace_of(&s->tracer, 0);
    uint64_t begin = HTP_TRACED(trace) ? htp_trace_time() : 0;
    htp_op_find(op->code)(&o);
    if (HTP_TRACED(trace)) htp_trace_add(trace, NPU_TRACE_OP, begin, 0);
    for (unsigned i = 0; i < s->hw.threads; i++)
        if (s->dma[i].failed) o.code = NPU_WIRE_DMA_FAILED, o.index = i;
    *index = o.index;
    return o.code;
}

/* Gives VTCM away between batches when another client asked for it, and takes it back. */
static int keep_vtcm(htp_session *s) {
    if (!__atomic_exchange_n(&s->vtcm_wanted, 0, __ATOMIC_ACQ_REL)) return 1;
    HAP_compute_res_release_cached(s->vtcm_context);
    return HAP_compute_res_acquire_cached(s->vtcm_context, 1000000) == 0;
}

/* How a batch stands with the other devices of its group. */
static htp_fences fences_of(const htp_session *s, const npu_wire_image *image, uint32_t base,
                            uint8_t *const *addresses) {
    htp_fences f = {.slots = (npu_fence *)addresses[image->fence_buffer],
                    .own = image->fence_slot,
                    .base = base,
                    .timeout_us = s->fence_timeout_us};
    /* The host wrote there since: this device's line must not bring back what it had. */
    if (NPU_GUARD(FENCE_OWN_SLOT)) htp_memory_refresh(&f.slots[f.own], sizeof *f.slots);
    return f;
}

/* Waits and signals that come before op |op|. */
static uint32_t sync_before(htp_session *s, const npu_wire_image *image, uint32_t op, htp_fences *fences,
                            uint32_t *next, npu_wire_response *response) {
    uint32_t code = NPU_WIRE_OK;
    htp_trace *trace = htp_trace_of(&s->tracer, 0);
    for (; *next < image->n_syncs && npu_wire_syncs(image)[*next].op == op && code == NPU_WIRE_OK; ++*next) {
        const npu_wire_sync *sync = &npu_wire_syncs(image)[*next];
        uint64_t begin = HTP_TRACED(trace) ? htp_trace_time() : 0;
        htp_machine_event("fence");
        code = htp_fences_sync(fences, sync);
        *(sync->kind == NPU_SYNC_BARRIER ? &response->barriers : &response->fences) += 1;
        s->cache_bytes += sizeof(npu_fence) * (sync->kind == NPU_SYNC_BARRIER ? sync->slot : 1u);
        if (HTP_TRACED(trace)) htp_trace_add(trace, NPU_TRACE_FENCE, begin, 0);
        if (code != NPU_WIRE_OK) response->index = fences->peer;
    }
    return code;
}

static void run_ops(htp_session *s, const npu_wire_image *image, const npu_wire_request *r, uint8_t *const *addresses,
                    npu_wire_response *response) {
    htp_fences fences = {0};
    uint32_t next = 0;
    if (image->n_syncs) fences = fences_of(s, image, r->fence, addresses);
    for (uint32_t i = 0; i <= image->n_ops && response->code == NPU_WIRE_OK; i++) {
        response->code = sync_before(s, image, i, &fences, &next, response);
        if (i == image->n_ops || response->code != NPU_WIRE_OK || htp_machine_idle()) continue;
        s->tracer.now.op = (uint16_t)i;
        response->code = run_op(s, image, &npu_wire_ops(image)[i], &r->step, addresses, &response->index);
        if (response->code != NPU_WIRE_OK) response->op = (int32_t)i;
        s->tracer.now.op = NPU_TRACE_NO_OP;
    }
    if (response->code != NPU_WIRE_OK && image->n_syncs)
        htp_fences_fail(&fences, response->code == NPU_WIRE_PEER_FAILED ? fences.peer_code : response->code);
}

static void run_image(htp_session *s, const npu_wire_image *image, const npu_wire_request *r,
                      npu_wire_response *response) {
    uint8_t *addresses[NPU_WIRE_MAX_BUFFERS];
    htp_trace *trace = htp_trace_of(&s->tracer, 0);
    uint64_t begin = HTP_TRACED(trace) ? htp_trace_time() : 0, mapped = s->map.ever_mapped_bytes;
    response->code = htp_map_take(&s->map, npu_wire_buffers(image), image->n_buffers, addresses, &response->index);
    if (HTP_TRACED(trace) && s->map.ever_mapped_bytes != mapped)
        htp_trace_add(trace, NPU_TRACE_MAP, begin, (uint32_t)(s->map.ever_mapped_bytes - mapped));
    if (response->code != NPU_WIRE_OK) return;
    if (!keep_vtcm(s)) response->code = NPU_WIRE_NO_VTCM;
    if (response->code == NPU_WIRE_OK) run_ops(s, image, r, addresses, response);
    htp_map_release(&s->map);
}

/* Whether the batch of several devices that |r| is of has failed here: a failure is the last word (wire/fence.h), and
 * signals of later parts would write over it before others have seen it. */
static int is_over(htp_session *s, const npu_wire_request *r) {
    if (!npu_fence_same_batch(s->failed_fence, r->fence)) s->has_failed = 0;
    return s->has_failed && NPU_GUARD(FENCE_LAST_WORD);
}

static void run_batch(htp_session *s, const npu_wire_request *r, npu_wire_response *response) {
    npu_wire_fault fault = {0};
    htp_image unkept = {0}, *image = find_image(s, r->image_id);
    if ((image || read_image(s, r, &unkept, &fault)) &&
        npu_wire_check_step(&r->step, image ? image->max_rows : unkept.max_rows, &fault)) {
        if (!image && r->image_id) image = keep_image(s, &unkept);
        if (image) image->last_use = ++s->batches;
        const npu_wire_image *copy = image ? image->copy : unkept.copy;
        if (copy->n_syncs && is_over(s, r))
            response->code = NPU_WIRE_PEER_FAILED;
        else
            run_image(s, copy, r, response);
    } else {
        response->code = fault.code;
        response->op = fault.op;
        response->index = fault.index;
    }
    if (!image) htp_free(unkept.copy);
    if (response->code == NPU_WIRE_OK) return;
    s->failed_fence = r->fence;
    s->has_failed = 1;
}

static void trace_batch(htp_session *s, const npu_wire_request *r, npu_wire_response *response) {
    htp_trace *trace = htp_trace_of(&s->tracer, 0);
    uint64_t begin = HTP_TRACED(trace) ? htp_trace_time() : 0;
    s->tracer.now.sequence = (uint32_t)r->sequence;
    run_batch(s, r, response);
    if (!HTP_TRACED(trace)) return;
    htp_trace_add(trace, NPU_TRACE_BATCH, begin, 0);
    htp_tracer_publish(&s->tracer);
}

static uint64_t dma_bytes(const htp_session *s) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < NPU_MAX_THREADS; i++) bytes += s->dma[i].bytes;
    return bytes;
}

void htp_answer(htp_session *s, const void *message, uint32_t bytes, npu_wire_response *response) {
    uint64_t usecs = HAP_perf_get_time_us(), cycles = HAP_perf_get_pcycles(), mapped = s->map.ever_mapped_bytes;
    uint64_t moved = dma_bytes(s), cleaned = s->cache_bytes;
    npu_wire_request r = {0};
    htp_copy(&r, message, bytes < sizeof r ? bytes : sizeof r);
    *response = (npu_wire_response){.magic = NPU_WIRE_MAGIC,
                                    .version = NPU_WIRE_VERSION,
                                    .kind = r.kind,
                                    .sequence = r.sequence,
                                    .op = NPU_WIRE_NO_OP};
    npu_wire_fault fault;
    if (!npu_wire_check_request(&r, bytes, &fault))
        response->code = fault.code;
    else if (r.kind == NPU_WIRE_BATCH)
        trace_batch(s, &r, response);
    response->usecs = (uint32_t)(HAP_perf_get_time_us() - usecs);
    response->cycles = HAP_perf_get_pcycles() - cycles;
    response->mapped_bytes = s->map.ever_mapped_bytes - mapped;
    response->dma_bytes = dma_bytes(s) - moved;
    response->cache_bytes = s->cache_bytes - cleaned;
}
