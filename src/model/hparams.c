/* The hyper-parameters that all architectures share, in the order: which architecture, dimensions, heads, rotary
 * positions, the architecture's own keys, and what then must hold together. See hparams.h.
 */
#include "model/hparams.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/arch.h"
#include "model/keys.h"

enum { MAX_DIM = 1 << 24, MAX_HEADS = 1 << 16, MAX_HEAD_DIM = 1 << 14 };

static npu_status read_arch(const npu_gguf *gguf, npu_hparams *h, npu_error *err) {
    npu_gguf_str kind, name;
    if (npu_gguf_find(gguf, "general.type") && npu_gguf_get_str(gguf, "general.type", &kind, NULL) == NPU_OK &&
        !(kind.size == 5 && !memcmp(kind.data, "model", 5)))
        return npu_fail(err, NPU_REFUSED, "model.type", "key general.type: the file holds no model but \"%.*s\"",
                        kind.size < 40 ? (int)kind.size : 40, kind.data);
    NPU_TRY(npu_gguf_get_str(gguf, "general.architecture", &name, err));
    h->arch = npu_arch_find(name);
    if (h->arch) return NPU_OK;
    char known[256];
    npu_arch_list(known, sizeof known);
    return npu_fail(err, NPU_REFUSED, "model.architecture",
                    "key general.architecture: \"%.*s\" is not a known architecture (known: %s)",
                    name.size < 40 ? (int)name.size : 40, name.data, known);
}

static void set_heads(npu_layer_hparams *l, uint32_t value) {
    l->n_heads = l->n_heads_kv = value;
}

static void set_heads_kv(npu_layer_hparams *l, uint32_t value) {
    l->n_heads_kv = value;
}

static void set_ff(npu_layer_hparams *l, uint32_t value) {
    l->n_ff = value;
}

/* |value| must be from 1 to |most|. */
static void need_range(npu_keys *k, const char *key, uint32_t value, uint32_t most) {
    if (!value || value > most) npu_keys_fail(k, NPU_INVALID, key, "is %u, must be from 1 to %u", value, most);
}

static void read_dims(npu_keys *k, npu_hparams *h) {
    npu_keys_need_u32(k, "n_layers", "block_count", &h->n_layers);
    npu_keys_need_u32(k, "n_ctx_train", "context_length", &h->n_ctx_train);
    npu_keys_need_u32(k, "n_embd", "embedding_length", &h->n_embd);
    if (k->status != NPU_OK) return;
    need_range(k, "context_length", h->n_ctx_train, INT32_MAX);
    need_range(k, "embedding_length", h->n_embd, MAX_DIM);
    size_t n_tensors = npu_gguf_tensor_count(k->gguf);
    if (!h->n_layers || h->n_layers > n_tensors || h->n_layers >= NPU_NO_LAYER)
        npu_keys_fail(k, NPU_INVALID, "block_count", "is %u layers, must fit the file's %zu tensors", h->n_layers,
                      n_tensors);
    if (k->status != NPU_OK) return;
    h->layers = calloc(h->n_layers, sizeof *h->layers);
    if (!h->layers) k->status = npu_fail(k->err, NPU_NO_MEMORY, "model.memory", "no memory for %u layers", h->n_layers);
}

