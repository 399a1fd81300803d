#include "target/hexagon/hexagon_parts.h"

#include <string.h>

#include "target/hexagon/hexagon_cut.h"
#include "wire/image.h"
#include "wire/op_check.h"

enum { DST = NPU_OP_SRCS };

const npu_tensor *npu_hex_parts_operand(const npu_hex_parting *p, const npu_op *op, unsigned k) {
    uint16_t index = k < NPU_OP_SRCS ? op->src[k] : op->dst[k - NPU_OP_SRCS];
    return index == NPU_NO_TENSOR ? NULL : &p->batch->tensors[index];
}

bool npu_hex_parts_is_compute(const npu_batch *b, const npu_tensor *t) {
    return !(t->flags & NPU_TENSOR_WEIGHT) && b->buffers[t->buffer]->use == NPU_BUFFER_COMPUTE;
}

npu_hex_value *npu_hex_parts_value(const npu_hex_parting *p, uint32_t before, const npu_tensor *t) {
    for (uint32_t i = before; i-- > 0;)
        for (unsigned k = DST; k < NPU_HEX_OPERANDS; k++) {
            const npu_tensor *d = npu_hex_parts_operand(p, &p->batch->ops[i], k);
            if (d && npu_tensor_overlap(d, t)) return &p->values[i];
        }
    return NULL;
}

void npu_hex_parts_begin(npu_hex_parting *p) {
    const npu_batch *b = p->batch;
    for (uint32_t i = 0; i < b->n_ops; i++)
        for (unsigned k = DST; k < NPU_HEX_OPERANDS; k++) {
            const npu_tensor *y = npu_hex_parts_operand(p, &b->ops[i], k);
            if (y && npu_hex_parts_is_compute(b, y))
                p->values[i].stays |= npu_hex_parts_value(p, b->n_ops, y) == &p->values[i];
        }
}

npu_hex_parts npu_hex_parts_alone(void) {
    npu_hex_parts c = {.mode = NPU_HEX_ALONE};
    memset(c.dim, -1, sizeof c.dim);
    return c;
}

/* Every device's columns of a row, when the first result is cut by columns or by heads. */
static void note_columns(npu_hex_value *v, const npu_tensor *y, const npu_hex_parts *c, uint32_t n) {
    bool on_heads = c->dim[DST] == 1 && y->rows_dim != 1 && y->nb[1] == (uint64_t)y->ne[0] * 4;
    uint32_t width = on_heads ? y->ne[0] : 1;
    v->has_columns = c->mode == NPU_HEX_PARTS && (c->dim[DST] == 0 || on_heads);
    for (uint32_t d = 0; d < n && v->has_columns; d++)
        v->columns[d] = (npu_hex_range){c->of[DST][d].first * width, c->of[DST][d].count * width};
}

void npu_hex_parts_note(npu_hex_parting *p, uint32_t i, const npu_hex_parts *c) {
    npu_hex_value *v = &p->values[i];
    const npu_tensor *y = npu_hex_parts_operand(p, &p->batch->ops[i], DST);
    v->each = c->mode == NPU_HEX_EACH;
    v->sums = c->mode == NPU_HEX_SUMS;
    v->mine = c->own;
    if (y) note_columns(v, y, c, p->n);
}

void npu__hex_parts_copy(npu_hex_parts *c, unsigned to, unsigned from, int dim) {
    c->dim[to] = (int8_t)dim;
    memcpy(c->of[to], c->of[from], sizeof c->of[to]);
}

bool npu__hex_parts_columns(const npu_hex_parting *p, const npu_op *op, npu_hex_parts *c, unsigned k) {
    const npu_tensor *t = npu_hex_parts_operand(p, op, k);
    uint32_t cuts[NPU_HEX_DEVICES + 1], unit = npu__hex_parts_k_unit(p, op->layer, t->ne[0]);
    if (unit % NPU_TILE_ROWS || !npu_hex_cut(t, 0, unit, p->n, cuts)) /* as a part of K if it can be, else as rows */
        if (!npu_hex_cut(t, 0, NPU_TILE_ROWS, p->n, cuts)) return false;
    c->dim[k] = 0;
    for (uint32_t d = 0; d < p->n; d++) c->of[k][d] = (npu_hex_range){cuts[d], cuts[d + 1] - cuts[d]};
    return true;
}

/* --- how an op is cut --- */

