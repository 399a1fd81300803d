#include "tokenizer/detokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "tokenizer/vocab.h"

static const char replacement[] = "\xEF\xBF\xBD";
enum { REPLACEMENT_BYTES = 3, WAITING_MAX = 3 };

npu_status npu_text_add(npu_text *text, const char *s, size_t n, npu_error *err) {
    if (n > SIZE_MAX / 4 - text->n) return NPU__NO_MEMORY(err);
    if (text->n + n > text->capacity) {
        size_t capacity = (text->n + n) * 2;
        char *more = realloc(text->data, capacity);
        if (!more) return NPU__NO_MEMORY(err);
        text->data = more;
        text->capacity = capacity;
    }
    if (n) memcpy(text->data + text->n, s, n);
    text->n += n;
    return NPU_OK;
}

void npu_text_free(npu_text *text) {
    free(text->data);
    *text = (npu_text){0};
}

static npu_status check_id(const npu_tokenizer *tok, int32_t id, npu_error *err) {
    if (id >= 0 && (uint32_t)id < tok->n_tokens) return NPU_OK;
    return npu_fail(err, NPU_INVALID, "tokenizer.id", "%d is no token id: the vocabulary has %u", (int)id,
                    tok->n_tokens);
}

/* The piece of |id|; the space that encoding put before the first text is taken off while *at_start. */
static const char *next_piece(const npu_tokenizer *tok, int32_t id, bool special, bool *at_start, size_t *n) {
    const char *s = npu_tokenizer_piece(tok, id, special, n);
    if (*at_start && *n && !npu_tokenizer_is_special(tok, id)) {
        *at_start = false;
        if (s[0] == ' ') {
            s++;
            --*n;
        }
    }
    return s;
}

/* How many bytes at the front of " ?", " 's" … the rule drops: the space, and for " ' " the one after it too. */
static size_t dropped_space(const char *s, size_t n, size_t *after) {
    *after = 0;
    if (n < 2 || s[0] != ' ') return 0;
    if (strchr("?!.,", s[1]) && s[1]) return 1;
    if (s[1] != '\'' || n < 3) return 0;
    if (s[2] == ' ') {
        *after = 1;
        return 1;
    }
    if (s[2] == 's' || s[2] == 'm') return 1;
    return n > 3 && s[3] == 'e' && (s[2] == 'r' || s[2] == 'v');
}

static void clean(char *s, size_t *n) {
    size_t used = 0;
    for (size_t at = 0; at < *n; at++) {
        size_t after;
        if (used && dropped_space(s + at, *n - at, &after)) {
            s[used++] = s[at + 1];
            at += 1 + after;
        } else {
            s[used++] = s[at];
        }
    }
    *n = used;
}

static npu_status decode(const npu_tokenizer *tok, const int32_t *ids, size_t n, npu_decode_flags flags, npu_text *out,
                         npu_error *err) {
    bool at_start = tok->add_space_prefix && !flags.continues;
    for (size_t i = 0; i < n; i++) {
        size_t len;
        NPU_TRY(check_id(tok, ids[i], err));
        const char *s = next_piece(tok, ids[i], flags.special, &at_start, &len);
        NPU_TRY(npu_text_add(out, s, len, err));
    }
    return NPU_OK;
}

npu_status npu_tokenizer_decode(const npu_tokenizer *tok, const int32_t *ids, size_t n, npu_decode_flags flags,
                                npu_text *out, npu_error *err) {
    size_t before = out->n;
    npu_status status = decode(tok, ids, n, flags, out, err);
    if (status != NPU_OK) {
        out->n = before;
    } else if (flags.clean && tok->clean_spaces && out->n > before) {
        size_t len = out->n - before;
        clean(out->data + before, &len);
        out->n = before + len;
    }
    return status;
}

struct npu_detokenizer {
    const npu_tokenizer *tok;
    npu_decode_flags flags;
    bool at_start;
    char waiting[WAITING_MAX];
    size_t n_waiting;
    char *raw; /* what waited, then the new piece */
    char *text;
};

npu_status npu_detokenizer_create(const npu_tokenizer *tok, npu_decode_flags flags, npu_detokenizer **out,
                                  npu_error *err) {
    size_t most = WAITING_MAX + (size_t)tok->max_token_bytes;
    npu_detokenizer *d = *out = calloc(1, sizeof *d);
    if (!d) return NPU__NO_MEMORY(err);
    d->tok = tok;
    d->flags = flags;
    d->at_start = tok->add_space_prefix && !flags.continues;
    d->raw = malloc(most);
    d->text = malloc(most * REPLACEMENT_BYTES);
    if (d->raw && d->text) return NPU_OK;
    npu_detokenizer_free(d);
    *out = NULL;
    return NPU__NO_MEMORY(err);
}

void npu_detokenizer_free(npu_detokenizer *d) {
    if (!d) return;
    free(d->raw);
    free(d->text);
    free(d);
}

/* Copies whole characters to d->text; |last|: nothing follows, so nothing may wait. */
static size_t give_out(npu_detokenizer *d, size_t n, bool last) {
    size_t used = 0, end = n - (last ? 0 : npu_utf8_incomplete_tail(d->raw, n));
    for (size_t at = 0; at < end;) {
        uint32_t cp;
        size_t len = npu_utf8_decode(d->raw + at, end - at, &cp);
        size_t bytes = cp == UINT32_MAX ? REPLACEMENT_BYTES : len;
        memcpy(d->text + used, cp == UINT32_MAX ? replacement : d->raw + at, bytes);
        used += bytes;
        at += len;
    }
    d->n_waiting = n - end;
    memcpy(d->waiting, d->raw + end, d->n_waiting);
    return used;
}

npu_status npu_detokenizer_push(npu_detokenizer *d, int32_t id, const char **text, size_t *len, npu_error *err) {
    size_t n;
    *text = d->text;
    *len = 0;
    NPU_TRY(check_id(d->tok, id, err));
    const char *s = next_piece(d->tok, id, d->flags.special, &d->at_start, &n);
    memcpy(d->raw, d->waiting, d->n_waiting);
    memcpy(d->raw + d->n_waiting, s, n);
    *len = give_out(d, d->n_waiting + n, false);
    return NPU_OK;
}

void npu_detokenizer_finish(npu_detokenizer *d, const char **text, size_t *len) {
    memcpy(d->raw, d->waiting, d->n_waiting);
    *text = d->text;
    *len = give_out(d, d->n_waiting, true);
    d->at_start = d->tok->add_space_prefix && !d->flags.continues;
}
