/* The graph's storage, its leaves and its views. Ops are built in graph_ops.c, checked in graph_check.c and given their
 * memory in graph_layout.c. Called by src/model while a context opens, never in a step.
 */
#include "graph/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph_internal.h"

void npu_graph_init(npu_graph *g, const npu_weight_source *source, uint32_t max_rows, uint32_t max_out,
                    uint32_t n_files) {
    *g = (npu_graph){.source = source, .max_rows = max_rows, .max_out = max_out, .layer = NPU_NO_LAYER};
    g->n_buffers = NPU_GRAPH_FILES + n_files;
    if (!max_rows || !max_out || max_out > max_rows || max_rows > INT32_MAX / 4 ||
        n_files > UINT16_MAX - NPU_GRAPH_FILES)
        npu__graph_fail(g, NPU_INTERNAL, "graph.init", "a graph of %u rows, %u outputs and %u files", max_rows, max_out,
                        n_files);
}

void npu_graph_free(npu_graph *g) {
    free(g->tensors);
    free(g->weights);
    free(g->ops);
    free(g->roots);
    *g = (npu_graph){0};
}

void npu_graph_at(npu_graph *g, unsigned layer, npu_role role) {
    g->layer = (uint16_t)layer;
    g->role = (uint16_t)role;
}

npu_status npu_graph_finish(npu_graph *g, npu_error *err) {
    if (g->status == NPU_OK) npu__graph_check(g);
    if (g->status == NPU_OK) npu__graph_layout(g);
    free(g->roots);
    g->roots = NULL;
    if (g->status != NPU_OK && err) *err = g->error;
    return g->status;
}

void npu__graph_fail(npu_graph *g, npu_status status, const char *code, const char *format, ...) {
    if (g->status != NPU_OK) return;
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    g->status = npu_fail(&g->error, status, code, "%s", text);
}

int npu__graph_has(npu_graph *g, npu_t t, const char *what) {
    if (g->status != NPU_OK) return 0;
    if (t < g->n_tensors) return 1;
    npu__graph_fail(g, NPU_INTERNAL, "graph.operand", "layer %u, role %s: %s is missing", g->layer,
                    npu_role_name(g->role), what);
    return 0;
}

/* Makes room for one more of |size| bytes in an array; false when there is none. */
static int grow(void **array, uint32_t cap, size_t size) {
    void *bigger = realloc(*array, cap * size);
    if (bigger) *array = bigger;
    return bigger != NULL;
}

npu_t npu__graph_tensor(npu_graph *g, const npu_tensor *t, npu_t root) {
    if (g->status != NPU_OK) return NPU_NO_TENSOR;
    if (g->n_tensors == NPU_NO_TENSOR) {
        npu__graph_fail(g, NPU_REFUSED, "graph.tensors", "the graph needs more than %u tensors", NPU_NO_TENSOR);
        return NPU_NO_TENSOR;
    }
    if (g->n_tensors == g->cap_tensors) {
        uint32_t cap = g->cap_tensors ? g->cap_tensors * 2 : 256;
        if (!grow((void **)&g->tensors, cap, sizeof *g->tensors) ||
            !grow((void **)&g->weights, cap, sizeof *g->weights) || !grow((void **)&g->roots, cap, sizeof *g->roots)) {
            npu__graph_fail(g, NPU_NO_MEMORY, "graph.memory", "no memory for a graph of %u tensors", cap);
            return NPU_NO_TENSOR;
        }
        g->cap_tensors = cap;
    }
    npu_t index = (npu_t)g->n_tensors++;
    g->tensors[index] = *t;
    g->weights[index] = (npu_weight_ref){0};
    g->roots[index] = root == NPU_NO_TENSOR ? index : g->roots[root];
    return index;
}

npu_op *npu__graph_op(npu_graph *g, npu_opcode code) {
    if (g->status != NPU_OK) return NULL;
    if (g->n_ops == g->cap_ops) {
        uint32_t cap = g->cap_ops ? g->cap_ops * 2 : 128;
        if (!grow((void **)&g->ops, cap, sizeof *g->ops)) {
            npu__graph_fail(g, NPU_NO_MEMORY, "graph.memory", "no memory for a graph of %u ops", cap);
            return NULL;
        }
        g->cap_ops = cap;
    }
    npu_op *op = &g->ops[g->n_ops++];
    *op = (npu_op){.code = (uint16_t)code, .layer = g->layer, .role = g->role};
    for (int i = 0; i < NPU_OP_SRCS; i++) op->src[i] = NPU_NO_TENSOR;
    for (int i = 0; i < NPU_OP_DSTS; i++) op->dst[i] = NPU_NO_TENSOR;
    return op;
}