static npu_hex_mode cut_product(npu_hex_parting *p, const npu_op *op, npu_hex_parts *c) {
    const npu_tensor *x = npu_hex_parts_operand(p, op, 0), *y[NPU_OP_DSTS];
    for (unsigned i = 0; i < NPU_OP_DSTS; i++) y[i] = npu_hex_parts_operand(p, op, DST + i);
    const npu_hex_heads *h = &p->heads;
    bool qkv = npu__hex_parts_heads(p, op) && y[2] && !y[3] && y[0]->ne[0] == h->n_q * h->d &&
               y[1]->ne[0] == h->n_kv * h->d && y[2]->ne[0] == h->n_kv * h->dv;
    if (x->ne[2] != 1 || x->ne[3] != 1) return NPU_HEX_ALONE;
    for (unsigned i = 0; i < NPU_OP_DSTS; i++) {
        if (!y[i]) continue;
        if (qkv)
            npu__hex_parts_cut_heads(p, c, DST + i, 0, !i, i == 2 ? h->dv : h->d);
        else if (!npu__hex_parts_columns(p, op, c, DST + i))
            return NPU_HEX_ALONE;
        npu__hex_parts_copy(c, 1 + i, DST + i, 1);
        if (npu_hex_parts_operand(p, op, 5 + i)) npu__hex_parts_copy(c, 5 + i, DST + i, 0);
    }
    c->own = qkv && h->replicated;
    return NPU_HEX_PARTS;
}

static npu_hex_mode cut_attention(npu_hex_parting *p, const npu_op *op, npu_hex_parts *c) {
    if (!npu__hex_parts_heads(p, op)) return NPU_HEX_ALONE;
    npu__hex_parts_cut_heads(p, c, 0, 1, true, 1);
    npu__hex_parts_cut_heads(p, c, 1, 1, false, 1);
    npu__hex_parts_cut_heads(p, c, 2, 1, false, 1);
    if (npu_hex_parts_operand(p, op, 5)) npu__hex_parts_cut_heads(p, c, 5, 0, true, 1);
    npu__hex_parts_cut_heads(p, c, DST, 1, true, 1);
    return NPU_HEX_PARTS;
}

static npu_hex_mode cut_cells(npu_hex_parting *p, const npu_op *op, npu_hex_parts *c) {
    const npu_tensor *x = npu_hex_parts_operand(p, op, 0);
    if (!npu__hex_parts_heads(p, op) || x->ne[0] % p->heads.n_kv) return NPU_HEX_ALONE;
    npu__hex_parts_cut_heads(p, c, 0, 0, false, x->ne[0] / p->heads.n_kv);
    npu__hex_parts_copy(c, DST, 0, 0);
    return NPU_HEX_PARTS;
}

/* Ops on heads: [D, heads, rows]. A second operand has the same heads, or one for all. */
static npu_hex_mode cut_by_heads(npu_hex_parting *p, const npu_op *op, unsigned sources, npu_hex_parts *c) {
    const npu_tensor *y = npu_hex_parts_operand(p, op, DST);
    if (!npu__hex_parts_heads(p, op)) return NPU_HEX_ALONE;
    const npu_hex_heads *h = &p->heads;
    if (y->ne[1] != h->n_q && y->ne[1] != h->n_kv) return NPU_HEX_ALONE;
    npu__hex_parts_cut_heads(p, c, DST, 1, y->ne[1] == h->n_q, 1);
    c->own = h->replicated && npu_hex_parts_is_compute(p->batch, y);
    for (unsigned k = 0; k < sources; k++) {
        const npu_tensor *x = npu_hex_parts_operand(p, op, k);
        if (x && x->ne[1] == y->ne[1] && x->rows_dim == y->rows_dim)
            npu__hex_parts_copy(c, k, DST, 1);
        else if (x && x->ne[1] != 1)
            return NPU_HEX_ALONE;
    }
    return NPU_HEX_PARTS;
}

static npu_hex_mode cut_columns(const npu_hex_parting *p, const npu_op *op, unsigned sources, npu_hex_parts *c) {
    const npu_tensor *y = npu_hex_parts_operand(p, op, DST);
    if (!npu__hex_parts_columns(p, op, c, DST)) return NPU_HEX_ALONE;
    for (unsigned k = 0; k < sources; k++) {
        const npu_tensor *x = npu_hex_parts_operand(p, op, k);
        if (x && x->ne[0] == y->ne[0])
            npu__hex_parts_copy(c, k, DST, 0);
        else if (x && x->ne[0] != 1)
            return NPU_HEX_ALONE;
    }
    return NPU_HEX_PARTS;
}

