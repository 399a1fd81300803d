/* The op builders: each appends one op and its result tensors. Only what is needed to know the result's shape is looked
 * at here; graph_check.c holds every op against the rules of the op table afterwards.
 */
#include <string.h>

#include "graph/graph_internal.h"
#include "wire/format.h"

/* A new contiguous F32 result of shape |ne|, its rows those of |like|, along |rows_dim|. */
static npu_t result(npu_graph *g, const npu_tensor *like, unsigned rows_dim, const uint32_t ne[NPU_MAX_DIMS]) {
    npu_tensor t = {.buffer = NPU_GRAPH_COMPUTE, .type = NPU_TYPE_F32, .rows_of = like->rows_of};
    t.rows_dim = (uint8_t)(like->rows_of == NPU_ROWS_FIXED ? 0 : rows_dim);
    memcpy(t.ne, ne, sizeof t.ne);
    if (!npu__graph_contiguous(&t)) {
        npu__graph_fail(g, NPU_REFUSED, "graph.size", "layer %u, role %s: a result of %u x %u x %u values", g->layer,
                        npu_role_name(g->role), ne[0], ne[1], ne[2]);
        return NPU_NO_TENSOR;
    }
    return npu__graph_tensor(g, &t, NPU_NO_TENSOR);
}

/* Appends |code| with a result shaped like src[0] but for its first dimension. Absent optional sources are NO_TENSOR.
 */
static npu_t simple(npu_graph *g, npu_opcode code, const npu_t *src, unsigned n_src, uint32_t ne0, npu_op **out) {
    if (out) *out = NULL;
    if (!npu__graph_has(g, src[0], "the first operand")) return NPU_NO_TENSOR;
    const npu_tensor like = g->tensors[src[0]];
    uint32_t ne[NPU_MAX_DIMS];
    memcpy(ne, like.ne, sizeof ne);
    if (ne0) ne[0] = ne0;
    npu_t y = result(g, &like, like.rows_dim, ne);
    npu_op *op = npu__graph_op(g, code);
    if (!op) return NPU_NO_TENSOR;
    memcpy(op->src, src, n_src * sizeof *src);
    op->dst[0] = y;
    if (out) *out = op;
    return y;
}

npu_t npu_graph_get_rows(npu_graph *g, npu_t table, npu_t ids) {
    if (!npu__graph_has(g, table, "the table") || !npu__graph_has(g, ids, "the row ids")) return NPU_NO_TENSOR;
    const npu_tensor like = g->tensors[ids];
    uint32_t ne[NPU_MAX_DIMS] = {g->tensors[table].ne[0], like.ne[0], 1, 1};
    npu_t y = result(g, &like, 1, ne);
    npu_op *op = npu__graph_op(g, NPU_OP_GET_ROWS);
    if (!op) return NPU_NO_TENSOR;
    op->src[0] = table, op->src[1] = ids, op->dst[0] = y;
    return y;
}

npu_t npu_graph_rms_norm(npu_graph *g, npu_t x, npu_t weight, float eps) {
    npu_op *op;
    npu_t y = simple(g, NPU_OP_RMS_NORM, (npu_t[]){x, weight}, 2, 0, &op);
    if (op) op->params.eps.eps = eps;
    return y;
}

npu_t npu_graph_mul_mat(npu_graph *g, npu_t w, npu_t x, npu_t bias) {
    npu_t y = NPU_NO_TENSOR;
    npu_graph_mul_mats(g, 1, &w, x, &bias, &y);
    return y;
}