int npu__graph_contiguous(npu_tensor *t) {
    uint32_t values, bytes = npu_tensor_unit(t, &values);
    if (!bytes || t->ne[0] % values) return 0;
    t->nb[0] = bytes;
    t->nb[1] = (uint64_t)(t->ne[0] / values) * bytes;
    uint64_t whole;
    return !__builtin_mul_overflow(t->nb[1], t->ne[1], &t->nb[2]) &&
           !__builtin_mul_overflow(t->nb[2], t->ne[2], &t->nb[3]) &&
           !__builtin_mul_overflow(t->nb[3], t->ne[3], &whole) && whole <= INT64_MAX;
}

npu_t npu_graph_weight(npu_graph *g, unsigned layer, npu_role role, npu_weight_part part, int optional) {
    if (g->status != NPU_OK) return NPU_NO_TENSOR;
    npu_weight w;
    npu_error err = {0};
    npu_status status = g->source->get(g->source->context, layer, role, part, &w, &err);
    if (status == NPU_NOT_FOUND && optional) return NPU_NO_TENSOR;
    if (status != NPU_OK) {
        npu__graph_fail(g, status, err.code, "%s", err.text);
        return NPU_NO_TENSOR;
    }
    npu_tensor t = {.buffer = (uint16_t)(NPU_GRAPH_FILES + w.file),
                    .offset = w.file_offset,
                    .type = w.type,
                    .flags = NPU_TENSOR_WEIGHT};
    memcpy(t.ne, w.ne, sizeof t.ne);
    memcpy(t.nb, w.nb, sizeof t.nb);
    if (t.buffer >= g->n_buffers) {
        npu__graph_fail(g, NPU_INTERNAL, "graph.file", "tensor %s lies in file %u of %u", w.name, w.file,
                        g->n_buffers - NPU_GRAPH_FILES);
        return NPU_NO_TENSOR;
    }
    npu_t index = npu__graph_tensor(g, &t, NPU_NO_TENSOR);
    if (index != NPU_NO_TENSOR)
        g->weights[index] = (npu_weight_ref){.layer = (uint16_t)layer, .role = (uint16_t)role, .part = (uint16_t)part};
    return index;
}

static uint32_t rows_at_most(const npu_graph *g, unsigned rows_of) {
    return rows_of == NPU_ROWS_OUT ? g->max_out : g->max_rows;
}

npu_t npu_graph_input(npu_graph *g, uint8_t type, uint32_t ne0, uint32_t ne1, unsigned rows_of) {
    npu_tensor t = {.ne = {ne0, ne1, 1, 1}, .buffer = NPU_GRAPH_IO, .type = type, .flags = NPU_TENSOR_INPUT};
    if (rows_of != NPU_ROWS_FIXED) {
        t.rows_of = (uint8_t)rows_of;
        t.rows_dim = ne0 != 0;
        t.ne[1] = 1;
        t.ne[t.rows_dim] = rows_at_most(g, rows_of);
    }
    if (!t.ne[0] || !t.ne[1] || rows_of >= NPU_ROWS_COUNT || !npu__graph_contiguous(&t)) {
        npu__graph_fail(g, NPU_INTERNAL, "graph.input", "an input of %u x %u values of type %u", ne0, ne1, type);
        return NPU_NO_TENSOR;
    }
    t.offset = g->io_bytes;
    npu_t index = npu__graph_tensor(g, &t, NPU_NO_TENSOR);
    if (index != NPU_NO_TENSOR)
        g->io_bytes += (npu_tensor_extent(&t) + NPU__GRAPH_ALIGN - 1) / NPU__GRAPH_ALIGN * NPU__GRAPH_ALIGN;
    return index;
}

npu_t npu_graph_state(npu_graph *g, uint8_t type, uint32_t ne0, uint32_t ne1, uint32_t ne2, uint64_t offset) {
    npu_tensor t = {.offset = offset, .ne = {ne0, ne1, ne2, 1}, .buffer = NPU_GRAPH_STATE, .type = type};
    t.flags = NPU_TENSOR_STATE;
    uint64_t end = 0;
    if (!ne0 || !ne1 || !ne2 || offset % NPU__GRAPH_ALIGN || !npu__graph_contiguous(&t) ||
        __builtin_add_overflow(offset, npu_tensor_extent(&t), &end)) {
        npu__graph_fail(g, NPU_INTERNAL, "graph.state", "a state of %u x %u x %u values of type %u", ne0, ne1, ne2,
                        type);
        return NPU_NO_TENSOR;
    }
    if (end > g->state_bytes) g->state_bytes = end;
    return npu__graph_tensor(g, &t, NPU_NO_TENSOR);
}