static bool is_by_element(unsigned code) {
    return (code >= NPU_OP_ADD && code <= NPU_OP_SOFTPLUS) || code == NPU_OP_GLU;
}

/* Whether every device has all that op |i| reads in its own memory. */
static bool reads_own(const npu_hex_parting *p, uint32_t i) {
    for (unsigned k = 0; k < NPU_OP_SRCS; k++) {
        const npu_tensor *x = npu_hex_parts_operand(p, &p->batch->ops[i], k);
        if (!x || !npu_hex_parts_is_compute(p->batch, x)) continue;
        const npu_hex_value *v = npu_hex_parts_value(p, i, x);
        if (!v || !v->each) return false;
    }
    return true;
}

static npu_hex_mode choose(npu_hex_parting *p, uint32_t i, npu_hex_parts *c) {
    const npu_op *op = &p->batch->ops[i];
    const npu_tensor *x = npu_hex_parts_operand(p, op, 0), *y = npu_hex_parts_operand(p, op, DST);
    if (!x || !y || npu_op_check(op, p->batch->tensors, p->batch->n_tensors)) return NPU_HEX_ALONE; /* to be refused */
    bool on_heads = y->rows_dim == 2, own = npu_hex_parts_is_compute(p->batch, y);
    switch (op->code) {
    case NPU_OP_MUL_MAT:
        return npu__hex_parts_sums(p, i, c) ? NPU_HEX_SUMS : cut_product(p, op, c);
    case NPU_OP_FLASH_ATTN:
        return cut_attention(p, op, c);
    case NPU_OP_SET_ROWS:
        return cut_cells(p, op, c);
    case NPU_OP_ROPE_TABLE:
        return own ? NPU_HEX_EACH : NPU_HEX_ALONE;
    case NPU_OP_ROPE:
        return on_heads ? cut_by_heads(p, op, 1, c) : NPU_HEX_ALONE;
    case NPU_OP_GET_ROWS:
        if (own && (x->flags & NPU_TENSOR_WEIGHT || reads_own(p, i))) return NPU_HEX_EACH;
        return x->flags & NPU_TENSOR_WEIGHT ? NPU_HEX_ALONE : cut_columns(p, op, 1, c);
    case NPU_OP_RMS_NORM:
    case NPU_OP_NORM:
    case NPU_OP_L2_NORM:
        return on_heads ? cut_by_heads(p, op, 1, c) : own ? NPU_HEX_EACH : NPU_HEX_ALONE;
    default:
        if (!is_by_element(op->code)) return NPU_HEX_ALONE;
        if (own && (reads_own(p, i) || npu__hex_parts_keeps_own(p, i))) return NPU_HEX_EACH;
        return on_heads ? cut_by_heads(p, op, 2, c) : cut_columns(p, op, 2, c);
    }
}

bool npu_hex_parts_misses(const npu_hex_parting *p, uint32_t i, const npu_hex_parts *c) {
    const npu_op *op = &p->batch->ops[i];
    bool by_heads = c->mode == NPU_HEX_PARTS && p->heads.replicated && p->heads_layer == op->layer &&
                    (c->own || op->code == NPU_OP_SET_ROWS || op->code == NPU_OP_FLASH_ATTN);
    for (unsigned k = 0; p->has_replicas && k < NPU_OP_SRCS; k++) {
        const npu_tensor *x = npu_hex_parts_operand(p, op, k);
        const npu_hex_value *v = x && npu_hex_parts_is_compute(p->batch, x) ? npu_hex_parts_value(p, i, x) : NULL;
        if (v && v->mine && (!by_heads || c->dim[k] < 0)) return true;
    }
    return false;
}

void npu_hex_parts_choose(npu_hex_parting *p, uint32_t i, npu_hex_parts *out) {
    npu_hex_parts c = npu_hex_parts_alone();
    if (i && p->values[i - 1].sums)
        npu__hex_parts_add_up(p, i, &c);
    else
        c.mode = choose(p, i, &c);
    *out = c.mode == NPU_HEX_ALONE && !c.adds_up ? npu_hex_parts_alone() : c;
    p->conflict |= npu_hex_parts_misses(p, i, out);
}
