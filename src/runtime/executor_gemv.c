/* Products on a gemv-class device: the plan's designs of one MUL_MAT after the other through the target's gemv (lm_head
 * for the head), on the host's own buffers, in chunks of rows that the device takes. Knows neither how a target packs
 * weights nor when: on a residency miss it hands out the columns that the target asks for. Called by executor.c.
 */
#include <stdlib.h>
#include <string.h>

#include "quant/quant.h"
#include "runtime/executor_internal.h"
#include "wire/op_check.h"

enum { COLUMNS = 16 }; /* turned at once: one cache line of a row of [K][N] */

/* The weights of one gemv: parts |first| … |first| + |n| - 1 of an op. */
typedef struct products {
    const npu_graph *graph;
    const npu_op *op;
    unsigned first, n;
    uint32_t K, N;
} products;

static unsigned parts_of(const npu_op *op) {
    unsigned n = 0;
    while (n < NPU_OP_DSTS && op->src[1 + n] != NPU_NO_TENSOR) n++;
    return n;
}

static products products_of(const npu_graph *g, const npu_op *op, const npu_plan_design *d) {
    return (products){.graph = g, .op = op, .first = d->first, .n = d->n_splits, .K = d->real_k, .N = d->real_n};
}

/* Writes up to COLUMNS rows of a weight as columns of |out|, which has |stride| values a row. */
static npu_status turn(const npu_weight *w, uint32_t first, uint32_t n, float *rows, float *out, uint64_t stride,
                       npu_error *err) {
    uint32_t k = w->ne[0];
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *from = (const uint8_t *)w->data + (first + i) * w->nb[1];
        if (npu_quant_dequant_row(w->type, from, rows + (uint64_t)i * k, k) != NPU_OK)
            return npu_fail(err, NPU_UNSUPPORTED, "executor.weight", "tensor %s: type %u has no values", w->name,
                            w->type);
    }
    for (uint32_t j = 0; j < k; j++)
        for (uint32_t i = 0; i < n; i++) out[j * stride + i] = rows[(uint64_t)i * k + j];
    return NPU_OK;
}

/* The tiles callback: all weights of the gemv as f32 [K][N], of the layer that is asked for. */
static npu_status give_tiles(void *user, unsigned layer, unsigned role, uint8_t *out, uint64_t out_bytes,
                             npu_error *err) {
    const products *p = user;
    const npu_weight_source *source = p->graph->source;
    if (out_bytes != (uint64_t)p->K * p->N * sizeof(float))
        return npu_fail(err, NPU_INVALID, "executor.tiles", "layer %u, role %s: %llu bytes for %u x %u weights", layer,
                        npu_role_name(role), (unsigned long long)out_bytes, p->K, p->N);
    float *rows = malloc((uint64_t)p->K * COLUMNS * sizeof(float)), *to = (float *)(void *)out;
    npu_status status = rows ? NPU_OK : npu_fail(err, NPU_NO_MEMORY, "executor.memory", "no memory for weight rows");
    for (unsigned i = p->first; i < p->first + p->n && status == NPU_OK; i++) {
        const npu_weight_ref *ref = &p->graph->weights[p->op->src[1 + i]];
        uint32_t n = p->graph->tensors[p->op->dst[i]].ne[0];
        npu_weight w;
        status = source->get(source->context, layer, (npu_role)ref->role, (npu_weight_part)ref->part, &w, err);
        if (status == NPU_OK && (w.ne[0] != p->K || w.ne[1] != n))
            status = npu_fail(err, NPU_INVALID, "executor.weight", "tensor %s: %u x %u, the product needs %u x %u",
                              w.name, w.ne[0], w.ne[1], p->K, n);
        for (uint32_t c = 0; c < n && status == NPU_OK; c += COLUMNS)
            status = turn(&w, c, n - c < COLUMNS ? n - c : COLUMNS, rows, to + c, p->N, err);
        to += n;
    }
    free(rows);
    return status;
}

/* Rows that one call may have: the decode design takes few, the prefill design more at a time. */
static uint32_t chunk_rows(const npu_caps *caps, uint32_t rows) {
    if (rows <= caps->max_rows) return rows;
    uint32_t most = caps->prefill_rows > caps->max_rows ? caps->prefill_rows : caps->max_rows;
    return most && most < rows ? most : rows;
}

static bool is_rows(const npu_tensor *t) {
    return t->type == NPU_TYPE_F32 && t->nb[0] == sizeof(float) && t->nb[1] == (uint64_t)t->ne[0] * sizeof(float) &&
           t->ne[2] == 1 && t->ne[3] == 1 && (t->rows_of == NPU_ROWS_FIXED || t->rows_dim == 1);
}

/* Whether a design's products are parts of the op, with the columns that it says. */
static bool is_part(const npu_graph *g, const npu_op *op, const npu_plan_design *d) {
    uint64_t columns = 0;
    if (!d->n_splits || d->first + d->n_splits > parts_of(op) || d->real_k != g->tensors[op->src[0]].ne[0])
        return false;
    for (unsigned i = d->first; i < d->first + d->n_splits; i++) columns += g->tensors[op->dst[i]].ne[0];
    return columns == d->real_n;
}

/* A plan may ask only for what gemv can say, and must make every result once. */
static bool can_run(const npu_graph *g, const npu_op *op, const npu_plan *plan, const npu_plan_entry *e) {
    const npu_tensor *x = op->src[0] == NPU_NO_TENSOR ? NULL : &g->tensors[op->src[0]];
    if (op->code != NPU_OP_MUL_MAT || !x || !is_rows(x) || !parts_of(op)) return false;
    for (unsigned i = 0; i < parts_of(op); i++)
        if (!(g->tensors[op->src[1 + i]].flags & NPU_TENSOR_WEIGHT) || !is_rows(&g->tensors[op->dst[i]])) return false;
    unsigned made = 0;
    for (unsigned i = 0; i < e->n_designs; i++) {
        const npu_plan_design *d = &plan->designs[e->designs[i]];
        if (d->first != made || !is_part(g, op, d)) return false;
        made += d->n_splits;
    }
    return made == parts_of(op);
}

