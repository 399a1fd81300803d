/* See instance.h. */
#include "model/instance.h"

#include <stdlib.h>
#include <string.h>

#include "model/arch.h"
#include "model/rope.h"

/* Logits of one step stay below this, whatever the vocabulary. */
enum { LOGITS_BYTES = 32 << 20 };

/* The file's own factors by which frequencies are divided, or NULL. */
static const npu_gguf_tensor *rope_factors(const npu_weights *w, uint32_t ctx) {
    const npu_gguf_tensor *freqs = npu_weights_find(w, NPU_NO_LAYER, NPU_ROLE_ROPE, NPU_PART_FREQS);
    if (freqs) return freqs;
    return ctx > w->h->rope.original_ctx ? w->rope_long : w->rope_short;
}

static npu_status make_freqs(npu_instance *m, const npu_weights *w, npu_error *err) {
    uint32_t pairs = m->h->rope.n_rot / 2;
    const npu_gguf_tensor *file = rope_factors(w, m->settings.ctx);
    float *factors = malloc(pairs * sizeof(float));
    m->freqs[0] = malloc(pairs * sizeof(float));
    m->freqs[1] = malloc(pairs * sizeof(float));
    npu_status status = NPU_OK;
    if (!factors || !m->freqs[0] || !m->freqs[1])
        status = npu_fail(err, NPU_NO_MEMORY, "context.memory", "no memory for %u rotary frequencies", pairs);
    if (status == NPU_OK && file) memcpy(factors, file->data, pairs * sizeof(float));
    for (int local = 0; local < 2 && status == NPU_OK; local++)
        status = npu_rope_make(&m->h->rope, local, file ? factors : NULL, m->freqs[local], &m->rope_scale[local], err);
    free(factors);
    return status;
}

static uint32_t out_rows(const npu_instance *m, uint32_t rows) {
    uint32_t most = LOGITS_BYTES / 4 / m->h->n_vocab;
    if (m->settings.out_rows && m->settings.out_rows < most) most = m->settings.out_rows;
    if (!most) most = 1;
    return rows < most ? rows : most;
}

static npu_status build_graph(npu_instance *m, unsigned kind, uint32_t rows, uint32_t n_files, npu_error *err) {
    npu_graph *g = &m->graphs[kind];
    npu_graph_init(g, &m->source, rows, out_rows(m, rows), n_files);
    npu_build build = {.g = g, .h = m->h, .state = &m->state, .rope_scale = {m->rope_scale[0], m->rope_scale[1]}};
    npu_build_model(&build);
    m->io[kind] = build.io;
    return npu_graph_finish(g, err);
}

/* Every weight once, but of the embedding only a row when it is not the head too. */
static uint64_t bytes_of_decode(const npu_graph *g) {
    uint64_t bytes = 0;
    for (uint32_t t = 0; t < g->n_tensors; t++) {
        const npu_tensor *w = &g->tensors[t];
        if (!(w->flags & NPU_TENSOR_WEIGHT)) continue;
        bytes += g->weights[t].role == NPU_ROLE_EMBED ? w->nb[1] : w->nb[1] * npu_tensor_rows(w);
    }
    return bytes;
}

static uint64_t products_of_row(const npu_graph *g) {
    uint64_t products = 0;
    for (uint32_t t = 0; t < g->n_tensors; t++) {
        const npu_tensor *w = &g->tensors[t];
        uint16_t role = g->weights[t].role;
        if (!(w->flags & NPU_TENSOR_WEIGHT) || role == NPU_ROLE_EMBED || role == NPU_ROLE_HEAD) continue;
        if (npu_tensor_rows(w) > 1) products += w->ne[0] * npu_tensor_rows(w);
    }
    return products;
}

static npu_status init(npu_instance *m, const npu_weights *w, npu_error *err) {
    const npu_plan_settings *s = &m->settings;
    if (m->h->window_limit && s->ctx > m->h->window_limit)
        return npu_fail(
            err, NPU_REFUSED, "context.window",
            "key %s.attention.sliding_window is %u: for this architecture contexts up to that are supported, "
            "%u was asked for",
            m->h->arch->name, m->h->window_limit, s->ctx);
    NPU_TRY(npu_state_init(&m->state, m->h, s->ctx, s->n_seq, s->kv_type, err));
    NPU_TRY(make_freqs(m, w, err));
    uint32_t n_files = (uint32_t)npu_gguf_file_count(w->gguf);
    NPU_TRY(build_graph(m, NPU_GRAPH_DECODE, s->decode_rows, n_files, err));
    NPU_TRY(build_graph(m, NPU_GRAPH_PREFILL, s->prefill_rows, n_files, err));
    m->weight_bytes = bytes_of_decode(&m->graphs[NPU_GRAPH_DECODE]);
    m->multiply_adds = products_of_row(&m->graphs[NPU_GRAPH_DECODE]);
    return NPU_OK;
}

npu_status npu_instance_init(npu_instance *m, npu_weights *w, const npu_plan_settings *settings, npu_error *err) {
    *m = (npu_instance){.settings = *settings, .h = w->h, .source = npu_weights_source(w)};
    npu_status status = init(m, w, err);
    if (status != NPU_OK) npu_instance_free(m);
    return status;
}

void npu_instance_free(npu_instance *m) {
    for (int i = 0; i < NPU_GRAPH_KINDS; i++) npu_graph_free(&m->graphs[i]);
    npu_state_free(&m->state);
    free(m->freqs[0]);
    free(m->freqs[1]);
    *m = (npu_instance){0};
}

uint32_t npu_instance_max_out(const npu_instance *m, unsigned kind) {
    return m->graphs[kind].max_out;
}

uint64_t npu_instance_kv_bytes(const npu_instance *m) {
    uint32_t longest = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < m->state.n_seq; i++)
        if (m->state.lengths[i] > longest) longest = m->state.lengths[i];
    for (uint32_t i = 0; i < m->state.n_layers; i++) {
        const npu_state_layer *l = &m->state.layers[i];
        uint32_t window = m->h->layers[i].window;
        bytes += (window && window < longest ? window : longest) * (l->k_row_bytes + l->v_row_bytes);
    }
    return bytes;
}
