/* Layout of the generated tables (unicode_data.c, scripts/gen_unicode.py). Only unicode.c reads them. */
#ifndef NPU_TOKENIZER_UNICODE_DATA_H
#define NPU_TOKENIZER_UNICODE_DATA_H

#include <stddef.h>
#include <stdint.h>

enum { NPU__UNICODE_BLOCKS = 0x110000 / 256 };

/* Block of a code point's upper bits, then its class: low three bits the category, bit 3 white space. */
extern const uint8_t npu__unicode_index[NPU__UNICODE_BLOCKS];
extern const uint8_t npu__unicode_class[][256];

/* Sorted by the first member: code point, its lower case. */
extern const uint32_t npu__unicode_lower_pairs[][2];
extern const size_t npu__unicode_lower_count;

#endif
