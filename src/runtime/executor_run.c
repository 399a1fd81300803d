/* Runs of the executor: one graph segment by segment, syncs before each, every batch submitted and waited for, with its
 * spans in the trace and its rows in the profile. Allocates nothing. Life and binding are in executor.c.
 */
#include "base/clock.h"
#include "runtime/executor_internal.h"
#include "target/op_trace.h"
#include "wire/op_check.h"

/* Image ids are the graph, then the segment, or with this bit the op that is run alone. */
#define SINGLE_OPS 0x80000000u

static void trace_begin(const npu_executor *x, const char *name, const char *category, const char *note,
                        uint64_t value) {
    npu_trace_note n = {.name = note, .value = (int64_t)value};
    if (x->params.trace) npu_trace_begin(x->params.trace, x->track, name, category, &n, note != NULL);
}

static void trace_end(const npu_executor *x) {
    if (x->params.trace) npu_trace_end(x->params.trace, x->track);
}

/* Device buffers are the only ones that ever need a sync: the host works on the device's memory. */
static npu_status run_syncs(npu_executor *x, const npu__bound *b, const npu__segment *s, const npu_step *step,
                            npu_error *err) {
    npu_target_phases phases = {0};
    for (uint32_t i = s->first_sync; i < s->first_sync + s->n_syncs; i++) {
        npu_tensor t = npu_tensor_at_step(&b->graph->tensors[b->syncs[i].tensor], step);
        npu_buffer *buffer = b->buffers[t.buffer];
        uint64_t bytes = npu_tensor_extent(&t);
        uint64_t start = x->profile ? npu_clock_ns() : 0;
        NPU_TRY(buffer->owner->ops->buffer_sync(buffer->owner, buffer, t.offset, bytes, b->syncs[i].dir, err));
        if (x->profile)
            *(b->syncs[i].dir == NPU_SYNC_TO_DEVICE ? &phases.launch_ns : &phases.readback_ns) +=
                npu_clock_ns() - start;
        *(b->syncs[i].dir == NPU_SYNC_TO_DEVICE ? &x->counters.bytes_to_device : &x->counters.bytes_to_host) += bytes;
    }
    x->counters.syncs += s->n_syncs > 0;
    if (x->profile && s->n_syncs) {
        npu_profile_entry entry = {.op = "sync",
                                   .role = npu_role_name(s->n_ops ? b->graph->ops[s->first_op].role : NPU_ROLE_NONE),
                                   .owner = x->params.device->ops->name,
                                   .layer = UINT32_MAX,
                                   .rows = step->rows[NPU_ROWS_STEP],
                                   .ns = phases.launch_ns + phases.readback_ns,
                                   .launch_ns = phases.launch_ns,
                                   .readback_ns = phases.readback_ns};
        x->profile(x->profile_user, &entry);
    }
    return NPU_OK;
}

/* What a profile entry is measured against. */
typedef struct stopwatch {
    uint64_t start, mapped_bytes;
    npu_target_phases phases;
} stopwatch;

static uint64_t mapped_bytes(const npu_target *target) {
    npu_target_counters c = {0};
    if (target->ops->count) target->ops->count(target, &c);
    return c.mapped_bytes;
}

static stopwatch start_watch(const npu_executor *x, const npu_target *target) {
    stopwatch w = {0};
    if (!x->profile) return w;
    if (target->ops->phases) target->ops->phases(target, &w.phases);
    w.mapped_bytes = mapped_bytes(target);
    w.start = npu_clock_ns();
    return w;
}

static const char *role_of(const npu_batch *batch) {
    for (uint32_t i = 1; i < batch->n_ops; i++)
        if (batch->ops[i].role != batch->ops[0].role) return "several";
    return npu_role_name(batch->ops[0].role);
}

/* |done| has phases that the executor measured itself; a target that tells knows better. */
static void report(npu_executor *x, const npu_target *target, const npu_batch *batch, const stopwatch *w,
                   const npu_target_phases *done) {
    const npu_op_info *info = npu_op_find(batch->ops[0].code);
    npu_profile_entry entry = {.op = batch->n_ops == 1 && info ? info->name : "batch",
                               .role = role_of(batch),
                               .owner = target->ops->name,
                               .layer = batch->ops[0].layer == NPU_NO_LAYER ? UINT32_MAX : batch->ops[0].layer,
                               .rows = batch->step.rows[NPU_ROWS_STEP],
                               .ops = batch->n_ops,
                               .ns = npu_clock_ns() - w->start,
                               .is_fallback = x->params.device && target == x->params.host};
    npu_target_phases now = *done;
    if (target->ops->phases) target->ops->phases(target, &now);
    entry.pack_ns = now.pack_ns - w->phases.pack_ns;
    entry.quant_ns = now.quant_ns - w->phases.quant_ns;
    entry.launch_ns = now.launch_ns - w->phases.launch_ns;
    entry.wait_ns = now.wait_ns - w->phases.wait_ns;
    entry.readback_ns = now.readback_ns - w->phases.readback_ns;
    entry.dequant_ns = now.dequant_ns - w->phases.dequant_ns;
    entry.retries = (uint32_t)(now.retries - w->phases.retries);
    entry.mapped_bytes = mapped_bytes(target) - w->mapped_bytes;
    x->profile(x->profile_user, &entry);
}

