/* The executor's life: buffers, binding, the state's bytes, counters. Runs are in executor_run.c; what it is and
 * promises: executor.h. */
#include "runtime/executor.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/executor_internal.h"
#include "wire/op_check.h"

static npu_status wrap_files(npu_executor *x, npu_error *err) {
    const npu_executor_params *p = &x->params;
    x->files = calloc(p->n_files ? p->n_files : 1, sizeof(npu_buffer *));
    if (!x->files) return npu_fail(err, NPU_NO_MEMORY, "executor.memory", "no memory to bind %u files", p->n_files);
    x->n_files = p->n_files;
    for (uint32_t i = 0; i < p->n_files; i++) {
        if (!p->files[i].data) continue;
        NPU_TRY(npu_host_buffer_wrap(p->files[i].data, p->files[i].bytes, NPU_BUFFER_WEIGHTS, &x->files[i], err));
        x->files[i]->mapped = p->files[i].mapped;
    }
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
    out->dma_bytes += c.dma_bytes;
    out->cache_bytes += c.cache_bytes;
    out->barriers += c.barriers;
    out->fences += c.fences;
}
