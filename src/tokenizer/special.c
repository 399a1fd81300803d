/* Roles of tokens (begin, end, …), the set of tokens that end generation, and the list of tokens that are looked for in
 * text. Files state little of this; what they leave out follows from well-known token names, as the mainstream engine
 * does it.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer/vocab.h"

static const struct {
    const char *key;
    npu_token_role role;
} role_keys[] = {
    {"tokenizer.ggml.bos_token_id", NPU_TOKEN_ROLE_BOS},
    {"tokenizer.ggml.eos_token_id", NPU_TOKEN_ROLE_EOS},
    {"tokenizer.ggml.eot_token_id", NPU_TOKEN_ROLE_EOT},
    {"tokenizer.ggml.eom_token_id", NPU_TOKEN_ROLE_EOM},
    {"tokenizer.ggml.unknown_token_id", NPU_TOKEN_ROLE_UNK},
    {"tokenizer.ggml.seperator_token_id", NPU_TOKEN_ROLE_SEP},
    {"tokenizer.ggml.padding_token_id", NPU_TOKEN_ROLE_PAD},
    {"tokenizer.ggml.mask_token_id", NPU_TOKEN_ROLE_MASK},
    {"tokenizer.ggml.prefix_token_id", NPU_TOKEN_ROLE_FIM_PRE},
    {"tokenizer.ggml.suffix_token_id", NPU_TOKEN_ROLE_FIM_SUF},
    {"tokenizer.ggml.middle_token_id", NPU_TOKEN_ROLE_FIM_MID},
    {"tokenizer.ggml.fim_pre_token_id", NPU_TOKEN_ROLE_FIM_PRE},
    {"tokenizer.ggml.fim_suf_token_id", NPU_TOKEN_ROLE_FIM_SUF},
    {"tokenizer.ggml.fim_mid_token_id", NPU_TOKEN_ROLE_FIM_MID},
    {"tokenizer.ggml.fim_pad_token_id", NPU_TOKEN_ROLE_FIM_PAD},
    {"tokenizer.ggml.fim_rep_token_id", NPU_TOKEN_ROLE_FIM_REP},
    {"tokenizer.ggml.fim_sep_token_id", NPU_TOKEN_ROLE_FIM_SEP},
};

enum { END = 1, ROLE = 2 }; /* ends generation; gives its role when the file names none */

