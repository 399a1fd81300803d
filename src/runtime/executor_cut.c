/* Cuts a graph's ops into batches of one owner each and finds what must be synced between them: every tensor that one
 * side wrote last and the other reads. Done once, when a graph is bound.
 */
#include <stdlib.h>

#include "runtime/executor_internal.h"
#include "wire/op_check.h"

enum { NOBODY = -1, HOST = 0, DEVICE = 1 };

/* The last op before |before| that writes bytes of |t|, or -1. */
static int64_t last_writer(const npu_graph *g, uint32_t before, const npu_tensor *t) {
    for (int64_t i = (int64_t)before - 1; i >= 0; i--)
        for (int k = 0; k < NPU_OP_DSTS; k++)
            if (g->ops[i].dst[k] != NPU_NO_TENSOR && npu_tensor_overlap(&g->tensors[g->ops[i].dst[k]], t)) return i;
    return -1;
}

/* Whether the same bytes are synced already by an entry from |first| on. */
static int is_synced(const npu__bound *b, uint32_t first, const npu_tensor *t) {
    for (uint32_t i = first; i < b->n_syncs; i++) {
        const npu_tensor *s = &b->graph->tensors[b->syncs[i].tensor];
        if (s->buffer == t->buffer && s->offset == t->offset && npu_tensor_extent(s) >= npu_tensor_extent(t)) return 1;
    }
    return 0;
}

/* The first sync entry of the segment after the one that holds op |i|; entries from there on came after it was run. */
static uint32_t syncs_after(const npu__bound *b, int64_t i) {
    if (i < 0) return 0;
    for (uint32_t s = 0; s < b->n_segments; s++)
        if (i < (int64_t)b->segments[s].first_op + b->segments[s].n_ops)
            return b->segments[s].first_sync + b->segments[s].n_syncs;
    return b->n_syncs;
}

/* Adds what segment |s| needs to know of |tensor|, read by op |i|. */
static npu_status need(npu__bound *b, npu__segment *s, uint32_t i, npu_t tensor, const bool *on_device,
                       npu_error *err) {
    const npu_graph *g = b->graph;
    const npu_tensor *t = &g->tensors[tensor];
    if (t->flags & NPU_TENSOR_WEIGHT) return NPU_OK;
    int64_t writer = last_writer(g, i, t);
    int owner = writer >= 0 ? on_device[writer] : t->flags & NPU_TENSOR_INPUT ? HOST : NOBODY;
    if (owner == NOBODY || owner == s->device) return NPU_OK;
    if (t->flags & NPU_TENSOR_STATE)
        return npu_fail(err, NPU_REFUSED, "executor.state",
                        "layer %u: its state is written and read by different owners", g->ops[i].layer);
    if (is_synced(b, syncs_after(b, writer), t)) return NPU_OK;
    b->syncs[b->n_syncs++] = (npu__sync){tensor, s->device ? NPU_SYNC_TO_DEVICE : NPU_SYNC_TO_HOST};
    s->n_syncs++;
    return NPU_OK;
}

static npu_status cut_segment(npu__bound *b, npu__segment *s, const bool *on_device, npu_error *err) {
    for (uint32_t i = s->first_op; i < s->first_op + s->n_ops; i++)
        for (int k = 0; k < NPU_OP_SRCS; k++)
            if (b->graph->ops[i].src[k] != NPU_NO_TENSOR)
                NPU_TRY(need(b, s, i, b->graph->ops[i].src[k], on_device, err));
    return NPU_OK;
}

npu_status npu__executor_cut(npu__bound *b, const bool *on_device, bool shared, npu_error *err) {
    const npu_graph *g = b->graph;
    bool none = true;
    for (uint32_t i = 0; on_device && i < g->n_ops; i++) none = none && !on_device[i];
    b->segments = calloc((size_t)g->n_ops + 1, sizeof *b->segments);
    b->syncs = calloc(((size_t)g->n_ops + 1) * NPU_OP_SRCS, sizeof *b->syncs);
    if (!b->segments || !b->syncs)
        return npu_fail(err, NPU_NO_MEMORY, "executor.memory", "no memory to bind a graph of %u ops", g->n_ops);
    for (uint32_t i = 0; i < g->n_ops;) {
        npu__segment *s = &b->segments[b->n_segments];
        s->first_op = i;
        s->first_sync = b->n_syncs;
        s->device = !none && on_device[i];
        while (i < g->n_ops && (!none && on_device[i]) == s->device) i++;
        s->n_ops = i - s->first_op;
        b->n_segments++;
        if (!none && !shared) NPU_TRY(cut_segment(b, s, on_device, err));
    }
    npu__segment *end = &b->segments[b->n_segments++];
    *end = (npu__segment){.first_op = g->n_ops, .first_sync = b->n_syncs};
    for (uint32_t t = 0; !none && !shared && t < g->n_tensors; t++)
        if (g->tensors[t].flags & NPU_TENSOR_OUTPUT) NPU_TRY(need(b, end, g->n_ops, (npu_t)t, on_device, err));
    return NPU_OK;
}