/* The values of one row of |x| (of all of it when its rows are FIXED), 0 when they are not contiguous. */
static uint64_t row_values(const npu_tensor *x) {
    uint32_t values, bytes = npu_tensor_unit(x, &values);
    if (!bytes || x->nb[0] != bytes) return 0;
    uint64_t n = x->rows_of != NPU_ROWS_FIXED && x->rows_dim == 0 ? 1 : x->ne[0];
    for (int i = 1; i < NPU_MAX_DIMS; i++) {
        if (x->rows_of != NPU_ROWS_FIXED && i == x->rows_dim) continue;
        if (x->ne[i] > 1 && x->nb[i] != n / values * bytes) return 0;
        n *= x->ne[i];
    }
    return n;
}

npu_t npu_graph_reshape(npu_graph *g, npu_t x, uint32_t ne0, uint32_t ne1, uint32_t ne2) {
    if (!npu__graph_has(g, x, "the tensor to reshape")) return NPU_NO_TENSOR;
    const npu_tensor *from = &g->tensors[x];
    npu_tensor t = *from;
    unsigned row_dim = !ne1 ? 1 : !ne2 ? 2 : 0;
    int has_rows = from->rows_of != NPU_ROWS_FIXED;
    uint64_t row_stride = has_rows ? from->nb[from->rows_dim] : 0;
    t.ne[0] = ne0, t.ne[1] = ne1, t.ne[2] = ne2, t.ne[3] = 1;
    if (row_dim) t.ne[row_dim] = 1;
    uint64_t values = row_values(from);
    if (!values || values != (uint64_t)ne0 * t.ne[1] * t.ne[2] || has_rows != (row_dim > 0) ||
        (row_dim == 1 && ne2 != 1) || !npu__graph_contiguous(&t)) {
        npu__graph_fail(g, NPU_INTERNAL, "graph.reshape", "layer %u, role %s: [%u, %u, %u] to [%u, %u, %u]", g->layer,
                        npu_role_name(g->role), from->ne[0], from->ne[1], from->ne[2], ne0, ne1, ne2);
        return NPU_NO_TENSOR;
    }
    if (row_dim) {
        t.ne[row_dim] = rows_at_most(g, from->rows_of);
        for (unsigned i = row_dim; i < NPU_MAX_DIMS; i++)
            t.nb[i] = i == row_dim ? row_stride : t.nb[i - 1] * t.ne[i - 1];
        t.rows_dim = (uint8_t)row_dim;
    }
    npu_weight_ref ref = g->weights[x];
    npu_t index = npu__graph_tensor(g, &t, x);
    if (index != NPU_NO_TENSOR) g->weights[index] = ref;
    return index;
}

npu_t npu_graph_slice(npu_graph *g, npu_t x, uint32_t first, uint32_t count) {
    if (!npu__graph_has(g, x, "the tensor to slice")) return NPU_NO_TENSOR;
    npu_tensor t = g->tensors[x];
    uint32_t values, bytes = npu_tensor_unit(&t, &values);
    if (!bytes || !count || first > t.ne[0] || count > t.ne[0] - first || first % values || count % values ||
        (t.rows_of != NPU_ROWS_FIXED && !t.rows_dim)) {
        npu__graph_fail(g, NPU_INTERNAL, "graph.slice", "layer %u, role %s: values %u to %u of %u", g->layer,
                        npu_role_name(g->role), first, first + count, t.ne[0]);
        return NPU_NO_TENSOR;
    }
    t.offset += (uint64_t)(first / values) * bytes;
    t.ne[0] = count;
    return npu__graph_tensor(g, &t, x);
}

void npu_graph_output(npu_graph *g, npu_t x) {
    if (!npu__graph_has(g, x, "the output")) return;
    npu_tensor *t = &g->tensors[x];
    if (g->roots[x] != x || t->buffer != NPU_GRAPH_COMPUTE) {
        npu__graph_fail(g, NPU_INTERNAL, "graph.output", "an output must be the result of an op");
        return;
    }
    t->flags |= NPU_TENSOR_OUTPUT;
    t->buffer = NPU_GRAPH_IO;
}
