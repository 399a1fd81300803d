/* The executor's life and its runs; what it is and promises: executor.h. */
#include "runtime/executor.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "runtime/executor_internal.h"
#include "target/op_trace.h"
#include "wire/op_check.h"

/* Image ids are the graph, then the segment, or with this bit the op that is run alone. */
#define SINGLE_OPS 0x80000000u

struct npu_executor {
    npu_executor_params params;
    npu_buffer *own[NPU_GRAPH_FILES]; /* io, compute, state; NULL when empty */
    npu_buffer **files;               /* wrapped mappings */
    uint32_t n_files, n_graphs;
    npu__bound *graphs;
    npu__gemv gemv; /* gemv.device: the device when it takes products one by one */
    npu_target *state_owner;
    npu_profile_fn *profile;
    void *profile_user;
    uint32_t track; /* of the host's spans in the trace */
    npu_counters counters;
    npu_error broken; /* why the device is lost */
};

static npu_status wrap_files(npu_executor *x, npu_error *err) {
    const npu_executor_params *p = &x->params;
    x->files = calloc(p->n_files ? p->n_files : 1, sizeof(npu_buffer *));
    if (!x->files) return npu_fail(err, NPU_NO_MEMORY, "executor.memory", "no memory to bind %u files", p->n_files);
    x->n_files = p->n_files;
    for (uint32_t i = 0; i < p->n_files; i++)
        if (p->files[i].data)
            NPU_TRY(npu_host_buffer_wrap(p->files[i].data, p->files[i].bytes, NPU_BUFFER_WEIGHTS, &x->files[i], err));
    return NPU_OK;
}

static npu_status alloc_buffers(npu_executor *x, const npu_executor_graph *graphs, npu_error *err) {
    static const npu_buffer_use uses[] = {NPU_BUFFER_IO, NPU_BUFFER_COMPUTE, NPU_BUFFER_STATE};
    uint64_t bytes[NPU_GRAPH_FILES] = {0};
    for (uint32_t i = 0; i < x->n_graphs; i++) {
        const npu_graph *g = graphs[i].graph;
        const uint64_t needs[] = {g->io_bytes, g->compute_bytes, g->state_bytes};
        for (int b = 0; b < NPU_GRAPH_FILES; b++)
            if (needs[b] > bytes[b]) bytes[b] = needs[b];
    }
    npu_target *owner = x->params.device && !x->gemv.device ? x->params.device : x->params.host;
    for (int b = 0; b < NPU_GRAPH_FILES; b++)
        if (bytes[b]) NPU_TRY(owner->ops->buffer_alloc(owner, bytes[b], uses[b], &x->own[b], err));
    return NPU_OK;
}

static npu_status bind(npu_executor *x, npu__bound *b, const npu_executor_graph *graph, npu_error *err) {
    b->graph = graph->graph;
    b->buffers = calloc(b->graph->n_buffers, sizeof(npu_buffer *));
    if (!b->buffers) return npu_fail(err, NPU_NO_MEMORY, "executor.memory", "no memory to bind a graph");
    for (uint32_t i = 0; i < b->graph->n_buffers; i++)
        b->buffers[i] = i < NPU_GRAPH_FILES                ? x->own[i]
                        : i - NPU_GRAPH_FILES < x->n_files ? x->files[i - NPU_GRAPH_FILES]
                                                           : NULL;
    for (uint32_t t = 0; t < b->graph->n_tensors; t++) {
        const npu_tensor *tensor = &b->graph->tensors[t];
        const npu_buffer *buffer = b->buffers[tensor->buffer];
        if (!buffer || tensor->offset + npu_tensor_extent(tensor) > buffer->bytes)
            return npu_fail(err, NPU_INTERNAL, "executor.range", "tensor %u does not lie in its buffer", t);
    }
    const bool *on_device = x->params.device ? graph->on_device : NULL;
    if (x->gemv.device) NPU_TRY(npu__gemv_bind(&x->gemv, graph, err));
    return npu__executor_cut(b, on_device, x->gemv.device != NULL, err);
}

/* A graph-class device owns the state when it writes any of it; executor_cut.c sees to it that no layer is split. */
static void find_state_owner(npu_executor *x, const npu_executor_graph *graphs) {
    x->state_owner = x->params.host;
    for (uint32_t i = 0; x->params.device && !x->gemv.device && i < x->n_graphs; i++) {
        const npu_graph *g = graphs[i].graph;
        for (uint32_t k = 0; graphs[i].on_device && k < g->n_ops; k++)
            if (graphs[i].on_device[k] && g->tensors[g->ops[k].dst[0]].flags & NPU_TENSOR_STATE)
                x->state_owner = x->params.device;
    }
}