npu_status npu__gemv_bind(npu__gemv *v, const npu_executor_graph *graph, npu_error *err) {
    const npu_graph *g = graph->graph;
    if (!v->plan || v->plan->n_entries != g->n_ops)
        return npu_fail(err, NPU_REFUSED, "executor.plan", "a device that runs products needs the graph's plan");
    for (uint32_t i = 0; graph->on_device && i < g->n_ops; i++) {
        const npu_op *op = &g->ops[i];
        const npu_plan_entry *e = &v->plan->entries[i];
        const npu_op_info *info = npu_op_find(op->code);
        if (!graph->on_device[i]) continue;
        if (!can_run(g, op, v->plan, e))
            return npu_fail(err, NPU_REFUSED, "executor.gemv",
                            "layer %d, role %s: the plan has no product of rows and weights for this %s",
                            op->layer == NPU_NO_LAYER ? -1 : (int)op->layer, npu_role_name(op->role),
                            info ? info->name : "op");
        for (unsigned k = 0; k < e->n_designs; k++) {
            const npu_plan_design *d = &v->plan->designs[e->designs[k]];
            uint64_t values = (uint64_t)chunk_rows(&v->device->caps, g->max_rows) * d->real_n;
            if (d->n_splits > 1 && values > v->n_values) v->n_values = values;
        }
    }
    return NPU_OK;
}

npu_status npu__gemv_alloc(npu__gemv *v, npu_error *err) {
    if (!v->n_values) return NPU_OK;
    v->values = calloc(v->n_values, sizeof *v->values);
    if (v->values) return NPU_OK;
    return npu_fail(err, NPU_NO_MEMORY, "executor.memory", "no memory for %llu results of fused products",
                    (unsigned long long)v->n_values);
}

static npu_status multiply(const npu__gemv *v, products *p, const npu_plan_entry *e, unsigned design, uint32_t rows,
                           const float *x, float *out, npu_error *err) {
    npu_target *device = v->device;
    if (p->op->role == NPU_ROLE_HEAD && device->caps.lm_head && device->ops->lm_head)
        return device->ops->lm_head(device, rows, x, out, err);
    npu_gemv_args args = {.role = design,
                          .layer = p->op->layer,
                          .M = rows,
                          .K = p->K,
                          .N = p->N,
                          .x = x,
                          .wkey = npu_plan_residency(e, &v->plan->designs[design]),
                          .tiles = give_tiles,
                          .tiles_user = p};
    return device->ops->gemv(device, &args, out, err);
}

static float *row_at(const npu__bound *b, npu_t tensor, uint32_t row) {
    const npu_tensor *t = &b->graph->tensors[tensor];
    return (float *)(void *)(b->buffers[t->buffer]->data + t->offset + row * t->nb[1]);
}

static void add_bias(const npu__bound *b, const npu_op *op, unsigned part, uint32_t rows) {
    if (op->src[1 + NPU_OP_DSTS + part] == NPU_NO_TENSOR) return;
    uint32_t n = b->graph->tensors[op->dst[part]].ne[0];
    const float *bias = row_at(b, op->src[1 + NPU_OP_DSTS + part], 0);
    for (uint32_t r = 0; r < rows; r++) {
        float *y = row_at(b, op->dst[part], r);
        for (uint32_t i = 0; i < n; i++) y[i] += bias[i];
    }
}

/* The columns of one chunk of fused products, each to its place. */
static void deal_out(const npu__gemv *v, const npu__bound *b, const products *p, uint32_t first, uint32_t rows) {
    const float *from = v->values;
    for (unsigned i = p->first; i < p->first + p->n; i++) {
        uint32_t n = b->graph->tensors[p->op->dst[i]].ne[0];
        for (uint32_t r = 0; r < rows; r++)
            memcpy(row_at(b, p->op->dst[i], first + r), from + (uint64_t)r * p->N, n * sizeof(float));
        from += n;
    }
}

npu_status npu__gemv_run(npu__gemv *v, const npu__bound *b, uint32_t index, const npu_step *step,
                         npu__gemv_bytes *bytes, npu_error *err) {
    const npu_op *op = &b->graph->ops[index];
    const npu_plan_entry *e = &v->plan->entries[index];
    npu_tensor x = npu_tensor_at_step(&b->graph->tensors[op->src[0]], step);
    uint32_t chunk = chunk_rows(&v->device->caps, x.ne[1]);
    for (unsigned k = 0; k < e->n_designs; k++) {
        products p = products_of(b->graph, op, &v->plan->designs[e->designs[k]]);
        for (uint32_t row = 0; row < x.ne[1]; row += chunk) {
            uint32_t rows = x.ne[1] - row < chunk ? x.ne[1] - row : chunk;
            float *out = p.n > 1 ? v->values : row_at(b, op->dst[p.first], row);
            NPU_TRY(multiply(v, &p, e, e->designs[k], rows, row_at(b, op->src[0], row), out, err));
            if (p.n > 1) deal_out(v, b, &p, row, rows);
        }
        for (unsigned i = p.first; i < p.first + p.n; i++) add_bias(b, op, i, x.ne[1]);
        bytes->to_device += (uint64_t)x.ne[1] * p.K * sizeof(float);
        bytes->to_host += (uint64_t)x.ne[1] * p.N * sizeof(float);
    }
    return NPU_OK;
}
