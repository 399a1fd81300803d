/* What methods and filters do with strings: stripping, replacing, changing case, escaping. */
#include <string.h>
#include <utf8proc.h>

#include "base/utf8.h"
#include "chat/case_data.h"
#include "chat/interp.h"
#include "tokenizer/unicode.h"

bool npu__is_space(uint32_t cp) {
    return (cp >= 0x1C && cp <= 0x1F) || npu__unicode_class_of(cp) & NPU__UC_SPACE;
}

/* Whether the character is to be stripped: one of |chars|, or white space. */
static bool stripped(const npu__value *chars, const char *s, size_t n) {
    uint32_t cp;
    npu_utf8_decode(s, n, &cp);
    if (!chars) return npu__is_space(cp);
    for (size_t at = 0, len; at < chars->u.string.n; at += len) {
        uint32_t other;
        len = npu_utf8_decode(chars->u.string.s + at, chars->u.string.n - at, &other);
        if (other == cp) return true;
    }
    return false;
}

npu__value *npu__strip(npu__interp *in, npu__value *v, npu__value *chars, bool left, bool right) {
    if (chars && chars->type == NPU__NONE) chars = NULL;
    if (chars && chars->type != NPU__STRING)
        return npu__fail(in, "strip needs a string, not %s", npu__type_name(chars));
    const char *s = v->u.string.s;
    size_t begin = 0, end = v->u.string.n;
    if (!npu__step(in, 1 + end / 64)) return NULL;
    while (left && begin < end) {
        size_t len = npu__char_offset(s + begin, end - begin, 1);
        if (!npu__step(in, chars ? chars->u.string.n / 64 : 0)) return NULL;
        if (!stripped(chars, s + begin, len)) break;
        begin += len;
    }
    while (right && begin < end) {
        size_t at = end - 1;
        while (at > begin && ((uint8_t)s[at] & 0xC0) == 0x80) at--;
        if (!npu__step(in, chars ? chars->u.string.n / 64 : 0)) return NULL;
        if (!stripped(chars, s + at, end - at)) break;
        end = at;
    }
    npu__value *r = npu__part(in, v, begin, end - begin);
    if (r) r->u.string.markup = v->u.string.markup;
    return r;
}

npu__value *npu__replace(npu__interp *in, npu__value *v, npu__value *from, npu__value *to, int64_t count) {
    size_t start = in->out.n, n = v->u.string.n, len = from->u.string.n;
    const char *s = v->u.string.s;
    if (!npu__step(in, 1 + n / 16)) return NULL;
    for (size_t at = 0; at <= n;) {
        const char *hit = count == 0 ? NULL : len ? memmem(s + at, n - at, from->u.string.s, len) : s + at;
        size_t end = hit ? (size_t)(hit - s) : n;
        if (!npu__write_part(in, v, at, end - at)) return NULL;
        if (!hit) break;
        if (!npu__write_part(in, to, 0, to->u.string.n)) return NULL;
        count -= count > 0;
        at = end + len;
        if (!len) { /* between all characters */
            size_t one = npu__char_offset(s + at, n - at, 1);
            if (at == n) break;
            if (!npu__write_part(in, v, at, one)) return NULL;
            at += one;
        }
    }
    return npu__captured(in, start);
}

/* Upper, title or lower case of |cp|: one to three characters. */
static size_t case_of(uint32_t cp, int which, uint32_t out[3]) {
    size_t low = 0, high = npu__special_case_count, n = 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (npu__special_cases[middle].cp < cp)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < npu__special_case_count && npu__special_cases[low].cp == cp) {
        while (n < 3 && npu__special_cases[low].to[which][n]) out[n] = npu__special_cases[low].to[which][n], n++;
        return n;
    }
    utf8proc_int32_t c = (utf8proc_int32_t)cp;
    out[0] = which == NPU__CASE_LOWER   ? npu__unicode_lower(cp)
             : which == NPU__CASE_UPPER ? (uint32_t)utf8proc_toupper(c)
                                        : (uint32_t)utf8proc_totitle(c);
    return 1;
}