npu_status npu_executor_create(const npu_executor_params *params, const npu_executor_graph *graphs, uint32_t n_graphs,
                               npu_executor **out, npu_error *err) {
    *out = NULL;
    if (!params->host->ops->submit)
        return npu_fail(err, NPU_REFUSED, "executor.target", "target %s does not run graphs", params->host->ops->name);
    if (params->device && !params->device->ops->submit && !params->device->ops->gemv)
        return npu_fail(err, NPU_REFUSED, "executor.target", "target %s runs neither graphs nor products",
                        params->device->ops->name);
    npu_executor *x = calloc(1, sizeof *x);
    npu__bound *bound = calloc(n_graphs, sizeof *bound);
    if (!x || !bound) {
        free(x);
        free(bound);
        return npu_fail(err, NPU_NO_MEMORY, "executor.memory", "no memory for %u graphs", n_graphs);
    }
    x->params = *params;
    if (params->trace) x->track = npu_trace_track(params->trace, npu_trace_group(params->trace, "npu"), "host");
    x->graphs = bound;
    x->n_graphs = n_graphs;
    if (params->device && !params->device->ops->submit)
        x->gemv = (npu__gemv){.device = params->device, .plan = params->plan};
    find_state_owner(x, graphs);
    npu_status status = wrap_files(x, err);
    if (status == NPU_OK) status = alloc_buffers(x, graphs, err);
    for (uint32_t i = 0; i < n_graphs && status == NPU_OK; i++) status = bind(x, &bound[i], &graphs[i], err);
    if (status == NPU_OK) status = npu__gemv_alloc(&x->gemv, err);
    if (status != NPU_OK) {
        npu_executor_free(x);
        return status;
    }
    *out = x;
    return NPU_OK;
}

void npu_executor_free(npu_executor *x) {
    if (!x) return;
    for (uint32_t i = 0; i < x->n_graphs; i++) {
        free(x->graphs[i].buffers);
        free(x->graphs[i].segments);
        free(x->graphs[i].syncs);
    }
    for (int b = 0; b < NPU_GRAPH_FILES; b++)
        if (x->own[b]) x->own[b]->owner->ops->buffer_free(x->own[b]->owner, x->own[b]);
    for (uint32_t i = 0; i < x->n_files; i++) npu_target_host.buffer_free(x->params.host, x->files[i]);
    free(x->gemv.values);
    free(x->files);
    free(x->graphs);
    free(x);
}

void *npu_executor_data(npu_executor *x, uint32_t graph, npu_t tensor) {
    const npu_tensor *t = &x->graphs[graph].graph->tensors[tensor];
    return x->graphs[graph].buffers[t->buffer]->data + t->offset;
}

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
    uint64_t start;
    npu_target_phases phases;
} stopwatch;

static stopwatch start_watch(const npu_executor *x, const npu_target *target) {
    stopwatch w = {0};
    if (!x->profile) return w;
    if (target->ops->phases) target->ops->phases(target, &w.phases);
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

/* Brings state bytes to the host, or back to the device, when the device owns them. */
static npu_status sync_state(npu_executor *x, uint64_t offset, uint64_t bytes, npu_sync_dir dir, npu_error *err) {
    if (x->state_owner == x->params.host) return NPU_OK;
    return x->state_owner->ops->buffer_sync(x->state_owner, x->own[NPU_GRAPH_STATE], offset, bytes, dir, err);
}

npu_status npu_executor_state_copy(npu_executor *x, uint64_t from, uint64_t to, uint64_t bytes, npu_error *err) {
    uint8_t *data = x->own[NPU_GRAPH_STATE]->data;
    NPU_TRY(sync_state(x, from, bytes, NPU_SYNC_TO_HOST, err));
    memcpy(data + to, data + from, bytes);
    return sync_state(x, to, bytes, NPU_SYNC_TO_DEVICE, err);
}

void npu_executor_profile(npu_executor *x, npu_profile_fn *fn, void *user) {
    x->profile = fn;
    x->profile_user = user;
}

void npu_executor_count(const npu_executor *x, npu_counters *out) {
    out->steps += x->counters.steps;
    out->rows += x->counters.rows;
    out->ops_device += x->counters.ops_device;
    out->ops_host += x->counters.ops_host;
    out->ops_fallback += x->counters.ops_fallback;
    out->batches += x->counters.batches;
    out->syncs += x->counters.syncs;
    out->bytes_to_device += x->counters.bytes_to_device;
    out->bytes_to_host += x->counters.bytes_to_host;
    npu_target *device = x->params.device;
    npu_target_counters c = {0};
    if (device && device->ops->count) device->ops->count(device, &c);
    out->messages += c.submits;
    out->message_bytes += c.message_bytes;
    out->images += c.images;
    out->image_bytes += c.image_bytes;
    out->mapped_bytes += c.mapped_bytes;
}
