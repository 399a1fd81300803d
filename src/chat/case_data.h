/* Layout of the generated table case_data.c (scripts/gen_unicode.py --special-case). Only text.c reads it. */
#ifndef NPU_CHAT_CASE_DATA_H
#define NPU_CHAT_CASE_DATA_H

#include <stddef.h>
#include <stdint.h>

enum { NPU__CASE_UPPER, NPU__CASE_TITLE, NPU__CASE_LOWER };

typedef struct npu__special_case {
    uint32_t cp;
    uint32_t to[3][3]; /* zeros after the last character */
} npu__special_case;

extern const npu__special_case npu__special_cases[];
extern const size_t npu__special_case_count;

#endif
