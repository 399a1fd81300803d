/* Names and shapes of all tensors that the known architectures have, as one table; see weights.h. */
#include "model/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/arch.h"

enum { N_ROLES = NPU_ROLE_COUNT, N_PARTS = NPU_PART_FREQS + 1 };

/* What a dimension must be. */
typedef enum dim { ONE, EMBD, VOCAB, HEADS_K, KV_K, KV_V, QKV, HEADS_V, HEAD, FF, FF2, ROT } dim;

/* Which architectures have it. NEEDED: all of them; the others by feature, or where the text says so. */
enum { NEEDED = 1, OPTIONAL = 0 };

typedef struct tensor_rule {
    const char *name; /* after "blk.N." for those of a layer */
    bool layer;
    npu_role role;
    npu_weight_part part;
    dim ne0, ne1;
    bool needed;
    unsigned only, never; /* features that an architecture must have, must not have */
} tensor_rule;

static const tensor_rule rules[] = {
    {"token_embd.weight", false, NPU_ROLE_EMBED, NPU_PART_WEIGHT, EMBD, VOCAB, NEEDED, 0, 0},
    {"output.weight", false, NPU_ROLE_HEAD, NPU_PART_WEIGHT, EMBD, VOCAB, OPTIONAL, 0, 0},
    {"output.bias", false, NPU_ROLE_HEAD, NPU_PART_BIAS, VOCAB, ONE, OPTIONAL, 0, 0},
    {"output_norm.weight", false, NPU_ROLE_OUT_NORM, NPU_PART_WEIGHT, EMBD, ONE, NEEDED, 0, 0},
    {"rope_freqs.weight", false, NPU_ROLE_ROPE, NPU_PART_FREQS, ROT, ONE, OPTIONAL, NPU_ARCH_ROPE_FREQS, 0},
    {"attn_norm.weight", true, NPU_ROLE_ATTN_NORM, NPU_PART_WEIGHT, EMBD, ONE, NEEDED, 0, 0},
    {"attn_qkv.weight", true, NPU_ROLE_QKV, NPU_PART_WEIGHT, EMBD, QKV, OPTIONAL, 0, 0},
    {"attn_qkv.bias", true, NPU_ROLE_QKV, NPU_PART_BIAS, QKV, ONE, OPTIONAL, 0, 0},
    {"attn_q.weight", true, NPU_ROLE_Q, NPU_PART_WEIGHT, EMBD, HEADS_K, OPTIONAL, 0, 0},
    {"attn_q.bias", true, NPU_ROLE_Q, NPU_PART_BIAS, HEADS_K, ONE, OPTIONAL, 0, 0},
    {"attn_k.weight", true, NPU_ROLE_K, NPU_PART_WEIGHT, EMBD, KV_K, OPTIONAL, 0, 0},
    {"attn_k.bias", true, NPU_ROLE_K, NPU_PART_BIAS, KV_K, ONE, OPTIONAL, 0, 0},
    {"attn_v.weight", true, NPU_ROLE_V, NPU_PART_WEIGHT, EMBD, KV_V, OPTIONAL, 0, 0},
    {"attn_v.bias", true, NPU_ROLE_V, NPU_PART_BIAS, KV_V, ONE, OPTIONAL, 0, 0},
    {"attn_output.weight", true, NPU_ROLE_O, NPU_PART_WEIGHT, HEADS_V, EMBD, NEEDED, 0, 0},
    {"attn_output.bias", true, NPU_ROLE_O, NPU_PART_BIAS, EMBD, ONE, OPTIONAL, 0, 0},
    {"attn_q_norm.weight", true, NPU_ROLE_Q_NORM, NPU_PART_WEIGHT, HEAD, ONE, NEEDED, NPU_ARCH_QK_NORM, 0},
    {"attn_k_norm.weight", true, NPU_ROLE_K_NORM, NPU_PART_WEIGHT, HEAD, ONE, NEEDED, NPU_ARCH_QK_NORM, 0},
    {"post_attention_norm.weight", true, NPU_ROLE_ATTN_POST_NORM, NPU_PART_WEIGHT, EMBD, ONE, NEEDED,
     NPU_ARCH_POST_NORMS, 0},
    {"ffn_norm.weight", true, NPU_ROLE_FFN_NORM, NPU_PART_WEIGHT, EMBD, ONE, NEEDED, 0, 0},
    {"ffn_gate.weight", true, NPU_ROLE_G, NPU_PART_WEIGHT, EMBD, FF, NEEDED, 0, NPU_ARCH_FUSED_GATE_UP},
    {"ffn_gate.bias", true, NPU_ROLE_G, NPU_PART_BIAS, FF, ONE, OPTIONAL, 0, NPU_ARCH_FUSED_GATE_UP},
    {"ffn_up.weight", true, NPU_ROLE_U, NPU_PART_WEIGHT, EMBD, FF, NEEDED, 0, NPU_ARCH_FUSED_GATE_UP},
    {"ffn_up.bias", true, NPU_ROLE_U, NPU_PART_BIAS, FF, ONE, OPTIONAL, 0, NPU_ARCH_FUSED_GATE_UP},
    {"ffn_up.weight", true, NPU_ROLE_GU, NPU_PART_WEIGHT, EMBD, FF2, NEEDED, NPU_ARCH_FUSED_GATE_UP, 0},
    {"ffn_up.bias", true, NPU_ROLE_GU, NPU_PART_BIAS, FF2, ONE, OPTIONAL, NPU_ARCH_FUSED_GATE_UP, 0},
    {"ffn_down.weight", true, NPU_ROLE_D, NPU_PART_WEIGHT, FF, EMBD, NEEDED, 0, 0},
    {"ffn_down.bias", true, NPU_ROLE_D, NPU_PART_BIAS, EMBD, ONE, OPTIONAL, 0, 0},
    {"post_ffw_norm.weight", true, NPU_ROLE_FFN_POST_NORM, NPU_PART_WEIGHT, EMBD, ONE, NEEDED, NPU_ARCH_POST_NORMS, 0},
};

