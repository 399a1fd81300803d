/* GET_ROWS from plain tables and from weight images, SET_ROWS into a state. Ids and cells are outside values: each is
 * checked before its row is touched. */
#include "htp/hvx/f32.h"
#include "htp/memory.h"
#include "htp/op.h"

#include "wire/format.h"
#include "wire/image.h"

/* Where a unit with a bad id reads or writes: nowhere. The op has failed by then. */
static int id_of(const htp_rows *r, const htp_unit *u, uint32_t limit, uint32_t code, uint32_t *id) {
    *id = ((const uint32_t *)r->o->src_data[1])[u->row];
    if (*id < limit) return 1;
    htp_op_fail(r->o, code, (uint32_t)u->row);
    return 0;
}

static uint32_t load_row(const htp_rows *r, const htp_unit *u, htp_dma *dma, uint8_t *const in[2]) {
    uint32_t id;
    const npu_tensor *table = &r->o->src[0];
    if (!id_of(r, u, table->ne[1], NPU_WIRE_BAD_ROW_ID, &id)) return 0;
    htp_dma_push(dma, in[0], r->o->src_data[0] + id * table->nb[1], u->values * 4);
    return 1;
}

/* Out of the slot that was loaded into: a plain row needs no work. */
static uint32_t store_row(const htp_rows *r, const htp_unit *u, htp_dma *dma, const uint8_t *out) {
    if (r->o->code != NPU_WIRE_OK) return 0;
    htp_dma_push(dma, r->o->dst_data[0] + u->row * r->o->dst[0].nb[1], out - r->k->in_bytes[0], u->values * 4);
    return 1;
}

static void nothing(const htp_rows *r, const htp_unit *u, const uint8_t *const in[2], uint8_t *out, uint8_t *work) {
    (void)r, (void)u, (void)in, (void)out, (void)work;
}

/* Places of codes, scales and minima of one row in its slot. */
static uint32_t scales_at(const npu_image_format *f, uint32_t k) {
    return npu_round_up(k / 8 * f->bits, NPU_VECTOR_BYTES);
}
static uint32_t minima_at(const npu_image_format *f, uint32_t k) {
    return scales_at(f, k) + npu_round_up((k / 32 + 1) / 2 * 4, NPU_VECTOR_BYTES);
}

/* One row is the same 4 bytes of every vector of its row tile: DMA puts them side by side. */
static uint32_t load_tiles(const htp_rows *r, const htp_unit *u, htp_dma *dma, uint8_t *const in[2]) {
    uint32_t id, k = r->o->src[0].ne[0];
    const npu_image_format *f = npu_image_format_of(r->o->src[0].type);
    if (!id_of(r, u, r->o->src[0].ne[1], NPU_WIRE_BAD_ROW_ID, &id)) return 0;
    const uint8_t *tile = r->o->src_data[0] + (uint64_t)(id / 32) * npu_image_row_tile_bytes(f, k) + id % 32 * 4;
    uint32_t scale_vectors = npu_image_scale_bytes(k) / NPU_VECTOR_BYTES;
    htp_dma_push_2d(dma, in[0], tile, 4, npu_image_code_bytes(f, k) / NPU_VECTOR_BYTES, 4, NPU_VECTOR_BYTES);
    tile += npu_image_code_bytes(f, k);
    htp_dma_push_2d(dma, in[0] + scales_at(f, k), tile, 4, scale_vectors, 4, NPU_VECTOR_BYTES);
    if (!f->has_min) return 2;
    tile += npu_image_scale_bytes(k);
    htp_dma_push_2d(dma, in[0] + minima_at(f, k), tile, 4, scale_vectors, 4, NPU_VECTOR_BYTES);
    return 3;
}

static void dequantise(const htp_rows *r, const htp_unit *u, const uint8_t *const in[2], uint8_t *out, uint8_t *work) {
    const npu_image_format *f = npu_image_format_of(r->o->src[0].type);
    const uint16_t *scales = (const uint16_t *)(in[0] + scales_at(f, u->values));
    const uint16_t *minima = (const uint16_t *)(in[0] + minima_at(f, u->values));
    htp_f32 *y = (htp_f32 *)out;
    (void)work;
    if (r->o->code != NPU_WIRE_OK) return;
    for (uint32_t b = 0; b < u->values / 32; b++) {
        htp_f32 codes;
        for (uint32_t i = 0; i < 32; i++) {
            if (f->bits == 8)
                codes.f[i] = (float)((const int8_t *)in[0])[b * 32 + i];
            else
                codes.f[i] = (float)((in[0][b * 16 + i / 8 * 4 + i % 4] >> (i / 4 % 2 * 4) & 15) - f->offset);
        }
        y[b] = htp_f32_mul(codes, htp_f32_splat(npu_half_to_float(scales[b])));
        if (f->has_min) y[b] = htp_f32_add(y[b], htp_f32_splat(npu_half_to_float(minima[b])));
    }
}

static uint32_t store_out(const htp_rows *r, const htp_unit *u, htp_dma *dma, const uint8_t *out) {
    if (r->o->code != NPU_WIRE_OK) return 0;
    htp_dma_push(dma, r->o->dst_data[0] + u->row * r->o->dst[0].nb[1], out, u->values * 4);
    return 1;
}

void htp_get_rows(htp_op *o) {
    htp_rows r = {.o = o, .k = o->kernel, .rows = o->dst[0].ne[1], .row_values = o->dst[0].ne[0]};
    int tiles = r.k->head.kernel == 2;
    r.load = tiles ? load_tiles : load_row;
    r.compute = tiles ? dequantise : nothing;
    r.store = tiles ? store_out : store_row;
    htp_memory_refresh(o->src_data[1], r.rows * 4);
    htp_rows_run(&r);
}

static void convert(const htp_rows *r, const htp_unit *u, const uint8_t *const in[2], uint8_t *out, uint8_t *work) {
    const float *x = (const float *)in[0];
    (void)work;
    for (uint32_t i = 0; i < u->values; i++)
        if (r->out_value_bytes == 2)
            ((uint16_t *)out)[i] = npu_float_to_half(x[i]);
        else
            ((float *)out)[i] = x[i];
}

static uint32_t store_cell(const htp_rows *r, const htp_unit *u, htp_dma *dma, const uint8_t *out) {
    uint32_t cell;
    const npu_tensor *state = &r->o->dst[0];
    if (!id_of(r, u, state->ne[1], NPU_WIRE_BAD_CELL, &cell)) return 0;
    htp_dma_push(dma, r->o->dst_data[0] + cell * state->nb[1], out, u->values * r->out_value_bytes);
    return 1;
}

static uint32_t load_x(const htp_rows *r, const htp_unit *u, htp_dma *dma, uint8_t *const in[2]) {
    htp_dma_push(dma, in[0], r->o->src_data[0] + u->row * r->o->src[0].nb[1], u->values * 4);
    return 1;
}

void htp_set_rows(htp_op *o) {
    htp_rows r = {.o = o, .k = o->kernel, .rows = o->src[0].ne[1], .row_values = o->src[0].ne[0]};
    r.load = load_x, r.compute = convert, r.store = store_cell;
    r.out_value_bytes = o->dst[0].type == NPU_TYPE_F16 ? 2 : 4;
    htp_memory_refresh(o->src_data[1], r.rows * 4);
    htp_rows_run(&r);
}
