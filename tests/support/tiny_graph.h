// A one-layer transformer graph over weights in memory, for tests of the graph and its executor.
#pragma once
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/executor.h"
#include "graph/graph.h"
#include "wire/format.h"

enum {
    TINY_EMBD = 32,
    TINY_HEADS = 2,
    TINY_HEAD = 16,
    TINY_FF = 64,
    TINY_VOCAB = 40,
    TINY_CELLS = 64,
    TINY_ROWS = 12,
    TINY_OUT = 4,
    TINY_FILE_VALUES = 1 << 15
};

typedef struct tiny_graph {
    npu_graph g;
    npu_weight_source source;
    float *file; // all weights, one after the other
    uint64_t used;
    uint64_t at[32]; // where a role's weight lies, + 1
    npu_t tokens, positions, cells, spans, out_rows, freqs, logits;
} tiny_graph;

static inline void tiny_shape(npu_role role, uint32_t ne[2]) {
    ne[0] = TINY_EMBD, ne[1] = TINY_EMBD;
    if (role == NPU_ROLE_EMBED || role == NPU_ROLE_HEAD) ne[1] = TINY_VOCAB;
    if (role == NPU_ROLE_G || role == NPU_ROLE_U) ne[1] = TINY_FF;
    if (role == NPU_ROLE_D) ne[0] = TINY_FF;
    if (role == NPU_ROLE_ATTN_NORM || role == NPU_ROLE_FFN_NORM || role == NPU_ROLE_OUT_NORM) ne[1] = 1;
}

// The weights lie in the order in which they are first asked for; there are no biases.
static npu_status tiny_get(void *context, unsigned layer, npu_role role, npu_weight_part part, npu_weight *out,
                           npu_error *err) {
    tiny_graph *t = context;
    if (part != NPU_PART_WEIGHT || role == NPU_ROLE_QKV)
        return npu_fail(err, NPU_NOT_FOUND, "tiny.weight", "no %s in layer %u", npu_role_name(role), layer);
    uint32_t ne[2];
    tiny_shape(role, ne);
    uint64_t at = t->at[role] ? t->at[role] - 1 : t->used;
    *out = (npu_weight){.name = npu_role_name(role), .type = NPU_TYPE_F32, .file_offset = at * 4};
    out->data = t->file + at;
    out->ne[0] = ne[0], out->ne[1] = ne[1], out->ne[2] = out->ne[3] = 1;
    out->nb[0] = 4, out->nb[1] = ne[0] * 4ull, out->nb[2] = out->nb[3] = out->nb[1] * ne[1];
    out->bytes = out->nb[2];
    if (!t->at[role]) t->used += (uint64_t)ne[0] * ne[1];
    t->at[role] = at + 1;
    return NPU_OK;
}

static inline npu_t tiny_weight(tiny_graph *t, unsigned layer, npu_role role) {
    return npu_graph_weight(&t->g, layer, role, NPU_PART_WEIGHT, 0);
}

static inline npu_t tiny_norm(tiny_graph *t, unsigned layer, npu_role role, npu_t x) {
    npu_graph_at(&t->g, layer, role);
    return npu_graph_rms_norm(&t->g, x, tiny_weight(t, layer, role), 1e-5f);
}

static inline npu_t tiny_attention(tiny_graph *t, npu_t x) {
    npu_graph *g = &t->g;
    npu_t w[3], y[3];
    npu_graph_at(g, 0, NPU_ROLE_QKV);
    for (int i = 0; i < 3; i++) w[i] = tiny_weight(t, 0, (npu_role)(NPU_ROLE_Q + i));
    npu_graph_mul_mats(g, 3, w, x, NULL, y);
    npu_graph_at(g, NPU_NO_LAYER, NPU_ROLE_ROPE);
    npu_t table = npu_graph_rope_table(g, t->positions, t->freqs, 1);
    npu_graph_at(g, 0, NPU_ROLE_ROPE);
    npu_t q = npu_graph_rope(g, npu_graph_reshape(g, y[0], TINY_HEAD, TINY_HEADS, 0), table, NPU_ROPE_NEOX);
    npu_t k = npu_graph_rope(g, npu_graph_reshape(g, y[1], TINY_HEAD, TINY_HEADS, 0), table, NPU_ROPE_NEOX);
    npu_graph_at(g, 0, NPU_ROLE_KV);
    npu_t ks = npu_graph_state(g, NPU_TYPE_F16, TINY_EMBD, TINY_CELLS, 1, 0);
    npu_t vs = npu_graph_state(g, NPU_TYPE_F16, TINY_EMBD, TINY_CELLS, 1, TINY_EMBD * TINY_CELLS * 2);
    npu_graph_set_rows(g, npu_graph_reshape(g, k, TINY_EMBD, 0, 1), t->cells, ks);
    npu_graph_set_rows(g, y[2], t->cells, vs);
    npu_graph_at(g, 0, NPU_ROLE_ATTN);
    npu_params_attn params = {.scale = 0.25f};
    npu_t a =
        npu_graph_attn(g, q, npu_graph_reshape(g, ks, TINY_HEAD, TINY_HEADS, TINY_CELLS),
                       npu_graph_reshape(g, vs, TINY_HEAD, TINY_HEADS, TINY_CELLS), t->spans, NPU_NO_TENSOR, &params);
    npu_graph_at(g, 0, NPU_ROLE_O);
    return npu_graph_mul_mat(g, tiny_weight(t, 0, NPU_ROLE_O), npu_graph_reshape(g, a, TINY_EMBD, 0, 1), NPU_NO_TENSOR);
}

