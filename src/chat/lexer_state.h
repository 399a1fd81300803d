/* What the two halves of the lexer share: the state and the small steps. */
#ifndef NPU_CHAT_LEXER_STATE_H
#define NPU_CHAT_LEXER_STATE_H

#include "chat/lexer.h"

enum { NPU__BRACKETS_MAX = 200 };

typedef struct npu__lexer {
    npu__arena *arena;
    const char *src;
    size_t n, at;
    size_t counted, line_start; /* line numbers are counted up to here */
    uint32_t line;
    npu__tokens *out;
    npu_error *err;
    char closers[NPU__BRACKETS_MAX];
    size_t depth;
} npu__lexer;

npu_status npu__lex_fail(npu__lexer *l, size_t at, const char *what);
npu_status npu__lex_no_memory(npu__lexer *l);
npu_status npu__lex_add(npu__lexer *l, npu__token t, size_t at);
bool npu__lex_starts(const npu__lexer *l, const char *s);
void npu__lex_skip_space(npu__lexer *l);
bool npu__lex_is_digit(char c);

/* One word inside a tag: a string, number, name or operator. */
npu_status npu__lex_word(npu__lexer *l);

#endif
