/* The common pieces of all transformers here; see build.h. */
#include "model/build.h"

#include <math.h>

#include "model/arch.h"

static npu_t weight(npu_build *b, unsigned layer, npu_role role) {
    return npu_graph_weight(b->g, layer, role, NPU_PART_WEIGHT, 0);
}

static npu_t bias(npu_build *b, unsigned layer, npu_role role) {
    return npu_graph_weight(b->g, layer, role, NPU_PART_BIAS, 1);
}

/* x * W of one role, with its bias when there is one. */
static npu_t project(npu_build *b, unsigned layer, npu_role role, npu_t x) {
    npu_graph_at(b->g, layer, role);
    return npu_graph_mul_mat(b->g, weight(b, layer, role), x, bias(b, layer, role));
}

/* The same of several roles as one op: the activation is quantised once. |as| names the op. */
static void project_all(npu_build *b, unsigned layer, npu_role as, const npu_role *roles, unsigned n, npu_t x,
                        npu_t *out) {
    npu_t w[NPU_OP_DSTS], biases[NPU_OP_DSTS];
    for (unsigned i = 0; i < n; i++) {
        w[i] = weight(b, layer, roles[i]);
        biases[i] = bias(b, layer, roles[i]);
    }
    npu_graph_at(b->g, layer, as);
    npu_graph_mul_mats(b->g, n, w, x, biases, out);
}

static void build_inputs(npu_build *b) {
    npu_graph *g = b->g;
    const npu_hparams *h = b->h;
    bool local = false, whole = false;
    for (uint32_t i = 0; i < h->n_layers; i++) {
        local |= h->layers[i].rope && h->layers[i].local;
        whole |= h->layers[i].rope && !h->layers[i].local;
    }
    npu_build_io *io = &b->io;
    io->tokens = npu_graph_input(g, NPU_TYPE_I32, 0, 0, NPU_ROWS_STEP);
    io->positions = npu_graph_input(g, NPU_TYPE_I32, 0, 0, NPU_ROWS_STEP);
    io->cells = npu_graph_input(g, NPU_TYPE_I32, 0, 0, NPU_ROWS_STEP);
    io->spans = npu_graph_input(g, NPU_TYPE_I32, 2, 0, NPU_ROWS_STEP);
    io->out_rows = npu_graph_input(g, NPU_TYPE_I32, 0, 0, NPU_ROWS_OUT);
    io->q_temp = io->logits = b->q_temp = NPU_NO_TENSOR;
    for (int i = 0; i < 2; i++) {
        io->freqs[i] = b->rope_table[i] = NPU_NO_TENSOR;
        if (!(i ? local : whole)) continue;
        io->freqs[i] = npu_graph_input(g, NPU_TYPE_F32, h->rope.n_rot / 2, 1, NPU_ROWS_FIXED);
        npu_graph_at(g, NPU_NO_LAYER, NPU_ROLE_ROPE);
        b->rope_table[i] = npu_graph_rope_table(g, io->positions, io->freqs[i], b->rope_scale[i]);
    }
    if (h->q_temp_scale == 0) return;
    io->q_temp = npu_graph_input(g, NPU_TYPE_F32, 1, 0, NPU_ROWS_STEP);
    b->q_temp = npu_graph_reshape(g, io->q_temp, 1, 1, 0);
}

void npu_build_model(npu_build *b) {
    build_inputs(b);
    b->h->arch->build(b);
}

npu_t npu_build_embed(npu_build *b) {
    npu_graph_at(b->g, NPU_NO_LAYER, NPU_ROLE_EMBED);
    npu_t x = npu_graph_get_rows(b->g, weight(b, NPU_NO_LAYER, NPU_ROLE_EMBED), b->io.tokens);
    return b->h->embed_scale == 1 ? x : npu_graph_scale(b->g, x, b->h->embed_scale);
}

npu_t npu_build_norm(npu_build *b, unsigned layer, npu_role role, npu_t x) {
    npu_graph_at(b->g, layer, role);
    return npu_graph_rms_norm(b->g, x, weight(b, layer, role), b->h->eps);
}

/* Query, key and value of the normed |x|, as heads: [head, heads, rows]. */
static void build_qkv(npu_build *b, unsigned layer, npu_t x, npu_t *q, npu_t *k, npu_t *v) {
    npu_graph *g = b->g;
    const npu_hparams *h = b->h;
    uint32_t heads = h->layers[layer].n_heads, kv = h->layers[layer].n_heads_kv;
    npu_t fused = npu_graph_weight(g, layer, NPU_ROLE_QKV, NPU_PART_WEIGHT, 1), out[3];
    if (fused == NPU_NO_TENSOR) {
        static const npu_role roles[] = {NPU_ROLE_Q, NPU_ROLE_K, NPU_ROLE_V};
        project_all(b, layer, NPU_ROLE_QKV, roles, 3, x, out);
    } else {
        npu_graph_at(g, layer, NPU_ROLE_QKV);
        npu_t all = npu_graph_mul_mat(g, fused, x, bias(b, layer, NPU_ROLE_QKV));
        out[0] = npu_graph_slice(g, all, 0, heads * h->head_k);
        out[1] = npu_graph_slice(g, all, heads * h->head_k, kv * h->head_k);
        out[2] = npu_graph_slice(g, all, (heads + kv) * h->head_k, kv * h->head_v);
    }
    *q = npu_graph_reshape(g, out[0], h->head_k, heads, 0);
    *k = npu_graph_reshape(g, out[1], h->head_k, kv, 0);
    *v = out[2];
}

