/* Fields of plan.json: each is checked before use. The first failure is kept, with the field's name, and values are
 * harmless from there on, so that plan_read.c reads as a list. Private to src/plan. */
#ifndef NPU_PLAN_PLAN_FIELDS_H
#define NPU_PLAN_PLAN_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { NPU_PLAN_MAX_DIM = 1 << 24 };

typedef struct npu_plan_reader {
    const char *path; /* for messages */
    npu_status status;
    npu_error *err;
} npu_plan_reader;

/* plan.field: |section|.|field| |what|. */
void npu__plan_bad(npu_plan_reader *r, const char *section, const char *field, const char *what);

uint64_t npu__plan_number(npu_plan_reader *r, const json_t *o, const char *section, const char *field, uint64_t max);
uint32_t npu__plan_word(npu_plan_reader *r, const json_t *o, const char *section, const char *field);
bool npu__plan_flag(npu_plan_reader *r, const json_t *o, const char *section, const char *field);
void npu__plan_text(npu_plan_reader *r, const json_t *o, const char *section, const char *field, char *out,
                    size_t out_size);
uint16_t npu__plan_role(npu_plan_reader *r, const json_t *o, const char *section); /* else plan.role */

/* A size that can be, neither 0 nor absurd: else plan.dims. */
uint32_t npu__plan_dim(npu_plan_reader *r, const json_t *o, const char *section, const char *field);
/* Real sizes are not more than padded ones: else plan.dims. */
void npu__plan_check_padding(npu_plan_reader *r, const char *section, uint32_t K, uint32_t N, uint32_t real_k,
                             uint32_t real_n);
/* Columns of results, which make up |real_n|; how many. |out| has room for NPU_PLAN_MAX_SPLITS. */
uint16_t npu__plan_splits(npu_plan_reader *r, const json_t *o, const char *section, uint32_t real_n, uint32_t *out);
/* The tensor type called |name|. */
uint8_t npu__plan_type(npu_plan_reader *r, const char *section, const char *field, const char *name);

#endif
