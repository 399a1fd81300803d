/* Text to token ids and back, as the model file's vocabulary says.
 *
 * An npu_tokenizer is made from the "tokenizer.ggml.*" keys of a GGUF file: byte-level BPE, SentencePiece BPE, unigram
 * or WordPiece. Everything the keys state is checked here; errors name the key. After creation nothing is written, so
 * any number of threads may use one tokenizer; it keeps no reference to the file. Callers: model/, chat/, cli/,
 * sample/.
 */
#ifndef NPU_TOKENIZER_TOKENIZER_H
#define NPU_TOKENIZER_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gguf/gguf.h"
#include "base/log.h"
#include "base/status.h"

typedef struct npu_tokenizer npu_tokenizer;

enum { NPU_TOKEN_NONE = -1 };

/* INVALID (a key is missing, of a wrong type or size, or its content is impossible), REFUSED (a tokenizer model or a
 * pre-tokenizer that is not known, by name), NO_MEMORY. On success the caller owns *out; on failure it is NULL.
 * |logger| may be NULL; it hears about defaults that were assumed. */
npu_status npu_tokenizer_create(const npu_gguf *gguf, const npu_logger *logger, npu_tokenizer **out, npu_error *err);
void npu_tokenizer_free(npu_tokenizer *tok);

/* A growing list of ids, {0} at first, owned by the caller. */
typedef struct npu_token_list {
    int32_t *ids;
    size_t n, capacity;
} npu_token_list;
npu_status npu_token_list_add(npu_token_list *list, int32_t id, npu_error *err);
void npu_token_list_free(npu_token_list *list);

typedef struct npu_encode_flags {
    bool parse_special; /* control tokens written out in the text become those tokens; never for text that users type */
    bool add_special;   /* begin and end tokens by the model's own rule */
    const char *typed;  /* NULL, or a byte for each of the text: where it is not 0, no control token is found */
} npu_encode_flags;

/* Appends the ids of |text| (any bytes; |len| may be 0). After a failure the list holds what it held before.
 * NO_MEMORY, RANGE (2 GiB and more). */
npu_status npu_tokenizer_encode(const npu_tokenizer *tok, const char *text, size_t len, npu_encode_flags flags,
                                npu_token_list *out, npu_error *err);

/* A token as the vocabulary spells it (spaces and bytes in stand-ins); NULL and 0 for an id that is none. */
const char *npu_tokenizer_name(const npu_tokenizer *tok, int32_t id, size_t *len);

/* The id that the vocabulary spells so, or NPU_TOKEN_NONE. */
int32_t npu_tokenizer_find(const npu_tokenizer *tok, const char *name, size_t len);

/* The bytes that a token stands for in text, with its spaces; may be part of a character. Control tokens have none
 * unless |special|. Lives as long as the tokenizer; never NULL. */
const char *npu_tokenizer_piece(const npu_tokenizer *tok, int32_t id, bool special, size_t *len);

/* Control tokens and the like: not text. */
bool npu_tokenizer_is_special(const npu_tokenizer *tok, int32_t id);

/* Whether generation ends with this token: end of text, of turn, of message, as the file or the tokens' names say. */
bool npu_tokenizer_is_end(const npu_tokenizer *tok, int32_t id);

typedef enum npu_token_role {
    NPU_TOKEN_ROLE_BOS,
    NPU_TOKEN_ROLE_EOS,
    NPU_TOKEN_ROLE_EOT,
    NPU_TOKEN_ROLE_EOM,
    NPU_TOKEN_ROLE_UNK,
    NPU_TOKEN_ROLE_SEP,
    NPU_TOKEN_ROLE_PAD,
    NPU_TOKEN_ROLE_MASK,
    NPU_TOKEN_ROLE_FIM_PRE,
    NPU_TOKEN_ROLE_FIM_SUF,
    NPU_TOKEN_ROLE_FIM_MID,
    NPU_TOKEN_ROLE_FIM_PAD,
    NPU_TOKEN_ROLE_FIM_REP,
    NPU_TOKEN_ROLE_FIM_SEP,
    NPU_TOKEN_ROLE_COUNT
} npu_token_role;

/* The id that has a role, or NPU_TOKEN_NONE. */
int32_t npu_tokenizer_role(const npu_tokenizer *tok, npu_token_role role);

/* Whether add_special puts a begin token first. */
bool npu_tokenizer_adds_bos(const npu_tokenizer *tok);

#endif
