/* Small helpers that every op implementation of the host target uses: addressing rows of strided operands, and the
 * split of work over threads. Private to src/target/host. */
#ifndef NPU_HOST_ROWS_H
#define NPU_HOST_ROWS_H

#include "target/host/host_op.h"

/* The address of row (i1, i2, i3). */
static inline uint8_t *npu_host_at(const npu_host_operand *o, uint64_t i1, uint64_t i2, uint64_t i3) {
    return o->data + i1 * o->t.nb[1] + i2 * o->t.nb[2] + i3 * o->t.nb[3];
}

/* The address of the |row|-th of the flattened rows. */
static inline uint8_t *npu_host_row(const npu_host_operand *o, uint64_t row) {
    uint64_t outer = row / o->t.ne[1];
    return npu_host_at(o, row % o->t.ne[1], outer % o->t.ne[2], outer / o->t.ne[2]);
}

/* The same of |o|, which repeats along the dimensions where |like| is longer. */
static inline uint8_t *npu_host_row_repeated(const npu_host_operand *o, const npu_tensor *like, uint64_t row) {
    uint64_t outer = row / like->ne[1];
    return npu_host_at(o, row % like->ne[1] % o->t.ne[1], outer % like->ne[2] % o->t.ne[2],
                       outer / like->ne[2] % o->t.ne[3]);
}

/* This thread's part [*from, *to) of |n| units. */
static inline void npu_host_split(const npu_host_call *call, uint64_t n, uint64_t *from, uint64_t *to) {
    *from = n * call->ith / call->nth;
    *to = n * (call->ith + 1) / call->nth;
}

/* |bytes| rounded up so that what follows starts on a line of its own. */
static inline uint64_t npu_host_round(uint64_t bytes) {
    return (bytes + 127) & ~(uint64_t)127;
}

/* Row |id| of the table that GET_ROWS reads, NULL when the table is a part of a larger one that has it elsewhere. From
 * a copy, where there is one, into this thread's scratch: of the table itself then nothing has to be in memory. */
static inline const uint8_t *npu_host_table_row(const npu_host_call *call, int32_t id) {
    const npu_host_operand *table = &call->src[0];
    uint32_t row = (uint32_t)id - call->op->params.rows.first;
    if (row >= table->t.ne[1]) return NULL;
    if (!call->packed || !call->packed[0]) return npu_host_row(table, row);
    uint8_t *own = call->scratch + call->ith * npu_host_round(table->t.nb[1]);
    call->packing->row(&table->t, call->packed[0], row, own);
    return own;
}

#endif
