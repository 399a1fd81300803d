/* Products over parts of K, and the all-reduce after them (--split tensor).
 *
 * A device that made some columns of an activation multiplies them with those columns of the next weight: the result is
 * whole, but only a part of each sum. What all devices have is added up by the ADD that follows, which the graph has
 * there for the residual, in the order of the devices: ADD_PARTS. That takes the place of the barrier before the
 * product and the one after it by a single one.
 *
 * Added up either by every device for itself, which needs no barrier behind it, or, when that would move more bytes
 * than a barrier costs, each a part of the columns for all (sharded). */
#include <string.h>

#include "target/assumed.h"
#include "target/hexagon/hexagon_parts.h"
#include "wire/format.h"
#include "wire/image.h"
#include "wire/op_check.h"

enum { DST = NPU_OP_SRCS };

/* Of a weight; 0 = it can't be cut. */
static uint32_t unit_of(const npu_tensor *w) {
    const npu_image_format *f = npu_image_format_of(w->type);
    const npu_format *format = npu_format_of(w->type);
    if (!(w->flags & NPU_TENSOR_WEIGHT) || w->ne[2] != 1 || w->ne[3] != 1) return 0;
    if (f && npu_image_fits(f, w->ne[0])) return npu_image_slice_unit(f);
    return format && format->flags & NPU_FORMAT_FLOAT ? NPU_TILE_K : 0;
}

static bool is_single_product(const npu_hex_parting *p, const npu_op *op) {
    const npu_tensor *w = npu_hex_parts_operand(p, op, 1);
    return op->code == NPU_OP_MUL_MAT && op->layer != NPU_NO_LAYER && w && !npu_hex_parts_operand(p, op, 2) &&
           unit_of(w);
}

uint32_t npu__hex_parts_k_unit(const npu_hex_parting *p, uint16_t layer, uint32_t k) {
    for (uint32_t i = 0; p->sums && layer != NPU_NO_LAYER && i < p->batch->n_ops; i++) {
        const npu_op *op = &p->batch->ops[i];
        if (op->layer == layer && is_single_product(p, op) && npu_hex_parts_operand(p, op, 1)->ne[0] == k)
            return unit_of(npu_hex_parts_operand(p, op, 1));
    }
    return 1;
}

static bool covers(const npu_tensor *a, const npu_tensor *b) {
    return a->buffer == b->buffer && a->offset <= b->offset &&
           a->offset + npu_tensor_extent(a) >= b->offset + npu_tensor_extent(b);
}

/* Whether an op behind op |i| reads what |y| has before that: until others write over it, as op |i| may. */
static bool is_read_after(const npu_hex_parting *p, uint32_t i, const npu_tensor *y) {
    for (uint32_t at = i; at < p->batch->n_ops; at++) {
        const npu_op *op = &p->batch->ops[at];
        for (unsigned k = 0; k < NPU_OP_SRCS && at > i; k++) {
            const npu_tensor *x = npu_hex_parts_operand(p, op, k);
            if (x && npu_tensor_overlap(x, y)) return true;
        }
        for (unsigned k = DST; k < NPU_HEX_OPERANDS; k++) {
            const npu_tensor *d = npu_hex_parts_operand(p, op, k);
            if (d && covers(d, y)) return false;
        }
    }
    return false;
}

/* The source of the ADD that the result |y| of the op before is added to; NULL when it is no such ADD. */
static const npu_tensor *added_to(const npu_hex_parting *p, const npu_op *add, uint16_t y, unsigned *source) {
    if (add->code != NPU_OP_ADD || (add->src[0] == y) == (add->src[1] == y)) return NULL;
    *source = add->src[0] == y;
    const npu_tensor *x = npu_hex_parts_operand(p, add, *source), *sum = npu_hex_parts_operand(p, add, DST);
    const npu_tensor *part = &p->batch->tensors[y];
    bool same = x && sum && !memcmp(x->ne, part->ne, sizeof x->ne) && !memcmp(sum->ne, part->ne, sizeof x->ne) &&
                x->rows_of == part->rows_of && sum->rows_of == part->rows_of && !(x->flags & NPU_TENSOR_WEIGHT);
    return same && part->ne[0] % NPU_TILE_ROWS == 0 ? x : NULL;
}

