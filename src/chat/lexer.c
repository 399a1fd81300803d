#include "chat/lexer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum { NESTING_MAX = 200 };

typedef struct lexer {
    npu__arena *arena;
    const char *src;
    size_t n, at;
    size_t counted, line_start; /* line numbers are counted up to here */
    uint32_t line;
    npu__tokens *out;
    npu_error *err;
    char closers[NESTING_MAX];
    size_t depth;
} lexer;

npu_status npu__syntax_error(npu_error *err, uint32_t line, uint32_t column, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return npu_fail(err, NPU_INVALID, "chat.syntax", "chat template, line %u, column %u: %s", line, column, text);
}

static void locate(lexer *l, size_t at, uint32_t *line, uint32_t *column) {
    for (; l->counted < at; l->counted++)
        if (l->src[l->counted] == '\n') {
            l->line++;
            l->line_start = l->counted + 1;
        }
    *line = l->line;
    *column = (uint32_t)(at - l->line_start + 1);
}

static npu_status fail_at(lexer *l, size_t at, const char *what) {
    uint32_t line, column;
    locate(l, at, &line, &column);
    return npu__syntax_error(l->err, line, column, "%s", what);
}

static npu_status no_memory(lexer *l) {
    return npu_fail(l->err, NPU_NO_MEMORY, "chat.no_memory", "no memory for the chat template");
}

static npu_status add(lexer *l, npu__token t, size_t at) {
    npu__tokens *o = l->out;
    if (o->n == o->capacity) {
        size_t capacity = o->capacity * 2 + 64;
        npu__token *more = npu__arena_alloc(l->arena, capacity * sizeof *more);
        if (!more) return no_memory(l);
        if (o->n) memcpy(more, o->list, o->n * sizeof *more);
        o->list = more;
        o->capacity = capacity;
    }
    locate(l, at, &t.line, &t.column);
    o->list[o->n++] = t;
    return NPU_OK;
}

static bool space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}
static bool name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool digit(char c) {
    return c >= '0' && c <= '9';
}

static bool starts(const lexer *l, const char *s) {
    size_t n = strlen(s);
    return l->n - l->at >= n && memcmp(l->src + l->at, s, n) == 0;
}

/* Text up to the tag that begins at |tag|, with what the tag strips from it. */
static npu_status data(lexer *l, size_t begin, size_t tag, bool block) {
    size_t end = tag;
    char mark = tag + 2 < l->n ? l->src[tag + 2] : 0;
    if (mark == '-') {
        while (end > begin && space(l->src[end - 1])) end--;
    } else if (block && mark != '+') {
        size_t at = end;
        while (at > begin && space(l->src[at - 1]) && l->src[at - 1] != '\n') at--;
        if (at == 0 || l->src[at - 1] == '\n') end = at;
    }
    if (end == begin) return NPU_OK;
    return add(l, (npu__token){.kind = NPU__TK_DATA, .s = l->src + begin, .n = end - begin}, begin);
}

/* What follows a tag: all white space after '-', else a block's line feed. */
static void after_tag(lexer *l, char mark, bool block) {
    if (mark == '-')
        while (l->at < l->n && space(l->src[l->at])) l->at++;
    else if (block && mark != '+' && l->at < l->n && l->src[l->at] == '\n')
        l->at++;
}

static npu_status comment(lexer *l) {
    size_t begin = l->at;
    l->at += 2;
    while (l->at < l->n && !starts(l, "#}")) l->at++;
    if (l->at == l->n) return fail_at(l, begin, "a comment does not end");
    char mark = l->src[l->at - 1] == '-' ? '-' : l->src[l->at - 1] == '+' ? '+' : 0;
    l->at += 2;
    after_tag(l, mark, true);
    return NPU_OK;
}

