/* Running a batch: one run of the pool for all its ops, a barrier between them. No allocation for a batch whose image
 * is known. Everything was checked when the image was made; only values inside operands can fail here. */
#include <stdatomic.h>

#include "target/host/host.h"

typedef struct run {
    npu_host *host;
    const npu_batch *batch;
    const npu_host_image *image;
    atomic_uint failed; /* 1 + index of the op that failed, 0 = none */
    npu_status status;  /* written by the thread that set |failed|, read after the run */
    npu_error error;
} run;

static npu_host_operand operand(const npu_batch *batch, uint16_t index) {
    if (index == NPU_NO_TENSOR) return (npu_host_operand){.data = NULL};
    const npu_tensor *t = &batch->tensors[index];
    return (npu_host_operand){npu_tensor_at_step(t, &batch->step), batch->buffers[t->buffer]->data + t->offset};
}

static void run_ops(void *context, unsigned ith, unsigned nth) {
    run *r = context;
    const npu_batch *batch = r->batch;
    npu_host_call call = {.mode = r->host->base.mode,
                          .ith = ith,
                          .nth = nth,
                          .pool = r->host->pool,
                          .scratch = r->host->scratch,
                          .scratch_bytes = r->host->scratch_bytes};
    for (unsigned i = 0; i < batch->n_ops; i++) {
        npu_error error;
        unsigned none = 0;
        call.op = &batch->ops[i];
        for (int k = 0; k < NPU_OP_SRCS; k++) {
            call.src[k].data = NULL;
            if (call.op->src[k] != NPU_NO_TENSOR) call.src[k] = operand(batch, call.op->src[k]);
        }
        for (int k = 0; k < NPU_OP_DSTS; k++) {
            call.dst[k].data = NULL;
            if (call.op->dst[k] != NPU_NO_TENSOR) call.dst[k] = operand(batch, call.op->dst[k]);
        }
        const struct npu_host_choice *choice = &r->image->choices[i];
        call.packed = choice->packed;
        call.packing = choice->variant->packing ? choice->variant->packing : choice->variant->borrows;
        npu_status status = choice->variant->run(&call, &error);
        if (status != NPU_OK && atomic_compare_exchange_strong(&r->failed, &none, i + 1)) {
            r->status = status;
            r->error = error;
        }
        if (i + 1 < batch->n_ops) call.nth = npu_pool_regroup(r->host->pool);
        /* Of this op, not of a later one that a faster thread may have failed by now: all threads leave together. */
        if (atomic_load(&r->failed) == i + 1 || ith >= call.nth) return;
    }
}

static const npu_host_image *find(const npu_host *host, const npu_batch *batch) {
    for (const npu_host_image *i = host->images; i; i = i->next)
        if (i->id == batch->image_id && i->n_ops == batch->n_ops && batch->image_id) return i;
    return NULL;
}

npu_status npu_host_submit(npu_target *target, const npu_batch *batch, npu_event *event, npu_error *err) {
    npu_host *host = (npu_host *)target;
    run r = {.host = host, .batch = batch, .image = find(host, batch)};
    if (!r.image) {
        NPU_TRY(npu_host_prepare(target, batch, err));
        r.image = host->images;
    }
    for (int i = 1; i < NPU_ROWS_COUNT; i++) {
        if (batch->step.rows[i] > r.image->max_rows[i] && r.image->max_rows[i] != UINT32_MAX) {
            return npu_fail(err, NPU_RANGE, "host.rows", "a step of %u rows in a graph for %u", batch->step.rows[i],
                            r.image->max_rows[i]);
        }
    }
    npu_pool_run(host->pool, run_ops, &r);
    if (atomic_load(&r.failed)) {
        if (err) *err = r.error;
        return r.status;
    }
    *event = (npu_event){(uint64_t)(uintptr_t)host, ++host->sequence};
    return NPU_OK;
}
