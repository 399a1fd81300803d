/* CPY, CONCAT, REPEAT: a unit is a number of the result's elements in their order. DMA brings them from wherever they
 * are, in pieces that lie in one row of a source, and takes them away in pieces of the result's rows. */
#include "htp/hvx/hvx_convert.h"
#include "htp/op.h"

#include "wire/format.h"
#include "wire/guard.h"
#include "wire/op_check.h"

/* Elements that follow each other in one row. */
typedef struct piece {
    const npu_tensor *t;
    uint64_t at; /* bytes from the tensor's start */
    uint32_t n, source;
} piece;

/* From the element at |i| on, at most |most|, and none of its row from |row_end| on. */
static piece piece_at(const npu_tensor *t, const uint32_t i[NPU_MAX_DIMS], uint32_t row_end, uint64_t most) {
    uint32_t values, left = row_end - i[0];
    npu_tensor_unit(t, &values);
    piece p = {.t = t, .at = i[0] / values * t->nb[0]};
    for (unsigned d = 1; d < NPU_MAX_DIMS; d++) p.at += i[d] * t->nb[d];
    p.n = left < most ? left : (uint32_t)most;
    return p;
}

static void coordinates(const npu_tensor *t, uint64_t element, uint32_t i[NPU_MAX_DIMS]) {
    for (unsigned d = 0; d < NPU_MAX_DIMS - 1; d++) {
        i[d] = (uint32_t)(element % t->ne[d]);
        element /= t->ne[d];
    }
    i[NPU_MAX_DIMS - 1] = (uint32_t)element;
}

/* What element |e| of the result and those after it are made of. */
static piece source_piece(const htp_op *o, uint64_t e, uint64_t most) {
    uint32_t i[NPU_MAX_DIMS];
    const npu_tensor *x = &o->src[0], *y = &o->dst[0];
    if (o->op->code == NPU_OP_CPY) {
        coordinates(x, e, i);
        return piece_at(x, i, x->ne[0], most);
    }
    coordinates(y, e, i);
    uint32_t left = y->ne[0] - i[0];
    if (most > left) most = left;
    if (o->op->code == NPU_OP_REPEAT) {
        for (unsigned d = 0; d < NPU_MAX_DIMS; d++) i[d] %= x->ne[d];
        return piece_at(x, i, x->ne[0], most);
    }
    uint32_t dim = (uint32_t)o->op->params.dim.dim, source = i[dim] >= x->ne[dim];
    if (source) i[dim] -= x->ne[dim];
    piece p = piece_at(&o->src[source], i, o->src[source].ne[0], most);
    p.source = source;
    return p;
}

static piece result_piece(const htp_op *o, uint64_t e, uint64_t most) {
    uint32_t i[NPU_MAX_DIMS];
    coordinates(&o->dst[0], e, i);
    return piece_at(&o->dst[0], i, o->dst[0].ne[0], most);
}

static uint64_t unit_end(const htp_rows *r, uint64_t first) {
    const npu_tensor *y = &r->o->dst[0];
    uint64_t all = y->ne[0] * npu_tensor_rows(y), end = first + r->k->columns;
    return end < all ? end : all;
}

/* Units of storage, packed in a slot, from or to a piece. */
static uint32_t units_of(const piece *p, uint32_t *bytes) {
    uint32_t values;
    *bytes = npu_tensor_unit(p->t, &values);
    return p->n / values;
}

static uint32_t load(const htp_rows *r, const htp_unit *u, htp_dma *dma, uint8_t *const in[NPU_ROWS_IN]) {
    uint64_t e = u->row * r->k->columns, end = unit_end(r, e);
    uint8_t *to = in[0];
    uint32_t pushed = 0, bytes;
    for (piece p; e < end; e += p.n, pushed++) {
        p = source_piece(r->o, e, end - e);
        uint32_t n = units_of(&p, &bytes);
        htp_dma_push_2d(dma, to, r->o->src_data[p.source] + p.at, bytes, n, bytes, p.t->nb[0]);
        to += n * bytes;
    }
    return pushed;
}

static uint32_t store(const htp_rows *r, const htp_unit *u, htp_dma *dma, const uint8_t *out) {
    uint64_t e = u->row * r->k->columns, end = unit_end(r, e);
    uint32_t pushed = 0, bytes;
    for (piece p; e < end; e += p.n, pushed++) {
        p = result_piece(r->o, e, end - e);
        uint32_t n = units_of(&p, &bytes);
        htp_dma_push_2d(dma, r->o->dst_data[0] + p.at, out, bytes, n, p.t->nb[0], bytes);
        out += n * bytes;
    }
    return pushed;
}

/* Between two other types by way of f32, which the slot of the source has room for too: not in place. */
static void convert(const htp_rows *r, const htp_unit *u, const uint8_t *const in[NPU_ROWS_IN], uint8_t *out,
                    uint8_t *work) {
    uint32_t from = r->o->src[0].type, to = r->o->dst[0].type;
    uint64_t first = u->row * r->k->columns;
    uint32_t n = (uint32_t)(unit_end(r, first) - first);
    if (from == to) {
        const HVX_Vector *x = (const HVX_Vector *)in[0];
        HVX_Vector *y = (HVX_Vector *)out;
        for (uint32_t i = 0, vectors = (hvx_convert_bytes(from, n) + 127) / 128; i < vectors; i++) y[i] = x[i];
    } else if (from == NPU_TYPE_F32) {
        hvx_convert_from_f32(to, (const HVX_Vector *)in[0], out, n);
    } else {
        HVX_Vector *wide = (HVX_Vector *)(to == NPU_TYPE_F32 ? out : work);
        hvx_convert_to_f32(from, in[0], wide, n);
        if (to != NPU_TYPE_F32) hvx_convert_from_f32(to, wide, out, n);
    }
}

void htp_move(htp_op *o) {
    const npu_tensor *y = &o->dst[0];
    htp_rows r = {.o = o, .k = o->kernel};
    r.row_values = r.k->columns;
    r.rows = NPU_GUARD_CEIL(ROUND_MOVE_UNITS, y->ne[0] * npu_tensor_rows(y), r.k->columns);
    r.load = load, r.compute = convert, r.store = store;
    htp_rows_run(&r);
}