/* Names with a meaning of their own, in order of preference for a role. */
static const struct {
    const char *name;
    uint8_t what;
    uint8_t role;
} known[] = {
    {"<|eot_id|>", END | ROLE, NPU_TOKEN_ROLE_EOT},
    {"<|im_end|>", END | ROLE, NPU_TOKEN_ROLE_EOT},
    {"<|end|>", END | ROLE, NPU_TOKEN_ROLE_EOT},
    {"<end_of_turn>", END | ROLE, NPU_TOKEN_ROLE_EOT},
    {"<|endoftext|>", END | ROLE, NPU_TOKEN_ROLE_EOT},
    {"<|end_of_text|>", END | ROLE, NPU_TOKEN_ROLE_EOT},
    {"<EOT>", END | ROLE, NPU_TOKEN_ROLE_EOT},
    {"_<EOT>", END | ROLE, NPU_TOKEN_ROLE_EOT},
    {"[EOT]", END | ROLE, NPU_TOKEN_ROLE_EOT},
    {"<\xEF\xBD\x9C"
     "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",
     END | ROLE, NPU_TOKEN_ROLE_EOT},
    {"<end_of_utterance>", END | ROLE, NPU_TOKEN_ROLE_EOT},
    {"<|eom_id|>", END | ROLE, NPU_TOKEN_ROLE_EOM},
    {"<|return|>", END, 0},
    {"<|call|>", END, 0},
    {"<|calls|>", END, 0},
    {"<|flush|>", END, 0},
    {"</s>", END, 0},
    {"[EOS]", END, 0},
    {"<eos>", END, 0},
    {"<turn|>", END, 0},
    {"<|tool_response>", END, 0},
    {"[e~[", END, 0},
    {"<|fim_prefix|>", ROLE, NPU_TOKEN_ROLE_FIM_PRE},
    {"<fim-prefix>", ROLE, NPU_TOKEN_ROLE_FIM_PRE},
    {"<fim_prefix>", ROLE, NPU_TOKEN_ROLE_FIM_PRE},
    {"<\xEF\xBD\x9C"
     "fim\xE2\x96\x81"
     "begin\xEF\xBD\x9C>",
     ROLE, NPU_TOKEN_ROLE_FIM_PRE},
    {"<PRE>", ROLE, NPU_TOKEN_ROLE_FIM_PRE},
    {"\xE2\x96\x81<PRE>", ROLE, NPU_TOKEN_ROLE_FIM_PRE},
    {"<|code_prefix|>", ROLE, NPU_TOKEN_ROLE_FIM_PRE},
    {"<|prefix|>", ROLE, NPU_TOKEN_ROLE_FIM_PRE},
    {"<|fim_suffix|>", ROLE, NPU_TOKEN_ROLE_FIM_SUF},
    {"<fim-suffix>", ROLE, NPU_TOKEN_ROLE_FIM_SUF},
    {"<fim_suffix>", ROLE, NPU_TOKEN_ROLE_FIM_SUF},
    {"<\xEF\xBD\x9C"
     "fim\xE2\x96\x81hole\xEF\xBD\x9C>",
     ROLE, NPU_TOKEN_ROLE_FIM_SUF},
    {"<SUF>", ROLE, NPU_TOKEN_ROLE_FIM_SUF},
    {"\xE2\x96\x81<SUF>", ROLE, NPU_TOKEN_ROLE_FIM_SUF},
    {"<|code_suffix|>", ROLE, NPU_TOKEN_ROLE_FIM_SUF},
    {"<|suffix|>", ROLE, NPU_TOKEN_ROLE_FIM_SUF},
    {"<|fim_middle|>", ROLE, NPU_TOKEN_ROLE_FIM_MID},
    {"<fim-middle>", ROLE, NPU_TOKEN_ROLE_FIM_MID},
    {"<fim_middle>", ROLE, NPU_TOKEN_ROLE_FIM_MID},
    {"<\xEF\xBD\x9C"
     "fim\xE2\x96\x81"
     "end\xEF\xBD\x9C>",
     ROLE, NPU_TOKEN_ROLE_FIM_MID},
    {"<MID>", ROLE, NPU_TOKEN_ROLE_FIM_MID},
    {"\xE2\x96\x81<MID>", ROLE, NPU_TOKEN_ROLE_FIM_MID},
    {"<|code_middle|>", ROLE, NPU_TOKEN_ROLE_FIM_MID},
    {"<|middle|>", ROLE, NPU_TOKEN_ROLE_FIM_MID},
    {"<|fim_pad|>", ROLE, NPU_TOKEN_ROLE_FIM_PAD},
    {"<fim-pad>", ROLE, NPU_TOKEN_ROLE_FIM_PAD},
    {"<fim_pad>", ROLE, NPU_TOKEN_ROLE_FIM_PAD},
    {"<PAD>", ROLE, NPU_TOKEN_ROLE_FIM_PAD},
    {"[PAD]", ROLE, NPU_TOKEN_ROLE_FIM_PAD},
    {"<|fim_repo|>", ROLE, NPU_TOKEN_ROLE_FIM_REP},
    {"<|repo_name|>", ROLE, NPU_TOKEN_ROLE_FIM_REP},
    {"<fim-repo>", ROLE, NPU_TOKEN_ROLE_FIM_REP},
    {"<REPO>", ROLE, NPU_TOKEN_ROLE_FIM_REP},
    {"<reponame>", ROLE, NPU_TOKEN_ROLE_FIM_REP},
    {"<|file_sep|>", ROLE, NPU_TOKEN_ROLE_FIM_SEP},
};

static int32_t find(const npu_tokenizer *tok, const char *name) {
    return npu_tokenizer_find(tok, name, strlen(name));
}