static inline npu_t tiny_ffn(tiny_graph *t, npu_t x) {
    npu_graph_at(&t->g, 0, NPU_ROLE_GU);
    npu_t w[2] = {tiny_weight(t, 0, NPU_ROLE_G), tiny_weight(t, 0, NPU_ROLE_U)}, y[2];
    npu_graph_mul_mats(&t->g, 2, w, x, NULL, y);
    npu_graph_at(&t->g, 0, NPU_ROLE_ACT);
    npu_t a = npu_graph_glu(&t->g, y[0], y[1], NPU_GLU_SILU);
    npu_graph_at(&t->g, 0, NPU_ROLE_D);
    return npu_graph_mul_mat(&t->g, tiny_weight(t, 0, NPU_ROLE_D), a, NPU_NO_TENSOR);
}

// Builds everything up to finish; |t| is {0} or has its file already. False when out of memory.
static inline int tiny_build(tiny_graph *t, uint32_t rows) {
    if (!t->file) {
        t->file = malloc(TINY_FILE_VALUES * sizeof *t->file);
        if (!t->file) return 0;
        for (int i = 0; i < TINY_FILE_VALUES; i++) t->file[i] = sinf((float)i * 0.37f) * 0.3f;
    }
    t->used = 0;
    memset(t->at, 0, sizeof t->at);
    t->source = (npu_weight_source){t, tiny_get};
    npu_graph *g = &t->g;
    npu_graph_init(g, &t->source, rows, rows < TINY_OUT ? rows : TINY_OUT, 1);
    t->tokens = npu_graph_input(g, NPU_TYPE_I32, 0, 0, NPU_ROWS_STEP);
    t->positions = npu_graph_input(g, NPU_TYPE_I32, 0, 0, NPU_ROWS_STEP);
    t->cells = npu_graph_input(g, NPU_TYPE_I32, 0, 0, NPU_ROWS_STEP);
    t->spans = npu_graph_input(g, NPU_TYPE_I32, 2, 0, NPU_ROWS_STEP);
    t->out_rows = npu_graph_input(g, NPU_TYPE_I32, 0, 0, NPU_ROWS_OUT);
    t->freqs = npu_graph_input(g, NPU_TYPE_F32, TINY_HEAD / 2, 1, NPU_ROWS_FIXED);
    npu_graph_at(g, NPU_NO_LAYER, NPU_ROLE_EMBED);
    npu_t x = npu_graph_get_rows(g, tiny_weight(t, NPU_NO_LAYER, NPU_ROLE_EMBED), t->tokens);
    npu_t y = tiny_attention(t, tiny_norm(t, 0, NPU_ROLE_ATTN_NORM, x));
    npu_graph_at(g, 0, NPU_ROLE_RESIDUAL);
    x = npu_graph_add(g, y, x);
    y = tiny_ffn(t, tiny_norm(t, 0, NPU_ROLE_FFN_NORM, x));
    npu_graph_at(g, 0, NPU_ROLE_RESIDUAL);
    x = npu_graph_add(g, npu_graph_scale(g, y, 0.5f), x);
    npu_graph_at(g, NPU_NO_LAYER, NPU_ROLE_ROWS);
    x = tiny_norm(t, NPU_NO_LAYER, NPU_ROLE_OUT_NORM, npu_graph_get_rows(g, x, t->out_rows));
    npu_graph_at(g, NPU_NO_LAYER, NPU_ROLE_HEAD);
    x = npu_graph_mul_mat(g, tiny_weight(t, NPU_NO_LAYER, NPU_ROLE_HEAD), x, NPU_NO_TENSOR);
    t->logits = npu_graph_softcap(g, npu_graph_scale(g, x, 2), 30);
    npu_graph_output(g, t->logits);
    return 1;
}

// Writes the inputs of positions |first| … |first| + |n| - 1 to graph |k| of an executor; logits after the last of
// them.
static inline npu_step tiny_inputs(const tiny_graph *t, npu_executor *x, uint32_t k, uint32_t first, uint32_t n) {
    int32_t *tokens = npu_executor_data(x, k, t->tokens), *positions = npu_executor_data(x, k, t->positions);
    int32_t *cells = npu_executor_data(x, k, t->cells), *spans = npu_executor_data(x, k, t->spans);
    int32_t *out = npu_executor_data(x, k, t->out_rows);
    float *freqs = npu_executor_data(x, k, t->freqs);
    for (int i = 0; i < TINY_HEAD / 2; i++) freqs[i] = 1.0f / (float)(1 + 3 * i);
    for (uint32_t i = 0; i < n; i++) {
        tokens[i] = (int32_t)((first + i) * 7 % TINY_VOCAB);
        positions[i] = cells[i] = (int32_t)(first + i);
        spans[2 * i] = 0;
        spans[2 * i + 1] = (int32_t)(first + i) + 1;
    }
    out[0] = (int32_t)n - 1;
    return (npu_step){.rows = {[NPU_ROWS_STEP] = n, [NPU_ROWS_OUT] = 1}};
}

static inline void tiny_free(tiny_graph *t) {
    npu_graph_free(&t->g);
    free(t->file);
}
