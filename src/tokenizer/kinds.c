/* The kinds of tokenizers: one row for each value of tokenizer.ggml.model that is known, with the defaults that hold
 * when the file does not say otherwise.
 */
#include <string.h>

#include "tokenizer/vocab.h"

enum { NONE = NPU_TOKEN_NONE };

static const npu__kind kinds[] = {
    {.model = "gpt2",
     .has_pre = true,
     .default_bos = NONE,
     .default_eos = NONE,
     .default_unk = NONE,
     .default_sep = NONE,
     .default_pad = NONE,
     .default_mask = NONE,
     .clean_spaces = true,
     .byte_pieces = true,
     .load = npu__bpe_load,
     .encode = npu__bpe_encode},
    {.model = "gemma4",
     .has_pre = true,
     .fixed_pre = "gemma4",
     .default_bos = NONE,
     .default_eos = NONE,
     .default_unk = NONE,
     .default_sep = NONE,
     .default_pad = NONE,
     .default_mask = NONE,
     .clean_spaces = true,
     .byte_pieces = true,
     .load = npu__bpe_load,
     .encode = npu__bpe_encode},
    {.model = "llama",
     .default_bos = 1,
     .default_eos = 2,
     .default_unk = 0,
     .default_sep = NONE,
     .default_pad = NONE,
     .default_mask = NONE,
     .add_bos = true,
     .add_space_prefix = true,
     .escape_spaces = true,
     .needs_scores = true,
     .load = npu__spm_load,
     .encode = npu__spm_encode},
    {.model = "bert",
     .default_bos = 101,
     .default_eos = NONE,
     .default_unk = 100,
     .default_sep = 102,
     .default_pad = 0,
     .default_mask = 103,
     .add_bos = true,
     .add_sep = true,
     .escape_spaces = true,
     .clean_spaces = true,
     .framed = true,
     .load = npu__wordpiece_load,
     .encode = npu__wordpiece_encode},
    {.model = "t5",
     .default_bos = NONE,
     .default_eos = 1,
     .default_unk = 2,
     .default_sep = NONE,
     .default_pad = 0,
     .default_mask = NONE,
     .add_eos = true,
     .escape_spaces = true,
     .needs_scores = true,
     .load = npu__unigram_load,
     .encode = npu__unigram_encode},
};

const npu__kind *npu__kind_at(size_t index) {
    return index < sizeof kinds / sizeof kinds[0] ? &kinds[index] : NULL;
}

const npu__kind *npu__kind_find(const char *name, size_t n) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strlen(kinds[i].model) == n && memcmp(kinds[i].model, name, n) == 0) return &kinds[i];
    return NULL;
}
