/* gemma2 and gemma3: scaled embeddings, norms after attention and feed-forward, windows on a pattern of layers, soft
 * caps, and in gemma3 a rotary base of its own for the layers with a window.
 */
#include <math.h>

#include "model/arch.h"

static void build_gemma(npu_build *b) {
    npu_t x = npu_build_embed(b);
    for (unsigned i = 0; i < b->h->n_layers; i++) {
        npu_t y = npu_build_attention(b, i, npu_build_norm(b, i, NPU_ROLE_ATTN_NORM, x));
        y = npu_build_norm(b, i, NPU_ROLE_ATTN_POST_NORM, npu_build_out_rows(b, i, y));
        x = npu_build_residual(b, i, npu_build_out_rows(b, i, x), y);
        y = npu_build_ffn(b, i, npu_build_norm(b, i, NPU_ROLE_FFN_NORM, x), NPU_GLU_GELU);
        x = npu_build_residual(b, i, x, npu_build_norm(b, i, NPU_ROLE_FFN_POST_NORM, y));
    }
    npu_build_head(b, x);
}

static void set_local(npu_layer_hparams *l, uint32_t value) {
    l->local = value != 0;
}

/* The pattern is a list with one flag a layer, or a period of which the last layer sees everything; 0: none does. */
static void read_pattern(npu_keys *k, npu_hparams *h, uint32_t period) {
    static const char *const key = "attention.sliding_window_pattern";
    const npu_gguf_value *value = npu_keys_find(k, key);
    if (value && value->type == NPU_GGUF_ARRAY) {
        npu_keys_layers(k, "window_pattern", key, set_local);
        return;
    }
    npu_keys_u32(k, "window_pattern", key, &period);
    for (uint32_t i = 0; i < h->n_layers; i++) h->layers[i].local = !period || i % period < period - 1;
}

static void apply_window(npu_hparams *h, uint32_t window) {
    for (uint32_t i = 0; i < h->n_layers; i++) h->layers[i].window = h->layers[i].local ? window : 0;
}

/* The largest model of each family scales by the embedding's share of a head instead of the head's own size. */
static void read_gemma(npu_keys *k, npu_hparams *h, uint32_t largest_layers) {
    h->embed_scale = sqrtf((float)h->n_embd);
    uint32_t share = h->n_embd / h->layers[0].n_heads;
    if (h->n_layers == largest_layers) h->attn_scale = 1 / sqrtf((float)share);
    npu_keys_f32(k, "final_softcap", "final_logit_softcapping", &h->final_softcap);
    if (h->final_softcap < 0) npu_keys_fail(k, NPU_INVALID, "final_logit_softcapping", "is below 0");
}

static void read_local_base(npu_keys *k, npu_hparams *h) {
    npu_keys_f32(k, "rope_base_local", "rope.freq_base_swa", &h->rope.base_local);
    if (!(h->rope.base_local > 1)) npu_keys_fail(k, NPU_INVALID, "rope.freq_base_swa", "must be finite and above 1");
}

static void read_gemma2(npu_keys *k, npu_hparams *h) {
    uint32_t window = 4096;
    h->attn_softcap = 50;
    h->final_softcap = 30;
    read_gemma(k, h, 46);
    npu_keys_f32(k, "attn_softcap", "attn_logit_softcapping", &h->attn_softcap);
    if (h->attn_softcap < 0) npu_keys_fail(k, NPU_INVALID, "attn_logit_softcapping", "is below 0");
    read_local_base(k, h);
    npu_keys_u32(k, "window", "attention.sliding_window", &window);
    read_pattern(k, h, 2);
    apply_window(h, window);
}

static void read_gemma3(npu_keys *k, npu_hparams *h) {
    uint32_t window = 0;
    read_gemma(k, h, 62);
    npu_keys_u32(k, "window", "attention.sliding_window", &window);
    h->rope.base_local = 10000;
    h->rope.freq_scale_local = 1; /* scaling stretches the layers that see everything */
    read_local_base(k, h);
    read_pattern(k, h, 6);
    for (uint32_t i = 0; i < h->n_layers && !window; i++) h->layers[i].local = false;
    apply_window(h, window);
}

const npu_arch npu_arch_gemma2 = {
    "gemma2", NPU_ROPE_NEOX, "gelu_pytorch_tanh", NPU_ARCH_POST_NORMS | NPU_ARCH_OWN_WINDOW, read_gemma2, build_gemma};
const npu_arch npu_arch_gemma3 = {
    "gemma3",    NPU_ROPE_NEOX, "gelu_pytorch_tanh", NPU_ARCH_POST_NORMS | NPU_ARCH_QK_NORM | NPU_ARCH_OWN_WINDOW,
    read_gemma3, build_gemma};
