/* SET_ROWS: rows converted into cells of a state. Cells are outside values, each checked before it is touched. */
#include "htp/hvx/hvx_convert.h"
#include "htp/op.h"

#include "wire/guard.h"

static void convert(const htp_rows *r, const htp_unit *u, const uint8_t *const in[NPU_ROWS_IN], uint8_t *out,
                    uint8_t *work) {
    (void)work;
    hvx_convert_from_f32(r->o->dst[0].type, (const HVX_Vector *)in[0], out, u->values);
}

static uint32_t store_cell(const htp_rows *r, const htp_unit *u, htp_dma *dma, const uint8_t *out) {
    uint32_t cell;
    const npu_tensor *state = &r->o->dst[0];
    if (!htp_row_id(r, u, state->ne[1], NPU_WIRE_BAD_CELL, &cell)) return 0;
    htp_dma_push(dma, r->o->dst_data[0] + cell * state->nb[1], out, hvx_convert_bytes(state->type, u->values));
    return 1;
}

static uint32_t load_row(const htp_rows *r, const htp_unit *u, htp_dma *dma, uint8_t *const in[NPU_ROWS_IN]) {
    htp_dma_push(dma, in[0], r->o->src_data[0] + u->row * r->o->src[0].nb[1], u->values * 4);
    return 1;
}

void htp_set_rows(htp_op *o) {
    htp_rows r = {.o = o, .k = o->kernel, .rows = o->src[0].ne[1], .row_values = o->src[0].ne[0]};
    r.load = load_row, r.compute = convert, r.store = store_cell;
    if (NPU_GUARD(REFRESH_CELLS)) htp_op_refresh(o, o->src_data[1], r.rows * 4);
    htp_rows_run(&r);
}
