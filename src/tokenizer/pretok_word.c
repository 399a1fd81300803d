/* The word pattern that most pre-tokenizers share, as data: the alternatives of npu__word_rule, each with the meaning
 * that the regular expressions of the models have (leftmost, first alternative, greedy with giving back). Where the
 * models' patterns name upper and lower case, the mainstream engine knows cases of ASCII letters only; so does this.
 */
#include <string.h>

#include "tokenizer/pretok.h"

enum { L = NPU__UC_LETTER, N = NPU__UC_NUMBER, M = NPU__UC_MARK, P = NPU__UC_PUNCTUATION, S = NPU__UC_SYMBOL };
enum { SPACE = NPU__UC_SPACE };

static int is_line_end(uint32_t cp) {
    return cp == '\r' || cp == '\n';
}

static size_t run_of(const npu__split *s, size_t pos, size_t end, unsigned classes) {
    size_t at = pos;
    while (at < end && s->classes[at] & classes) at++;
    return at - pos;
}

/* 's 't 'm 'd 're 've 'll at |pos|. */
static size_t contraction(const npu__split *s, size_t pos, size_t end, npu__contraction kind) {
    if (kind == NPU__CONTRACTION_NONE || end - pos < 2 || s->cps[pos] != '\'') return 0;
    uint32_t a = s->cps[pos + 1], b = end - pos > 2 ? s->cps[pos + 2] : 0;
    if (kind == NPU__CONTRACTION_ANY_CASE) {
        if (a >= 'A' && a <= 'Z') a += 32;
        if (b >= 'A' && b <= 'Z') b += 32;
    }
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    return (b == 'e' && (a == 'r' || a == 'v')) || (a == 'l' && b == 'l') ? 3 : 0;
}

