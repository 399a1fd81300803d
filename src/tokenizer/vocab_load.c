/* Reads and checks the vocabulary keys: tokens, types, scores. What tokens mean is left to special.c. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer/vocab.h"

static const char tokens_key[] = "tokenizer.ggml.tokens";
static const char types_key[] = "tokenizer.ggml.token_type";
static const char scores_key[] = "tokenizer.ggml.scores";

npu_status npu__optional_bool(const npu_gguf *gguf, const char *key, bool *out, npu_error *err) {
    return npu_gguf_find(gguf, key) ? npu_gguf_get_bool(gguf, key, out, err) : NPU_OK;
}

static uint32_t read_u32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* An array with at least one element a token: F32 or I32 ("kind" NPU_GGUF_TYPE_COUNT: either). */
static npu_status token_array(const npu_gguf *gguf, const char *key, npu_gguf_type kind, uint32_t n_tokens,
                              const npu_gguf_value **out, npu_error *err) {
    const npu_gguf_value *v = npu_gguf_find(gguf, key);
    if (kind == NPU_GGUF_TYPE_COUNT) kind = v->elem_type == NPU_GGUF_I32 ? NPU_GGUF_I32 : NPU_GGUF_F32;
    NPU_TRY(npu_gguf_get_array(gguf, key, kind, out, err));
    if ((*out)->count < n_tokens)
        return npu_fail(err, NPU_INVALID, "tokenizer.count", "%s has %" PRIu64 " elements for %u tokens", key,
                        (*out)->count, n_tokens);
    return NPU_OK;
}

static npu_status load_types(npu_tokenizer *tok, const npu_gguf *gguf, npu_error *err) {
    static const uint8_t bits[] = {0,
                                   NPU__TOKEN_NORMAL,
                                   NPU__TOKEN_UNKNOWN,
                                   NPU__TOKEN_CONTROL,
                                   NPU__TOKEN_USER,
                                   NPU__TOKEN_UNUSED,
                                   NPU__TOKEN_BYTE};
    tok->types = malloc(tok->n_tokens + 1);
    if (!tok->types) return NPU__NO_MEMORY(err);
    memset(tok->types, NPU__TOKEN_NORMAL, tok->n_tokens);
    if (!npu_gguf_find(gguf, types_key)) return NPU_OK;
    const npu_gguf_value *v;
    NPU_TRY(token_array(gguf, types_key, NPU_GGUF_I32, tok->n_tokens, &v, err));
    for (uint32_t i = 0; i < tok->n_tokens; i++) {
        uint32_t type = read_u32(v->data + (size_t)i * 4);
        if (type >= sizeof bits)
            return npu_fail(err, NPU_INVALID, "tokenizer.type", "%s[%u] is %d, which is no token type", types_key, i,
                            (int)type);
        tok->types[i] = bits[type];
    }
    return NPU_OK;
}

static npu_status load_scores(npu_tokenizer *tok, const npu_gguf *gguf, npu_error *err) {
    tok->scores = calloc((size_t)tok->n_tokens + 1, sizeof *tok->scores);
    if (!tok->scores) return NPU__NO_MEMORY(err);
    if (!npu_gguf_find(gguf, scores_key)) {
        if (!tok->kind->needs_scores) return NPU_OK;
        return npu_fail(err, NPU_INVALID, "tokenizer.key_missing", "%s is missing: a \"%s\" tokenizer needs it",
                        scores_key, tok->kind->model);
    }
    const npu_gguf_value *v;
    NPU_TRY(token_array(gguf, scores_key, NPU_GGUF_TYPE_COUNT, tok->n_tokens, &v, err));
    for (uint32_t i = 0; i < tok->n_tokens; i++) {
        uint32_t word = read_u32(v->data + (size_t)i * 4);
        if (v->elem_type == NPU_GGUF_I32)
            tok->scores[i] = (float)(int32_t)word;
        else
            memcpy(&tok->scores[i], &word, 4);
        if (isnan(tok->scores[i])) return npu_fail(err, NPU_INVALID, "tokenizer.score", "%s[%u] is NaN", scores_key, i);
    }
    return NPU_OK;
}

static npu_status load_tokens(npu_tokenizer *tok, const npu_gguf *gguf, npu_error *err) {
    npu_gguf_strings list;
    NPU_TRY(npu_gguf_strings_open(gguf, tokens_key, &list, err));
    npu_status status = NPU_OK;
    size_t bytes = 0;
    if (list.count == 0 || list.count > INT32_MAX / 4) {
        status = npu_fail(err, NPU_INVALID, "tokenizer.count", "%s has %" PRIu64 " elements", tokens_key, list.count);
        goto done;
    }
    tok->n_tokens = (uint32_t)list.count;
    for (uint32_t i = 0; i < tok->n_tokens; i++) bytes += npu_gguf_strings_at(&list, i).size + 1;
    status = npu__strtab_reserve(&tok->strings, tok->n_tokens, bytes, err);
    for (uint32_t i = 0; status == NPU_OK && i < tok->n_tokens; i++) {
        npu_gguf_str s = npu_gguf_strings_at(&list, i);
        char empty[24]; /* an empty token would match everywhere */
        if (!s.size) s = (npu_gguf_str){empty, (size_t)snprintf(empty, sizeof empty, "[EMPTY_%u]", i)};
        int32_t id;
        status = npu__strtab_add(&tok->strings, s.data, s.size, &id, err);
        if (s.size > tok->max_token_bytes) tok->max_token_bytes = (uint32_t)s.size;
    }
done:
    npu_gguf_strings_close(&list);
    return status;
}

npu_status npu__vocab_load(npu_tokenizer *tok, const npu_gguf *gguf, npu_error *err) {
    NPU_TRY(load_tokens(tok, gguf, err));
    NPU_TRY(load_types(tok, gguf, err));
    return load_scores(tok, gguf, err);
}
