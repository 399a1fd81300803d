/* Opening and describing models (npu/model.h). */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "model/arch.h"

const char *npu_version(void) {
    return "0.1.0";
}

const char *npu_architecture_at(unsigned index) {
    const npu_arch *arch = npu_arch_at(index);
    return arch ? arch->name : NULL;
}

/* Where each file is mapped follows from any tensor in it. */
static npu_status find_mappings(npu_model *m, npu_error *err) {
    size_t n = npu_gguf_file_count(m->gguf);
    m->files = calloc(n, sizeof *m->files);
    if (!m->files) return npu_fail(err, NPU_NO_MEMORY, "model.memory", "no memory for %zu files", n);
    for (size_t i = 0; i < npu_gguf_tensor_count(m->gguf); i++) {
        const npu_gguf_tensor *t = npu_gguf_tensor_at(m->gguf, i);
        m->files[t->file].data = t->data - t->file_offset;
        m->files[t->file].bytes = npu_gguf_file_at(m->gguf, t->file)->size;
        m->files[t->file].mapped = true;
    }
    return NPU_OK;
}

/* A file that is there but lacks a key is a bad file, not an absent one. */
static npu_status of_file(npu_status status, npu_error *err) {
    if (status != NPU_NOT_FOUND) return status;
    if (err) err->status = NPU_INVALID;
    return NPU_INVALID;
}

static npu_status open_model(npu_model *m, const char *path, bool no_tokenizer, npu_error *err) {
    NPU_TRY(npu_gguf_open(path, &m->logger, &m->gguf, err));
    NPU_TRY(of_file(npu_hparams_read(m->gguf, &m->h, err), err));
    NPU_TRY(npu_weights_open(m->gguf, &m->h, &m->weights, err));
    if (!no_tokenizer) NPU_TRY(of_file(npu_tokenizer_create(m->gguf, &m->logger, &m->tokenizer, err), err));
    return find_mappings(m, err);
}

npu_status npu_model_open(const char *path, const npu_model_params *params, npu_model **out, npu_error *err) {
    *out = NULL;
    npu_model *m = calloc(1, sizeof *m);
    if (!m) return npu_fail(err, NPU_NO_MEMORY, "model.memory", "no memory to open a model");
    if (params) m->logger = params->logger;
    npu_status status = open_model(m, path, params && params->no_tokenizer, err);
    if (status == NPU_OK) {
        *out = m;
    } else {
        npu_model_close(m);
    }
    return status;
}

void npu_model_close(npu_model *m) {
    if (!m) return;
    npu_tokenizer_free(m->tokenizer);
    npu_weights_close(&m->weights);
    npu_hparams_free(&m->h);
    npu_gguf_close(m->gguf);
    free(m->files);
    free(m);
}

/* The type that holds most bytes of the matrices. */
static const char *main_type(const npu_gguf *gguf) {
    uint64_t bytes[NPU_TYPE_LIMIT] = {0};
    unsigned best = NPU_TYPE_F32;
    for (size_t i = 0; i < npu_gguf_tensor_count(gguf); i++) {
        const npu_gguf_tensor *t = npu_gguf_tensor_at(gguf, i);
        if (t->ne[1] > 1 && (bytes[t->type] += t->bytes) > bytes[best]) best = t->type;
    }
    return npu_format_name(best);
}

void npu_model_get_info(const npu_model *m, npu_model_info *out) {
    const npu_layer_hparams *l = &m->h.layers[0];
    *out = (npu_model_info){.architecture = m->h.arch->name,
                            .file_type = main_type(m->gguf),
                            .n_vocab = m->h.n_vocab,
                            .n_layers = m->h.n_layers,
                            .n_embd = m->h.n_embd,
                            .n_ff = l->n_ff,
                            .n_heads = l->n_heads,
                            .n_heads_kv = l->n_heads_kv,
                            .head_dim = m->h.head_k,
                            .n_ctx_train = m->h.n_ctx_train,
                            .weight_bytes = m->weights.used_bytes};
    for (size_t i = 0; i < npu_gguf_tensor_count(m->gguf); i++) {
        const npu_gguf_tensor *t = npu_gguf_tensor_at(m->gguf, i);
        out->n_params += t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
    }
    for (size_t i = 0; i < npu_gguf_file_count(m->gguf); i++) out->file_bytes += npu_gguf_file_at(m->gguf, i)->size;
}

npu_status npu_model_tokenize(const npu_model *m, const char *text, size_t size, unsigned flags, int32_t *ids,
                              size_t cap, size_t *count, npu_error *err) {
    if (!m->tokenizer)
        return npu_fail(err, NPU_INVALID, "model.no_tokenizer", "the model was opened without its tokenizer");
    npu_token_list list = {0};
    npu_encode_flags how = {.parse_special = flags & NPU_TOKENIZE_SPECIAL, .add_special = flags & NPU_TOKENIZE_BOS};
    npu_status status = npu_tokenizer_encode(m->tokenizer, text, size, how, &list, err);
    if (status == NPU_OK) {
        *count = list.n;
        if (list.n && cap) memcpy(ids, list.ids, (list.n < cap ? list.n : cap) * sizeof *ids);
    }
    npu_token_list_free(&list);
    return status;
}

size_t npu_model_token_bytes(const npu_model *m, int32_t id, bool special, char *out, size_t cap) {
    size_t n = 0;
    if (!m->tokenizer) return 0;
    const char *piece = npu_tokenizer_piece(m->tokenizer, id, special, &n);
    if (n && cap) memcpy(out, piece, n < cap ? n : cap);
    return n;
}

bool npu_model_token_is_end(const npu_model *m, int32_t id) {
    return m->tokenizer && npu_tokenizer_is_end(m->tokenizer, id);
}
