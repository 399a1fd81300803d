/* Creation and the public calls; the work is in the other files of this folder. */
#include "tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "tokenizer/vocab.h"

static const char model_key[] = "tokenizer.ggml.model";
static const char pre_key[] = "tokenizer.ggml.pre";

static npu_status choose_kind(npu_tokenizer *tok, const npu_gguf *gguf, npu_error *err) {
    npu_gguf_str name;
    NPU_TRY(npu_gguf_get_str(gguf, model_key, &name, err));
    tok->kind = npu__kind_find(name.data, name.size);
    if (tok->kind) return NPU_OK;
    char known[160] = "";
    for (size_t i = 0, used = 0; npu__kind_at(i) && used + strlen(npu__kind_at(i)->model) + 3 < sizeof known; i++) {
        if (i) used += strlen(strcpy(known + used, ", "));
        used += strlen(strcpy(known + used, npu__kind_at(i)->model));
    }
    return npu_fail(err, NPU_REFUSED, "tokenizer.unknown_model", "%s is \"%.*s\", which is not supported (known: %s)",
                    model_key, (int)(name.size < 64 ? name.size : 64), name.data, known);
}

static npu_status choose_pre(npu_tokenizer *tok, const npu_gguf *gguf, const npu_logger *logger, npu_error *err) {
    if (!tok->kind->has_pre) return NPU_OK;
    npu_gguf_str name = {"default", 7};
    if (tok->kind->fixed_pre)
        name = (npu_gguf_str){tok->kind->fixed_pre, strlen(tok->kind->fixed_pre)};
    else if (npu_gguf_find(gguf, pre_key))
        NPU_TRY(npu_gguf_get_str(gguf, pre_key, &name, err));
    else
        npu_log(logger, NPU_LOG_WARN, "%s is missing: text is split by a general rule, which may not be the model's",
                pre_key);
    tok->pre = npu__pretok_find(name.data, name.size);
    if (!tok->pre)
        return npu_fail(err, NPU_REFUSED, "tokenizer.unknown_pre",
                        "%s is \"%.*s\", a pre-tokenizer that is not supported", pre_key,
                        (int)(name.size < 64 ? name.size : 64), name.data);
    memcpy(tok->pre_name, name.data, name.size); /* a known name is shorter than 64 */
    return NPU_OK;
}

static void defaults(npu_tokenizer *tok) {
    const npu__kind *k = tok->kind;
    unsigned pre = tok->pre ? tok->pre->flags : 0;
    tok->add_bos = k->add_bos || pre & NPU__PRE_ADD_BOS;
    tok->add_eos = k->add_eos;
    tok->add_sep = k->add_sep || pre & NPU__PRE_ADD_SEP;
    tok->add_space_prefix = k->add_space_prefix;
    tok->escape_spaces = k->escape_spaces;
    tok->clean_spaces = k->clean_spaces && !(pre & NPU__PRE_NO_CLEAN);
    tok->lowercase = tok->strip_accents = true;
}

static npu_status load(npu_tokenizer *tok, const npu_gguf *gguf, const npu_logger *logger, npu_error *err) {
    NPU_TRY(choose_kind(tok, gguf, err));
    NPU_TRY(choose_pre(tok, gguf, logger, err));
    defaults(tok);
    NPU_TRY(npu__optional_bool(gguf, "tokenizer.ggml.add_space_prefix", &tok->add_space_prefix, err));
    if (tok->kind->has_pre) tok->add_space_prefix = false; /* what encoding does not add, decoding must leave */
    NPU_TRY(npu__optional_bool(gguf, "tokenizer.ggml.remove_extra_whitespaces", &tok->merge_spaces, err));
    NPU_TRY(npu__optional_bool(gguf, "tokenizer.ggml.normalizer.lowercase", &tok->lowercase, err));
    tok->strip_accents = tok->lowercase;
    NPU_TRY(npu__optional_bool(gguf, "tokenizer.ggml.normalizer.strip_accents", &tok->strip_accents, err));
    NPU_TRY(npu__vocab_load(tok, gguf, err));
    NPU_TRY(npu__special_load(tok, gguf, logger, err));
    if (tok->kind->load) NPU_TRY(tok->kind->load(tok, gguf, err));
    return npu__pieces_build(tok, err);
}

