/* See lexer.h: the text between tags, and the white space that tags strip from it. */
#include "chat/lexer_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "chat/interp.h"

npu_status npu__syntax_error(npu_error *err, uint32_t line, uint32_t column, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return npu_fail(err, NPU_INVALID, "chat.syntax", "chat template, line %u, column %u: %s", line, column, text);
}

static void locate(npu__lexer *l, size_t at, uint32_t *line, uint32_t *column) {
    for (; l->counted < at; l->counted++)
        if (l->src[l->counted] == '\n') {
            l->line++;
            l->line_start = l->counted + 1;
        }
    *line = l->line;
    *column = (uint32_t)(at - l->line_start + 1);
}

npu_status npu__lex_fail(npu__lexer *l, size_t at, const char *what) {
    uint32_t line, column;
    locate(l, at, &line, &column);
    return npu__syntax_error(l->err, line, column, "%s", what);
}

npu_status npu__lex_no_memory(npu__lexer *l) {
    return npu_fail(l->err, NPU_NO_MEMORY, "chat.no_memory", "no memory for the chat template");
}

npu_status npu__lex_add(npu__lexer *l, npu__token t, size_t at) {
    npu__tokens *o = l->out;
    if (o->n == o->capacity) {
        size_t capacity = o->capacity * 2 + 64;
        npu__token *more = npu__arena_alloc(l->arena, capacity * sizeof *more);
        if (!more) return npu__lex_no_memory(l);
        if (o->n) memcpy(more, o->list, o->n * sizeof *more);
        o->list = more;
        o->capacity = capacity;
    }
    locate(l, at, &t.line, &t.column);
    o->list[o->n++] = t;
    return NPU_OK;
}

/* Bytes of the white space at |at|, as Python sees it; 0: something else stands there. */
static size_t space_at(const npu__lexer *l, size_t at) {
    uint32_t cp;
    if (at >= l->n) return 0;
    size_t len = npu_utf8_decode(l->src + at, l->n - at, &cp);
    return npu__is_space(cp) ? len : 0;
}

/* The same for what ends at |end|. */
static size_t space_before(const npu__lexer *l, size_t begin, size_t end) {
    size_t at = end;
    if (at == begin) return 0;
    for (at--; at > begin && ((uint8_t)l->src[at] & 0xC0) == 0x80;) at--;
    return space_at(l, at) == end - at ? end - at : 0;
}

void npu__lex_skip_space(npu__lexer *l) {
    for (size_t n; (n = space_at(l, l->at)) != 0;) l->at += n;
}

bool npu__lex_is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool npu__lex_starts(const npu__lexer *l, const char *s) {
    size_t n = strlen(s);
    return l->n - l->at >= n && memcmp(l->src + l->at, s, n) == 0;
}

/* Text up to the tag that begins at |tag|, with what the tag strips from it. */
static npu_status data(npu__lexer *l, size_t begin, size_t tag, bool block) {
    size_t end = tag;
    char mark = tag + 2 < l->n ? l->src[tag + 2] : 0;
    if (mark == '-') {
        for (size_t n; (n = space_before(l, begin, end)) != 0;) end -= n;
    } else if (block && mark != '+') {
        size_t at = end;
        for (size_t n; at > begin && l->src[at - 1] != '\n' && (n = space_before(l, begin, at)) != 0;) at -= n;
        if (at == 0 || l->src[at - 1] == '\n') end = at;
    }
    if (end == begin) return NPU_OK;
    return npu__lex_add(l, (npu__token){.kind = NPU__TK_DATA, .s = l->src + begin, .n = end - begin}, begin);
}

/* What follows a tag: all white space after '-', else a block's line feed. */
static void after_tag(npu__lexer *l, char mark, bool block) {
    if (mark == '-')
        npu__lex_skip_space(l);
    else if (block && mark != '+' && l->at < l->n && l->src[l->at] == '\n')
        l->at++;
}

static npu_status comment(npu__lexer *l) {
    size_t begin = l->at;
    l->at += 2;
    if (l->at < l->n && (l->src[l->at] == '-' || l->src[l->at] == '+')) l->at++;
    size_t text = l->at;
    while (l->at < l->n && !npu__lex_starts(l, "#}")) l->at++;
    if (l->at == l->n) return npu__lex_fail(l, begin, "a comment does not end");
    char last = l->at > text ? l->src[l->at - 1] : 0, mark = last == '-' || last == '+' ? last : 0;
    l->at += 2;
    after_tag(l, mark, true);
    return NPU_OK;
}