bool npu__is_cased(uint32_t cp) {
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
    return c == UTF8PROC_CATEGORY_LU || c == UTF8PROC_CATEGORY_LL || c == UTF8PROC_CATEGORY_LT;
}

/* Characters that a word goes on through when its end is looked for. */
static bool case_ignored(uint32_t cp) {
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_ME || c == UTF8PROC_CATEGORY_CF ||
           c == UTF8PROC_CATEGORY_LM || c == UTF8PROC_CATEGORY_SK || cp == '\'' || cp == '.' || cp == ':' ||
           cp == 0xB7 || cp == 0x2019;
}

/* Whether the capital sigma at |at| ends a word: its lower case then has another form. */
static bool ends_word(const npu__value *v, size_t at, size_t len) {
    const char *s = v->u.string.s;
    uint32_t cp = 0;
    size_t before = at, n = v->u.string.n;
    do {
        if (!before) return false;
        for (before--; before && ((uint8_t)s[before] & 0xC0) == 0x80;) before--;
        npu_utf8_decode(s + before, n - before, &cp);
    } while (case_ignored(cp));
    if (!npu__is_cased(cp)) return false;
    for (size_t after = at + len; after < n;) {
        after += npu_utf8_decode(s + after, n - after, &cp);
        if (!case_ignored(cp)) return !npu__is_cased(cp);
    }
    return true;
}

/* Which case the next character gets. */
static int wanted_case(char how, uint32_t cp, bool word_start) {
    bool upper = npu__is_cased(cp) && utf8proc_tolower((utf8proc_int32_t)cp) != (utf8proc_int32_t)cp;
    switch (how) {
    case 'u':
        return NPU__CASE_UPPER;
    case 'l':
        return NPU__CASE_LOWER;
    case 's':
        return upper ? NPU__CASE_LOWER : NPU__CASE_UPPER;
    case 'w':
        return word_start ? NPU__CASE_UPPER : NPU__CASE_LOWER;
    default:
        return word_start ? NPU__CASE_TITLE : NPU__CASE_LOWER;
    }
}

npu__value *npu__change_case(npu__interp *in, npu__value *v, char how) {
    size_t start = in->out.n, n = v->u.string.n, sigmas = 0;
    bool word_start = true;
    if (!npu__step(in, 1 + n / 16)) return NULL;
    for (size_t at = 0, len; at < n; at += len) {
        uint32_t cp, to[3];
        len = npu_utf8_decode(v->u.string.s + at, n - at, &cp);
        int which = wanted_case(how, cp, word_start);
        size_t count = case_of(cp, which, to);
        if (cp == 0x3A3 && which == NPU__CASE_LOWER) {
            if (!npu__step(in, sigmas++ ? n / 64 : 0)) return NULL;
            if (ends_word(v, at, len)) to[0] = 0x3C2;
        }
        for (size_t i = 0; i < count; i++) {
            char out[4];
            if (!npu__write_as(in, v, at, out, npu_utf8_encode(to[i], out))) return NULL;
        }
        word_start = (how == 't' && !npu__is_cased(cp)) ||
                     (how == 'w' && (npu__is_space(cp) || (cp && cp < 0x80 && strchr("-({[<", (int)cp))));
    }
    npu__value *r = npu__captured(in, start);
    if (r) r->u.string.markup = v->u.string.markup;
    return r;
}

npu__value *npu__escaped(npu__interp *in, npu__value *v) {
    static const char from[] = "&<>'\"";
    static const char *const to[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    npu__value *text = npu__to_text(in, v);
    size_t start = in->out.n;
    if (text && text->u.string.markup) return text;
    for (size_t i = 0; text && i < text->u.string.n; i++) {
        const char *hit = text->u.string.s[i] ? strchr(from, text->u.string.s[i]) : NULL;
        const char *s = hit ? to[hit - from] : text->u.string.s + i;
        if (!npu__write_as(in, text, i, s, hit ? strlen(s) : 1)) return NULL;
    }
    text = text ? npu__captured(in, start) : NULL;
    if (text) text->u.string.markup = true;
    return text;
}
