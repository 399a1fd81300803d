/* The words inside tags: strings with their escapes, numbers, names, operators. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "chat/lexer_state.h"
#include "tokenizer/unicode.h"

static int hex_value(char c) {
    return npu__lex_is_digit(c)   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool hex_escape(const npu__lexer *l, size_t at, size_t digits, uint32_t *cp) {
    *cp = 0;
    for (size_t i = 0; i < digits; i++) {
        int v = at + i < l->n ? hex_value(l->src[at + i]) : -1;
        if (v < 0) return false;
        *cp = *cp << 4 | (uint32_t)v;
    }
    return *cp <= 0x10FFFF && !(*cp >= 0xD800 && *cp <= 0xDFFF);
}

/* An escape at the backslash; other characters after it stay as they are, with the backslash. */
static npu_status escape(npu__lexer *l, char *out, size_t *used) {
    static const char from[] = "ntrabfv\\'\"", to[] = "\n\t\r\a\b\f\v\\'\"";
    char c = l->at + 1 < l->n ? l->src[l->at + 1] : 0;
    const char *simple = c ? strchr(from, c) : NULL;
    size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t cp;
    if (c == '\n') {
        l->at += 2;
    } else if (simple) {
        out[(*used)++] = to[simple - from];
        l->at += 2;
    } else if (c >= '0' && c <= '7') {
        for (cp = 0, l->at++, digits = 0; digits < 3 && l->at < l->n && l->src[l->at] >= '0' && l->src[l->at] <= '7';
             digits++)
            cp = cp * 8 + (uint32_t)(l->src[l->at++] - '0');
        *used += npu_utf8_encode(cp, out + *used);
    } else if (c == 'N') {
        return npu__lex_fail(l, l->at, "characters can't be given by name");
    } else if (digits) {
        if (!hex_escape(l, l->at + 2, digits, &cp))
            return npu__lex_fail(l, l->at, "a character escape is not complete");
        *used += npu_utf8_encode(cp, out + *used);
        l->at += 2 + digits;
    } else {
        out[(*used)++] = '\\';
        l->at++;
    }
    return NPU_OK;
}

static npu_status string(npu__lexer *l) {
    size_t begin = l->at++, used = 0, end = l->at;
    char quote = l->src[begin];
    while (end < l->n && l->src[end] != quote) end += l->src[end] == '\\' ? 2 : 1;
    if (end >= l->n) return npu__lex_fail(l, begin, "a string does not end");
    char *s = npu__arena_alloc(l->arena, end - begin + 1);
    if (!s) return npu__lex_no_memory(l);
    while (l->at < end) {
        if (l->src[l->at] == '\\')
            NPU_TRY(escape(l, s, &used));
        else
            s[used++] = l->src[l->at++];
    }
    l->at = end + 1;
    return npu__lex_add(l, (npu__token){.kind = NPU__TK_STRING, .s = s, .n = used}, begin);
}

/* 0x1F, 0o17 and 0b101, with "_" between. */
static npu_status based_number(npu__lexer *l, int base) {
    size_t begin = l->at;
    npu__token t = {.kind = NPU__TK_INT, .s = l->src + begin};
    for (l->at += 2; l->at < l->n; l->at++) {
        char c = l->src[l->at];
        int v = c == '_' ? 0 : hex_value(c);
        if (v < 0 || v >= base) break;
        if (c != '_' &&
            (__builtin_mul_overflow(t.integer, base, &t.integer) || __builtin_add_overflow(t.integer, v, &t.integer)))
            return npu__lex_fail(l, begin, "a number is too large");
    }
    t.n = l->at - begin;
    t.number = (double)t.integer;
    return npu__lex_add(l, t, begin);
}

