/* Inside of the tokenizer: the loaded vocabulary and the parts that each kind of tokenizer adds. Seen by the files of
 * this folder only. vocab_load.c fills it from the file's keys, special.c derives roles and end tokens, piece.c the
 * bytes of each token; bpe.c, spm.c, unigram.c and wordpiece.c turn text without special tokens into ids.
 */
#ifndef NPU_TOKENIZER_VOCAB_H
#define NPU_TOKENIZER_VOCAB_H

#include "tokenizer/prefix.h"
#include "tokenizer/pretok.h"
#include "tokenizer/strtab.h"
#include "tokenizer/tokenizer.h"

/* What a token is; the file's token_type as bits, because names can add to it. */
enum {
    NPU__TOKEN_NORMAL = 1 << 0,
    NPU__TOKEN_UNKNOWN = 1 << 1,
    NPU__TOKEN_CONTROL = 1 << 2,
    NPU__TOKEN_USER = 1 << 3,
    NPU__TOKEN_UNUSED = 1 << 4,
    NPU__TOKEN_BYTE = 1 << 5,
    NPU__TOKEN_LSTRIP = 1 << 6, /* white space before it, or after it, is dropped when it is found in text */
    NPU__TOKEN_RSTRIP = 1 << 7,
};

/* One merge: two neighbouring symbols become one. Symbols are numbers of the string table. */
typedef struct npu__merge {
    int32_t left, right; /* left NPU__STR_NONE: a free slot */
    int32_t result;
    uint32_t rank;
} npu__merge;

typedef struct npu__kind npu__kind;

struct npu_tokenizer {
    const npu__kind *kind;
    const npu__pretok *pre; /* BPE only */
    char pre_name[64];

    npu__strtab strings; /* the tokens by id, then halves and results of merges that are no tokens */
    uint32_t n_tokens;
    uint32_t max_token_bytes;
    uint8_t *types;
    float *scores;
    uint8_t *ends; /* 1: generation ends here */
    char *pieces;
    size_t *piece_offsets; /* n_tokens + 1 */

    int32_t roles[NPU_TOKEN_ROLE_COUNT];
    bool add_bos, add_eos, add_sep;
    bool add_space_prefix, merge_spaces, escape_spaces, clean_spaces;
    bool lowercase, strip_accents;

    int32_t *specials; /* tokens to find in text, longest first */
    size_t n_specials;

    npu__merge *merges; /* open addressing by (left, right) */
    uint32_t merge_mask;
    int32_t byte_symbols[256]; /* BPE: symbol of each byte's stand-in; SPM: token of each byte */

    npu__prefix prefix;      /* unigram, WordPiece: tokens to match */
    npu__prefix user_prefix; /* unigram: user-defined tokens, which are not normalised */
    uint32_t *charsmap;      /* unigram: double array of the normaliser, then its replacement strings */
    size_t charsmap_units;
    char *replacements;
    size_t replacements_bytes;
    double unknown_score;
};

/* A kind of tokenizer: one row per value of tokenizer.ggml.model (kinds.c). */
struct npu__kind {
    const char *model;
    bool has_pre;          /* tokenizer.ggml.pre picks a pre-tokenizer */
    const char *fixed_pre; /* NULL, or the pre-tokenizer whatever the file says */
    int32_t default_bos, default_eos, default_unk, default_sep, default_pad, default_mask;
    bool add_bos, add_eos, add_sep, add_space_prefix, escape_spaces, clean_spaces;
    bool byte_pieces; /* pieces are spelled in the printable stand-ins of bytes */
    bool needs_scores;
    bool framed; /* begin and separator tokens are always around a text */
    npu_status (*load)(npu_tokenizer *tok, const npu_gguf *gguf, npu_error *err); /* NULL: nothing more to load */
    /* Appends the ids of |text|, which holds no special token. |first|: nothing, or a special token, stands before. */
    npu_status (*encode)(const npu_tokenizer *tok, const char *text, size_t len, bool first, npu_token_list *out,
                         npu_error *err);
};

const npu__kind *npu__kind_find(const char *name, size_t n);
const npu__kind *npu__kind_at(size_t index);

npu_status npu__vocab_load(npu_tokenizer *tok, const npu_gguf *gguf, npu_error *err);
npu_status npu__special_load(npu_tokenizer *tok, const npu_gguf *gguf, const npu_logger *logger, npu_error *err);
npu_status npu__pieces_build(npu_tokenizer *tok, npu_error *err);

/* Optional keys: *out keeps its value when the key is missing; any other failure is passed up. */
npu_status npu__optional_bool(const npu_gguf *gguf, const char *key, bool *out, npu_error *err);

/* The printable character that stands for a byte in byte-level BPE, and back; -1: the character stands for none. */
uint32_t npu__byte_to_char(uint8_t byte);
int npu__char_to_byte(uint32_t cp);

/* The value of a token spelled "<0x1F>", or -1. */
int npu__byte_token_value(const char *name, size_t n);

/* Cuts |text| at the special tokens in it and encodes what lies between. */
npu_status npu__encode_parts(const npu_tokenizer *tok, const char *text, size_t len, npu_encode_flags flags,
                             npu_token_list *out, npu_error *err);

npu_status npu__bpe_load(npu_tokenizer *tok, const npu_gguf *gguf, npu_error *err);
npu_status npu__bpe_encode(const npu_tokenizer *tok, const char *text, size_t len, bool first, npu_token_list *out,
                           npu_error *err);
npu_status npu__spm_load(npu_tokenizer *tok, const npu_gguf *gguf, npu_error *err);
npu_status npu__spm_encode(const npu_tokenizer *tok, const char *text, size_t len, bool first, npu_token_list *out,
                           npu_error *err);
npu_status npu__wordpiece_load(npu_tokenizer *tok, const npu_gguf *gguf, npu_error *err);
npu_status npu__wordpiece_encode(const npu_tokenizer *tok, const char *text, size_t len, bool first,
                                 npu_token_list *out, npu_error *err);
npu_status npu__unigram_load(npu_tokenizer *tok, const npu_gguf *gguf, npu_error *err);
npu_status npu__unigram_encode(const npu_tokenizer *tok, const char *text, size_t len, bool first, npu_token_list *out,
                               npu_error *err);

/* Kinds that match along tokens refuse absurdly long ones: the time is the text's size times the longest token's. */
npu_status npu__longest_allowed(const npu_tokenizer *tok, npu_error *err);

#define NPU__NO_MEMORY(err) npu_fail(err, NPU_NO_MEMORY, "tokenizer.no_memory", "no memory for the tokenizer")

#endif
