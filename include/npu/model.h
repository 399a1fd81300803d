/* A model: an opened GGUF file, checked, with its facts and its tokenizer. Weights stay in the file's mapping.
 *
 * Opening reads metadata and the tensor table, not the weights. Everything the file states that would change results is
 * either understood or refused by name here, before any context exists. A model is not written after opening: any
 * number of threads and contexts may share it. It must outlive its contexts.
 *
 * Source: GGUF of versions 2 and 3, little-endian, as ggml's docs/gguf.md has it.
 */
#ifndef NPU_MODEL_H
#define NPU_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npu/api.h"
#include "npu/log.h"
#include "npu/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct npu_model npu_model;

typedef struct npu_model_params {
    npu_logger logger;
    bool no_tokenizer; /* token ids only: the vocabulary is neither read nor checked */
} npu_model_params;

/* What a model is. Strings live as long as the model; texts from the file may hold any bytes. */
typedef struct npu_model_info {
    const char *architecture;
    const char *file_type; /* the type that holds most bytes of its matrices: "q4_k" */
    uint32_t n_vocab, n_layers, n_embd, n_ff, n_heads, n_heads_kv, head_dim; /* n_ff and heads: of the first layer */
    uint32_t n_ctx_train;                                                    /* positions it was trained for */
    uint64_t n_params;                                                       /* values in all tensors */
    uint64_t weight_bytes;                                                   /* of the tensors that are used */
    uint64_t file_bytes;                                                     /* all parts */
} npu_model_info;

/* Opens |path|, all parts of a split model when it is the first. On success the caller owns *out, else it is NULL.
 * NOT_FOUND, IO: the file, or a part of it ("gguf.split_missing"); INVALID: no file, not a sound GGUF or a value that
 * can't be; REFUSED: sound, but something in it is not supported (architecture, key or tensor is named); UNSUPPORTED: a
 * tensor type or version; RANGE: a tokenizer too large; NO_MEMORY. None of it changes by trying again. The file may not
 * be changed while the model is open: it is mapped. */
NPU_API npu_status npu_model_open(const char *path, const npu_model_params *params, npu_model **out, npu_error *err);
NPU_API void npu_model_close(npu_model *model); /* after its contexts, chats and grammars; NULL is fine */

NPU_API void npu_model_get_info(const npu_model *model, npu_model_info *out);

/* Text to token ids. |flags|: what the text may be taken for. Writes at most |cap| ids and gives the whole |count|:
 * call with cap 0 to ask. Any bytes are accepted. No text is OK and gives 0 ids, or those that BOS adds; without a row
 * there are no logits. INVALID ("model.no_tokenizer"): the model was opened without; RANGE ("tokenizer.text_size");
 * NO_MEMORY. On failure nothing is written. */
enum {
    NPU_TOKENIZE_BOS = 1,     /* begin (and end) tokens by the model's own rule */
    NPU_TOKENIZE_SPECIAL = 2, /* names of special tokens in the text become those tokens */
};
NPU_API npu_status npu_model_tokenize(const npu_model *model, const char *text, size_t size, unsigned flags,
                                      int32_t *ids, size_t cap, size_t *count, npu_error *err);

/* The bytes of one token as they stand in the text, at most |cap| of them to |out|; gives the whole number. Several
 * tokens may make one character, so that what is shown must wait for a whole one. Special tokens give nothing unless
 * |special|; nor does an id that is none, or a model without its tokenizer. */
NPU_API size_t npu_model_token_bytes(const npu_model *model, int32_t id, bool special, char *out, size_t cap);

/* Whether generation ends with this token (end of text, end of turn). */
NPU_API bool npu_model_token_is_end(const npu_model *model, int32_t id);

/* The known architectures in table order; NULL at the end. */
NPU_API const char *npu_architecture_at(unsigned index);

#ifdef __cplusplus
}
#endif
#endif
