/* Ops that move values: GET_ROWS, SET_ROWS, CPY, CONCAT, REPEAT (numerics.md §6, conversions §2). */
#include <string.h>

#include "quant/quant.h"
#include "target/host/ref/ref.h"
#include "wire/op_check.h"

npu_status npu_host_check_ids(const npu_host_call *call, npu_error *err) {
    const int32_t *ids = (const int32_t *)call->src[1].data;
    uint32_t all = call->op->params.rows.all, rows = all ? all : call->src[0].t.ne[1];
    for (uint32_t m = 0; m < call->dst[0].t.ne[1]; m++) {
        if (ids[m] >= 0 && (uint32_t)ids[m] < rows) continue;
        return npu_fail(err, NPU_RANGE, "op.row_id", "get_rows: row %d of a table of %u rows", ids[m], rows);
    }
    return NPU_OK;
}

npu_status npu_host_check_cells(const npu_host_call *call, npu_error *err) {
    const int32_t *cells = (const int32_t *)call->src[1].data;
    uint32_t rows = call->dst[0].t.ne[1];
    for (uint32_t m = 0; m < call->src[0].t.ne[1]; m++) {
        if (cells[m] >= 0 && (uint32_t)cells[m] < rows) continue;
        return npu_fail(err, NPU_RANGE, "op.cell", "set_rows: cell %d of a state of %u rows", cells[m], rows);
    }
    return NPU_OK;
}

uint64_t npu_host_get_rows_scratch(const npu_op *op, const npu_tensor *tensors, npu_mode mode, unsigned nth) {
    (void)mode;
    return nth * npu_host_round(tensors[op->src[0]].nb[1]);
}

npu_status npu_host_get_rows_ref(const npu_host_call *call, npu_error *err) {
    const npu_host_operand *y = &call->dst[0];
    const int32_t *ids = (const int32_t *)call->src[1].data;
    const npu_quant *format = npu_quant_of(call->src[0].t.type);
    uint64_t from, to;
    NPU_TRY(npu_host_check_ids(call, err));
    npu_host_split(call, y->t.ne[1], &from, &to);
    for (uint64_t m = from; m < to; m++) {
        const uint8_t *row = npu_host_table_row(call, ids[m]);
        if (row) format->dequant(row, (float *)npu_host_row(y, m), y->t.ne[0]);
    }
    return NPU_OK;
}

npu_status npu_host_set_rows_ref(const npu_host_call *call, npu_error *err) {
    const npu_host_operand *x = &call->src[0], *state = &call->dst[0];
    const int32_t *cells = (const int32_t *)call->src[1].data;
    const npu_quant *format = npu_quant_of(state->t.type);
    uint64_t from, to;
    NPU_TRY(npu_host_check_cells(call, err));
    npu_host_split(call, x->t.ne[1], &from, &to);
    for (uint64_t m = from; m < to; m++) {
        format->quant((const float *)npu_host_row(x, m), npu_host_row(state, (uint32_t)cells[m]), x->t.ne[0]);
    }
    return NPU_OK;
}

/* The address of the |e|-th element in order, or of its block. */
static uint8_t *element(const npu_host_operand *o, uint64_t e, uint32_t values) {
    uint64_t row = e / o->t.ne[0];
    return npu_host_row(o, row) + e % o->t.ne[0] / values * o->t.nb[0];
}

/* In units of 32 values when a side has blocks, of one otherwise. */
npu_status npu_host_cpy_ref(const npu_host_call *call, npu_error *err) {
    (void)err;
    const npu_host_operand *x = &call->src[0], *y = &call->dst[0];
    uint32_t values_x, values_y, size = npu_tensor_unit(&x->t, &values_x);
    npu_tensor_unit(&y->t, &values_y);
    uint32_t unit = values_x > values_y ? values_x : values_y;
    const npu_quant *from_type = npu_quant_of(x->t.type), *to_type = npu_quant_of(y->t.type);
    uint64_t from, to;
    npu_host_split(call, y->t.ne[0] * npu_tensor_rows(&y->t) / unit, &from, &to);
    for (uint64_t u = from; u < to; u++) {
        float values[32];
        if (x->t.type == y->t.type) {
            memcpy(element(y, u * unit, values_y), element(x, u * unit, values_x), size);
            continue;
        }
        for (uint32_t i = 0; i < unit; i += values_x) {
            from_type->dequant(element(x, u * unit + i, values_x), values + i, values_x);
        }
        for (uint32_t i = 0; i < unit; i += values_y) {
            to_type->quant(values + i, element(y, u * unit + i, values_y), values_y);
        }
    }
    return NPU_OK;
}

npu_status npu_host_concat_ref(const npu_host_call *call, npu_error *err) {
    (void)err;
    const npu_host_operand *y = &call->dst[0];
    int dim = call->op->params.dim.dim;
    uint32_t values, size = npu_tensor_unit(&y->t, &values), border = call->src[0].t.ne[dim];
    uint64_t from, to;
    npu_host_split(call, npu_tensor_rows(&y->t), &from, &to);
    for (uint64_t row = from; row < to; row++) {
        for (uint32_t i = 0; i < y->t.ne[0]; i++) {
            uint64_t at[4] = {i, row % y->t.ne[1], row / y->t.ne[1] % y->t.ne[2], row / y->t.ne[1] / y->t.ne[2]};
            uint8_t *out = npu_host_row(y, row) + i * y->t.nb[0];
            int second = at[dim] >= border;
            const npu_host_operand *x = &call->src[second];
            if (second) at[dim] -= border;
            memcpy(out, npu_host_at(x, at[1], at[2], at[3]) + at[0] * x->t.nb[0], size);
        }
    }
    return NPU_OK;
}

npu_status npu_host_repeat_ref(const npu_host_call *call, npu_error *err) {
    (void)err;
    const npu_host_operand *x = &call->src[0], *y = &call->dst[0];
    uint32_t values, size = npu_tensor_unit(&y->t, &values);
    uint64_t from, to;
    npu_host_split(call, npu_tensor_rows(&y->t), &from, &to);
    for (uint64_t row = from; row < to; row++) {
        const uint8_t *in = npu_host_row_repeated(x, &y->t, row);
        uint8_t *out = npu_host_row(y, row);
        for (uint32_t i = 0; i < y->t.ne[0]; i++) memcpy(out + i * y->t.nb[0], in + i % x->t.ne[0] * x->t.nb[0], size);
    }
    return NPU_OK;
}
