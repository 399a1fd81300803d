/* Token ids back to text: all at once as exact bytes, or one by one as valid UTF-8 while a model generates. */
#ifndef NPU_TOKENIZER_DETOKENIZER_H
#define NPU_TOKENIZER_DETOKENIZER_H

#include "tokenizer/tokenizer.h"

typedef struct npu_decode_flags {
    bool special;   /* control tokens come out by name; else they are left out */
    bool continues; /* the text goes on after other text: its first space stays even if the tokenizer put it there */
    bool clean;     /* apply the vocabulary's rule, if it has it, that drops spaces before punctuation (decode only) */
} npu_decode_flags;

/* A growing text, {0} at first, owned by the caller; not zero-terminated. */
typedef struct npu_text {
    char *data;
    size_t n, capacity;
} npu_text;
npu_status npu_text_add(npu_text *text, const char *s, size_t n, npu_error *err);
void npu_text_free(npu_text *text);

/* Appends the bytes of |n| tokens. INVALID ("tokenizer.id") for an id that is none; |out| is then as before. */
npu_status npu_tokenizer_decode(const npu_tokenizer *tok, const int32_t *ids, size_t n, npu_decode_flags flags,
                                npu_text *out, npu_error *err);

/* A stream: give it ids, get text. It never gives out part of a character: bytes that more bytes could complete wait
 * for the next token, and bytes that can't be UTF-8 become U+FFFD. Nothing is allocated after creation. |tok| must
 * outlive it. */
typedef struct npu_detokenizer npu_detokenizer;
npu_status npu_detokenizer_create(const npu_tokenizer *tok, npu_decode_flags flags, npu_detokenizer **out,
                                  npu_error *err);
void npu_detokenizer_free(npu_detokenizer *d);

/* The text that |id| completes: *len bytes at *text, perhaps none, until the next call. INVALID for an id that is none.
 */
npu_status npu_detokenizer_push(npu_detokenizer *d, int32_t id, const char **text, size_t *len, npu_error *err);

/* What still waits (as U+FFFD), at the end of a text; the stream is then as new. */
void npu_detokenizer_finish(npu_detokenizer *d, const char **text, size_t *len);

#endif