enum { N_RULES = sizeof rules / sizeof rules[0] };

/* Beginnings of names outside the layers that some architecture computes with. */
static const char *const claimed[] = {"output",     "token_embd", "token_types", "position_embd", "rope_",
                                      "per_layer_", "altup",      "enc.",        "dec.",          "nextn.",
                                      "hc_",        "norm.",      "lm_head",     "embed"};

static bool applies(const tensor_rule *rule, const npu_arch *arch) {
    return (arch->features & rule->only) == rule->only && !(arch->features & rule->never);
}

/* The dimension's value, and where it comes from for messages. */
static uint64_t dim_value(const npu_hparams *h, unsigned layer, dim d, const char **text) {
    static const npu_layer_hparams none = {0};
    const npu_layer_hparams *l = layer == NPU_NO_LAYER ? &none : &h->layers[layer];
    switch (d) {
    case EMBD:
        *text = "embedding_length";
        return h->n_embd;
    case VOCAB:
        *text = "rows of token_embd";
        return h->n_vocab;
    case HEADS_K:
        *text = "head_count * key_length";
        return (uint64_t)l->n_heads * h->head_k;
    case KV_K:
        *text = "head_count_kv * key_length";
        return (uint64_t)l->n_heads_kv * h->head_k;
    case KV_V:
        *text = "head_count_kv * value_length";
        return (uint64_t)l->n_heads_kv * h->head_v;
    case QKV:
        *text = "all heads of query, key and value";
        return (uint64_t)(l->n_heads + l->n_heads_kv) * h->head_k + (uint64_t)l->n_heads_kv * h->head_v;
    case HEADS_V:
        *text = "head_count * value_length";
        return (uint64_t)l->n_heads * h->head_v;
    case HEAD:
        *text = "key_length";
        return h->head_k;
    case FF:
        *text = "feed_forward_length";
        return l->n_ff;
    case FF2:
        *text = "2 * feed_forward_length";
        return (uint64_t)l->n_ff * 2;
    case ROT:
        *text = "half of rope dimension_count";
        return h->rope.n_rot / 2;
    case ONE:
        break;
    }
    *text = "1";
    return 1;
}

static npu_status check_shape(const npu_hparams *h, unsigned layer, const tensor_rule *rule, const npu_gguf_tensor *t,
                              npu_error *err) {
    const char *text0, *text1;
    uint64_t ne0 = dim_value(h, layer, rule->ne0, &text0), ne1 = dim_value(h, layer, rule->ne1, &text1);
    if (t->ne[0] != ne0 || t->ne[1] != ne1 || t->ne[2] != 1 || t->ne[3] != 1)
        return npu_fail(err, NPU_INVALID, "model.tensor_shape",
                        "tensor %s is [%llu, %llu, %llu, %llu], must be [%llu, %llu] (%s, %s)", t->name,
                        (unsigned long long)t->ne[0], (unsigned long long)t->ne[1], (unsigned long long)t->ne[2],
                        (unsigned long long)t->ne[3], (unsigned long long)ne0, (unsigned long long)ne1, text0, text1);
    if (rule->ne1 == ONE && t->type != NPU_TYPE_F32)
        return npu_fail(err, NPU_REFUSED, "model.tensor_type", "tensor %s is of type %s; a vector must be f32", t->name,
                        npu_format_name(t->type));
    return NPU_OK;
}

static const npu_gguf_tensor **slot(const npu_weights *w, unsigned layer, unsigned role, unsigned part) {
    size_t at = layer == NPU_NO_LAYER ? w->h->n_layers : layer;
    return &w->slots[(at * N_ROLES + role) * N_PARTS + part];
}