static int hex_value(char c) {
    return digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool hex_escape(const lexer *l, size_t at, size_t digits, uint32_t *cp) {
    *cp = 0;
    for (size_t i = 0; i < digits; i++) {
        int v = at + i < l->n ? hex_value(l->src[at + i]) : -1;
        if (v < 0) return false;
        *cp = *cp << 4 | (uint32_t)v;
    }
    return *cp <= 0x10FFFF && !(*cp >= 0xD800 && *cp <= 0xDFFF);
}

/* An escape at the backslash; other characters after it stay as they are, with the backslash. */
static npu_status escape(lexer *l, char *out, size_t *used) {
    static const char from[] = "ntrabfv0\\'\"", to[] = "\n\t\r\a\b\f\v\0\\'\"";
    char c = l->at + 1 < l->n ? l->src[l->at + 1] : 0;
    const char *simple = c ? strchr(from, c) : NULL;
    size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t cp;
    if (c == '\n') {
        l->at += 2;
    } else if (simple) {
        out[(*used)++] = to[simple - from];
        l->at += 2;
    } else if (digits) {
        if (!hex_escape(l, l->at + 2, digits, &cp)) return fail_at(l, l->at, "a character escape is not complete");
        *used += npu_utf8_encode(cp, out + *used);
        l->at += 2 + digits;
    } else {
        out[(*used)++] = '\\';
        l->at++;
    }
    return NPU_OK;
}

static npu_status string(lexer *l) {
    size_t begin = l->at++, used = 0, end = l->at;
    char quote = l->src[begin];
    while (end < l->n && l->src[end] != quote) end += l->src[end] == '\\' ? 2 : 1;
    if (end >= l->n) return fail_at(l, begin, "a string does not end");
    char *s = npu__arena_alloc(l->arena, end - begin + 1);
    if (!s) return no_memory(l);
    while (l->at < end) {
        if (l->src[l->at] == '\\')
            NPU_TRY(escape(l, s, &used));
        else
            s[used++] = l->src[l->at++];
    }
    l->at = end + 1;
    return add(l, (npu__token){.kind = NPU__TK_STRING, .s = s, .n = used}, begin);
}

static npu_status number(lexer *l) {
    char s[64];
    size_t begin = l->at, used = 0;
    bool is_float = false;
    for (; l->at < l->n && used + 1 < sizeof s; l->at++) {
        char c = l->src[l->at];
        bool next_digit = l->at + 1 < l->n && digit(l->src[l->at + 1]);
        if (c == '_' && next_digit) continue;
        bool exponent = (c == 'e' || c == 'E') && l->at + 1 < l->n &&
                        (next_digit || ((l->src[l->at + 1] == '-' || l->src[l->at + 1] == '+') && l->at + 2 < l->n &&
                                        digit(l->src[l->at + 2])));
        if (!digit(c) && !(c == '.' && next_digit && !is_float) && !exponent) break;
        is_float |= !digit(c);
        s[used++] = c;
        if (exponent && !next_digit) s[used++] = l->src[++l->at];
        if (exponent) {
            while (l->at + 1 < l->n && digit(l->src[l->at + 1]) && used + 1 < sizeof s) s[used++] = l->src[++l->at];
            l->at++;
            break;
        }
    }
    s[used] = 0;
    if (used > 18 && !is_float) return fail_at(l, begin, "a number is too large");
    npu__token t = {.kind = is_float ? NPU__TK_FLOAT : NPU__TK_INT, .s = l->src + begin, .n = l->at - begin};
    t.integer = is_float ? 0 : strtoll(s, NULL, 10);
    t.number = strtod(s, NULL);
    return add(l, t, begin);
}

static npu_status bracket(lexer *l, char c) {
    static const char open[] = "([{", close[] = ")]}";
    const char *o = strchr(open, c), *k = strchr(close, c);
    if (o) {
        if (l->depth == NESTING_MAX)
            return npu_fail(l->err, NPU_RANGE, "chat.limit", "chat template: brackets are nested more than %d deep",
                            NESTING_MAX);
        l->closers[l->depth++] = close[o - open];
    } else if (k) {
        if (!l->depth || l->closers[l->depth - 1] != c)
            return fail_at(l, l->at, "a bracket closes that was not opened");
        l->depth--;
    }
    return NPU_OK;
}

static npu_status operator_token(lexer *l) {
    static const char *const two[] = {"//", "**", "==", "!=", ">=", "<="};
    size_t n = 1;
    for (size_t i = 0; i < sizeof two / sizeof two[0]; i++)
        if (starts(l, two[i])) n = 2;
    char c = l->src[l->at];
    if (n == 1 && !strchr("+-*/%~[](){}<>=.:|,;", c)) return fail_at(l, l->at, "an unexpected character");
    if (n == 1) NPU_TRY(bracket(l, c));
    l->at += n;
    return add(l, (npu__token){.kind = NPU__TK_OPERATOR, .s = l->src + l->at - n, .n = n}, l->at - n);
}

static npu_status word(lexer *l) {
    char c = l->src[l->at];
    size_t begin = l->at;
    if (c == '\'' || c == '"') return string(l);
    if (digit(c)) return number(l);
    if (!name_start(c)) return operator_token(l);
    while (l->at < l->n && (name_start(l->src[l->at]) || digit(l->src[l->at]))) l->at++;
    return add(l, (npu__token){.kind = NPU__TK_NAME, .s = l->src + begin, .n = l->at - begin}, begin);
}

/* Whether the tag ends here; *mark is '-', '+' or 0 and *n the length of the end. */
static bool tag_end(const lexer *l, const char *end, char *mark, size_t *n) {
    if (l->depth) return false;
    *mark = 0;
    if (l->at < l->n && (l->src[l->at] == '-' || l->src[l->at] == '+')) *mark = l->src[l->at];
    if (*mark == '+' && end[0] != '%') return false;
    size_t at = l->at + (*mark != 0);
    *n = 2 + (size_t)(*mark != 0);
    return l->n - at >= 2 && at < l->n && l->src[at] == end[0] && l->src[at + 1] == '}';
}

static npu_status tag(lexer *l, bool block) {
    const char *end = block ? "%}" : "}}";
    size_t begin = l->at, n;
    char mark;
    l->at += 2;
    if (l->at < l->n && (l->src[l->at] == '-' || l->src[l->at] == '+')) l->at++;
    l->depth = 0;
    NPU_TRY(add(l, (npu__token){.kind = block ? NPU__TK_BLOCK_BEGIN : NPU__TK_VARIABLE_BEGIN}, begin));
    for (;;) {
        while (l->at < l->n && space(l->src[l->at])) l->at++;
        if (l->at == l->n) return fail_at(l, begin, "a tag does not end");
        if (tag_end(l, end, &mark, &n)) break;
        NPU_TRY(word(l));
    }
    NPU_TRY(add(l, (npu__token){.kind = block ? NPU__TK_BLOCK_END : NPU__TK_VARIABLE_END}, l->at));
    l->at += n;
    after_tag(l, mark, block);
    return NPU_OK;
}

/* "{% raw %} … {% endraw %}" at a tag: the text between is data. *is_raw tells whether it was one. */
static npu_status raw(lexer *l, bool *is_raw) {
    size_t begin = l->at, at = begin + 2;
    *is_raw = false;
    if (at < l->n && (l->src[at] == '-' || l->src[at] == '+')) at++;
    while (at < l->n && space(l->src[at])) at++;
    if (l->n - at < 4 || memcmp(l->src + at, "raw", 3) != 0 || name_start(l->src[at + 3]) || digit(l->src[at + 3]))
        return NPU_OK;
    *is_raw = true;
    size_t n;
    char mark;
    l->at = at + 3;
    l->depth = 0;
    while (l->at < l->n && space(l->src[l->at])) l->at++;
    if (!tag_end(l, "%}", &mark, &n)) return fail_at(l, begin, "the raw tag does not end");
    l->at += n;
    after_tag(l, mark, true);
    size_t text = l->at;
    for (; l->at < l->n; l->at++) {
        if (!starts(l, "{%")) continue;
        size_t tag_at = l->at;
        l->at += 2;
        if (l->at < l->n && (l->src[l->at] == '-' || l->src[l->at] == '+')) l->at++;
        while (l->at < l->n && space(l->src[l->at])) l->at++;
        if (starts(l, "endraw")) {
            l->at += 6;
            while (l->at < l->n && space(l->src[l->at])) l->at++;
            if (tag_end(l, "%}", &mark, &n)) {
                NPU_TRY(data(l, text, tag_at, true));
                l->at += n;
                after_tag(l, mark, true);
                return NPU_OK;
            }
        }
        l->at = tag_at + 1;
    }
    return fail_at(l, begin, "a raw block does not end");
}

npu_status npu__lex(npu__arena *arena, const char *source, size_t size, npu__tokens *out, npu_error *err) {
    lexer l = {.arena = arena, .src = source, .n = size, .line = 1, .out = out, .err = err};
    while (l.at < l.n) {
        size_t begin = l.at;
        while (l.at < l.n && !starts(&l, "{{") && !starts(&l, "{%") && !starts(&l, "{#")) l.at++;
        bool at_end = l.at == l.n;
        if (at_end) {
            NPU_TRY(add(&l, (npu__token){.kind = NPU__TK_DATA, .s = source + begin, .n = size - begin}, begin));
            break;
        }
        char kind = source[l.at + 1];
        NPU_TRY(data(&l, begin, l.at, kind != '{'));
        bool is_raw = false;
        if (kind == '%') NPU_TRY(raw(&l, &is_raw));
        if (is_raw) continue;
        if (kind == '#')
            NPU_TRY(comment(&l));
        else
            NPU_TRY(tag(&l, kind == '%'));
    }
    return add(&l, (npu__token){.kind = NPU__TK_END}, size);
}
