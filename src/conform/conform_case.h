/* One case under construction: what the generators (conform_gen.c) fill and the runner (conform.c) executes. */
#ifndef NPU_CONFORM_CASE_H
#define NPU_CONFORM_CASE_H

#include "target/target.h"

enum { NPU_CASE_TENSORS = 14, NPU_CASE_GUARD = 512, NPU_CASE_POISON = 0xFF /* a NaN in every float type */ };

/* What goes into a tensor before a run. */
typedef enum npu_case_fill {
    NPU_FILL_NOTHING, /* results: poison */
    NPU_FILL_VALUES,
    NPU_FILL_POSITIVE, /* scales, divisors: away from 0 */
    NPU_FILL_INDICES,  /* below |limit| */
    NPU_FILL_CELLS,    /* the same, all different */
    NPU_FILL_SPANS,    /* {first, keys} inside |limit| cells */
    NPU_FILL_FREQS,
    NPU_FILL_MASK, /* 0, -Inf, small numbers */
} npu_case_fill;

typedef struct npu_case {
    uint64_t random; /* state of the generator */
    uint32_t type;   /* the type under test */
    uint32_t n_tensors;
    npu_tensor tensors[NPU_CASE_TENSORS];
    uint8_t fill[NPU_CASE_TENSORS];
    uint32_t limit[NPU_CASE_TENSORS];
    uint64_t bytes[NPU_CASE_TENSORS]; /* of its buffer, guards included; buffer i holds tensor i */
    npu_op op;
    uint32_t rows; /* largest step row count; 0 = no tensor depends on it */
    bool wide;     /* it has long rows: few of them */
    bool step;     /* generators mark row dimensions with NPU_ROWS_STEP */
} npu_case;

/* An (op, types, generator) of the table. */
typedef struct npu_case_row {
    uint32_t op;
    const uint8_t *types; /* ends with NPU_CASE_END */
    void (*generate)(npu_case *c);
} npu_case_row;

enum { NPU_CASE_END = 0xFF };

/* The |i|-th row of the table, NULL past the end. */
const npu_case_row *npu_case_row_at(uint32_t i);

/* Random numbers: SplitMix64. |npu_case_below| gives 0 … n-1. */
uint64_t npu_case_random(npu_case *c);
uint32_t npu_case_below(npu_case *c, uint32_t n);
float npu_case_unit(npu_case *c); /* -1 … 1 */

/* Writes the tensor's contents into |data| (its buffer, already poisoned). */
void npu_case_fill_tensor(npu_case *c, uint32_t index, uint8_t *data);

#endif