static npu_status number(npu__lexer *l) {
    char s[64];
    size_t begin = l->at, used = 0;
    bool is_float = false, after_dot = begin && l->src[begin - 1] == '.';
    int second = l->at + 2 < l->n && l->src[begin] == '0' ? l->src[l->at + 1] | 0x20 : 0;
    int base = second == 'x'   ? 16
               : second == 'o' ? 8
               : second == 'b' ? 2
                               : 0,
        first = base ? hex_value(l->src[l->at + 2]) : -1;
    if (base && first >= 0 && first < base) return based_number(l, base);
    for (; l->at < l->n && used + 1 < sizeof s; l->at++) {
        char c = l->src[l->at];
        bool next_digit = l->at + 1 < l->n && npu__lex_is_digit(l->src[l->at + 1]);
        if (c == '_' && next_digit) continue;
        bool exponent = (c == 'e' || c == 'E') && l->at + 1 < l->n &&
                        (next_digit || ((l->src[l->at + 1] == '-' || l->src[l->at + 1] == '+') && l->at + 2 < l->n &&
                                        npu__lex_is_digit(l->src[l->at + 2])));
        if (!npu__lex_is_digit(c) && !(c == '.' && next_digit && !is_float && !after_dot) && !exponent) break;
        is_float |= !npu__lex_is_digit(c);
        s[used++] = c;
        if (exponent && !next_digit) s[used++] = l->src[++l->at];
        if (exponent) {
            while (l->at + 1 < l->n && npu__lex_is_digit(l->src[l->at + 1]) && used + 1 < sizeof s)
                s[used++] = l->src[++l->at];
            l->at++;
            break;
        }
    }
    s[used] = 0;
    if (!is_float && s[0] == '0' && strspn(s, "0") != used) return npu__lex_fail(l, begin, "a number begins with zero");
    if (used + 1 == sizeof s) return npu__lex_fail(l, begin, "a number is too long");
    npu__token t = {.kind = is_float ? NPU__TK_FLOAT : NPU__TK_INT, .s = l->src + begin, .n = l->at - begin};
    errno = 0;
    t.integer = is_float ? 0 : strtoll(s, NULL, 10);
    if (errno && !is_float) return npu__lex_fail(l, begin, "a number is too large");
    t.number = strtod(s, NULL);
    return npu__lex_add(l, t, begin);
}

static npu_status bracket(npu__lexer *l, char c) {
    static const char open[] = "([{", close[] = ")]}";
    const char *o = strchr(open, c), *k = strchr(close, c);
    if (o) {
        if (l->depth == NPU__BRACKETS_MAX)
            return npu_fail(l->err, NPU_RANGE, "chat.limit", "chat template: brackets are nested more than %d deep",
                            NPU__BRACKETS_MAX);
        l->closers[l->depth++] = close[o - open];
    } else if (k) {
        if (!l->depth || l->closers[l->depth - 1] != c)
            return npu__lex_fail(l, l->at, "a bracket closes that was not opened");
        l->depth--;
    }
    return NPU_OK;
}

static npu_status operator_token(npu__lexer *l) {
    static const char *const two[] = {"//", "**", "==", "!=", ">=", "<="};
    size_t n = 1;
    for (size_t i = 0; i < sizeof two / sizeof two[0]; i++)
        if (npu__lex_starts(l, two[i])) n = 2;
    char c = l->src[l->at];
    if (n == 1 && !strchr("+-*/%~[](){}<>=.:|,;", c)) return npu__lex_fail(l, l->at, "an unexpected character");
    if (n == 1) NPU_TRY(bracket(l, c));
    l->at += n;
    return npu__lex_add(l, (npu__token){.kind = NPU__TK_OPERATOR, .s = l->src + l->at - n, .n = n}, l->at - n);
}

/* Bytes of the letter, mark, digit or "_" here; 0: no part of a name. */
static size_t name_at(const npu__lexer *l) {
    uint32_t cp;
    if (l->at == l->n) return 0;
    size_t len = npu_utf8_decode(l->src + l->at, l->n - l->at, &cp);
    bool is = cp == '_' || npu__unicode_class_of(cp) & (NPU__UC_LETTER | NPU__UC_NUMBER | NPU__UC_MARK);
    return is ? len : 0;
}

npu_status npu__lex_word(npu__lexer *l) {
    char c = l->src[l->at];
    size_t begin = l->at;
    if (c == '\'' || c == '"') return string(l);
    if (npu__lex_is_digit(c)) return number(l);
    if (!name_at(l)) return operator_token(l);
    for (size_t n; (n = name_at(l)) != 0;) l->at += n;
    return npu__lex_add(l, (npu__token){.kind = NPU__TK_NAME, .s = l->src + begin, .n = l->at - begin}, begin);
}
