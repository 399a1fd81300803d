/* SentencePiece BPE with scores and byte fallback (llama, phi-3, gemma): characters are merged to the token of the best
 * score until nothing fits; a character that is no token comes out as its bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "tokenizer/merger.h"
#include "tokenizer/vocab.h"

npu_status npu__spm_load(npu_tokenizer *tok, const npu_gguf *gguf, npu_error *err) {
    (void)gguf;
    (void)err;
    for (int b = 0; b < 256; b++) {
        char name[8], byte = (char)b;
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)b);
        tok->byte_symbols[b] = npu__strtab_find(&tok->strings, name, 6);
        if (tok->byte_symbols[b] == NPU__STR_NONE) tok->byte_symbols[b] = npu__strtab_find(&tok->strings, &byte, 1);
    }
    return NPU_OK;
}

typedef struct pair_context {
    const npu_tokenizer *tok;
    const char *text;
} pair_context;

/* Ascending order of the result is descending order of the score; both zeros are one. */
static uint32_t order_of(float score) {
    uint32_t bits;
    score = score == 0 ? 0 : score;
    memcpy(&bits, &score, sizeof bits);
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return ~bits;
}

static bool pair(const void *context, const npu__symbol *left, const npu__symbol *right, npu__pair *out) {
    const pair_context *c = context;
    size_t n = (size_t)left->bytes + right->bytes;
    if (n > c->tok->max_token_bytes) return false;
    out->result = npu__strtab_find(&c->tok->strings, c->text + left->begin, n);
    if (out->result == NPU__STR_NONE) return false;
    out->priority = order_of(c->tok->scores[out->result]);
    return true;
}

static npu_status emit(const npu_tokenizer *tok, const char *text, const npu__symbol *symbol, npu_token_list *out,
                       npu_error *err) {
    if (symbol->id != NPU__STR_NONE) return npu_token_list_add(out, symbol->id, err);
    for (uint32_t i = 0; i < symbol->bytes; i++) {
        int32_t id = tok->byte_symbols[(uint8_t)text[symbol->begin + i]];
        if (id == NPU__STR_NONE) id = tok->roles[NPU_TOKEN_ROLE_UNK];
        if (id != NPU_TOKEN_NONE) NPU_TRY(npu_token_list_add(out, id, err));
    }
    return NPU_OK;
}

static npu_status run(const npu_tokenizer *tok, const char *text, size_t len, npu__merger *m, npu_token_list *out,
                      npu_error *err) {
    for (size_t at = 0; at < len;) {
        size_t n = npu_utf8_announced((uint8_t)text[at]);
        if (n > len - at) n = len - at; /* broken text is cut at its end */
        int32_t id = npu__strtab_find(&tok->strings, text + at, n);
        NPU_TRY(npu__merger_add(m, id, (uint32_t)at, (uint32_t)n, err));
        at += n;
    }
    pair_context c = {tok, text};
    NPU_TRY(npu__merger_run(m, pair, &c, err));
    for (int32_t i = m->n ? 0 : -1; i >= 0; i = m->symbols[i].next) NPU_TRY(emit(tok, text, &m->symbols[i], out, err));
    return NPU_OK;
}

npu_status npu__spm_encode(const npu_tokenizer *tok, const char *text, size_t len, bool first, npu_token_list *out,
                           npu_error *err) {
    if (len >= INT32_MAX / 3)
        return npu_fail(err, NPU_RANGE, "tokenizer.text_size", "text of %zu bytes is too long to tokenize", len);
    char *escaped = malloc(len * 3 + 3);
    if (!escaped) return NPU__NO_MEMORY(err);
    size_t used = 0;
    for (size_t i = tok->add_space_prefix && first ? 0 : 1; i <= len; i++) {
        char c = i ? text[i - 1] : ' ';
        if (c == ' ') {
            memcpy(escaped + used, "\xE2\x96\x81", 3);
            used += 3;
        } else {
            escaped[used++] = c;
        }
    }
    npu__merger m = {0};
    npu_status status = run(tok, escaped, used, &m, out, err);
    npu__merger_free(&m);
    free(escaped);
    return status;
}