static npu_status load_roles(npu_tokenizer *tok, const npu_gguf *gguf, const npu_logger *logger, npu_error *err) {
    for (int i = 0; i < NPU_TOKEN_ROLE_COUNT; i++) tok->roles[i] = NPU_TOKEN_NONE;
    const npu__kind *k = tok->kind;
    tok->roles[NPU_TOKEN_ROLE_BOS] = tok->pre && tok->pre->flags & NPU__PRE_NO_BOS ? NPU_TOKEN_NONE : k->default_bos;
    tok->roles[NPU_TOKEN_ROLE_EOS] = k->default_eos;
    tok->roles[NPU_TOKEN_ROLE_UNK] = k->default_unk;
    tok->roles[NPU_TOKEN_ROLE_SEP] = k->default_sep;
    tok->roles[NPU_TOKEN_ROLE_PAD] = k->default_pad;
    tok->roles[NPU_TOKEN_ROLE_MASK] = k->default_mask;
    for (size_t i = 0; i < sizeof role_keys / sizeof role_keys[0]; i++) {
        uint32_t id;
        if (!npu_gguf_find(gguf, role_keys[i].key)) continue;
        NPU_TRY(npu_gguf_get_u32(gguf, role_keys[i].key, &id, err));
        if (id < tok->n_tokens) {
            tok->roles[role_keys[i].role] = (int32_t)id;
            continue;
        }
        npu_log(logger, NPU_LOG_WARN, "%s is %" PRIu32 ", but there are %" PRIu32 " tokens: ignored", role_keys[i].key,
                id, tok->n_tokens);
        tok->roles[role_keys[i].role] = NPU_TOKEN_NONE;
    }
    for (int i = 0; i < NPU_TOKEN_ROLE_COUNT; i++)
        if (tok->roles[i] >= (int32_t)tok->n_tokens) tok->roles[i] = NPU_TOKEN_NONE;
    return NPU_OK;
}

static npu_status need_role(const npu_tokenizer *tok, bool add, npu_token_role role, const char *key, npu_error *err) {
    if (!add || tok->roles[role] != NPU_TOKEN_NONE) return NPU_OK;
    return npu_fail(err, NPU_INVALID, "tokenizer.role",
                    "%s is missing or no token, but the file says to add that token", key);
}

static npu_status load_adds(npu_tokenizer *tok, const npu_gguf *gguf, npu_error *err) {
    NPU_TRY(npu__optional_bool(gguf, "tokenizer.ggml.add_bos_token", &tok->add_bos, err));
    NPU_TRY(npu__optional_bool(gguf, "tokenizer.ggml.add_eos_token", &tok->add_eos, err));
    NPU_TRY(npu__optional_bool(gguf, "tokenizer.ggml.add_sep_token", &tok->add_sep, err));
    if (tok->pre && tok->pre->flags & NPU__PRE_FORCE_BOS) tok->add_bos = true;
    bool framed = tok->kind->framed;
    NPU_TRY(need_role(tok, framed, NPU_TOKEN_ROLE_SEP, "tokenizer.ggml.seperator_token_id", err));
    NPU_TRY(need_role(tok, tok->add_bos || framed, NPU_TOKEN_ROLE_BOS, "tokenizer.ggml.bos_token_id", err));
    return need_role(tok, tok->add_eos, NPU_TOKEN_ROLE_EOS, "tokenizer.ggml.eos_token_id", err);
}

/* A token whose name has a meaning is no text, whatever the file says. */
static void apply_names(npu_tokenizer *tok) {
    int found[NPU_TOKEN_ROLE_COUNT] = {0};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        int32_t id = find(tok, known[i].name);
        if (id == NPU_TOKEN_NONE) continue;
        int32_t *role = &tok->roles[known[i].role];
        if (known[i].what & ROLE && *role == NPU_TOKEN_NONE && !found[known[i].role]) {
            *role = id;
            found[known[i].role] = 1;
            tok->types[id] |= NPU__TOKEN_CONTROL;
        }
        if (known[i].what & END) {
            tok->ends[id] = 1;
            tok->types[id] |= NPU__TOKEN_CONTROL;
        }
    }
    static const char *const always_printed[] = {"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"};
    for (size_t i = 0; i < sizeof always_printed / sizeof always_printed[0]; i++) {
        int32_t id = find(tok, always_printed[i]);
        if (id != NPU_TOKEN_NONE) tok->types[id] = NPU__TOKEN_USER;
    }
}

static int ends_at(const npu_tokenizer *tok, const char *name) {
    int32_t id = find(tok, name);
    return id != NPU_TOKEN_NONE && tok->ends[id];
}

