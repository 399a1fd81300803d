/* qwen2 (biases on query, key and value) and qwen3 (norms of the heads): llama's graph with rotated halves. */
#include "model/arch.h"

const npu_arch npu_arch_qwen2 = {"qwen2", NPU_ROPE_NEOX, "silu", 0, NULL, npu_build_llama};
const npu_arch npu_arch_qwen3 = {"qwen3", NPU_ROPE_NEOX, "silu", NPU_ARCH_QK_NORM, NULL, npu_build_llama};
