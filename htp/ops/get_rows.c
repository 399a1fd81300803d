/* GET_ROWS: rows of a file copied or converted, rows of a weight image put together from its planes. */
#include "htp/hvx/hvx_codes.h"
#include "htp/hvx/hvx_convert.h"
#include "htp/hvx/hvx_math.h"
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

/* What a row has in a plane is a list of words, one of each vector; lists begin vectors. */
typedef struct lists {
    const npu_image_format *f;
    const HVX_Vector *plane[NPU_IMAGE_PLANES];
} lists;

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

static uint32_t word_at(const HVX_Vector *list, uint32_t i) {
    return (uint32_t)Q6_R_vextract_VR(list[i / 32], (int32_t)(i % 32 * 4));
}
static uint32_t half_at(const HVX_Vector *list, uint32_t i) {
    return word_at(list, i / 2) >> i % 2 * 16 & 0xFFFF;
}
static uint32_t byte_at(const HVX_Vector *list, uint32_t i) {
    return word_at(list, i / 4) >> i % 4 * 8 & 0xFF;
}

/* The |bits| of codes 128 g …, bytes in order: each word of the list holds those of 8 / bits words of codes, in
 * neighbouring fields. */
static HVX_Vector fields(const HVX_Vector *list, uint32_t bits, uint32_t g) {
    HVX_Vector words = list[g * bits / 8];
    uint32_t times = 8 / bits;
    for (uint32_t step = times / 2; step; step /= 2) {
        HVX_VectorPair twice = Q6_W_vshuff_VVR(words, words, -4);
        words = g & step ? Q6_V_hi_W(twice) : Q6_V_lo_W(twice);
    }
    HVX_Vector field = Q6_V_vand_VV(hvx_lane_numbers(), Q6_V_vsplat_R((int32_t)times - 1));
    HVX_Vector shift = Q6_Vw_vmpyi_VwRub(field, (int32_t)(bits * 0x01010101));
    return Q6_V_vand_VV(Q6_Vw_vlsr_VwVw(words, shift), Q6_Vb_vsplat_R((1 << bits) - 1));
}

static HVX_Vector codes_of(const lists *l, HVX_Vector book, uint32_t g) {
    HVX_Vector codes = fields(l->plane[NPU_IMAGE_LOW], l->f->low, g);
    if (l->f->high) codes = Q6_Vw_vaslacc_VwVwR(codes, fields(l->plane[NPU_IMAGE_HIGH], l->f->high, g), l->f->low);
    return l->f->table ? Q6_Vb_vlut32_VbVbR_nomatch(codes, book, 0) : codes;
}

/* Scale and minimum of each half of a tile. */
typedef struct factors {
    float scale[2], min[2];
} factors;

static float half_number(const HVX_Vector *list, uint32_t i) {
    return npu_half_to_float((uint16_t)half_at(list, i));
}

static factors factors_of(const lists *l, uint32_t tile) {
    const HVX_Vector *scales = l->plane[NPU_IMAGE_SCALES], *minima = l->plane[NPU_IMAGE_MINIMA];
    const HVX_Vector *super = l->plane[NPU_IMAGE_SUPER];
    factors f = {{0}, {0}};
    if (l->f->scale < NPU_IMAGE_SCALE_SUB32) {
        f.scale[0] = l->f->scale == NPU_IMAGE_SCALE_BF16 ? npu_bf16_to_float((uint16_t)half_at(scales, tile))
                                                         : half_number(scales, tile);
        if (l->f->has_min) f.min[0] = half_number(minima, tile);
        f.scale[1] = f.scale[0], f.min[1] = f.min[0];
        return f;
    }
    float d = half_number(super, tile / 8 * 2), m = half_number(super, tile / 8 * 2 + 1);
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t at = tile / 4 * 4 + tile % 2 * 2 + tile / 2 % 2;
        if (l->f->scale == NPU_IMAGE_SCALE_SUB16) at = tile / 2 * 4 + 2 * half + tile % 2;
        int32_t sub = (int32_t)byte_at(scales, at), min = 0;
        if (l->f->scale == NPU_IMAGE_SCALE_SUB32) {
            sub -= l->f->bias;
            if (l->f->has_min) min = (int32_t)byte_at(minima, at);
        } else if (l->f->has_min) {
            min = sub >> 4;
            sub &= 15;
        } else {
            sub = (int8_t)sub;
        }
        f.scale[half] = d * (float)sub, f.min[half] = m * (float)min;
    }
    return f;
}

static HVX_Vector by_halves(const float x[2]) {
    return Q6_V_vmux_QVV(hvx_lanes_between(0, 16), hvx_f32_splat(x[0]), hvx_f32_splat(x[1]));
}

static void dequantise(const htp_rows *r, const htp_unit *u, const uint8_t *const in[NPU_ROWS_IN], uint8_t *out,
                       uint8_t *work) {
    lists l = {.f = npu_image_format_of(r->o->src[0].type)};
    HVX_Vector book = Q6_V_vzero(), offset = Q6_V_vsplat_R(l.f->offset), *y = (HVX_Vector *)out;
    (void)u, (void)work;
    for (npu_image_plane p = 0; p < NPU_IMAGE_PLANES; p++)
        l.plane[p] = (const HVX_Vector *)(in[0] + list_at(l.f, p, r->row_values));
    if (l.f->table) book = hvx_codebook(l.f);
    for (uint32_t tile = 0; tile < r->row_values / 32; tile += 4) {
        HVX_VectorPair halves = Q6_Wuh_vunpack_Vub(codes_of(&l, book, tile / 4));
        for (uint32_t i = 0; i < 4 && tile + i < r->row_values / 32; i++) {
            HVX_VectorPair words = Q6_Wuw_vunpack_Vuh(i < 2 ? Q6_V_lo_W(halves) : Q6_V_hi_W(halves));
            HVX_Vector c = Q6_Vw_vsub_VwVw(i & 1 ? Q6_V_hi_W(words) : Q6_V_lo_W(words), offset);
            factors f = factors_of(&l, tile + i);
            HVX_Vector x = hvx_f32_mul(by_halves(f.scale), hvx_f32_from_i32(c));
            y[tile + i] = l.f->has_min ? hvx_f32_add(x, by_halves(f.min)) : x;
        }
    }
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
