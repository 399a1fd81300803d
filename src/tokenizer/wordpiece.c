/* WordPiece (bert): words are normalised and matched from the left by the longest token; a word that can't be covered
 * is one unknown token.
 */
#include <string.h>

#include "base/utf8.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/vocab.h"

static const char tokens_key[] = "tokenizer.ggml.tokens";

npu_status npu__longest_allowed(const npu_tokenizer *tok, npu_error *err) {
    enum { MOST = 4096 };
    if (tok->max_token_bytes <= MOST) return NPU_OK;
    return npu_fail(err, NPU_REFUSED, "tokenizer.token_size",
                    "%s has a token of %u bytes; a \"%s\" tokenizer may have %d", tokens_key, tok->max_token_bytes,
                    tok->kind->model, MOST);
}

npu_status npu__wordpiece_load(npu_tokenizer *tok, const npu_gguf *gguf, npu_error *err) {
    (void)gguf;
    NPU_TRY(npu__longest_allowed(tok, err));
    if (tok->roles[NPU_TOKEN_ROLE_UNK] == NPU_TOKEN_NONE)
        return npu_fail(err, NPU_INVALID, "tokenizer.role", "tokenizer.ggml.unknown_token_id is missing or no token");
    return npu__prefix_build(&tok->prefix, &tok->strings, tok->n_tokens, tok->types, 0xFF, err);
}

/* The CJK blocks whose characters are words of their own (the fifth begins late, as in the original). */
static int is_word_char(uint32_t c) {
    static const uint32_t blocks[][2] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                         {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F},
                                         {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        if (c >= blocks[i][0] && c <= blocks[i][1]) return 1;
    return 0;
}

/* The longest token that the word begins with at |at|; 0 if none. */
static size_t longest(const npu_tokenizer *tok, const npu_text *word, size_t at, int32_t *id) {
    npu__cursor c = npu__prefix_start(&tok->prefix);
    size_t best = 0;
    for (size_t i = at; i < word->n && npu__prefix_step(&tok->prefix, &c, (uint8_t)word->data[i]); i++) {
        int32_t token = npu__prefix_token(&tok->prefix, &c);
        if (token == NPU__STR_NONE) continue;
        *id = token;
        best = i + 1 - at;
    }
    return best;
}

/* Encodes the word, which begins with U+2581, and empties it. */
static npu_status end_word(const npu_tokenizer *tok, npu_text *word, npu_token_list *out, npu_error *err) {
    size_t before = out->n;
    if (!word->n) return NPU_OK;
    for (size_t at = 0; at < word->n;) {
        int32_t id;
        size_t n = longest(tok, word, at, &id);
        if (!n) {
            out->n = before;
            id = tok->roles[NPU_TOKEN_ROLE_UNK];
            n = word->n;
        }
        NPU_TRY(npu_token_list_add(out, id, err));
        at += n;
    }
    word->n = 0;
    return NPU_OK;
}

static npu_status add_char(npu_text *word, uint32_t cp, npu_error *err) {
    char s[4];
    if (!word->n) NPU_TRY(npu_text_add(word, "\xE2\x96\x81", 3, err));
    return npu_text_add(word, s, npu_utf8_encode(cp, s), err);
}

static npu_status run(const npu_tokenizer *tok, const char *text, size_t len, npu_text *word, npu_token_list *out,
                      npu_error *err) {
    for (size_t at = 0; at < len;) {
        uint32_t cp;
        at += npu__unicode_decode(text + at, len - at, &cp);
        if (tok->strip_accents) cp = npu__unicode_base(cp);
        uint16_t c = npu__unicode_class_of(cp);
        if (c & NPU__UC_SPACE) {
            NPU_TRY(end_word(tok, word, out, err));
            continue;
        }
        if (cp == 0 || cp == 0xFFFD || c & NPU__UC_CONTROL || (tok->strip_accents && c & NPU__UC_MARK)) continue;
        bool alone = c & NPU__UC_PUNCTUATION || (cp < 0x7F && c & NPU__UC_SYMBOL) || is_word_char(cp);
        if (alone) NPU_TRY(end_word(tok, word, out, err));
        NPU_TRY(add_char(word, tok->lowercase ? npu__unicode_lower(cp) : cp, err));
        if (alone) NPU_TRY(end_word(tok, word, out, err));
    }
    return end_word(tok, word, out, err);
}

npu_status npu__wordpiece_encode(const npu_tokenizer *tok, const char *text, size_t len, bool first,
                                 npu_token_list *out, npu_error *err) {
    (void)first;
    npu_text word = {0};
    npu_status status = run(tok, text, len, &word, out, err);
    npu_text_free(&word);
    return status;
}