npu_status npu_tokenizer_create(const npu_gguf *gguf, const npu_logger *logger, npu_tokenizer **out, npu_error *err) {
    *out = NULL;
    npu_tokenizer *tok = calloc(1, sizeof *tok);
    if (!tok) return NPU__NO_MEMORY(err);
    npu_status status = load(tok, gguf, logger, err);
    if (status != NPU_OK) {
        npu_tokenizer_free(tok);
        return status;
    }
    *out = tok;
    return NPU_OK;
}

void npu_tokenizer_free(npu_tokenizer *tok) {
    if (!tok) return;
    npu__strtab_free(&tok->strings);
    free(tok->types);
    free(tok->scores);
    free(tok->ends);
    free(tok->pieces);
    free(tok->piece_offsets);
    free(tok->specials);
    free(tok->merges);
    npu__prefix_free(&tok->prefix);
    npu__prefix_free(&tok->user_prefix);
    free(tok->charsmap);
    free(tok->replacements);
    free(tok);
}

npu_status npu_token_list_add(npu_token_list *list, int32_t id, npu_error *err) {
    if (list->n == list->capacity) {
        size_t capacity = list->capacity * 2 + 64;
        int32_t *more = realloc(list->ids, capacity * sizeof *more);
        if (!more) return NPU__NO_MEMORY(err);
        list->ids = more;
        list->capacity = capacity;
    }
    list->ids[list->n++] = id;
    return NPU_OK;
}

void npu_token_list_free(npu_token_list *list) {
    free(list->ids);
    *list = (npu_token_list){0};
}

static npu_status encode(const npu_tokenizer *tok, const char *text, size_t len, npu_encode_flags flags,
                         npu_token_list *out, npu_error *err) {
    bool framed = tok->kind->framed;
    if (flags.add_special && (tok->add_bos || framed))
        NPU_TRY(npu_token_list_add(out, tok->roles[NPU_TOKEN_ROLE_BOS], err));
    if (len) NPU_TRY(npu__encode_parts(tok, text, len, flags, out, err));
    if (flags.add_special && framed) NPU_TRY(npu_token_list_add(out, tok->roles[NPU_TOKEN_ROLE_SEP], err));
    if (flags.add_special && tok->add_eos && !framed)
        NPU_TRY(npu_token_list_add(out, tok->roles[NPU_TOKEN_ROLE_EOS], err));
    return NPU_OK;
}

npu_status npu_tokenizer_encode(const npu_tokenizer *tok, const char *text, size_t len, npu_encode_flags flags,
                                npu_token_list *out, npu_error *err) {
    size_t before = out->n;
    npu_status status = encode(tok, text, len, flags, out, err);
    if (status != NPU_OK) out->n = before;
    return status;
}

static bool is_id(const npu_tokenizer *tok, int32_t id) {
    return id >= 0 && (uint32_t)id < tok->n_tokens;
}

const char *npu_tokenizer_name(const npu_tokenizer *tok, int32_t id, size_t *len) {
    *len = 0;
    return is_id(tok, id) ? npu__strtab_get(&tok->strings, id, len) : NULL;
}

int32_t npu_tokenizer_find(const npu_tokenizer *tok, const char *name, size_t len) {
    int32_t id = npu__strtab_find(&tok->strings, name, len);
    return is_id(tok, id) ? id : NPU_TOKEN_NONE;
}

const char *npu_tokenizer_piece(const npu_tokenizer *tok, int32_t id, bool special, size_t *len) {
    *len = 0;
    if (!is_id(tok, id) || (!special && npu_tokenizer_is_special(tok, id))) return "";
    *len = tok->piece_offsets[id + 1] - tok->piece_offsets[id];
    return tok->pieces + tok->piece_offsets[id];
}

bool npu_tokenizer_is_special(const npu_tokenizer *tok, int32_t id) {
    return is_id(tok, id) && tok->types[id] & (NPU__TOKEN_CONTROL | NPU__TOKEN_UNKNOWN);
}

bool npu_tokenizer_is_end(const npu_tokenizer *tok, int32_t id) {
    return is_id(tok, id) && tok->ends[id];
}

int32_t npu_tokenizer_role(const npu_tokenizer *tok, npu_token_role role) {
    return (unsigned)role < NPU_TOKEN_ROLE_COUNT ? tok->roles[role] : NPU_TOKEN_NONE;
}

bool npu_tokenizer_adds_bos(const npu_tokenizer *tok) {
    return tok->add_bos;
}
