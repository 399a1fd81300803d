/* What methods and filters do with strings: stripping, replacing, changing case, formatting. */
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "base/utf8.h"
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
        if (!stripped(chars, s + begin, len)) break;
        begin += len;
    }
    while (right && begin < end) {
        size_t at = end - 1;
        while (at > begin && ((uint8_t)s[at] & 0xC0) == 0x80) at--;
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

npu__value *npu__change_case(npu__interp *in, npu__value *v, char how) {
    size_t start = in->out.n, n = v->u.string.n;
    bool word_start = true;
    if (!npu__step(in, 1 + n / 16)) return NULL;
    for (size_t at = 0; at < n;) {
        uint32_t cp;
        char out[4];
        size_t from = at;
        at += npu_utf8_decode(v->u.string.s + at, n - at, &cp);
        bool upper = how == 'u' || (how != 'l' && word_start);
        if (upper && cp == 0xDF) {
            if (!npu__write_as(in, v, from, how == 'u' || how == 'w' ? "SS" : "Ss", 2)) return NULL;
        } else {
            cp = upper ? (uint32_t)utf8proc_toupper((utf8proc_int32_t)cp) : npu__unicode_lower(cp);
            if (!npu__write_as(in, v, from, out, npu_utf8_encode(cp, out))) return NULL;
        }
        word_start = (how == 't' && !(npu__unicode_class_of(cp) & NPU__UC_LETTER)) ||
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

/* A value written by a specification such as "05d", ".2f", ">10": fill, alignment, width, precision, kind. It stands in
 * |format| at |place|, whose marks the filling gets. */
static bool write_spec(npu__interp *in, const npu__value *v, const char *spec, size_t n, const npu__value *format,
                       size_t place) {
    char fill = ' ', align = 0, kind = 0, number[64];
    size_t at = 0, width = 0, precision = 6;
    bool has_precision = false;
    if (n > 1 && strchr("<>^=", spec[1])) {
        fill = spec[0];
        align = spec[1];
        at = 2;
    } else if (n && strchr("<>^=", spec[0])) {
        align = spec[0];
        at = 1;
    }
    if (at < n && spec[at] == '0' && !align) {
        fill = '0';
        align = '=';
    }
    while (at < n && spec[at] >= '0' && spec[at] <= '9' && width < 10000)
        width = width * 10 + (size_t)(spec[at++] - '0');
    if (at < n && spec[at] == '.') {
        has_precision = true;
        for (precision = 0, at++; at < n && spec[at] >= '0' && spec[at] <= '9' && precision < 50; at++)
            precision = precision * 10 + (size_t)(spec[at] - '0');
    }
    if (at < n) kind = spec[at++];
    if (at < n || width >= 10000 || precision > 50 || (kind && !strchr("dsfxX", kind)))
        return npu__fail(in, "a format that is not supported") != NULL;
    size_t from = in->out.n, len;
    if (kind == 'f' || (has_precision && v->type == NPU__FLOAT)) {
        if (!npu__is_number(v)) return npu__fail(in, "a number is needed to format") != NULL;
        len =
            (size_t)snprintf(number, sizeof number, "%.*f", (int)(precision > 20 ? 20 : precision), npu__as_double(v));
        if (!npu__write(in, number, len < sizeof number ? len : sizeof number - 1)) return false;
    } else if (kind == 'x' || kind == 'X' || kind == 'd') {
        if (v->type != NPU__INT) return npu__fail(in, "a whole number is needed to format") != NULL;
        len = (size_t)snprintf(number, sizeof number,
                               kind == 'x'   ? "%llx"
                               : kind == 'X' ? "%llX"
                                             : "%lld",
                               (long long)v->u.integer);
        if (!npu__write(in, number, len)) return false;
    } else if (!npu__write_text(in, v)) {
        return false;
    }
    npu__value *text = npu__captured(in, from);
    if (!text) return false;
    size_t chars = npu__chars(text->u.string.s, text->u.string.n), pad = width > chars ? width - chars : 0;
    if (!align) align = npu__is_number(v) ? '>' : '<';
    size_t before = align == '<' ? 0 : align == '^' ? pad / 2 : pad, skip = 0;
    if (align == '=' && text->u.string.n && text->u.string.s[0] == '-') skip = 1;
    if (!npu__write_part(in, text, 0, skip)) return false;
    for (size_t i = 0; i < before; i++)
        if (!npu__write_as(in, format, place, &fill, 1)) return false;
    if (!npu__write_part(in, text, skip, text->u.string.n - skip)) return false;
    for (size_t i = before; i < pad; i++)
        if (!npu__write_as(in, format, place, &fill, 1)) return false;
    return true;
}

/* The argument that a field such as "", "0" or "name" names. */
static npu__value *field(npu__interp *in, const char *s, size_t n, size_t *next, npu__args *args) {
    size_t index = 0;
    npu__value *v = NULL;
    if (!n) {
        v = npu__arg(args, (*next)++, NULL);
    } else if (s[0] >= '0' && s[0] <= '9') {
        for (size_t i = 0; i < n && index < 1000; i++) index = index * 10 + (size_t)(s[i] - '0');
        v = npu__arg(args, index, NULL);
    } else {
        v = npu__dict_find(&args->named, s, n);
    }
    return v ? v : npu__fail(in, "format names an argument that was not given");
}

bool npu__format(npu__interp *in, const npu__value *format, npu__args *args) {
    const char *s = format->u.string.s;
    size_t n = format->u.string.n, next = 0;
    for (size_t at = 0; at < n;) {
        if ((s[at] == '{' || s[at] == '}') && at + 1 < n && s[at + 1] == s[at]) {
            if (!npu__write_part(in, format, at, 1)) return false;
            at += 2;
        } else if (s[at] == '{') {
            const char *end = memchr(s + at, '}', n - at);
            if (!end) return npu__fail(in, "a format field does not end") != NULL;
            const char *name = s + at + 1, *colon = memchr(name, ':', (size_t)(end - name));
            npu__value *v = field(in, name, (size_t)((colon ? colon : end) - name), &next, args);
            if (!v || !write_spec(in, v, colon ? colon + 1 : end, colon ? (size_t)(end - colon - 1) : 0, format, at))
                return false;
            at = (size_t)(end - s) + 1;
        } else if (!npu__write_part(in, format, at++, 1)) {
            return false;
        }
    }
    return true;
}

bool npu__percent(npu__interp *in, const npu__value *format, npu__value *v) {
    const char *s = format->u.string.s;
    npu__value *one[1] = {v};
    npu__list single = {.items = one, .n = 1}, *list = v->type == NPU__TUPLE ? v->u.list : &single;
    size_t n = format->u.string.n, next = 0;
    for (size_t at = 0; at < n; at++) {
        if (s[at] != '%') {
            if (!npu__write_part(in, format, at, 1)) return false;
            continue;
        }
        char spec[40] = ">";
        at++;
        bool left = at < n && s[at] == '-', zero = at < n && s[at] == '0';
        size_t begin = at += left;
        while (at < n && s[at] && (s[at] == '.' || (s[at] >= '0' && s[at] <= '9'))) at++;
        if (at == n || at - begin > 30) return npu__fail(in, "a format ends in the middle or is too long") != NULL;
        if (left) spec[0] = '<';
        memcpy(spec + !zero, s + begin, at + 1 - begin);
        size_t spec_n = at + 1 - begin + !zero;
        if (s[at] == 'i') spec[spec_n - 1] = 'd';
        if (s[at] == '%') {
            if (!npu__write_part(in, format, at, 1)) return false;
            continue;
        }
        if (next == list->n) return npu__fail(in, "not enough values to format") != NULL;
        npu__value *x = list->items[next++];
        if (s[at] == 'r' ? !npu__write_repr(in, x) : !write_spec(in, x, spec, spec_n, format, at)) return false;
    }
    return next == list->n || npu__fail(in, "too many values to format") != NULL;
}