bool npu__hex_parts_sums(const npu_hex_parting *p, uint32_t i, npu_hex_parts *c) {
    const npu_op *op = &p->batch->ops[i];
    const npu_tensor *x = npu_hex_parts_operand(p, op, 0), *w = npu_hex_parts_operand(p, op, 1),
                     *y = npu_hex_parts_operand(p, op, DST);
    unsigned source;
    if (!p->sums || i + 1 >= p->batch->n_ops || !is_single_product(p, op) || x->ne[2] != 1 || x->ne[3] != 1)
        return false;
    if (!npu_hex_parts_is_compute(p->batch, x) || !npu_hex_parts_is_compute(p->batch, y) || p->values[i].stays ||
        !added_to(p, &op[1], op->dst[0], &source) || is_read_after(p, i + 1, y))
        return false;
    const npu_hex_value *v = npu_hex_parts_value(p, i, x);
    uint32_t unit = unit_of(w), made = 0, devices = 0;
    if (!v || !v->has_columns || !unit) return false;
    for (uint32_t d = 0; d < p->n; d++) {
        const npu_hex_range *r = &v->columns[d];
        if (r->count && (r->first != made || r->first % unit || (r->count % unit && r->first + r->count != w->ne[0])))
            return false;
        made += r->count;
        devices += r->count > 0;
    }
    if (made != w->ne[0] || devices < 2) return false;
    c->dim[0] = c->dim[1] = 0;
    memcpy(c->of[0], v->columns, sizeof c->of[0]);
    memcpy(c->of[1], v->columns, sizeof c->of[1]);
    return true;
}

/* Whether all devices together may read what each would add up for itself. A graph for few rows is for decoding: most
 * of its steps have one. */
static bool is_small(const npu_hex_parting *p, const npu_tensor *y) {
    uint64_t rows = npu_tensor_rows(y);
    if (rows <= NPU_HEX_DECODE_ROWS) rows = 1;
    return npu_assumed_sum_bytes(rows, y->ne[0], p->n) <= npu_assumed_barrier_bytes();
}

bool npu__hex_parts_keeps_own(const npu_hex_parting *p, uint32_t i) {
    const npu_op *op = &p->batch->ops[i];
    bool own = false;
    for (unsigned k = 0; k < 2; k++) {
        const npu_tensor *x = npu_hex_parts_operand(p, op, k);
        const npu_hex_value *v = x && npu_hex_parts_is_compute(p->batch, x) ? npu_hex_parts_value(p, i, x) : NULL;
        own |= v && v->each;
    }
    return own && p->sums && op->code == NPU_OP_ADD && is_small(p, npu_hex_parts_operand(p, op, DST));
}

void npu__hex_parts_add_up(npu_hex_parting *p, uint32_t i, npu_hex_parts *c) {
    const npu_op *op = &p->batch->ops[i];
    const npu_tensor *y = npu_hex_parts_operand(p, op, DST);
    unsigned source = 0;
    const npu_tensor *x = added_to(p, op, op[-1].dst[0], &source);
    const npu_hex_value *v = x ? npu_hex_parts_value(p, i - 1, x) : NULL;
    bool own = v && v->each && npu_hex_parts_is_compute(p->batch, y);
    c->adds_up = true;
    c->mode = own && is_small(p, y) ? NPU_HEX_EACH : NPU_HEX_PARTS;
    if (c->mode == NPU_HEX_PARTS && npu__hex_parts_columns(p, op, c, DST))
        npu__hex_parts_copy(c, 0, DST, 0);
    else if (c->mode == NPU_HEX_PARTS)
        c->mode = own ? NPU_HEX_EACH : NPU_HEX_ALONE;
}