void npu_graph_mul_mats(npu_graph *g, unsigned n, const npu_t *w, npu_t x, const npu_t *bias, npu_t *out) {
    for (unsigned i = 0; i < n; i++) out[i] = NPU_NO_TENSOR;
    if (!n || n > NPU_OP_DSTS || !npu__graph_has(g, x, "the activation")) return;
    const npu_tensor like = g->tensors[x];
    for (unsigned i = 0; i < n; i++) {
        if (!npu__graph_has(g, w[i], "a weight")) return;
        uint32_t ne[NPU_MAX_DIMS] = {g->tensors[w[i]].ne[1], like.ne[1], like.ne[2], like.ne[3]};
        out[i] = result(g, &like, like.rows_dim, ne);
    }
    npu_op *op = npu__graph_op(g, NPU_OP_MUL_MAT);
    if (!op) return;
    op->src[0] = x;
    for (unsigned i = 0; i < n; i++) {
        op->src[1 + i] = w[i];
        op->src[1 + NPU_OP_DSTS + i] = bias ? bias[i] : NPU_NO_TENSOR;
        op->dst[i] = out[i];
    }
}

npu_t npu_graph_rope_table(npu_graph *g, npu_t positions, npu_t freqs, float scale) {
    if (!npu__graph_has(g, positions, "the positions") || !npu__graph_has(g, freqs, "the frequencies"))
        return NPU_NO_TENSOR;
    const npu_tensor like = g->tensors[positions];
    uint32_t ne[NPU_MAX_DIMS] = {g->tensors[freqs].ne[0] * 2, like.ne[0], 1, 1};
    npu_t y = result(g, &like, 1, ne);
    npu_op *op = npu__graph_op(g, NPU_OP_ROPE_TABLE);
    if (!op) return NPU_NO_TENSOR;
    op->src[0] = positions, op->src[1] = freqs, op->dst[0] = y;
    op->params.rope_table.scale = scale;
    return y;
}

npu_t npu_graph_rope(npu_graph *g, npu_t x, npu_t table, int mode) {
    npu_op *op;
    npu_t y = simple(g, NPU_OP_ROPE, (npu_t[]){x, table}, 2, 0, &op);
    if (op) op->params.rope.mode = mode;
    return y;
}

void npu_graph_set_rows(npu_graph *g, npu_t x, npu_t cells, npu_t state) {
    if (!npu__graph_has(g, state, "the state")) return;
    npu_op *op = npu__graph_op(g, NPU_OP_SET_ROWS);
    if (!op) return;
    op->src[0] = x, op->src[1] = cells, op->dst[0] = state;
}

npu_t npu_graph_attn(npu_graph *g, npu_t q, npu_t k, npu_t v, npu_t spans, npu_t sinks, const npu_params_attn *params) {
    if (!npu__graph_has(g, v, "the values")) return NPU_NO_TENSOR;
    npu_op *op;
    npu_t src[] = {q, k, v, spans, NPU_NO_TENSOR, sinks};
    npu_t y = simple(g, NPU_OP_FLASH_ATTN, src, 6, g->tensors[v].ne[0], &op);
    if (op) op->params.attn = *params;
    return y;
}

npu_t npu_graph_glu(npu_graph *g, npu_t gate, npu_t up, int kind) {
    if (!npu__graph_has(g, gate, "the gate")) return NPU_NO_TENSOR;
    npu_op *op;
    npu_t y = simple(g, NPU_OP_GLU, (npu_t[]){gate, up}, 2, up == NPU_NO_TENSOR ? g->tensors[gate].ne[0] / 2 : 0, &op);
    if (op) op->params.glu.kind = kind;
    return y;
}

npu_t npu_graph_add(npu_graph *g, npu_t a, npu_t b) {
    return simple(g, NPU_OP_ADD, (npu_t[]){a, b}, 2, 0, NULL);
}

npu_t npu_graph_mul(npu_graph *g, npu_t a, npu_t b) {
    return simple(g, NPU_OP_MUL, (npu_t[]){a, b}, 2, 0, NULL);
}

npu_t npu_graph_scale(npu_graph *g, npu_t x, float scale) {
    npu_op *op;
    npu_t y = simple(g, NPU_OP_SCALE, &x, 1, 0, &op);
    if (op) op->params.scale.scale = scale;
    return y;
}

npu_t npu_graph_softcap(npu_graph *g, npu_t x, float cap) {
    npu_op *op;
    npu_t y = simple(g, NPU_OP_SOFTCAP, &x, 1, 0, &op);
    if (op) op->params.scale.scale = cap;
    return y;
}