/* Splits "blk.12.rest"; false for anything else. */
static bool split_layer(const char *name, uint64_t *layer, const char **rest) {
    if (strncmp(name, "blk.", 4) != 0) return false;
    const char *p = name + 4;
    uint64_t n = 0;
    if (*p < '0' || *p > '9' || (*p == '0' && p[1] != '.')) return false;
    for (; *p >= '0' && *p <= '9'; p++) n = n < UINT32_MAX ? n * 10 + (uint64_t)(*p - '0') : n;
    if (*p != '.') return false;
    *layer = n;
    *rest = p + 1;
    return true;
}

static npu_status refuse_unknown(const npu_weights *w, const npu_gguf_tensor *t, npu_error *err) {
    return npu_fail(err, NPU_REFUSED, "model.tensor_unknown", "tensor %s is not supported for architecture %s", t->name,
                    w->h->arch->name);
}

static bool is_claimed(const char *name) {
    for (size_t i = 0; i < sizeof claimed / sizeof claimed[0]; i++)
        if (!strncmp(name, claimed[i], strlen(claimed[i]))) return true;
    return strstr(name, ".lora_") != NULL;
}

static npu_status place_rope_factors(npu_weights *w, const npu_gguf_tensor *t, bool *taken, npu_error *err) {
    static const tensor_rule shape = {.ne0 = ROT, .ne1 = ONE};
    bool is_long = !strcmp(t->name, "rope_factors_long.weight");
    *taken = is_long || !strcmp(t->name, "rope_factors_short.weight");
    if (!*taken) return NPU_OK;
    unsigned features = w->h->arch->features;
    if (!(features & NPU_ARCH_LONGROPE_ALWAYS) &&
        !(features & NPU_ARCH_LONGROPE && w->h->rope.kind == NPU_ROPE_KIND_LONGROPE))
        return npu_fail(err, NPU_REFUSED, "model.tensor_unknown",
                        "tensor %s does not belong to %s with this rope scaling type", t->name, w->h->arch->name);
    NPU_TRY(check_shape(w->h, NPU_NO_LAYER, &shape, t, err));
    *(is_long ? &w->rope_long : &w->rope_short) = t;
    return NPU_OK;
}

/* Puts one tensor of the file in its place, ignores it, or refuses it. */
static npu_status place(npu_weights *w, const npu_gguf_tensor *t, npu_error *err) {
    uint64_t layer = NPU_NO_LAYER;
    const char *rest = t->name;
    bool in_layer = split_layer(t->name, &layer, &rest), taken;
    if (in_layer && layer >= w->h->n_layers)
        return npu_fail(err, NPU_REFUSED, "model.tensor_unknown", "tensor %s: block_count is %u", t->name,
                        w->h->n_layers);
    NPU_TRY(place_rope_factors(w, t, &taken, err));
    if (taken) return NPU_OK;
    for (int i = 0; i < N_RULES; i++) {
        const tensor_rule *rule = &rules[i];
        if (rule->layer != in_layer || !applies(rule, w->h->arch) || strcmp(rule->name, rest) != 0) continue;
        NPU_TRY(check_shape(w->h, (unsigned)layer, rule, t, err));
        *slot(w, (unsigned)layer, rule->role, rule->part) = t;
        w->used_bytes += t->bytes;
        return NPU_OK;
    }
    return in_layer || !strncmp(t->name, "blk.", 4) || is_claimed(t->name) ? refuse_unknown(w, t, err) : NPU_OK;
}

static npu_status missing(const char *prefix, const char *name, npu_error *err) {
    return npu_fail(err, NPU_INVALID, "model.tensor_missing", "tensor %s%s is missing", prefix, name);
}

static npu_status check_present(const npu_weights *w, unsigned layer, npu_error *err) {
    char prefix[24] = "";
    if (layer != NPU_NO_LAYER) snprintf(prefix, sizeof prefix, "blk.%u.", layer);
    for (int i = 0; i < N_RULES; i++) {
        const tensor_rule *rule = &rules[i];
        if (rule->layer != (layer != NPU_NO_LAYER) || !applies(rule, w->h->arch)) continue;
        const npu_gguf_tensor *t = *slot(w, layer, rule->role, rule->part);
        if (!t && rule->needed) return missing(prefix, rule->name, err);
        if (t && rule->part == NPU_PART_BIAS && !npu_weights_find(w, layer, rule->role, NPU_PART_WEIGHT))
            return npu_fail(err, NPU_REFUSED, "model.tensor_unknown", "tensor %s has no weight beside it", t->name);
    }
    if (layer == NPU_NO_LAYER) return NPU_OK;
    bool fused = *slot(w, layer, NPU_ROLE_QKV, NPU_PART_WEIGHT);
    static const struct {
        npu_role role;
        const char *name;
    } split[] = {{NPU_ROLE_Q, "attn_q.weight"}, {NPU_ROLE_K, "attn_k.weight"}, {NPU_ROLE_V, "attn_v.weight"}};
    for (int i = 0; i < 3; i++) {
        const npu_gguf_tensor *t = *slot(w, layer, split[i].role, NPU_PART_WEIGHT);
        if (!t && !fused) return missing(prefix, split[i].name, err);
        if (t && fused)
            return npu_fail(err, NPU_REFUSED, "model.tensor_unknown", "tensor %s stands beside attn_qkv.weight",
                            t->name);
    }
    return NPU_OK;
}

