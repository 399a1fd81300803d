/* Unicode as tokenizers see it: general category, white space, lower case, of one pinned version (15.1), so that
 * splitting never depends on the distribution's libraries. Also the lenient UTF-8 decoding that the vocabularies were
 * checked with.
 */
#ifndef NPU_TOKENIZER_UNICODE_H
#define NPU_TOKENIZER_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets of categories: one bit each, so that a class test is one AND. */
enum {
    NPU__UC_UNASSIGNED = 1 << 0,
    NPU__UC_NUMBER = 1 << 1,
    NPU__UC_LETTER = 1 << 2,
    NPU__UC_SEPARATOR = 1 << 3,
    NPU__UC_MARK = 1 << 4,
    NPU__UC_PUNCTUATION = 1 << 5,
    NPU__UC_SYMBOL = 1 << 6,
    NPU__UC_CONTROL = 1 << 7,
    NPU__UC_SPACE = 1 << 8, /* besides the category */
};

/* The category bit of |cp| and perhaps NPU__UC_SPACE; UNASSIGNED above U+10FFFF. */
uint16_t npu__unicode_class_of(uint32_t cp);

/* Simple lower case; |cp| itself if it has none. */
uint32_t npu__unicode_lower(uint32_t cp);

/* The first code point of the canonical decomposition; |cp| itself if there is none. */
uint32_t npu__unicode_base(uint32_t cp);

/* Decodes at |s| (|n| >= 1 bytes left), returns the bytes used. Like the engines that made the vocabularies, overlong
 * forms and surrogates are taken at face value; anything else that is broken, and values above U+10FFFF, gives U+FFFD
 * for one byte. */
size_t npu__unicode_decode(const char *s, size_t n, uint32_t *cp);

#endif
