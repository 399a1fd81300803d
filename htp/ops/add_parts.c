/* ADD_PARTS: what several devices made of one result, added up in the order of the devices, and then to x. */
#include "htp/hvx/hvx_f32.h"
#include "htp/op.h"

/* Parts of a unit lie one behind the other in the second stream's slot. */
static uint32_t part_vectors(const htp_rows *r) {
    return r->k->columns / 32;
}

static uint32_t n_parts(const htp_op *o) {
    uint32_t n = 0;
    while (n < NPU_OP_SRCS - 1 && o->src_data[1 + n]) n++;
    return n;
}

static uint32_t load(const htp_rows *r, const htp_unit *u, htp_dma *dma, uint8_t *const in[NPU_ROWS_IN]) {
    const htp_op *o = r->o;
    uint32_t n = n_parts(o);
    htp_dma_push(dma, in[0], o->src_data[0] + htp_unit_offset(&o->src[0], u, 4), u->values * 4);
    for (uint32_t i = 0; i < n; i++)
        htp_dma_push(dma, in[1] + i * part_vectors(r) * sizeof(HVX_Vector),
                     o->src_data[1 + i] + htp_unit_offset(&o->src[1 + i], u, 4), u->values * 4);
    return 1 + n;
}

static void compute(const htp_rows *r, const htp_unit *u, const uint8_t *const in[NPU_ROWS_IN], uint8_t *out,
                    uint8_t *work) {
    const HVX_Vector *x = (const HVX_Vector *)in[0], *parts = (const HVX_Vector *)in[1];
    HVX_Vector *y = (HVX_Vector *)out;
    uint32_t n = n_parts(r->o), step = part_vectors(r);
    (void)work;
    for (uint32_t i = 0; i < htp_unit_vectors(u); i++) {
        HVX_Vector sum = parts[i];
        for (uint32_t p = 1; p < n; p++) sum = hvx_f32_add(sum, parts[p * step + i]);
        y[i] = hvx_f32_add(sum, x[i]);
    }
}

void htp_add_parts(htp_op *o) {
    htp_rows r = htp_rows_f32(o, 2);
    r.load = load;
    r.compute = compute;
    htp_rows_run(&r);
}
