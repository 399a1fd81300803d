/* Pre-tokenizers: how text is cut into words before byte-level BPE merges inside each word. The name in
 * tokenizer.ggml.pre picks a row of the table in pretok_table.c; a row is a list of passes, each of which cuts the
 * pieces that the one before left. Every pass is linear in the text. Used by tokenizer.c and bpe.c only.
 */
#ifndef NPU_TOKENIZER_PRETOK_H
#define NPU_TOKENIZER_PRETOK_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "tokenizer/unicode.h"

/* One text being cut: its code points with their classes, and where the pieces end (as code point indices). */
typedef struct npu__split {
    uint32_t *cps;
    uint16_t *classes; /* n + 1: the last is 0, so that looking one ahead is always allowed */
    size_t n;
    uint32_t *ends; /* of the finished pass; at most n */
    size_t n_ends;
    uint32_t *next; /* of the pass at work */
    size_t n_next;
} npu__split;

/* Length of the match that begins exactly at |pos|, 0 if there is none. It must not look at or past |end|. */
typedef size_t npu__match(const npu__split *s, size_t pos, size_t end, const void *rule);

/* Cuts [begin, end) by calling npu__split_emit with ascending ends, the last being |end|. */
typedef void npu__cut(npu__split *s, size_t begin, size_t end, const void *rule);

typedef struct npu__pass {
    npu__match *match; /* either: cut out every match, what lies between matches is a piece too */
    npu__cut *cut;     /* or: cut by own rules */
    const void *rule;
} npu__pass;

enum {
    NPU__PRE_WHOLE_WORDS = 1 << 0, /* a word that is a token is taken without merging */
    NPU__PRE_ADD_BOS = 1 << 1,     /* defaults that the file's own keys override */
    NPU__PRE_ADD_SEP = 1 << 2,
    NPU__PRE_NO_CLEAN = 1 << 3,     /* decoded text keeps its spaces before punctuation */
    NPU__PRE_RAW = 1 << 4,          /* symbols are UTF-8 characters, not the printable stand-ins of bytes */
    NPU__PRE_ESCAPE = 1 << 5,       /* spaces become U+2581 before anything else */
    NPU__PRE_NO_BOS = 1 << 6,       /* no default bos id */
    NPU__PRE_FORCE_BOS = 1 << 7,    /* bos is added whatever the file says */
    NPU__PRE_NEWLINE_RUNS = 1 << 8, /* a run of newlines that is a token is taken without merging */
};

enum { NPU__PRE_PASSES = 6 };

typedef struct npu__pretok {
    const char *name;
    unsigned flags;
    npu__pass passes[NPU__PRE_PASSES]; /* ended by an empty one */
} npu__pretok;

/* The row of a name; NULL: unknown. */
const npu__pretok *npu__pretok_find(const char *name, size_t n);

/* Decodes |text| and runs all passes; |s| starts at {0} and is owned by the caller. NO_MEMORY; RANGE at 2^31 bytes. */
npu_status npu__pretok_split(const npu__pretok *p, const char *text, size_t len, npu__split *s, npu_error *err);
void npu__split_free(npu__split *s);

/* For passes: ends a piece at |end|; an empty piece is ignored. */
static inline void npu__split_emit(npu__split *s, size_t end) {
    if (end > (s->n_next ? s->next[s->n_next - 1] : 0)) s->next[s->n_next++] = (uint32_t)end;
}

/* Inclusive ranges of code points, ascending. */
typedef struct npu__range {
    uint32_t first, last;
} npu__range;
typedef struct npu__ranges {
    const npu__range *ranges;
    size_t count;
} npu__ranges;

/* Rule of npu__match_run: members of the classes, or ASCII characters of |extra|. */
typedef struct npu__run_rule {
    uint16_t classes;
    const char *extra;
    uint8_t space_before; /* one white space may stand before the run */
    size_t most;          /* characters in a run */
} npu__run_rule;

/* Rules of npu__match_range_run, a list ended by an empty one. */
typedef struct npu__range_rule {
    npu__ranges set;
    uint8_t space_before;
} npu__range_rule;

/* Passes; what each one's rule is stands at its definition. */
npu__match npu__match_word;
npu__match npu__match_run;
npu__match npu__match_range_run;
npu__match npu__match_optional_space_run;
npu__match npu__match_three_digits;
npu__match npu__match_sentinel;
npu__match npu__match_indent;
npu__cut npu__cut_tail_space;
npu__cut npu__cut_newlines;
npu__cut npu__cut_digit_groups;
npu__cut npu__cut_thousands;

/* The rule of npu__match_word: alternatives tried in this order: contraction, word, number, punctuation, space. */
typedef enum npu__contraction {
    NPU__CONTRACTION_NONE,
    NPU__CONTRACTION_EXACT,
    NPU__CONTRACTION_ANY_CASE
} npu__contraction;
typedef enum npu__letters {
    NPU__LETTERS_SPACED,      /* " ?\p{L}+" */
    NPU__LETTERS_PREFIXED,    /* one character that is no letter, number or line end, then letters */
    NPU__LETTERS_MARKS,       /* the same with marks counted as letters */
    NPU__LETTERS_CASED,       /* upper case then lower case, where only ASCII has a case */
    NPU__LETTERS_CASED_MARKS, /* the same with marks counted as letters */
    NPU__LETTERS_PUNCT, /* ASCII punctuation then ASCII letters, or a prefix that is no symbol then letters and marks */
    NPU__LETTERS_NO_HAN, /* Han runs, or prefixed letters that are not Han */
    NPU__LETTERS_PHRASE, /* letters with marks, going on over single spaces between letters */
} npu__letters;
typedef enum npu__line_end { NPU__LINE_NONE, NPU__LINE_RUN, NPU__LINE_ONE } npu__line_end;

typedef struct npu__word_rule {
    npu__contraction contraction;
    npu__letters letters;
    npu__contraction suffix; /* a contraction may follow a word directly */
    uint8_t digits;          /* most digits in a number; 0: numbers are not matched; 255: any */
    uint8_t spaced_digits;   /* a space may precede a number */
    uint16_t not_punct;      /* classes that end " ?[^…]+" */
    uint16_t only_punct;     /* if not 0, the classes that make it up instead */
    const char *tail;        /* characters that may follow punctuation, "" for none */
    uint8_t tail_one;        /* at most one of them */
    npu__line_end line_end;  /* "\s*[\r\n]+", or single line ends */
    uint8_t halving;         /* white space in runs of 512, 256, … */
} npu__word_rule;

#endif
