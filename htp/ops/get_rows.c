/* GET_ROWS: rows of a file copied or converted, rows of a weight image put together from its planes. */
#include "htp/hvx/hvx_convert.h"
#include "htp/hvx/hvx_image_row.h"
#include "htp/op.h"

#include "wire/format.h"
#include "wire/guard.h"
#include "wire/image.h"

/* --- rows as they lie in a file --- */

/* The unit's row in the table; 0 when the unit must touch nothing: no such row, or it is in another part. */
static int row_of(const htp_rows *r, const htp_unit *u, uint32_t *row) {
    uint32_t rows = r->o->src[0].ne[1];
    const npu_params_rows *part = &r->o->op->params.rows;
    if (!htp_row_id(r, u, part->all ? part->all : rows, NPU_WIRE_BAD_ROW_ID, row)) return 0;
    *row -= part->first; /* wraps around in front of the part */
    return *row < rows || !NPU_GUARD(ROWS_OF_PART);
}

static uint32_t load_row(const htp_rows *r, const htp_unit *u, htp_dma *dma, uint8_t *const in[NPU_ROWS_IN]) {
    uint32_t id;
    const npu_tensor *table = &r->o->src[0];
    if (!row_of(r, u, &id)) return HTP_NO_UNIT;
    htp_dma_push(dma, in[0], r->o->src_data[0] + id * table->nb[1], hvx_convert_bytes(table->type, r->row_values));
    return 1;
}

static uint32_t store(const htp_rows *r, const htp_unit *u, htp_dma *dma, const uint8_t *row) {
    htp_dma_push(dma, r->o->dst_data[0] + u->row * r->o->dst[0].nb[1], row, r->row_values * 4);
    return 1;
}

static void convert(const htp_rows *r, const htp_unit *u, const uint8_t *const in[NPU_ROWS_IN], uint8_t *out,
                    uint8_t *work) {
    (void)u, (void)work;
    hvx_convert_to_f32(r->o->src[0].type, in[0], (HVX_Vector *)out, r->row_values);
}

/* --- images --- */

static uint32_t list_at(const npu_image_format *f, npu_image_plane plane, uint32_t k) {
    uint32_t at = 0;
    for (uint32_t p = 0; p < plane; p++)
        at += NPU_GUARD_UP(ROUND_LISTS, npu_image_vectors(f, (npu_image_plane)p, k) * 4, NPU_VECTOR_BYTES);
    return at;
}

/* One row is the same 4 bytes of every vector of its row tile: DMA puts them side by side. */
static uint32_t load_lists(const htp_rows *r, const htp_unit *u, htp_dma *dma, uint8_t *const in[NPU_ROWS_IN]) {
    uint32_t id, k = r->row_values, n = 0;
    const npu_image_format *f = npu_image_format_of(r->o->src[0].type);
    if (!row_of(r, u, &id)) return HTP_NO_UNIT;
    const uint8_t *tile = r->o->src_data[0] + (uint64_t)(id / 32) * npu_image_row_tile_bytes(f, k) + id % 32 * 4;
    for (npu_image_plane p = 0; p < NPU_IMAGE_PLANES; p++) {
        uint32_t words = npu_image_vectors(f, p, k);
        if (!words) continue;
        htp_dma_push_2d(dma, in[0] + list_at(f, p, k), tile + npu_image_plane_at(f, p, k), 4, words, 4,
                        NPU_VECTOR_BYTES);
        n++;
    }
    return n;
}

static void dequantise(const htp_rows *r, const htp_unit *u, const uint8_t *const in[NPU_ROWS_IN], uint8_t *out,
                       uint8_t *work) {
    const npu_image_format *f = npu_image_format_of(r->o->src[0].type);
    htp_lists lists;
    (void)u, (void)work;
    for (npu_image_plane p = 0; p < NPU_IMAGE_PLANES; p++)
        lists[p] = (const HVX_Vector *)(in[0] + list_at(f, p, r->row_values));
    htp_image_row[npu_image_index(f)](lists, r->row_values / 32, (HVX_Vector *)out);
}

void htp_get_rows(htp_op *o) {
    htp_rows r = {.o = o, .k = o->kernel, .rows = o->dst[0].ne[1], .row_values = o->dst[0].ne[0]};
    int tiles = r.k->head.kernel == 2;
    r.load = tiles ? load_lists : load_row;
    r.compute = tiles ? dequantise : convert;
    r.store = store;
    if (NPU_GUARD(REFRESH_ROW_IDS)) htp_op_refresh(o, o->src_data[1], r.rows * 4);
    htp_rows_run(&r);
}
