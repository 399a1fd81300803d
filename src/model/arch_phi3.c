/* phi3: llama's graph with gate and up in one matrix (query, key and value usually too) and longrope factors. */
#include "model/arch.h"

/* The window that these files state is not what the models were trained with (converters copied it from configurations
 * where it is switched off); the reference engine leaves it out, and so does this. Reading it puts it among the facts.
 */
static void read_phi3(npu_keys *k, npu_hparams *h) {
    uint32_t window = 0;
    (void)h;
    npu_keys_u32(k, "window_ignored", "attention.sliding_window", &window);
}

const npu_arch npu_arch_phi3 = {
    "phi3",    NPU_ROPE_NEOX,
    "silu",    NPU_ARCH_FUSED_GATE_UP | NPU_ARCH_LONGROPE | NPU_ARCH_LONGROPE_ALWAYS | NPU_ARCH_OWN_WINDOW,
    read_phi3, npu_build_llama};
