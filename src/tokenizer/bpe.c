/* Byte-level BPE (and its raw UTF-8 form, gemma4): merges from the file, words from the pre-tokenizer. Merges work on
 * numbers of the string table, so a pair is looked up without touching its text.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "tokenizer/merger.h"
#include "tokenizer/vocab.h"

static const char merges_key[] = "tokenizer.ggml.merges";

static uint32_t slot_of(int32_t left, int32_t right) {
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> 32) ^ (uint32_t)(h >> 17);
}

static npu__merge *merge_slot(const npu_tokenizer *tok, int32_t left, int32_t right) {
    for (uint32_t i = slot_of(left, right);; i++) {
        npu__merge *m = &tok->merges[i & tok->merge_mask];
        if (m->left == NPU__STR_NONE || (m->left == left && m->right == right)) return m;
    }
}

static npu_status intern(npu_tokenizer *tok, const char *s, size_t n, int32_t *id, npu_error *err) {
    *id = npu__strtab_find(&tok->strings, s, n);
    return *id != NPU__STR_NONE ? NPU_OK : npu__strtab_add(&tok->strings, s, n, id, err);
}

/* "left right", cut at the first space that is not the first character. |room| holds the text without that space. */
static npu_status add_merge(npu_tokenizer *tok, npu_gguf_str s, uint32_t rank, char *room, npu_error *err) {
    const char *space = s.size > 1 ? memchr(s.data + 1, ' ', s.size - 1) : NULL;
    size_t left_n = space ? (size_t)(space - s.data) : 0;
    if (!space || left_n + 1 == s.size)
        return npu_fail(err, NPU_INVALID, "tokenizer.merge", "%s[%" PRIu32 "] is not two symbols with a space between",
                        merges_key, rank);
    int32_t left, right, result;
    size_t right_n = s.size - left_n - 1;
    NPU_TRY(intern(tok, s.data, left_n, &left, err));
    NPU_TRY(intern(tok, space + 1, right_n, &right, err));
    npu__merge *m = merge_slot(tok, left, right);
    if (m->left != NPU__STR_NONE) return NPU_OK; /* said twice: the first, better rank holds */
    memcpy(room, s.data, left_n);
    memcpy(room + left_n, space + 1, right_n);
    NPU_TRY(intern(tok, room, left_n + right_n, &result, err));
    *m = (npu__merge){.left = left, .right = right, .result = result, .rank = rank};
    return NPU_OK;
}

static npu_status load_merges(npu_tokenizer *tok, const npu_gguf_strings *list, npu_error *err) {
    if (list->count > INT32_MAX / 8)
        return npu_fail(err, NPU_RANGE, "tokenizer.count", "%s has %" PRIu64 " elements", merges_key, list->count);
    uint32_t slots = 16;
    while (slots < list->count * 2) slots *= 2;
    tok->merges = malloc(slots * sizeof *tok->merges);
    if (!tok->merges) return NPU__NO_MEMORY(err);
    memset(tok->merges, 0xFF, slots * sizeof *tok->merges);
    tok->merge_mask = slots - 1;
    size_t longest = 1;
    for (uint64_t i = 0; i < list->count; i++) {
        size_t n = npu_gguf_strings_at(list, i).size;
        if (n > longest) longest = n;
    }
    char *room = malloc(longest);
    if (!room) return NPU__NO_MEMORY(err);
    npu_status status = NPU_OK;
    for (uint64_t i = 0; i < list->count && status == NPU_OK; i++)
        status = add_merge(tok, npu_gguf_strings_at(list, i), (uint32_t)i, room, err);
    free(room);
    return status;
}

npu_status npu__bpe_load(npu_tokenizer *tok, const npu_gguf *gguf, npu_error *err) {
    npu_gguf_strings list = {0};
    if (npu_gguf_find(gguf, merges_key) || strcmp(tok->pre->name, "kimi-k2") != 0) {
        if (!npu_gguf_find(gguf, merges_key))
            return npu_fail(err, NPU_INVALID, "tokenizer.key_missing", "%s is missing: a \"%s\" tokenizer needs it",
                            merges_key, tok->kind->model);
        NPU_TRY(npu_gguf_strings_open(gguf, merges_key, &list, err));
    }
    npu_status status = load_merges(tok, &list, err);
    npu_gguf_strings_close(&list);
    if (status != NPU_OK) return status;
    for (int b = 0; b < 256; b++) {
        char s[4];
        tok->byte_symbols[b] = npu__strtab_find(&tok->strings, s, npu_utf8_encode(npu__byte_to_char((uint8_t)b), s));
    }
    return NPU_OK;
}

static int32_t token_of(const npu_tokenizer *tok, const char *s, size_t n) {
    int32_t id = npu__strtab_find(&tok->strings, s, n);
    return id < (int32_t)tok->n_tokens ? id : NPU_TOKEN_NONE;
}

static bool pair(const void *context, const npu__symbol *left, const npu__symbol *right, npu__pair *out) {
    if (left->id < 0 || right->id < 0) return false;
    const npu__merge *m = merge_slot(context, left->id, right->id);
    if (m->left == NPU__STR_NONE) return false;
    *out = (npu__pair){.result = m->result, .priority = m->rank};
    return true;
}

/* One encode call's working memory. */
typedef struct work {
    npu__split split;
    npu__merger merger;
    char *word; /* the word as the vocabulary spells it, only if it is short enough to be a token */
    size_t word_bytes;
} work;

