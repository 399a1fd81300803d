/* The table of architectures; see arch.h. */
#include "model/arch.h"

#include <stdio.h>
#include <string.h>

extern const npu_arch npu_arch_llama, npu_arch_mistral3, npu_arch_granite, npu_arch_minicpm; /* arch_llama.c */
extern const npu_arch npu_arch_qwen2, npu_arch_qwen3;                                        /* arch_qwen.c */
extern const npu_arch npu_arch_gemma2, npu_arch_gemma3;                                      /* arch_gemma.c */
extern const npu_arch npu_arch_phi3, npu_arch_smollm3;

static const npu_arch *const archs[] = {
    &npu_arch_llama, &npu_arch_qwen2,   &npu_arch_qwen3,   &npu_arch_gemma2,   &npu_arch_gemma3,
    &npu_arch_phi3,  &npu_arch_granite, &npu_arch_minicpm, &npu_arch_mistral3, &npu_arch_smollm3,
};

const npu_arch *npu_arch_at(unsigned index) {
    return index < sizeof archs / sizeof archs[0] ? archs[index] : NULL;
}

const npu_arch *npu_arch_find(npu_gguf_str name) {
    for (unsigned i = 0; npu_arch_at(i); i++)
        if (strlen(archs[i]->name) == name.size && !memcmp(archs[i]->name, name.data, name.size)) return archs[i];
    return NULL;
}

void npu_arch_list(char *out, size_t size) {
    size_t used = 0;
    out[0] = 0;
    for (unsigned i = 0; npu_arch_at(i) && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", archs[i]->name);
}