/* Whether the tag ends here; *mark is '-', '+' or 0 and *n the length of the end. */
static bool tag_end(const npu__lexer *l, const char *end, char *mark, size_t *n) {
    if (l->depth) return false;
    *mark = 0;
    if (l->at < l->n && (l->src[l->at] == '-' || l->src[l->at] == '+')) *mark = l->src[l->at];
    if (*mark == '+' && end[0] != '%') return false;
    size_t at = l->at + (*mark != 0);
    *n = 2 + (size_t)(*mark != 0);
    return l->n - at >= 2 && at < l->n && l->src[at] == end[0] && l->src[at + 1] == '}';
}

static npu_status tag(npu__lexer *l, bool block) {
    const char *end = block ? "%}" : "}}";
    size_t begin = l->at, n;
    char mark;
    l->at += 2;
    if (l->at < l->n && (l->src[l->at] == '-' || l->src[l->at] == '+')) l->at++;
    l->depth = 0;
    NPU_TRY(npu__lex_add(l, (npu__token){.kind = block ? NPU__TK_BLOCK_BEGIN : NPU__TK_VARIABLE_BEGIN}, begin));
    for (;;) {
        npu__lex_skip_space(l);
        if (l->at == l->n) return npu__lex_fail(l, begin, "a tag does not end");
        if (tag_end(l, end, &mark, &n)) break;
        NPU_TRY(npu__lex_word(l));
    }
    NPU_TRY(npu__lex_add(l, (npu__token){.kind = block ? NPU__TK_BLOCK_END : NPU__TK_VARIABLE_END}, l->at));
    l->at += n;
    after_tag(l, mark, block);
    return NPU_OK;
}

/* "{% raw %} … {% endraw %}" at a tag: the text between is data. *is_raw tells whether it was one. */
static npu_status raw(npu__lexer *l, bool *is_raw) {
    size_t begin = l->at, at = begin + 2;
    *is_raw = false;
    if (at < l->n && (l->src[at] == '-' || l->src[at] == '+')) at++;
    for (size_t n; (n = space_at(l, at)) != 0;) at += n;
    if (l->n - at < 4 || memcmp(l->src + at, "raw", 3) != 0) return NPU_OK;
    size_t n;
    char mark;
    l->at = at + 3;
    l->depth = 0;
    npu__lex_skip_space(l);
    if (!tag_end(l, "%}", &mark, &n) || mark == '+') {
        l->at = begin;
        return NPU_OK;
    }
    *is_raw = true;
    l->at += n;
    after_tag(l, mark, false); /* the line feed after the tag stays, unlike after other tags */
    size_t text = l->at;
    for (; l->at < l->n; l->at++) {
        if (!npu__lex_starts(l, "{%")) continue;
        size_t tag_at = l->at;
        l->at += 2;
        if (l->at < l->n && (l->src[l->at] == '-' || l->src[l->at] == '+')) l->at++;
        npu__lex_skip_space(l);
        if (npu__lex_starts(l, "endraw")) {
            l->at += 6;
            npu__lex_skip_space(l);
            if (tag_end(l, "%}", &mark, &n)) {
                NPU_TRY(data(l, text, tag_at, true));
                l->at += n;
                after_tag(l, mark, true);
                return NPU_OK;
            }
        }
        l->at = tag_at + 1;
    }
    return npu__lex_fail(l, begin, "a raw block does not end");
}

npu_status npu__lex(npu__arena *arena, const char *source, size_t size, npu__tokens *out, npu_error *err) {
    npu__lexer l = {.arena = arena, .src = source, .n = size, .line = 1, .out = out, .err = err};
    while (l.at < l.n) {
        size_t begin = l.at;
        while (l.at < l.n && !npu__lex_starts(&l, "{{") && !npu__lex_starts(&l, "{%") && !npu__lex_starts(&l, "{#"))
            l.at++;
        bool at_end = l.at == l.n;
        if (at_end) {
            NPU_TRY(
                npu__lex_add(&l, (npu__token){.kind = NPU__TK_DATA, .s = source + begin, .n = size - begin}, begin));
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
    return npu__lex_add(&l, (npu__token){.kind = NPU__TK_END}, size);
}
