/* GET_ROWS from plain tables and from weight images. Ids are outside values: each is checked before its row is touched.
 */
#include "htp/hvx/hvx_math.h"
#include "htp/memory.h"
#include "htp/op.h"

#include "wire/format.h"
#include "wire/image.h"

static uint32_t load_row(const htp_rows *r, const htp_unit *u, htp_dma *dma, uint8_t *const in[2]) {
    uint32_t id;
    const npu_tensor *table = &r->o->src[0];
    if (!htp_row_id(r, u, table->ne[1], NPU_WIRE_BAD_ROW_ID, &id)) return 0;
    htp_dma_push(dma, in[0], r->o->src_data[0] + id * table->nb[1], u->values * 4);
    return 1;
}

/* Out of the slot that was loaded into: a plain row needs no work. */
static uint32_t store_row(const htp_rows *r, const htp_unit *u, htp_dma *dma, const uint8_t *out) {
    if (htp_op_failed(r->o)) return 0;
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
    if (!htp_row_id(r, u, r->o->src[0].ne[1], NPU_WIRE_BAD_ROW_ID, &id)) return 0;
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

/* f16 value |i| of a list in VTCM, by vector load and extract. */
static float half_at(const uint8_t *list, uint32_t i) {
    HVX_Vector v = *(const HVX_Vector *)(list + (i & ~63u) * 2);
    uint32_t word = (uint32_t)Q6_R_vextract_VR(v, (int32_t)((i & 62) * 2));
    return npu_half_to_float((uint16_t)(i & 1 ? word >> 16 : word));
}

/* 128 codes as bytes in order, of which there are four blocks, to numbers. */
static void expand(HVX_Vector codes, const npu_image_format *f, const uint8_t *scales, const uint8_t *minima,
                   uint32_t block, uint32_t blocks, HVX_Vector *y) {
    HVX_Vector offset = Q6_V_vsplat_R(f->offset);
    HVX_VectorPair halves = Q6_Wuh_vunpack_Vub(codes);
    for (uint32_t i = 0; i < 4 && block + i < blocks; i++) {
        HVX_VectorPair words = Q6_Wuw_vunpack_Vuh(i < 2 ? Q6_V_lo_W(halves) : Q6_V_hi_W(halves));
        HVX_Vector c = Q6_Vw_vsub_VwVw(i & 1 ? Q6_V_hi_W(words) : Q6_V_lo_W(words), offset);
        HVX_Vector x = hvx_f32_mul(hvx_f32_from_i32(c), hvx_f32_splat(half_at(scales, block + i)));
        y[block + i] = f->has_min ? hvx_f32_add(x, hvx_f32_splat(half_at(minima, block + i))) : x;
    }
}

static void dequantise(const htp_rows *r, const htp_unit *u, const uint8_t *const in[2], uint8_t *out, uint8_t *work) {
    const npu_image_format *f = npu_image_format_of(r->o->src[0].type);
    const uint8_t *scales = in[0] + scales_at(f, u->values), *minima = in[0] + minima_at(f, u->values);
    const HVX_Vector *codes = (const HVX_Vector *)in[0];
    HVX_Vector *y = (HVX_Vector *)out;
    uint32_t blocks = u->values / 32;
    (void)work;
    if (htp_op_failed(r->o)) return;
    for (uint32_t b = 0; b < blocks; b += 4) {
        if (f->bits == 8) {
            expand(codes[b / 4], f, scales, minima, b, blocks, y);
        } else if (b % 8 == 0) {
            /* A word is four codes in the low halves of its bytes and the four after them in the high ones. */
            HVX_Vector low = Q6_V_vand_VV(codes[b / 8], Q6_Vb_vsplat_R(15)), high = Q6_Vub_vlsr_VubR(codes[b / 8], 4);
            HVX_VectorPair in_order = Q6_W_vshuff_VVR(high, low, -4);
            expand(Q6_V_lo_W(in_order), f, scales, minima, b, blocks, y);
            expand(Q6_V_hi_W(in_order), f, scales, minima, b + 4, blocks, y);
        }
    }
}

static uint32_t store_out(const htp_rows *r, const htp_unit *u, htp_dma *dma, const uint8_t *out) {
    if (htp_op_failed(r->o)) return 0;
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
