#include "base/utf8.h"

#include <string.h>

size_t npu_utf8_decode(const char *s, size_t n, uint32_t *code_point) {
    const uint8_t *b = (const uint8_t *)s;
    *code_point = UINT32_MAX;
    if (b[0] < 0x80) {
        *code_point = b[0];
        return 1;
    }
    size_t len = b[0] >= 0xF0 ? 4 : b[0] >= 0xE0 ? 3 : 2;
    uint32_t min = len == 4 ? 0x10000 : len == 3 ? 0x800 : 0x80;
    if (b[0] < 0xC2 || b[0] > 0xF4 || len > n) return 1;
    uint32_t cp = b[0] & (0xFFu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((b[i] & 0xC0) != 0x80) return 1;
        cp = cp << 6 | (b[i] & 0x3F);
    }
    if (cp < min || cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF)) return 1;
    *code_point = cp;
    return len;
}

size_t npu_utf8_encode(uint32_t cp, char *out) {
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3F));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xE0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
        out[2] = (char)(0x80 | (cp & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3F));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3F));
    out[3] = (char)(0x80 | (cp & 0x3F));
    return 4;
}

size_t npu_utf8_incomplete_tail(const char *s, size_t n) {
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        uint8_t b = (uint8_t)s[n - back];
        if ((b & 0xC0) == 0x80) continue;
        size_t need = b >= 0xF0 && b <= 0xF4 ? 4 : b >= 0xE0 ? 3 : b >= 0xC2 ? 2 : 1;
        return b >= 0xC2 && b <= 0xF4 && need > back ? back : 0;
    }
    return 0;
}

void npu_utf8_sanitize(char *out, size_t out_size, const char *s, size_t n) {
    size_t used = 0;
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        size_t len = npu_utf8_decode(s + i, n - i, &cp);
        char replaced = '?';
        int plain = cp != UINT32_MAX && cp >= 0x20 && !(cp >= 0x7F && cp < 0xA0);
        size_t out_len = plain ? len : 1;
        if (used + out_len + (i + len < n ? 3 : 0) + 1 > out_size) {
            memcpy(out + used, "...", 3);
            used += 3;
            break;
        }
        memcpy(out + used, plain ? s + i : &replaced, out_len);
        used += out_len;
        i += len;
    }
    out[used] = 0;
}
