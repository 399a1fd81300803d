/* Gives the results of ops their memory: compute tensors by lifetime, so that one whose last reader has run makes room
 * for the next, and outputs at the end of the io buffer. Everything starts on a 128-byte line, so no two tensors share
 * one.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/graph_internal.h"

/* The storage of one root tensor, or of several that one op after the other changed in place. */
typedef struct slab {
    uint64_t bytes, offset;
    uint32_t first, last; /* ops that write and read it; first > last: no op does */
    npu_t owner;          /* the slab this one was merged into, itself when none */
    uint8_t buffer;
} slab;

/* Ops that read an element of their first source only to write the same element of their result. */
static int works_in_place(unsigned code) {
    return code == NPU_OP_ADD || code == NPU_OP_MUL || code == NPU_OP_SCALE || code == NPU_OP_SOFTCAP ||
           code == NPU_OP_ROPE;
}

static npu_t owner_of(const slab *slabs, npu_t t) {
    while (slabs[t].owner != t) t = slabs[t].owner;
    return t;
}

static void use(slab *s, uint32_t op) {
    if (op < s->first) s->first = op;
    if (op > s->last || s->first > s->last) s->last = op;
}

static void find_lifetimes(const npu_graph *g, slab *slabs) {
    for (uint32_t t = 0; t < g->n_tensors; t++) {
        const npu_tensor *tensor = &g->tensors[t];
        slabs[t] = (slab){.first = UINT32_MAX, .owner = (npu_t)t, .buffer = (uint8_t)NPU_GRAPH_COMPUTE};
        if (g->roots[t] != t) continue;
        if (tensor->buffer == NPU_GRAPH_IO || tensor->buffer == NPU_GRAPH_COMPUTE)
            slabs[t].bytes = (npu_tensor_extent(tensor) + NPU__GRAPH_ALIGN - 1) / NPU__GRAPH_ALIGN * NPU__GRAPH_ALIGN;
        if (tensor->flags & NPU_TENSOR_OUTPUT) slabs[t].buffer = NPU_GRAPH_IO;
    }
    for (uint32_t i = 0; i < g->n_ops; i++) {
        for (int k = 0; k < NPU_OP_SRCS; k++)
            if (g->ops[i].src[k] != NPU_NO_TENSOR) use(&slabs[g->roots[g->ops[i].src[k]]], i);
        for (int k = 0; k < NPU_OP_DSTS; k++)
            if (g->ops[i].dst[k] != NPU_NO_TENSOR) use(&slabs[g->roots[g->ops[i].dst[k]]], i);
    }
}

/* Only storage that no one but the ops of this graph sees may be shared. */
static int is_scratch(const npu_graph *g, npu_t root) {
    return g->tensors[root].buffer == NPU_GRAPH_COMPUTE;
}

/* Whether |t| is the whole of its root, laid out like |as|. */
static int is_whole(const npu_graph *g, npu_t t, npu_t as) {
    const npu_tensor *view = &g->tensors[t], *root = &g->tensors[g->roots[t]];
    return view->offset == root->offset && npu_tensor_extent(view) == npu_tensor_extent(root) &&
           !memcmp(view->nb, g->tensors[as].nb, sizeof view->nb);
}

/* An op may write its result over its first source when nobody reads that one any more. */
static void merge_in_place(const npu_graph *g, slab *slabs) {
    for (uint32_t i = 0; i < g->n_ops; i++) {
        const npu_op *op = &g->ops[i];
        if (!works_in_place(op->code)) continue;
        npu_t from = op->src[0], to = op->dst[0];
        if (!is_scratch(g, g->roots[from]) || g->roots[to] != to || !is_whole(g, from, to)) continue;
        npu_t a = owner_of(slabs, g->roots[from]);
        if (slabs[a].last != i || slabs[a].buffer != NPU_GRAPH_COMPUTE || slabs[a].bytes != slabs[to].bytes) continue;
        int read_twice = 0;
        for (int k = 1; k < NPU_OP_SRCS; k++)
            if (op->src[k] != NPU_NO_TENSOR && owner_of(slabs, g->roots[op->src[k]]) == a) read_twice = 1;
        if (read_twice) continue;
        slabs[to].owner = a;
        slabs[a].last = slabs[to].last;
        slabs[a].buffer = slabs[to].buffer;
    }
}

/* The lowest place of |bytes| bytes between the living slabs, which are kept in order of their offsets. */
static uint64_t place(const slab *slabs, const npu_t *alive, uint32_t n_alive, uint64_t bytes, uint32_t *at) {
    uint64_t offset = 0;
    uint32_t i = 0;
    for (; i < n_alive; i++) {
        const slab *s = &slabs[alive[i]];
        if (s->offset - offset >= bytes) break;
        offset = s->offset + s->bytes;
    }
    *at = i;
    return offset;
}

/* Goes through the ops; |alive| has room for all tensors. */
static void place_all(npu_graph *g, slab *slabs, npu_t *alive) {
    uint32_t n_alive = 0;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        uint32_t kept = 0;
        for (uint32_t k = 0; k < n_alive; k++)
            if (slabs[alive[k]].last >= i) alive[kept++] = alive[k];
        n_alive = kept;
        for (int k = 0; k < NPU_OP_DSTS; k++) {
            npu_t t = g->ops[i].dst[k];
            if (t == NPU_NO_TENSOR) continue;
            t = g->roots[t];
            slab *s = &slabs[t];
            if (s->owner != t || !s->bytes || g->tensors[t].flags & NPU_TENSOR_INPUT) continue;
            if (s->buffer == NPU_GRAPH_IO) {
                s->offset = g->io_bytes;
                g->io_bytes += s->bytes;
                continue;
            }
            uint32_t at;
            s->offset = place(slabs, alive, n_alive, s->bytes, &at);
            memmove(alive + at + 1, alive + at, (n_alive - at) * sizeof *alive);
            alive[at] = t;
            n_alive++;
            if (s->offset + s->bytes > g->compute_bytes) g->compute_bytes = s->offset + s->bytes;
        }
    }
}

void npu__graph_layout(npu_graph *g) {
    slab *slabs = calloc(g->n_tensors ? g->n_tensors : 1, sizeof *slabs);
    npu_t *alive = calloc(g->n_tensors ? g->n_tensors : 1, sizeof *alive);
    if (!slabs || !alive) {
        npu__graph_fail(g, NPU_NO_MEMORY, "graph.memory", "no memory to lay out %u tensors", g->n_tensors);
    } else {
        find_lifetimes(g, slabs);
        merge_in_place(g, slabs);
        place_all(g, slabs, alive);
        for (uint32_t t = 0; t < g->n_tensors; t++) {
            npu_t root = g->roots[t];
            if (!slabs[root].bytes || g->tensors[root].flags & NPU_TENSOR_INPUT) continue;
            const slab *s = &slabs[owner_of(slabs, root)];
            g->tensors[t].offset += s->offset;
            g->tensors[t].buffer = s->buffer;
        }
    }
    free(slabs);
    free(alive);
}