static void read_heads(npu_keys *k, npu_hparams *h) {
    if (!npu_keys_layers(k, "n_ff", "feed_forward_length", set_ff))
        npu_keys_fail(k, NPU_INVALID, "feed_forward_length", "is missing");
    if (!npu_keys_layers(k, "n_heads", "attention.head_count", set_heads))
        npu_keys_fail(k, NPU_INVALID, "attention.head_count", "is missing");
    npu_keys_layers(k, "n_heads_kv", "attention.head_count_kv", set_heads_kv);
    for (uint32_t i = 0; i < h->n_layers && k->status == NPU_OK; i++) {
        const npu_layer_hparams *l = &h->layers[i];
        need_range(k, "feed_forward_length", l->n_ff, MAX_DIM);
        need_range(k, "attention.head_count", l->n_heads, MAX_HEADS);
        need_range(k, "attention.head_count_kv", l->n_heads_kv, MAX_HEADS);
        if (k->status == NPU_OK && l->n_heads_kv && l->n_heads % l->n_heads_kv)
            npu_keys_fail(k, NPU_INVALID, "attention.head_count_kv", "%u heads can't share %u key/value heads evenly",
                          l->n_heads, l->n_heads_kv);
    }
    uint32_t n_heads = h->layers[0].n_heads, swa;
    if (k->status != NPU_OK || !n_heads) return;
    h->head_k = h->head_v = h->n_embd / n_heads;
    bool k_stated = npu_keys_u32(k, "head_k", "attention.key_length", &h->head_k);
    bool v_stated = npu_keys_u32(k, "head_v", "attention.value_length", &h->head_v);
    if (!(k_stated && v_stated) && h->n_embd % n_heads)
        npu_keys_fail(k, NPU_INVALID, "attention.head_count", "%u heads do not divide embedding_length %u", n_heads,
                      h->n_embd);
    need_range(k, "attention.key_length", h->head_k, MAX_HEAD_DIM);
    need_range(k, "attention.value_length", h->head_v, MAX_HEAD_DIM);
    swa = h->head_k;
    if (npu_keys_u32(k, "head_k_local", "attention.key_length_swa", &swa) && swa != h->head_k)
        npu_keys_fail(k, NPU_REFUSED, "attention.key_length_swa", "heads of two sizes are not supported");
    swa = h->head_v;
    if (npu_keys_u32(k, "head_v_local", "attention.value_length_swa", &swa) && swa != h->head_v)
        npu_keys_fail(k, NPU_REFUSED, "attention.value_length_swa", "heads of two sizes are not supported");
}

static void read_rope_scaling(npu_keys *k, npu_rope_hparams *r) {
    static const char *const kinds[] = {"none", "linear", "yarn", "longrope"};
    char kind[72] = "linear";
    float factor = 0;
    npu_keys_str(k, "rope_scaling", "rope.scaling.type", kind, sizeof kind);
    unsigned i = 0;
    while (i < 4 && strcmp(kinds[i], kind) != 0) i++;
    if (i == 4)
        npu_keys_fail(k, NPU_REFUSED, "rope.scaling.type", "\"%s\" is not known (none, linear, yarn, longrope)", kind);
    r->kind = (npu_rope_kind)i;
    const char *key = "rope.scaling.factor";
    if (!npu_keys_f32(k, "rope_factor", key, &factor))
        npu_keys_f32(k, "rope_factor", key = "rope.scale_linear", &factor);
    if (factor < 0 || (factor > 0 && !isfinite(1 / factor)))
        npu_keys_fail(k, NPU_INVALID, key, "is %g", (double)factor);
    r->freq_scale = factor == 0 || r->kind == NPU_ROPE_KIND_NONE ? 1 : 1 / factor;
    npu_keys_u32(k, "rope_original_ctx", "rope.scaling.original_context_length", &r->original_ctx);
    npu_keys_f32(k, "rope_attn_factor", "rope.scaling.attn_factor", &r->attn_factor);
    npu_keys_f32(k, "yarn_ext", "rope.scaling.yarn_ext_factor", &r->yarn_ext);
    npu_keys_f32(k, "yarn_attn", "rope.scaling.yarn_attn_factor", &r->yarn_attn);
    npu_keys_f32(k, "yarn_beta_fast", "rope.scaling.yarn_beta_fast", &r->yarn_beta_fast);
    npu_keys_f32(k, "yarn_beta_slow", "rope.scaling.yarn_beta_slow", &r->yarn_beta_slow);
    npu_keys_f32(k, "yarn_log_mul", "rope.scaling.yarn_log_multiplier", &r->yarn_log_mul);
    if (r->yarn_ext < 0) r->yarn_ext = r->kind == NPU_ROPE_KIND_YARN ? 1 : 0;
    if (!(r->yarn_beta_fast > 0)) npu_keys_fail(k, NPU_INVALID, "rope.scaling.yarn_beta_fast", "must be above 0");
    if (!(r->yarn_beta_slow > 0)) npu_keys_fail(k, NPU_INVALID, "rope.scaling.yarn_beta_slow", "must be above 0");
    if (!r->original_ctx) npu_keys_fail(k, NPU_INVALID, "rope.scaling.original_context_length", "is 0");
}

