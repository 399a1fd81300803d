/* What a model is, read from the metadata of its GGUF file: dimensions, scales, caps, windows, rotary positions.
 *
 * Every value is checked before it is used anywhere, and remembers the key it came from (for plans and messages). A key
 * that would change results but that the architecture's graph does not apply is refused by name: nothing a file states
 * is passed over silently. Read once when a model opens, constant from then on.
 */
#ifndef NPU_MODEL_HPARAMS_H
#define NPU_MODEL_HPARAMS_H

#include "gguf/gguf.h"
#include "plan/plan.h"

typedef struct npu_arch npu_arch;

typedef enum npu_rope_kind {
    NPU_ROPE_KIND_NONE,
    NPU_ROPE_KIND_LINEAR,
    NPU_ROPE_KIND_YARN,
    NPU_ROPE_KIND_LONGROPE,
} npu_rope_kind;

typedef struct npu_rope_hparams {
    npu_rope_kind kind;
    uint32_t n_rot; /* values of a head that are rotated, even */
    uint32_t original_ctx;
    float base, base_local;                                                  /* local: of layers with a window */
    float freq_scale, freq_scale_local;                                      /* 1 / the scaling factor; 1 = none */
    float attn_factor;                                                       /* on top of what the kind gives */
    float yarn_ext, yarn_attn, yarn_beta_fast, yarn_beta_slow, yarn_log_mul; /* log_mul 0 = not stated */
} npu_rope_hparams;

typedef struct npu_layer_hparams {
    uint32_t n_heads, n_heads_kv, n_ff;
    uint32_t window; /* 0 = all keys */
    bool rope;       /* false: this layer has no positions */
    bool local;      /* takes the local rotary base and scale */
} npu_layer_hparams;

enum { NPU_MAX_FACTS = 64 };

typedef struct npu_hparams {
    const npu_arch *arch;
    uint32_t n_layers, n_ctx_train, n_embd, n_vocab, head_k, head_v;
    float eps;
    float embed_scale, residual_scale, logit_scale; /* multiplied; 1 = none */
    float attn_scale;
    float attn_softcap, final_softcap; /* 0 = none */
    float q_temp_scale;                /* 0 = none, else q *= 1 + scale * log(1 + floor(pos / floor)) */
    uint32_t q_temp_floor;
    uint32_t window_limit; /* not 0: the file states a window that is not applied; longer contexts are refused */
    npu_rope_hparams rope;
    npu_layer_hparams *layers; /* [n_layers] */
    npu_plan_fact facts[NPU_MAX_FACTS];
    uint32_t n_facts;
} npu_hparams;

/* Reads and checks everything but tensors. REFUSED: an architecture, key or value that is not supported; INVALID: one
 * that can't be; both name the key. After failure nothing has to be freed. */
npu_status npu_hparams_read(const npu_gguf *gguf, npu_hparams *out, npu_error *err);
void npu_hparams_free(npu_hparams *h);

#endif
