/* smollm3: llama's graph in which every fourth layer has no positions. */
#include "model/arch.h"

enum { NO_ROPE_EVERY = 4 };

static void read_smollm3(npu_keys *k, npu_hparams *h) {
    (void)k;
    for (uint32_t i = 0; i < h->n_layers; i++) h->layers[i].rope = (i + 1) % NO_ROPE_EVERY != 0;
}

const npu_arch npu_arch_smollm3 = {"smollm3", NPU_ROPE_NORMAL, "silu", 0, read_smollm3, npu_build_llama};
