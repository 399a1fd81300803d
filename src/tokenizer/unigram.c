/* Unigram (T5 and its like): the text is normalised by the file's character map, then cut so that the scores of the
 * tokens add up to the most (Viterbi), where an unknown character costs more than any token.
 */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/vocab.h"

static const char charsmap_key[] = "tokenizer.ggml.precompiled_charsmap";

/* The map: a 32-bit size, a double array of that many bytes (an XOR-compressed trie, 32-bit units), replacement strings
 * that end in a zero byte. */
static npu_status load_charsmap(npu_tokenizer *tok, const npu_gguf *gguf, npu_error *err) {
    const npu_gguf_value *v = npu_gguf_find(gguf, charsmap_key);
    if (!v) return NPU_OK;
    NPU_TRY(npu_gguf_get_array(gguf, charsmap_key, v->elem_type == NPU_GGUF_U8 ? NPU_GGUF_U8 : NPU_GGUF_I8, &v, err));
    if (!v->count) return NPU_OK;
    uint32_t bytes = 0;
    if (v->bytes >= 4) memcpy(&bytes, v->data, 4);
    if (v->bytes < 4 || bytes >= v->bytes - 4 || bytes % 4)
        return npu_fail(err, NPU_INVALID, "tokenizer.charsmap", "%s: a trie of %u bytes in %llu", charsmap_key, bytes,
                        (unsigned long long)v->bytes);
    tok->charsmap_units = bytes / 4;
    tok->replacements_bytes = (size_t)(v->bytes - 4 - bytes);
    tok->charsmap = malloc(bytes + (size_t)4);
    tok->replacements = malloc(tok->replacements_bytes);
    if (!tok->charsmap || !tok->replacements) return NPU__NO_MEMORY(err);
    memcpy(tok->charsmap, v->data + 4, bytes);
    memcpy(tok->replacements, v->data + 4 + bytes, tok->replacements_bytes);
    if (tok->replacements[tok->replacements_bytes - 1] != 0)
        return npu_fail(err, NPU_INVALID, "tokenizer.charsmap", "%s: the last replacement does not end", charsmap_key);
    return NPU_OK;
}

npu_status npu__unigram_load(npu_tokenizer *tok, const npu_gguf *gguf, npu_error *err) {
    NPU_TRY(npu__longest_allowed(tok, err));
    if (tok->roles[NPU_TOKEN_ROLE_UNK] == NPU_TOKEN_NONE)
        return npu_fail(err, NPU_INVALID, "tokenizer.role", "tokenizer.ggml.unknown_token_id is missing or no token");
    float lowest = FLT_MAX;
    for (uint32_t i = 0; i < tok->n_tokens; i++)
        if (tok->types[i] & NPU__TOKEN_NORMAL && tok->scores[i] < lowest) lowest = tok->scores[i];
    tok->unknown_score = (double)(lowest - 10.0f);
    NPU_TRY(load_charsmap(tok, gguf, err));
    NPU_TRY(npu__prefix_build(&tok->prefix, &tok->strings, tok->n_tokens, tok->types,
                              NPU__TOKEN_NORMAL | NPU__TOKEN_USER | NPU__TOKEN_UNUSED, err));
    return npu__prefix_build(&tok->user_prefix, &tok->strings, tok->n_tokens, tok->types, NPU__TOKEN_USER, err);
}

/* One unit: bits 10 to 30 the base (in units of 256 when bit 9 is set), bit 8 "a value follows", bits 0 to 7 and 31 the
 * label; a value has bit 31. Places outside the array match nothing. */
static uint32_t unit(const npu_tokenizer *tok, uint32_t at) {
    return at < tok->charsmap_units ? tok->charsmap[at] : 0x80000000u;
}

static uint32_t base(uint32_t u) {
    return (u >> 10) << ((u & 1u << 9) >> 6);
}

/* The longest beginning of |s| that the map replaces; 0 if none. */
static size_t mapped(const npu_tokenizer *tok, const char *s, size_t n, const char **with) {
    size_t best = 0;
    if (!tok->charsmap_units) return 0;
    uint32_t at = base(unit(tok, 0));
    for (size_t i = 0; i < n && s[i]; i++) {
        at ^= (uint8_t)s[i];
        uint32_t u = unit(tok, at);
        if ((u & 0x800000FFu) != (uint8_t)s[i]) break;
        at ^= base(u);
        if (!(u >> 8 & 1)) continue;
        uint32_t value = unit(tok, at) & 0x7FFFFFFFu;
        if (value >= tok->replacements_bytes) continue;
        *with = tok->replacements + value;
        best = i + 1;
    }
    return best;
}

/* How far |s| goes along the beginning of a user-defined token: that part is kept as it is. */
static size_t user_defined(const npu_tokenizer *tok, const char *s, size_t n) {
    npu__cursor c = npu__prefix_start(&tok->user_prefix);
    size_t i = 0;
    while (i < n && npu__prefix_step(&tok->user_prefix, &c, (uint8_t)s[i])) i++;
    return i;
}

