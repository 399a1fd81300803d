/* Cuts a template into text and the words of its tags, with the white-space rules (trimmed blocks, '-' and '+')
 * applied. */
#ifndef NPU_CHAT_LEXER_H
#define NPU_CHAT_LEXER_H

#include "chat/value.h"

typedef enum npu__token_kind {
    NPU__TK_DATA,
    NPU__TK_BLOCK_BEGIN,
    NPU__TK_BLOCK_END,
    NPU__TK_VARIABLE_BEGIN,
    NPU__TK_VARIABLE_END,
    NPU__TK_NAME,
    NPU__TK_STRING,
    NPU__TK_INT,
    NPU__TK_FLOAT,
    NPU__TK_OPERATOR,
    NPU__TK_END,
} npu__token_kind;

typedef struct npu__token {
    npu__token_kind kind;
    uint32_t line, column; /* from 1 */
    const char *s;         /* data, name, operator or the string's content */
    size_t n;
    int64_t integer;
    double number;
} npu__token;

typedef struct npu__tokens {
    npu__token *list;
    size_t n, capacity;
} npu__tokens;

/* |source| must be UTF-8 with line feeds only and live as long as the arena. */
npu_status npu__lex(npu__arena *arena, const char *source, size_t size, npu__tokens *out, npu_error *err);

npu_status npu__syntax_error(npu_error *err, uint32_t line, uint32_t column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
