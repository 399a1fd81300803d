/* The architectures: one row each, one file a family. A row says how the architecture differs from a plain transformer
 * in its keys, tensors and graph; what all have in common is in hparams.c, weights.c and build.c.
 */
#ifndef NPU_MODEL_ARCH_H
#define NPU_MODEL_ARCH_H

#include "model/build.h"
#include "model/hparams.h"
#include "model/keys.h"

enum {
    NPU_ARCH_QK_NORM = 1 << 0,         /* every layer has attn_q_norm and attn_k_norm */
    NPU_ARCH_POST_NORMS = 1 << 1,      /* every layer has norms after attention and feed-forward */
    NPU_ARCH_FUSED_GATE_UP = 1 << 2,   /* ffn_up holds gate and up, gate first */
    NPU_ARCH_ROPE_FREQS = 1 << 3,      /* rope_freqs.weight may divide the frequencies */
    NPU_ARCH_LONGROPE = 1 << 4,        /* rope_factors_long and _short belong to scaling type longrope */
    NPU_ARCH_LONGROPE_ALWAYS = 1 << 5, /* … and are used whatever the scaling type */
    NPU_ARCH_OWN_WINDOW = 1 << 6,      /* read() deals with attention.sliding_window */
};

struct npu_arch {
    const char *name;
    int rope_mode;          /* NPU_ROPE_NORMAL or NPU_ROPE_NEOX */
    const char *activation; /* what hidden_activation may state */
    unsigned features;
    void (*read)(npu_keys *k, npu_hparams *h); /* keys of its own; NULL = none. Common ones are in |h| already */
    void (*build)(npu_build *b);
};

const npu_arch *npu_arch_find(npu_gguf_str name);
const npu_arch *npu_arch_at(unsigned index); /* NULL at the end */

/* "llama, mistral3, …" for messages. */
void npu_arch_list(char *out, size_t size);

#endif
