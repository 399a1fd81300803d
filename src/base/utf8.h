/* UTF-8 helpers used for error texts, streamed output and tokenizers. No allocation, no locale. */
#ifndef NPU_BASE_UTF8_H
#define NPU_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Decodes one code point at |s| (|n| bytes left, n >= 1). Returns the number of bytes used (1 to 4) and the code
 * point; a byte that does not start a valid, shortest-form sequence gives 1 and UINT32_MAX. */
size_t npu_utf8_decode(const char *s, size_t n, uint32_t *code_point);

/* How many bytes |lead| announces for its character, 1 to 4; of a byte that only goes on with one 1. Whether it may
 * stand there, and whether the others follow, is not looked at. */
static inline size_t npu_utf8_announced(uint8_t lead) {
    return lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
}

/* Writes |code_point| (at most 0x10FFFF) to |out|, room for 4 bytes. Returns the number of bytes. */
size_t npu_utf8_encode(uint32_t code_point, char *out);

/* How many bytes at the end of |s| begin a sequence that more bytes could complete (0 to 3). */
size_t npu_utf8_incomplete_tail(const char *s, size_t n);

/* Copies |n| bytes to |out| as one printable line: control characters and invalid bytes become '?', text that does not
 * fit ends in "...". |out_size| counts the terminating zero and is at least 4. */
void npu_utf8_sanitize(char *out, size_t out_size, const char *s, size_t n);

#endif
