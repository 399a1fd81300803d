/* llama and its descendants that differ only in scales: mistral3 (query temperature), granite and minicpm (embedding,
 * residual and logit scales).
 */
#include <math.h>

#include "model/arch.h"

void npu_build_llama(npu_build *b) {
    npu_t x = npu_build_embed(b);
    for (unsigned i = 0; i < b->h->n_layers; i++) {
        npu_t y = npu_build_attention(b, i, npu_build_norm(b, i, NPU_ROLE_ATTN_NORM, x));
        y = npu_build_out_rows(b, i, y);
        x = npu_build_residual(b, i, npu_build_out_rows(b, i, x), y);
        y = npu_build_ffn(b, i, npu_build_norm(b, i, NPU_ROLE_FFN_NORM, x), NPU_GLU_SILU);
        x = npu_build_residual(b, i, x, y);
    }
    npu_build_head(b, x);
}

/* The temperature grows with every further original context: log(1 + floor(position / original context)). */
static void read_mistral3(npu_keys *k, npu_hparams *h) {
    npu_keys_f32(k, "q_temp_scale", "attention.temperature_scale", &h->q_temp_scale);
    h->q_temp_floor = h->rope.original_ctx;
}

static void read_logit_divisor(npu_keys *k, npu_hparams *h, float divisor) {
    if (divisor == 0) npu_keys_fail(k, NPU_INVALID, "logit_scale", "is 0");
    h->logit_scale = 1 / divisor;
}

/* A scale of 0 stands for none in these files. */
static void read_scales(npu_keys *k, npu_hparams *h) {
    npu_keys_f32(k, "embed_scale", "embedding_scale", &h->embed_scale);
    npu_keys_f32(k, "residual_scale", "residual_scale", &h->residual_scale);
    if (h->embed_scale == 0) h->embed_scale = 1;
    if (h->residual_scale == 0) h->residual_scale = 1;
}

static void read_granite(npu_keys *k, npu_hparams *h) {
    float divisor = 1;
    bool rope = true;
    npu_keys_need_f32(k, "logit_scale", "logit_scale", &divisor);
    read_logit_divisor(k, h, divisor);
    read_scales(k, h);
    npu_keys_bool(k, "rope", "rope.scaling.finetuned", &rope); /* this family's switch for having positions at all */
    for (uint32_t i = 0; i < h->n_layers; i++) h->layers[i].rope = rope;
}

/* Old files state no scales; these are what the model was trained with. */
static void read_minicpm(npu_keys *k, npu_hparams *h) {
    float divisor = 256.0f / (float)h->n_embd;
    h->embed_scale = 12;
    h->residual_scale = 1.4f / sqrtf((float)h->n_layers);
    npu_keys_f32(k, "logit_scale", "logit_scale", &divisor);
    read_logit_divisor(k, h, divisor);
    read_scales(k, h);
}

enum { LLAMA_FEATURES = NPU_ARCH_ROPE_FREQS | NPU_ARCH_LONGROPE };

const npu_arch npu_arch_llama = {"llama", NPU_ROPE_NORMAL, "silu", LLAMA_FEATURES, NULL, npu_build_llama};
const npu_arch npu_arch_mistral3 = {"mistral3",     NPU_ROPE_NORMAL, "silu",
                                    LLAMA_FEATURES, read_mistral3,   npu_build_llama};
const npu_arch npu_arch_granite = {"granite", NPU_ROPE_NORMAL, "silu", LLAMA_FEATURES, read_granite, npu_build_llama};
const npu_arch npu_arch_minicpm = {"minicpm", NPU_ROPE_NORMAL, "silu", LLAMA_FEATURES, read_minicpm, npu_build_llama};
