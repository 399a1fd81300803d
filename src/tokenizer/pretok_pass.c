/* The simpler passes of pre-tokenizers: runs of a class or of listed ranges, single characters, digit groups, line
 * ends. */
#include "tokenizer/pretok.h"

static int is_digit(uint32_t cp) {
    return cp >= '0' && cp <= '9';
}

static int in_ranges(const npu__ranges *r, uint32_t cp) {
    size_t low = 0, high = r->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->ranges[middle].last < cp)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->count && r->ranges[low].first <= cp;
}

/* White space outside ASCII is in no listed range: the engines look at it as a vertical tab. */
static int listed(const npu__split *s, size_t i, const npu__ranges *r) {
    return !(s->cps[i] >= 0x80 && s->classes[i] & NPU__UC_SPACE) && in_ranges(r, s->cps[i]);
}

/* A run rule is a class set, extra ASCII characters, an optional white space before, and a most. */
static int in_class(const npu__split *s, size_t i, const npu__run_rule *r) {
    if (s->classes[i] & r->classes) return 1;
    if (s->cps[i] >= 0x80 || !r->extra) return 0;
    for (const char *c = r->extra; *c; c++)
        if ((uint32_t)*c == s->cps[i]) return 1;
    return 0;
}

size_t npu__match_run(const npu__split *s, size_t pos, size_t end, const void *rule) {
    const npu__run_rule *r = rule;
    size_t at = pos;
    /* The optional white space is no member of the class in any row, so taking it first never needs giving back. */
    if (r->space_before && s->classes[at] & NPU__UC_SPACE) at++;
    size_t first = at;
    while (at < end && at - first < r->most && in_class(s, at, r)) at++;
    return at == first ? 0 : at - pos;
}

/* The rule is a list of npu__range_rule, ended by an empty one: the first whose ranges hold the character wins. */
size_t npu__match_range_run(const npu__split *s, size_t pos, size_t end, const void *rule) {
    for (const npu__range_rule *r = rule; r->set.count; r++) {
        size_t at = pos;
        if (r->space_before && s->classes[at] & NPU__UC_SPACE) at++;
        size_t first = at;
        while (at < end && listed(s, at, &r->set)) at++;
        if (at > first) return at - pos;
    }
    return 0;
}

/* " ?" and a run of everything that is not listed and no white space; the rule is the list. */
size_t npu__match_optional_space_run(const npu__split *s, size_t pos, size_t end, const void *rule) {
    size_t at = pos + (s->cps[pos] == ' ');
    size_t first = at;
    while (at < end && !(s->classes[at] & NPU__UC_SPACE) && !in_ranges(rule, s->cps[at])) at++;
    return at == first ? 0 : at - pos;
}

/* Exactly three ASCII digits; no rule. */
size_t npu__match_three_digits(const npu__split *s, size_t pos, size_t end, const void *rule) {
    (void)rule;
    return end - pos >= 3 && is_digit(s->cps[pos]) && is_digit(s->cps[pos + 1]) && is_digit(s->cps[pos + 2]) ? 3 : 0;
}

static size_t literal(const npu__split *s, size_t pos, size_t end, const char *text) {
    size_t n = 0;
    for (; text[n]; n++)
        if (pos + n >= end || s->cps[pos + n] != (uint8_t)text[n]) return 0;
    return n;
}

/* "<sentinel:9>", "IMGIMG", one to four of A to I and "Z", a tab, a line feed, four or two spaces; no rule. */
size_t npu__match_sentinel(const npu__split *s, size_t pos, size_t end, const void *rule) {
    (void)rule;
    size_t n = literal(s, pos, end, "<sentinel:"), digits = n;
    if (n) {
        while (pos + n < end && is_digit(s->cps[pos + n])) n++;
        if (n > digits && pos + n < end && s->cps[pos + n] == '>') return n + 1;
    }
    n = literal(s, pos, end, "IMGIMG");
    if (n) {
        size_t first = n;
        while (pos + n < end && n - first < 4 && s->cps[pos + n] >= 'A' && s->cps[pos + n] <= 'I') n++;
        if (n > first && pos + n < end && s->cps[pos + n] == 'Z') return n + 1;
    }
    return 0;
}

/* A tab, a line feed, four or two spaces; no rule. */
size_t npu__match_indent(const npu__split *s, size_t pos, size_t end, const void *rule) {
    (void)rule;
    if (s->cps[pos] == '\t' || s->cps[pos] == '\n') return 1;
    size_t n = literal(s, pos, end, "    ");
    return n ? n : literal(s, pos, end, "  ");
}

/* White space at the very end of a piece is a piece; no rule. */
void npu__cut_tail_space(npu__split *s, size_t begin, size_t end, const void *rule) {
    (void)rule;
    size_t at = end;
    while (at > begin && s->classes[at - 1] & NPU__UC_SPACE) at--;
    npu__split_emit(s, at);
    npu__split_emit(s, end);
}

/* Runs of line feeds and runs of all else; no rule. */
void npu__cut_newlines(npu__split *s, size_t begin, size_t end, const void *rule) {
    (void)rule;
    for (size_t at = begin + 1; at < end; at++)
        if ((s->cps[at] == '\n') != (s->cps[at - 1] == '\n')) npu__split_emit(s, at);
    npu__split_emit(s, end);
}

/* Numbers in groups of three from the right; no rule. */
void npu__cut_digit_groups(npu__split *s, size_t begin, size_t end, const void *rule) {
    (void)rule;
    size_t at = begin;
    while (at < end) {
        size_t first = at;
        while (at < end && s->classes[at] & NPU__UC_NUMBER) at++;
        size_t count = at - first;
        if (!count) {
            at++;
            continue;
        }
        if (count % 3) npu__split_emit(s, first + count % 3); /* takes what stands before the number with it */
        for (size_t group = first + count % 3; group < at; group += 3) npu__split_emit(s, group + 3);
    }
    npu__split_emit(s, end);
}

/* A cut before each group of three ASCII digits counted from a number's end; no rule. */
void npu__cut_thousands(npu__split *s, size_t begin, size_t end, const void *rule) {
    (void)rule;
    size_t at = begin;
    while (at < end) {
        size_t first = at;
        while (at < end && is_digit(s->cps[at])) at++;
        size_t count = at - first;
        for (size_t group = first + count % 3; group < at; group += 3)
            if (group > begin) npu__split_emit(s, group);
        if (!count) at++;
    }
    npu__split_emit(s, end);
}