static void build_ends(npu_tokenizer *tok) {
    static const npu_token_role roles[] = {NPU_TOKEN_ROLE_EOS,     NPU_TOKEN_ROLE_EOT,     NPU_TOKEN_ROLE_EOM,
                                           NPU_TOKEN_ROLE_FIM_PAD, NPU_TOKEN_ROLE_FIM_REP, NPU_TOKEN_ROLE_FIM_SEP};
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (tok->roles[roles[i]] != NPU_TOKEN_NONE) tok->ends[tok->roles[roles[i]]] = 1;

    /* Where messages end with <|return|> or a call, <|end|> only ends a part of the answer. */
    int calls = ends_at(tok, "<|call|>") || ends_at(tok, "<|calls|>");
    if (calls && ends_at(tok, "<|end|>") && (ends_at(tok, "<|return|>") || ends_at(tok, "<|flush|>"))) {
        int32_t id = find(tok, "<|end|>");
        tok->ends[id] = 0;
        tok->types[id] = NPU__TOKEN_USER;
    }
    /* Vocabularies with these have "</s>" as a piece of markup. */
    if (ends_at(tok, "</s>") && (ends_at(tok, "<|tool_response>") || ends_at(tok, "<|plamo:eos|>"))) {
        int32_t id = find(tok, "</s>");
        tok->ends[id] = 0;
        tok->types[id] = NPU__TOKEN_NORMAL;
    }
}

static int contains(npu_gguf_str s, const char *part) {
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= s.size; i++) {
        size_t k = 0;
        while (k < n && tolower((unsigned char)s.data[i + k]) == part[k]) k++;
        if (k == n) return 1;
    }
    return 0;
}

/* Stripping of white space around special tokens is in no key: it is known by the model's name. */
static void apply_strips(npu_tokenizer *tok, const npu_gguf *gguf) {
    npu_gguf_str name = {"", 0}, arch = {"", 0};
    npu_gguf_get_str(gguf, "general.name", &name, NULL);
    npu_gguf_get_str(gguf, "general.architecture", &arch, NULL);
    const char *mask = NULL;
    if (strstr(tok->pre_name, "jina-v2-de") || strstr(tok->pre_name, "jina-v2-es") ||
        strstr(tok->pre_name, "jina-v2-code") || contains(arch, "nomic-bert-moe") || contains(arch, "jina-bert-v3"))
        mask = "<mask>";
    else if (contains(name, "phi-3") || contains(name, "phi3")) {
        for (size_t i = 0; i < tok->n_specials; i++) tok->types[tok->specials[i]] |= NPU__TOKEN_RSTRIP;
        static const char *const not_these[] = {"<unk>", "<s>", "<|endoftext|>"};
        for (size_t i = 0; i < sizeof not_these / sizeof not_these[0]; i++) {
            int32_t id = find(tok, not_these[i]);
            if (id != NPU_TOKEN_NONE) tok->types[id] &= (uint8_t)~NPU__TOKEN_RSTRIP;
        }
    } else if (contains(name, "modern-bert"))
        mask = "[MASK]";
    int32_t id = mask ? find(tok, mask) : NPU_TOKEN_NONE;
    if (id != NPU_TOKEN_NONE) tok->types[id] |= NPU__TOKEN_LSTRIP;
}

typedef struct sized {
    size_t bytes;
    int32_t id;
} sized;

static int longest_first(const void *a, const void *b) {
    const sized *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static npu_status list_specials(npu_tokenizer *tok, npu_error *err) {
    enum { LOOKED_FOR = NPU__TOKEN_CONTROL | NPU__TOKEN_USER | NPU__TOKEN_UNKNOWN };
    size_t n = 0;
    for (uint32_t i = 0; i < tok->n_tokens; i++) n += (tok->types[i] & LOOKED_FOR) != 0;
    sized *list = malloc((n + 1) * sizeof *list);
    tok->specials = malloc((n + 1) * sizeof *tok->specials);
    if (!list || !tok->specials) {
        free(list);
        return NPU__NO_MEMORY(err);
    }
    for (uint32_t i = 0; i < tok->n_tokens; i++) {
        if (!(tok->types[i] & LOOKED_FOR)) continue;
        list[tok->n_specials].id = (int32_t)i;
        npu__strtab_get(&tok->strings, (int32_t)i, &list[tok->n_specials++].bytes);
    }
    qsort(list, n, sizeof *list, longest_first);
    for (size_t i = 0; i < n; i++) tok->specials[i] = list[i].id;
    free(list);
    return NPU_OK;
}

npu_status npu__special_load(npu_tokenizer *tok, const npu_gguf *gguf, const npu_logger *logger, npu_error *err) {
    tok->ends = calloc(tok->n_tokens + (size_t)1, 1);
    if (!tok->ends) return NPU__NO_MEMORY(err);
    NPU_TRY(load_roles(tok, gguf, logger, err));
    NPU_TRY(load_adds(tok, gguf, err));
    apply_names(tok);
    build_ends(tok);
    NPU_TRY(list_specials(tok, err));
    apply_strips(tok, gguf);
    return NPU_OK;
}