static int is_han(uint32_t c) {
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
           (c >= 0x2A700 && c <= 0x2EBEF) || (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

/* Is |pos| the one character that may stand before a word: none of the classes, no line end. */
static int is_prefix(const npu__split *s, size_t pos, unsigned not_classes) {
    return !(s->classes[pos] & not_classes) && !is_line_end(s->cps[pos]);
}

static size_t prefixed(const npu__split *s, size_t pos, size_t end, unsigned letters, unsigned not_prefix) {
    if (pos + 1 < end && is_prefix(s, pos, not_prefix) && s->classes[pos + 1] & letters)
        return 1 + run_of(s, pos + 1, end, letters);
    return run_of(s, pos, end, letters);
}

static int is_upper(const npu__split *s, size_t i, unsigned letters) {
    return s->classes[i] & letters && !(s->cps[i] >= 'a' && s->cps[i] <= 'z');
}

static int is_lower(const npu__split *s, size_t i, unsigned letters) {
    return s->classes[i] & letters && !(s->cps[i] >= 'A' && s->cps[i] <= 'Z');
}

/* "U*W+" (|need_lower|) or "U+W*" at |pos|. A letter without ASCII case is both, so W+ may take back the last of U*. */
static size_t cased_run(const npu__split *s, size_t pos, size_t end, unsigned letters, int need_lower) {
    size_t at = pos;
    while (at < end && is_upper(s, at, letters)) at++;
    if (!need_lower && at == pos) return 0;
    size_t lower = at;
    while (lower < end && is_lower(s, lower, letters)) lower++;
    if (!need_lower || lower > at) return lower - pos;
    while (at > pos && !is_lower(s, at - 1, letters)) at--;
    return at - pos;
}

static size_t cased(const npu__split *s, size_t pos, size_t end, unsigned letters) {
    int prefix = is_prefix(s, pos, L | N);
    for (int need_lower = 1; need_lower >= 0; need_lower--) {
        size_t n = prefix ? cased_run(s, pos + 1, end, letters, need_lower) : 0;
        if (n) return n + 1;
        n = cased_run(s, pos, end, letters, need_lower);
        if (n) return n;
    }
    return 0;
}

static size_t punct_word(const npu__split *s, size_t pos, size_t end) {
    uint32_t c = s->cps[pos];
    if (c < 0x80 && s->classes[pos] & (P | S)) {
        size_t at = pos + 1;
        while (at < end && s->cps[at] < 0x80 && s->classes[at] & L) at++;
        if (at > pos + 1) return at - pos;
    }
    return prefixed(s, pos, end, L | M, L | P | S);
}

static size_t no_han(const npu__split *s, size_t pos, size_t end, npu__contraction suffix) {
    size_t at = pos;
    while (at < end && is_han(s->cps[at])) at++;
    if (at > pos) return at - pos;
    if (is_prefix(s, at, L | N)) at++;
    size_t first = at;
    while (at < end && s->classes[at] & L && !is_han(s->cps[at])) at++;
    return at == first ? 0 : at - pos + contraction(s, at, end, suffix);
}

static size_t phrase(const npu__split *s, size_t pos, size_t end) {
    size_t at = pos;
    if (is_prefix(s, at, L | N)) at++;
    if (at >= end || !(s->classes[at] & L)) return 0;
    for (;;) {
        at++;
        at += run_of(s, at, end, M);
        if (at < end && s->classes[at] & L) continue;
        if (at + 1 >= end || s->cps[at] != ' ' || !(s->classes[at + 1] & L)) return at - pos;
        at++;
    }
}

static size_t word(const npu__split *s, size_t pos, size_t end, const npu__word_rule *r) {
    size_t n = 0;
    switch (r->letters) {
    case NPU__LETTERS_SPACED:
        n = run_of(s, pos + (s->cps[pos] == ' '), end, L);
        return n ? n + (s->cps[pos] == ' ') : 0;
    case NPU__LETTERS_PREFIXED:
        n = prefixed(s, pos, end, L, L | N);
        break;
    case NPU__LETTERS_MARKS:
        n = prefixed(s, pos, end, L | M, L | N);
        break;
    case NPU__LETTERS_CASED:
        n = cased(s, pos, end, L);
        break;
    case NPU__LETTERS_CASED_MARKS:
        n = cased(s, pos, end, L | M);
        break;
    case NPU__LETTERS_PUNCT:
        return punct_word(s, pos, end);
    case NPU__LETTERS_NO_HAN:
        return no_han(s, pos, end, r->suffix);
    case NPU__LETTERS_PHRASE:
        return phrase(s, pos, end);
    }
    return n ? n + contraction(s, pos + n, end, r->suffix) : 0;
}

static size_t number(const npu__split *s, size_t pos, size_t end, const npu__word_rule *r) {
    size_t space = r->spaced_digits && s->cps[pos] == ' ';
    if (r->digits != 255 && end - pos > (size_t)r->digits + space) end = pos + r->digits + space;
    size_t n = r->digits ? run_of(s, pos + space, end, N) : 0;
    return n ? n + space : 0;
}

static int is_punct(const npu__split *s, size_t i, const npu__word_rule *r) {
    return r->only_punct ? s->classes[i] & r->only_punct : !(s->classes[i] & r->not_punct);
}

static size_t punctuation(const npu__split *s, size_t pos, size_t end, const npu__word_rule *r) {
    size_t at = pos + (s->cps[pos] == ' ');
    size_t first = at;
    while (at < end && is_punct(s, at, r)) at++;
    if (at == first) return 0;
    size_t most = r->tail_one && end - at > 1 ? at + 1 : end;
    while (at < most && s->cps[at] && s->cps[at] < 0x80 && strchr(r->tail, (int)s->cps[at])) at++;
    return at - pos;
}

static size_t space(const npu__split *s, size_t pos, size_t end, const npu__word_rule *r) {
    size_t n = 0, line = 0;
    if (r->line_end == NPU__LINE_ONE && is_line_end(s->cps[pos])) return 1; /* before a look at the whole run */
    for (; pos + n < end && s->classes[pos + n] & SPACE; n++)
        if (is_line_end(s->cps[pos + n])) line = n + 1;
    if (r->line_end == NPU__LINE_RUN && line) return line;
    if (n <= 1) return n;
    if (pos + n < end) n--; /* the last one belongs to what follows */
    if (!r->halving) return n;
    size_t size = 512;
    while (size > n) size = size > 4 ? size / 2 : size - 1;
    return size == 3 ? 2 : size;
}

size_t npu__match_word(const npu__split *s, size_t pos, size_t end, const void *rule) {
    const npu__word_rule *r = rule;
    size_t n = contraction(s, pos, end, r->contraction);
    if (!n) n = word(s, pos, end, r);
    if (!n) n = number(s, pos, end, r);
    if (!n) n = punctuation(s, pos, end, r);
    if (!n) n = space(s, pos, end, r);
    return n;
}