/* The next stretch of input (its length is returned) and what it becomes. */
static size_t next_stretch(const npu_tokenizer *tok, const char *s, size_t n, const char **with, size_t *with_n) {
    *with = s;
    *with_n = user_defined(tok, s, n);
    if (*with_n) return *with_n;
    size_t used = mapped(tok, s, n, with);
    if (used) {
        *with_n = strlen(*with);
        return used;
    }
    uint32_t cp;
    used = npu__unicode_decode(s, n, &cp);
    *with_n = used;
    if (used == 1 && (uint8_t)s[0] >= 0x80) {
        *with = "\xEF\xBF\xBD";
        *with_n = 3;
    }
    return used;
}

static npu_status normalise(const npu_tokenizer *tok, const char *text, size_t len, npu_text *out, npu_error *err) {
    static const char space[] = "\xE2\x96\x81";
    bool prefixed = false, in_word = false;
    for (size_t at = 0; at < len;) {
        const char *with;
        size_t n;
        at += next_stretch(tok, text + at, len - at, &with, &n);
        for (size_t i = 0; i < n; i++) {
            if (with[i] == ' ') {
                in_word = false;
                if (!tok->merge_spaces) NPU_TRY(npu_text_add(out, space, 3, err));
                continue;
            }
            if (!in_word && ((tok->add_space_prefix && !prefixed) || tok->merge_spaces)) {
                NPU_TRY(npu_text_add(out, space, 3, err));
                prefixed = true;
            }
            in_word = true;
            NPU_TRY(npu_text_add(out, with + i, 1, err));
        }
    }
    return NPU_OK;
}

/* The best way to come to a place in the text. */
typedef struct step {
    double score;
    int32_t id;
    uint32_t from;
} step;

static void try_step(step *to, double score, int32_t id, size_t from) {
    if (score > to->score) *to = (step){score, id, (uint32_t)from};
}

static void viterbi(const npu_tokenizer *tok, const char *s, size_t n, step *steps) {
    int32_t unknown = tok->roles[NPU_TOKEN_ROLE_UNK];
    for (size_t i = 0; i <= n; i++) steps[i] = (step){i ? -DBL_MAX : 0, unknown, 0};
    for (size_t at = 0, width; at < n; at += width) {
        bool single = false;
        width = npu_utf8_announced((uint8_t)s[at]);
        if (width > n - at) width = n - at;
        npu__cursor c = npu__prefix_start(&tok->prefix);
        for (size_t i = at; i < n && npu__prefix_step(&tok->prefix, &c, (uint8_t)s[i]); i++) {
            int32_t id = npu__prefix_token(&tok->prefix, &c);
            if (id == NPU__STR_NONE) continue;
            single |= i + 1 - at == width;
            double score = tok->types[id] & NPU__TOKEN_USER ? 0 : (double)tok->scores[id];
            try_step(&steps[i + 1], steps[at].score + score, id, at);
        }
        if (!single) try_step(&steps[at + width], steps[at].score + tok->unknown_score, unknown, at);
    }
}

/* Walks back from the end; unknown tokens in a row become one. */
static npu_status emit(const npu_tokenizer *tok, const step *steps, size_t n, npu_token_list *out, npu_error *err) {
    size_t first = out->n;
    bool unknown_before = false;
    for (size_t at = n; at > 0; at = steps[at].from) {
        bool unknown = steps[at].id == tok->roles[NPU_TOKEN_ROLE_UNK];
        if (!(unknown && unknown_before)) NPU_TRY(npu_token_list_add(out, steps[at].id, err));
        unknown_before = unknown;
    }
    for (size_t i = first, k = out->n; i + 1 < k; i++) {
        int32_t id = out->ids[i];
        out->ids[i] = out->ids[--k];
        out->ids[k] = id;
    }
    return NPU_OK;
}

npu_status npu__unigram_encode(const npu_tokenizer *tok, const char *text, size_t len, bool first, npu_token_list *out,
                               npu_error *err) {
    (void)first;
    npu_text normal = {0};
    step *steps = NULL;
    npu_status status = normalise(tok, text, len, &normal, err);
    if (status == NPU_OK && normal.n >= INT32_MAX)
        status = npu_fail(err, NPU_RANGE, "tokenizer.text_size", "text of %zu bytes is too long to tokenize", normal.n);
    if (status == NPU_OK && normal.n) {
        steps = malloc((normal.n + 1) * sizeof *steps);
        status = steps ? NPU_OK : NPU__NO_MEMORY(err);
    }
    if (status == NPU_OK && normal.n) {
        viterbi(tok, normal.data, normal.n, steps);
        status = emit(tok, steps, normal.n, out, err);
    }
    free(steps);
    npu_text_free(&normal);
    return status;
}