static void read_rope(npu_keys *k, npu_hparams *h) {
    npu_rope_hparams *r = &h->rope;
    *r = (npu_rope_hparams){.n_rot = h->head_k,
                            .original_ctx = h->n_ctx_train,
                            .base = 10000,
                            .attn_factor = 1,
                            .yarn_ext = -1,
                            .yarn_attn = 1,
                            .yarn_beta_fast = 32,
                            .yarn_beta_slow = 1};
    npu_keys_u32(k, "n_rot", "rope.dimension_count", &r->n_rot);
    uint32_t swa = r->n_rot;
    if (npu_keys_u32(k, "n_rot_local", "rope.dimension_count_swa", &swa) && swa != r->n_rot)
        npu_keys_fail(k, NPU_REFUSED, "rope.dimension_count_swa", "two rotary sizes are not supported");
    if (!r->n_rot || r->n_rot % 2 || r->n_rot > h->head_k)
        npu_keys_fail(k, NPU_INVALID, "rope.dimension_count", "is %u, must be even and from 2 to the head's %u values",
                      r->n_rot, h->head_k);
    npu_keys_f32(k, "rope_base", "rope.freq_base", &r->base);
    if (!(r->base > 1))
        npu_keys_fail(k, NPU_INVALID, "rope.freq_base", "is %g, must be finite and above 1", (double)r->base);
    read_rope_scaling(k, r);
    r->base_local = r->base;
    r->freq_scale_local = r->freq_scale;
}

/* A window that no graph of this architecture applies is harmless as long as contexts are not longer. */
static void read_foreign_window(npu_keys *k, npu_hparams *h) {
    if (!(h->arch->features & NPU_ARCH_OWN_WINDOW))
        npu_keys_u32(k, "window_limit", "attention.sliding_window", &h->window_limit);
}

static void read_all(npu_keys *k, npu_hparams *h) {
    read_dims(k, h);
    if (k->status != NPU_OK) return;
    read_heads(k, h);
    npu_keys_need_f32(k, "eps", "attention.layer_norm_rms_epsilon", &h->eps);
    if (!(h->eps >= 0 && h->eps < 1))
        npu_keys_fail(k, NPU_INVALID, "attention.layer_norm_rms_epsilon", "is %g, must be from 0 to below 1",
                      (double)h->eps);
    if (k->status != NPU_OK) return;
    h->attn_scale = 1 / sqrtf((float)h->head_k);
    h->embed_scale = h->residual_scale = h->logit_scale = 1;
    for (uint32_t i = 0; i < h->n_layers; i++) h->layers[i].rope = true;
    read_rope(k, h);
    float scale = 0;
    npu_keys_f32(k, "attn_scale", "attention.scale", &scale);
    read_foreign_window(k, h);
    if (h->arch->read) h->arch->read(k, h);
    if (scale != 0) h->attn_scale = scale;
    npu_keys_refuse_foreign(k);
    char act[72] = "";
    if (npu_keys_str(k, "activation", "hidden_activation", act, sizeof act) && strcmp(act, h->arch->activation) != 0)
        npu_keys_fail(k, NPU_REFUSED, "hidden_activation", "\"%s\" is not supported for architecture %s", act,
                      h->arch->name);
    if (h->rope.kind == NPU_ROPE_KIND_LONGROPE && !(h->arch->features & NPU_ARCH_LONGROPE))
        npu_keys_fail(k, NPU_REFUSED, "rope.scaling.type", "longrope is not supported for architecture %s",
                      h->arch->name);
}

npu_status npu_hparams_read(const npu_gguf *gguf, npu_hparams *out, npu_error *err) {
    *out = (npu_hparams){0};
    npu_error here = {0};
    npu_keys keys = {.gguf = gguf, .h = out, .err = &here};
    keys.status = read_arch(gguf, out, &here);
    if (keys.status == NPU_OK) read_all(&keys, out);
    if (keys.status != NPU_OK) {
        if (err) *err = here;
        npu_hparams_free(out);
    }
    return keys.status;
}

void npu_hparams_free(npu_hparams *h) {
    free(h->layers);
    *h = (npu_hparams){0};
}