/* The vocabulary is as large as the embedding has rows; a token list must agree. */
static npu_status find_vocab(const npu_gguf *gguf, npu_hparams *h, npu_error *err) {
    const npu_gguf_tensor *embd = npu_gguf_tensor_find(gguf, "token_embd.weight");
    if (!embd) return missing("", "token_embd.weight", err);
    const npu_gguf_value *tokens = npu_gguf_find(gguf, "tokenizer.ggml.tokens");
    if (embd->ne[1] > INT32_MAX)
        return npu_fail(err, NPU_INVALID, "model.vocab", "tensor token_embd.weight has %llu rows",
                        (unsigned long long)embd->ne[1]);
    if (tokens && tokens->count != embd->ne[1])
        return npu_fail(
            err, NPU_INVALID, "model.vocab",
            "tensor token_embd.weight has %llu rows, must have one for each of the %llu in tokenizer.ggml.tokens",
            (unsigned long long)embd->ne[1], (unsigned long long)tokens->count);
    h->n_vocab = (uint32_t)embd->ne[1];
    return NPU_OK;
}

npu_status npu_weights_open(const npu_gguf *gguf, npu_hparams *h, npu_weights *out, npu_error *err) {
    *out = (npu_weights){.gguf = gguf, .h = h};
    NPU_TRY(find_vocab(gguf, h, err));
    out->slots = calloc(((size_t)h->n_layers + 1) * N_ROLES * N_PARTS, sizeof(npu_gguf_tensor *));
    if (!out->slots) return npu_fail(err, NPU_NO_MEMORY, "model.memory", "no memory for %u layers", h->n_layers);
    npu_status status = NPU_OK;
    for (size_t i = 0; i < npu_gguf_tensor_count(gguf) && status == NPU_OK; i++)
        status = place(out, npu_gguf_tensor_at(gguf, i), err);
    if (status == NPU_OK) status = check_present(out, NPU_NO_LAYER, err);
    for (uint32_t i = 0; i < h->n_layers && status == NPU_OK; i++) status = check_present(out, i, err);
    if (status == NPU_OK && h->rope.kind == NPU_ROPE_KIND_LONGROPE && !(out->rope_long && out->rope_short))
        status = missing("", out->rope_long ? "rope_factors_short.weight" : "rope_factors_long.weight", err);
    if (status != NPU_OK) npu_weights_close(out);
    return status;
}

void npu_weights_close(npu_weights *w) {
    free(w->slots);
    *w = (npu_weights){0};
}

const npu_gguf_tensor *npu_weights_find(const npu_weights *w, unsigned layer, npu_role role, npu_weight_part part) {
    if ((layer != NPU_NO_LAYER && layer >= w->h->n_layers) || (unsigned)role >= N_ROLES || (unsigned)part >= N_PARTS)
        return NULL;
    const npu_gguf_tensor *t = *slot(w, layer, role, part);
    if (!t && layer == NPU_NO_LAYER && role == NPU_ROLE_HEAD && part == NPU_PART_WEIGHT)
        t = *slot(w, layer, NPU_ROLE_EMBED, part);
    return t;
}

static npu_status get(void *context, unsigned layer, npu_role role, npu_weight_part part, npu_weight *out,
                      npu_error *err) {
    const npu_gguf_tensor *t = npu_weights_find(context, layer, role, part);
    if (!t)
        return npu_fail(err, NPU_NOT_FOUND, "model.weight", "the model has no weight %s in layer %d",
                        npu_role_name(role), layer == NPU_NO_LAYER ? -1 : (int)layer);
    *out = (npu_weight){.name = t->name,
                        .data = t->data,
                        .bytes = t->bytes,
                        .type = (uint8_t)t->type,
                        .file = t->file,
                        .file_offset = t->file_offset};
    for (int i = 0; i < NPU_MAX_DIMS; i++) out->ne[i] = (uint32_t)t->ne[i], out->nb[i] = t->nb[i];
    return NPU_OK;
}

npu_weight_source npu_weights_source(npu_weights *w) {
    return (npu_weight_source){.context = w, .get = get};
}