/* Makes the symbols of the word [begin, end). A word too long to be a token leaves word_bytes at 0. */
static npu_status make_symbols(const npu_tokenizer *tok, work *w, size_t begin, size_t end, npu_error *err) {
    bool raw = tok->pre->flags & NPU__PRE_RAW;
    size_t used = 0, room = tok->max_token_bytes;
    bool fits = true;
    w->merger.n = 0;
    for (size_t i = begin; i < end; i++) {
        char s[4], c[4];
        size_t n = npu_utf8_encode(w->split.cps[i], s);
        for (size_t k = 0; k < n; k += raw ? n : 1) {
            const char *symbol = raw ? s : c;
            size_t bytes = raw ? n : npu_utf8_encode(npu__byte_to_char((uint8_t)s[k]), c);
            int32_t id = raw ? npu__strtab_find(&tok->strings, s, n) : tok->byte_symbols[(uint8_t)s[k]];
            NPU_TRY(npu__merger_add(&w->merger, id, (uint32_t)i, (uint32_t)bytes, err));
            fits = fits && used + bytes <= room;
            if (fits) memcpy(w->word + used, symbol, bytes);
            used += bytes;
        }
    }
    w->word_bytes = fits ? used : 0;
    return NPU_OK;
}

/* A symbol that is no token comes out byte by byte, as far as the vocabulary has the bytes. */
static npu_status emit_bytes(const npu_tokenizer *tok, const char *s, size_t n, npu_token_list *out, npu_error *err) {
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < n; i++) {
        uint8_t b = (uint8_t)s[i];
        char byte_name[] = {'<', '0', 'x', digits[b >> 4], digits[b & 15], '>'};
        bool raw = tok->pre->flags & NPU__PRE_RAW;
        int32_t id = raw ? token_of(tok, byte_name, sizeof byte_name) : token_of(tok, s + i, 1);
        if (id != NPU_TOKEN_NONE) NPU_TRY(npu_token_list_add(out, id, err));
    }
    return NPU_OK;
}

static npu_status emit(const npu_tokenizer *tok, const work *w, const npu__symbol *symbol, npu_token_list *out,
                       npu_error *err) {
    if (symbol->id >= 0 && symbol->id < (int32_t)tok->n_tokens) return npu_token_list_add(out, symbol->id, err);
    size_t n;
    if (symbol->id >= 0) {
        const char *s = npu__strtab_get(&tok->strings, symbol->id, &n);
        return emit_bytes(tok, s, n, out, err);
    }
    if (!(tok->pre->flags & NPU__PRE_RAW)) return NPU_OK; /* the vocabulary lacks this byte */
    char s[4];
    n = npu_utf8_encode(w->split.cps[symbol->begin], s);
    return emit_bytes(tok, s, n, out, err);
}

static bool is_newlines(const work *w, size_t begin, size_t end) {
    while (begin < end && w->split.cps[begin] == '\n') begin++;
    return begin == end;
}

static npu_status encode_word(const npu_tokenizer *tok, work *w, size_t begin, size_t end, npu_token_list *out,
                              npu_error *err) {
    NPU_TRY(make_symbols(tok, w, begin, end, err));
    bool whole = tok->pre->flags & NPU__PRE_WHOLE_WORDS ||
                 (tok->pre->flags & NPU__PRE_NEWLINE_RUNS && is_newlines(w, begin, end));
    if (whole && w->word_bytes) {
        int32_t id = token_of(tok, w->word, w->word_bytes);
        if (id != NPU_TOKEN_NONE) return npu_token_list_add(out, id, err);
    }
    NPU_TRY(npu__merger_run(&w->merger, pair, tok, err));
    for (int32_t i = 0; i >= 0; i = w->merger.symbols[i].next) NPU_TRY(emit(tok, w, &w->merger.symbols[i], out, err));
    return NPU_OK;
}

/* Spaces as U+2581; the caller frees *out. */
static npu_status escape_spaces(const char *text, size_t len, char **out, size_t *out_len, npu_error *err) {
    if (len >= INT32_MAX / 3)
        return npu_fail(err, NPU_RANGE, "tokenizer.text_size", "text of %zu bytes is too long to tokenize", len);
    *out = malloc(len * 3 + 1);
    if (!*out) return NPU__NO_MEMORY(err);
    size_t used = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == ' ') {
            memcpy(*out + used, "\xE2\x96\x81", 3);
            used += 3;
        } else {
            (*out)[used++] = text[i];
        }
    }
    *out_len = used;
    return NPU_OK;
}

npu_status npu__bpe_encode(const npu_tokenizer *tok, const char *text, size_t len, bool first, npu_token_list *out,
                           npu_error *err) {
    (void)first;
    work w = {0};
    char *escaped = NULL;
    if (tok->pre->flags & NPU__PRE_ESCAPE) {
        NPU_TRY(escape_spaces(text, len, &escaped, &len, err));
        text = escaped;
    }
    npu_status status = NPU_OK;
    w.word = malloc(tok->max_token_bytes + (size_t)1);
    if (!w.word) status = NPU__NO_MEMORY(err);
    if (status == NPU_OK) status = npu__pretok_split(tok->pre, text, len, &w.split, err);
    size_t begin = 0;
    for (size_t i = 0; i < w.split.n_ends && status == NPU_OK; begin = w.split.ends[i++])
        status = encode_word(tok, &w, begin, w.split.ends[i], out, err);
    free(escaped);
    free(w.word);
    npu__split_free(&w.split);
    npu__merger_free(&w.merger);
    return status;
}