static npu_status submit_and_wait(const npu_executor *x, npu_target *target, const npu_batch *batch,
                                  uint64_t *submitted, npu_error *err) {
    npu_event event;
    trace_begin(x, "submit", "host", NULL, 0);
    npu_status status = target->ops->submit(target, batch, &event, err);
    trace_end(x);
    *submitted = x->profile ? npu_clock_ns() : 0;
    NPU_TRY(status);
    trace_begin(x, "wait", "host", NULL, 0);
    status = target->ops->wait(target, event, err);
    trace_end(x);
    return status;
}

/* The host's ops come one by one while a trace is written. */
static void trace_batch(const npu_executor *x, const npu_target *target, const npu_batch *batch, uint32_t first_op) {
    npu_op_label label;
    if (!x->params.trace) return;
    if (target == x->params.device) {
        trace_begin(x, "batch", "host", "ops", batch->n_ops);
        return;
    }
    npu_op_describe(&label, batch->ops, batch->tensors, &batch->step, first_op);
    npu_trace_begin(x->params.trace, x->track, label.name, "op", label.notes, label.n_notes);
}

static npu_status submit(npu_executor *x, npu_target *target, npu_batch *batch, uint32_t first_op, npu_error *err) {
    npu_target_phases phases = {0};
    stopwatch w = start_watch(x, target);
    uint64_t submitted;
    trace_batch(x, target, batch, first_op);
    npu_status status = submit_and_wait(x, target, batch, &submitted, err);
    trace_end(x);
    NPU_TRY(status);
    x->counters.batches++;
    if (!x->profile) return NPU_OK;
    if (target == x->params.device) {
        phases.launch_ns = submitted - w.start;
        phases.wait_ns = npu_clock_ns() - submitted;
    }
    report(x, target, batch, &w, &phases);
    return NPU_OK;
}

static npu_status run_products(npu_executor *x, const npu__bound *b, const npu__segment *s, const npu_step *step,
                               npu_error *err) {
    for (uint32_t i = s->first_op; i < s->first_op + s->n_ops; i++) {
        npu__gemv_bytes bytes = {0};
        stopwatch w = start_watch(x, x->params.device);
        npu_batch one = {.ops = &b->graph->ops[i], .tensors = b->graph->tensors, .n_ops = 1, .step = *step};
        trace_batch(x, x->params.host, &one, i);
        npu_status status = npu__gemv_run(&x->gemv, b, i, step, &bytes, err);
        trace_end(x);
        NPU_TRY(status);
        x->counters.batches++;
        x->counters.bytes_to_device += bytes.to_device;
        x->counters.bytes_to_host += bytes.to_host;
        x->counters.ops_device++;
        if (x->profile) report(x, x->params.device, &one, &w, &(npu_target_phases){0});
    }
    return NPU_OK;
}

/* While profiling or tracing, the host runs op by op: times of single ops are worth the small cost of many submits. */
static npu_status run_segment(npu_executor *x, uint32_t graph, uint32_t index, const npu_step *step, npu_error *err) {
    const npu__bound *b = &x->graphs[graph];
    const npu__segment *s = &b->segments[index];
    if (s->device && x->gemv.device) return run_products(x, b, s, step, err);
    npu_target *target = s->device ? x->params.device : x->params.host;
    bool single = (x->profile || x->params.trace) && !s->device;
    npu_batch batch = {.image_id = (uint64_t)(graph + 1) << 32 | (index + 1),
                       .tensors = b->graph->tensors,
                       .ops = b->graph->ops + s->first_op,
                       .buffers = b->buffers,
                       .step = *step,
                       .n_tensors = b->graph->n_tensors,
                       .n_ops = s->n_ops,
                       .n_buffers = b->graph->n_buffers,
                       .weights = b->graph->weights};
    if (single) batch.n_ops = 1;
    for (uint32_t done = 0; done < s->n_ops; done += batch.n_ops, batch.ops += batch.n_ops) {
        if (single) batch.image_id = (uint64_t)(graph + 1) << 32 | SINGLE_OPS | (s->first_op + done);
        NPU_TRY(submit(x, target, &batch, s->first_op + done, err));
    }
    if (s->device) {
        x->counters.ops_device += s->n_ops;
    } else {
        x->counters.ops_host += s->n_ops;
        if (x->params.device) x->counters.ops_fallback += s->n_ops;
    }
    return NPU_OK;
}

npu_status npu_executor_run(npu_executor *x, uint32_t graph, const npu_step *step, npu_error *err) {
    if (x->broken.status != NPU_OK) {
        if (err) *err = x->broken;
        return x->broken.status;
    }
    const npu__bound *b = &x->graphs[graph];
    npu_error here = {0};
    npu_status status = NPU_OK;
    trace_begin(x, "step", "host", "rows", step->rows[NPU_ROWS_STEP]);
    for (uint32_t i = 0; i < b->n_segments && status == NPU_OK; i++) {
        if (x->params.cancelled && x->params.cancelled(x->params.cancelled_user))
            status = npu_fail(&here, NPU_CANCELLED, "executor.cancelled", "cancelled");
        if (status == NPU_OK && b->segments[i].n_syncs) {
            trace_begin(x, "sync", "host", "tensors", b->segments[i].n_syncs);
            status = run_syncs(x, b, &b->segments[i], step, &here);
            trace_end(x);
        }
        if (status == NPU_OK && b->segments[i].n_ops) status = run_segment(x, graph, i, step, &here);
    }
    trace_end(x);
    if (!x->gemv.device && (status == NPU_TIMEOUT || status == NPU_DEVICE_LOST)) x->broken = here;
    if (status != NPU_OK && err) *err = here;
    x->counters.steps += status == NPU_OK;
    x->counters.rows += status == NPU_OK ? step->rows[NPU_ROWS_STEP] : 0;
    return status;
}