/* Norms of the heads, rotation, and the query's temperature. */
static void build_positions(npu_build *b, unsigned layer, npu_t *q, npu_t *k) {
    npu_graph *g = b->g;
    const npu_layer_hparams *l = &b->h->layers[layer];
    if (b->h->arch->features & NPU_ARCH_QK_NORM) {
        *q = npu_build_norm(b, layer, NPU_ROLE_Q_NORM, *q);
        *k = npu_build_norm(b, layer, NPU_ROLE_K_NORM, *k);
    }
    npu_graph_at(g, layer, NPU_ROLE_ROPE);
    if (l->rope) {
        *q = npu_graph_rope(g, *q, b->rope_table[l->local], b->h->arch->rope_mode);
        *k = npu_graph_rope(g, *k, b->rope_table[l->local], b->h->arch->rope_mode);
    }
    if (b->q_temp != NPU_NO_TENSOR) *q = npu_graph_mul(g, *q, b->q_temp);
}

npu_t npu_build_attention(npu_build *b, unsigned layer, npu_t x) {
    npu_graph *g = b->g;
    const npu_hparams *h = b->h;
    const npu_layer_hparams *l = &h->layers[layer];
    const npu_state_layer *slab = &b->state->layers[layer];
    uint32_t kv = l->n_heads_kv, cells = b->state->ctx * b->state->n_seq;
    npu_t q, k, v;
    build_qkv(b, layer, x, &q, &k, &v);
    build_positions(b, layer, &q, &k);

    npu_graph_at(g, layer, NPU_ROLE_KV);
    npu_t k_cells = npu_graph_state(g, b->state->type, kv * h->head_k, cells, 1, slab->k_offset);
    npu_t v_cells = npu_graph_state(g, b->state->type, kv * h->head_v, cells, 1, slab->v_offset);
    npu_graph_set_rows(g, npu_graph_reshape(g, k, kv * h->head_k, 0, 1), b->io.cells, k_cells);
    npu_graph_set_rows(g, v, b->io.cells, v_cells);

    npu_graph_at(g, layer, NPU_ROLE_ATTN);
    npu_params_attn params = {.scale = h->attn_scale, .softcap = h->attn_softcap, .window = l->window};
    npu_t y = npu_graph_attn(g, q, npu_graph_reshape(g, k_cells, h->head_k, kv, cells),
                             npu_graph_reshape(g, v_cells, h->head_v, kv, cells), b->io.spans, NPU_NO_TENSOR, &params);
    return project(b, layer, NPU_ROLE_O, npu_graph_reshape(g, y, l->n_heads * h->head_v, 0, 1));
}

npu_t npu_build_ffn(npu_build *b, unsigned layer, npu_t x, int kind) {
    npu_t out[2];
    if (b->h->arch->features & NPU_ARCH_FUSED_GATE_UP) {
        out[0] = project(b, layer, NPU_ROLE_GU, x);
        out[1] = NPU_NO_TENSOR;
    } else {
        static const npu_role roles[] = {NPU_ROLE_G, NPU_ROLE_U};
        project_all(b, layer, NPU_ROLE_GU, roles, 2, x, out);
    }
    npu_graph_at(b->g, layer, NPU_ROLE_ACT);
    return project(b, layer, NPU_ROLE_D, npu_graph_glu(b->g, out[0], out[1], kind));
}

npu_t npu_build_residual(npu_build *b, unsigned layer, npu_t x, npu_t y) {
    npu_graph_at(b->g, layer, NPU_ROLE_RESIDUAL);
    if (b->h->residual_scale != 1) y = npu_graph_scale(b->g, y, b->h->residual_scale);
    return npu_graph_add(b->g, y, x);
}

npu_t npu_build_out_rows(npu_build *b, unsigned layer, npu_t x) {
    if (layer + 1 < b->h->n_layers) return x;
    npu_graph_at(b->g, layer, NPU_ROLE_ROWS);
    return npu_graph_get_rows(b->g, x, b->io.out_rows);
}

void npu_build_head(npu_build *b, npu_t x) {
    const npu_hparams *h = b->h;
    x = npu_build_norm(b, NPU_NO_LAYER, NPU_ROLE_OUT_NORM, x);
    x = project(b, NPU_NO_LAYER, NPU_ROLE_HEAD, x);
    if (h->logit_scale != 1) x = npu_graph_scale(b->g, x, h->logit_scale);
    if (h->final_softcap != 0) x = npu_graph_softcap(b->g, x, h->final_softcap);
    npu_graph_output(b->g, x);
    b->io.logits = x;
}
