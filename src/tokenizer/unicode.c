#include "tokenizer/unicode.h"

#include <utf8proc.h>

#include "tokenizer/unicode_data.h"

uint16_t npu__unicode_class_of(uint32_t cp) {
    if (cp > 0x10FFFF) return NPU__UC_UNASSIGNED;
    uint8_t c = npu__unicode_class[npu__unicode_index[cp >> 8]][cp & 255];
    return (uint16_t)(1u << (c & 7) | (c & 8u) << 5);
}

uint32_t npu__unicode_lower(uint32_t cp) {
    if (cp < 0x80) return cp >= 'A' && cp <= 'Z' ? cp + 32 : cp;
    size_t low = 0, high = npu__unicode_lower_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (npu__unicode_lower_pairs[middle][0] < cp)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < npu__unicode_lower_count && npu__unicode_lower_pairs[low][0] == cp)
        return npu__unicode_lower_pairs[low][1];
    return cp;
}

uint32_t npu__unicode_base(uint32_t cp) {
    utf8proc_int32_t parts[8];
    int last_boundclass = 0;
    if (cp > 0x10FFFF) return cp;
    utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)cp, parts, 8, UTF8PROC_DECOMPOSE, &last_boundclass);
    return n > 0 ? (uint32_t)parts[0] : cp;
}

size_t npu__unicode_decode(const char *s, size_t n, uint32_t *cp) {
    const uint8_t *b = (const uint8_t *)s;
    *cp = b[0];
    if (b[0] < 0x80) return 1;
    *cp = 0xFFFD;
    if (b[0] < 0xC0 || b[0] >= 0xF8) return 1;
    size_t len = b[0] >= 0xF0 ? 4 : b[0] >= 0xE0 ? 3 : 2;
    if (len > n) return 1;
    uint32_t value = b[0] & (0xFFu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((b[i] & 0xC0) != 0x80) return 1;
        value = value << 6 | (b[i] & 0x3F);
    }
    if (value > 0x10FFFF) return 1;
    *cp = value;
    return len;
}
