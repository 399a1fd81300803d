/* A batch split by rows: every device runs every op, but makes only its part of each result.
 *
 * A product is cut by rows of its weights (never by partial sums), attention with the ops on its heads by key-value
 * heads, element-wise ops by columns, all on whole lines (hexagon_cut.h); what needs a whole row and costs little,
 * norms and the embedding, every device makes for itself in memory of its own. What can't be cut device 0 does alone.
 * Each device's ops are ordinary ones over parts of tensors, so its program knows nothing of the others but the
 * barriers.
 *
 * A barrier stands before an op only when some device would read or write bytes that another one writes, or write what
 * another one reads, since the barrier before: found from the operands themselves (hexagon_hazard.h). */
#include <stdlib.h>
#include <string.h>

#include "target/hexagon/hexagon_cut.h"
#include "target/hexagon/hexagon_hazard.h"
#include "target/hexagon/hexagon_lower.h"
#include "wire/image.h"
#include "wire/op_check.h"

enum { OPERANDS = NPU_OP_SRCS + NPU_OP_DSTS };

typedef enum mode { ALONE, EACH, PARTS } mode; /* device 0; every device all of it, for itself; every device a part */

/* Where a result is. */
typedef struct value {
    bool each;  /* in every device's own memory */
    bool stays; /* nothing of the batch writes over it: device 0's is where the graph says */
    bool spare; /* in the second shared buffer, as its place in the first one was still being read */
} value;

/* How an op's operands are cut: |dim| of each, -1 = whole. */
typedef struct cutting {
    int8_t dim[OPERANDS];
    uint32_t cuts[OPERANDS][NPU_HEX_DEVICES + 1];
} cutting;

/* Key-value heads of a layer's attention, cut for its writes, reads and all ops on heads. */
typedef struct heads {
    uint32_t n_q, n_kv, d, dv;
    uint32_t cuts[NPU_HEX_DEVICES + 1];
    bool cut;
} heads;

typedef struct splitting {
    npu_hex_target *t;
    const npu_batch *batch;
    value *values; /* [op] of the first result, which all share */
    npu_hex_program programs[NPU_HEX_DEVICES];
    npu_hex_hazards hazards;
    uint32_t operands[NPU_HEX_DEVICES]; /* of the programs, before the op at hand */
    heads heads;
    uint16_t heads_layer; /* whose |heads| are */
    bool has_heads;
    int32_t barriers;
} splitting;

static const npu_tensor *operand(const splitting *s, const npu_op *op, unsigned k) {
    uint16_t index = k < NPU_OP_SRCS ? op->src[k] : op->dst[k - NPU_OP_SRCS];
    return index == NPU_NO_TENSOR ? NULL : &s->batch->tensors[index];
}

static bool is_compute(const npu_batch *b, const npu_tensor *t) {
    return !(t->flags & NPU_TENSOR_WEIGHT) && b->buffers[t->buffer]->use == NPU_BUFFER_COMPUTE;
}

static bool overlap(const npu_tensor *a, const npu_tensor *b) {
    return a->buffer == b->buffer && a->offset < b->offset + npu_tensor_extent(b) &&
           b->offset < a->offset + npu_tensor_extent(a);
}

/* The last result before op |before| that shares bytes with |t|, NULL when there is none. */
static value *last_value(const splitting *s, uint32_t before, const npu_tensor *t) {
    for (uint32_t i = before; i-- > 0;)
        for (unsigned k = 0; k < NPU_OP_DSTS; k++) {
            const npu_tensor *d = operand(s, &s->batch->ops[i], NPU_OP_SRCS + k);
            if (d && overlap(d, t)) return &s->values[i];
        }
    return NULL;
}

/* --- heads --- */

/* Heads of keys and of values whose rows in the cache are whole lines, and whose weights are whole row tiles. */
static uint32_t heads_at_once(const npu_tensor *k, const npu_tensor *v) {
    uint32_t n = npu_hex_cut_lines(k->nb[1]), lines_v = npu_hex_cut_lines(v->nb[1]);
    if (lines_v > n) n = lines_v;
    while ((n * k->ne[0] % NPU_TILE_ROWS || n * v->ne[0] % NPU_TILE_ROWS) && n < NPU_TILE_ROWS) n *= 2;
    return n;
}

static void find_heads(splitting *s, uint16_t layer) {
    const npu_batch *b = s->batch;
    if (s->has_heads && s->heads_layer == layer) return;
    s->has_heads = true;
    s->heads_layer = layer;
    s->heads = (heads){0};
    for (uint32_t i = 0; i < b->n_ops; i++) {
        const npu_op *op = &b->ops[i];
        if (op->code != NPU_OP_FLASH_ATTN || op->layer != layer) continue;
        const npu_tensor *q = operand(s, op, 0), *k = operand(s, op, 1), *v = operand(s, op, 2);
        uint32_t each = heads_at_once(k, v), pieces = (k->ne[1] + each - 1) / each;
        s->heads = (heads){.n_q = q->ne[1], .n_kv = k->ne[1], .d = k->ne[0], .dv = v->ne[0]};
        s->heads.cut = pieces > 1 && !operand(s, op, 4) && op->params.attn.max_bias == 0;
        npu_hex_cut_pieces(s->heads.cut ? pieces : 1, s->heads.cut ? each : k->ne[1], k->ne[1], s->t->set.n,
                           s->heads.cuts);
    }
}

/* Cuts of operand |k| along |dim| where its |n_heads| heads of |width| are. */
static void cut_heads(const splitting *s, cutting *c, unsigned k, int dim, uint32_t n_heads, uint32_t width) {
    c->dim[k] = (int8_t)dim;
    for (uint32_t d = 0; d <= s->t->set.n; d++) c->cuts[k][d] = s->heads.cuts[d] * (n_heads / s->heads.n_kv) * width;
}

static void copy_cut(cutting *c, unsigned to, unsigned from, int dim) {
    c->dim[to] = (int8_t)dim;
    memcpy(c->cuts[to], c->cuts[from], sizeof c->cuts[to]);
}

/* --- how an op is cut --- */

static mode cut_product(splitting *s, const npu_op *op, cutting *c) {
    const npu_tensor *x = operand(s, op, 0);
    static const unsigned dst = NPU_OP_SRCS;
    const npu_tensor *y[] = {operand(s, op, dst), operand(s, op, dst + 1), operand(s, op, dst + 2),
                             operand(s, op, dst + 3)};
    const heads *h = &s->heads;
    if (op->layer != NPU_NO_LAYER) find_heads(s, op->layer);
    bool qkv = op->layer != NPU_NO_LAYER && h->cut && y[2] && !y[3] && y[0]->ne[0] == h->n_q * h->d &&
               y[1]->ne[0] == h->n_kv * h->d && y[2]->ne[0] == h->n_kv * h->dv;
    if (x->ne[2] != 1 || x->ne[3] != 1) return ALONE;
    for (unsigned i = 0; i < NPU_OP_DSTS; i++) {
        if (!y[i]) continue;
        c->dim[dst + i] = 0;
        bool cut = npu_hex_cut(y[i], 0, NPU_TILE_ROWS, s->t->set.n, c->cuts[dst + i]);
        if (!cut && !qkv) return ALONE;
        if (qkv) cut_heads(s, c, dst + i, 0, i ? h->n_kv : h->n_q, i == 2 ? h->dv : h->d);
        copy_cut(c, 1 + i, dst + i, 1);
        if (operand(s, op, 5 + i)) copy_cut(c, 5 + i, dst + i, 0);
    }
    return PARTS;
}

static mode cut_attention(splitting *s, const npu_op *op, cutting *c) {
    find_heads(s, op->layer);
    const heads *h = &s->heads;
    if (!h->cut || op->layer == NPU_NO_LAYER) return ALONE;
    cut_heads(s, c, 0, 1, h->n_q, 1);
    cut_heads(s, c, 1, 1, h->n_kv, 1);
    cut_heads(s, c, 2, 1, h->n_kv, 1);
    if (operand(s, op, 5)) cut_heads(s, c, 5, 0, h->n_q, 1);
    cut_heads(s, c, NPU_OP_SRCS, 1, h->n_q, 1);
    return PARTS;
}

static mode cut_cells(splitting *s, const npu_op *op, cutting *c) {
    const npu_tensor *x = operand(s, op, 0);
    if (op->layer == NPU_NO_LAYER) return ALONE;
    find_heads(s, op->layer);
    const heads *h = &s->heads;
    if (!h->cut || x->ne[0] % h->n_kv) return ALONE;
    cut_heads(s, c, 0, 0, h->n_kv, x->ne[0] / h->n_kv);
    copy_cut(c, NPU_OP_SRCS, 0, 0);
    return PARTS;
}

/* Ops on heads: [D, heads, rows]. A second operand has the same heads, or one for all. */
static mode cut_by_heads(splitting *s, const npu_op *op, unsigned sources, cutting *c) {
    const npu_tensor *y = operand(s, op, NPU_OP_SRCS);
    if (op->layer == NPU_NO_LAYER) return ALONE;
    find_heads(s, op->layer);
    const heads *h = &s->heads;
    if (!h->cut || (y->ne[1] != h->n_q && y->ne[1] != h->n_kv)) return ALONE;
    cut_heads(s, c, NPU_OP_SRCS, 1, y->ne[1], 1);
    for (unsigned k = 0; k < sources; k++) {
        const npu_tensor *x = operand(s, op, k);
        if (x && x->ne[1] == y->ne[1] && x->rows_dim == y->rows_dim)
            copy_cut(c, k, NPU_OP_SRCS, 1);
        else if (x && x->ne[1] != 1)
            return ALONE;
    }
    return PARTS;
}

static mode cut_columns(splitting *s, const npu_op *op, unsigned sources, cutting *c) {
    const npu_tensor *y = operand(s, op, NPU_OP_SRCS);
    if (!npu_hex_cut(y, 0, NPU_TILE_ROWS, s->t->set.n, c->cuts[NPU_OP_SRCS])) return ALONE;
    c->dim[NPU_OP_SRCS] = 0;
    for (unsigned k = 0; k < sources; k++) {
        const npu_tensor *x = operand(s, op, k);
        if (x && x->ne[0] == y->ne[0])
            copy_cut(c, k, NPU_OP_SRCS, 0);
        else if (x && x->ne[0] != 1)
            return ALONE;
    }
    return PARTS;
}

static bool is_by_element(unsigned code) {
    return (code >= NPU_OP_ADD && code <= NPU_OP_SOFTPLUS) || code == NPU_OP_GLU;
}

/* Whether every device has all that the op reads in its own memory. */
static bool reads_own(const splitting *s, uint32_t i) {
    for (unsigned k = 0; k < NPU_OP_SRCS; k++) {
        const npu_tensor *x = operand(s, &s->batch->ops[i], k);
        const value *v = x && is_compute(s->batch, x) ? last_value(s, i, x) : NULL;
        if (x && is_compute(s->batch, x) && (!v || !v->each)) return false;
    }
    return true;
}

static mode choose(splitting *s, uint32_t i, const npu_op *op, cutting *c) {
    const npu_tensor *x = operand(s, op, 0), *y = operand(s, op, NPU_OP_SRCS);
    memset(c->dim, -1, sizeof c->dim);
    if (!x || !y || npu_op_check(op, s->batch->tensors, s->batch->n_tensors)) return ALONE; /* which will be refused */
    bool on_heads = y->rows_dim == 2, own = is_compute(s->batch, y);
    switch (op->code) {
    case NPU_OP_MUL_MAT:
        return cut_product(s, op, c);
    case NPU_OP_FLASH_ATTN:
        return cut_attention(s, op, c);
    case NPU_OP_SET_ROWS:
        return cut_cells(s, op, c);
    case NPU_OP_ROPE_TABLE:
        return own ? EACH : ALONE;
    case NPU_OP_ROPE:
        return on_heads ? cut_by_heads(s, op, 1, c) : ALONE;
    case NPU_OP_GET_ROWS:
        if (own && (x->flags & NPU_TENSOR_WEIGHT || reads_own(s, i))) return EACH;
        return x->flags & NPU_TENSOR_WEIGHT ? ALONE : cut_columns(s, op, 1, c);
    case NPU_OP_RMS_NORM:
    case NPU_OP_NORM:
    case NPU_OP_L2_NORM:
        return on_heads ? cut_by_heads(s, op, 1, c) : own ? EACH : ALONE;
    default:
        if (!is_by_element(op->code)) return ALONE;
        if (own && reads_own(s, i)) return EACH;
        return on_heads ? cut_by_heads(s, op, 2, c) : cut_columns(s, op, 2, c);
    }
}

/* --- programs --- */

static void take_part(npu_tensor *t, unsigned dim, uint32_t first, uint32_t count) {
    uint32_t values;
    npu_tensor_unit(t, &values);
    if (t->layout == NPU_LAYOUT_TILES)
        t->offset += (uint64_t)first / NPU_TILE_ROWS * npu_image_row_tile_bytes(npu_image_format_of(t->type), t->ne[0]);
    else
        t->offset += first / (dim ? 1 : values) * t->nb[dim];
    t->ne[dim] = count;
}

/* Operand |k| of op |i| as device |d| has it. */
static npu_status place(splitting *s, uint32_t i, unsigned k, uint16_t index, uint32_t d, npu_hex_operand *out,
                        npu_error *err) {
    NPU_TRY(npu_hex_resolve(s->t, s->batch, index, out, err));
    const npu_tensor *t = &s->batch->tensors[index];
    if (!is_compute(s->batch, t)) return NPU_OK;
    const value *v = k >= NPU_OP_SRCS ? &s->values[i] : last_value(s, i, t);
    npu_hex_buffer *other;
    if (v && v->spare)
        NPU_TRY(npu_hex_group_spare(s->t, out->buffer, &other, err));
    else if (v && v->each && !(v->stays && !d))
        NPU_TRY(npu_hex_group_twin(s->t, out->buffer, d, &other, err));
    else
        return NPU_OK;
    out->buffer = other;
    return NPU_OK;
}

/* The weights of which a device has nothing go; the others move up. */
static void close_gaps(npu_op *op) {
    unsigned n = 0;
    for (unsigned i = 0; i < NPU_OP_DSTS; i++) {
        if (op->dst[i] == NPU_NO_TENSOR) continue;
        uint16_t w = op->src[1 + i], bias = op->src[5 + i], y = op->dst[i];
        op->src[1 + i] = op->src[5 + i] = op->dst[i] = NPU_NO_TENSOR;
        op->src[1 + n] = w, op->src[5 + n] = bias, op->dst[n] = y;
        n++;
    }
}

/* Device |d|'s part of op |i|; an op without results is skipped. */
static npu_status add_op(splitting *s, uint32_t i, const npu_op *from, mode m, const cutting *c, uint32_t d,
                         npu_error *err) {
    npu_hex_program *p = &s->programs[d];
    npu_op *op = &p->ops[p->n_ops++];
    unsigned results = 0;
    *op = *from;
    for (unsigned k = OPERANDS; k-- > 0;) { /* results first: without one, its sources go too */
        uint16_t *index = k < NPU_OP_SRCS ? &op->src[k] : &op->dst[k - NPU_OP_SRCS];
        npu_hex_operand operand;
        if (*index == NPU_NO_TENSOR) continue;
        bool cut = m == PARTS && c->dim[k] >= 0;
        uint32_t first = cut ? c->cuts[k][d] : 0, count = cut ? c->cuts[k][d + 1] - first : 1;
        if (!count || (m == ALONE && d) || (k < NPU_OP_SRCS && !results)) {
            *index = NPU_NO_TENSOR;
            continue;
        }
        results += k >= NPU_OP_SRCS;
        NPU_TRY(place(s, i, k, *index, d, &operand, err));
        if (cut) take_part(&operand.tensor, (unsigned)c->dim[k], first, count);
        NPU_TRY(npu_hex_program_add(p, &operand.tensor, operand.buffer, index, err));
        if (!npu_hex_hazards_add(&s->hazards, d, &operand.tensor, operand.buffer, k >= NPU_OP_SRCS))
            return npu_fail(err, NPU_NO_MEMORY, "hexagon.lower", "no memory to split a batch");
    }
    if (results && op->code == NPU_OP_MUL_MAT) close_gaps(op);
    if (!results) op->flags = NPU_OP_SKIPPED;
    return NPU_OK;
}

/* Op |i| at the end of every device's program; how it is done may still change. */
static npu_status try_op(splitting *s, uint32_t i, mode m, bool spare, const cutting *c, npu_error *err) {
    s->values[i].each = m == EACH;
    s->values[i].spare = spare;
    npu_hex_hazards_begin(&s->hazards);
    for (uint32_t d = 0; d < s->t->set.n; d++) {
        s->operands[d] = s->programs[d].n_operands;
        NPU_TRY(add_op(s, i, &s->batch->ops[i], m, c, d, err));
    }
    return NPU_OK;
}

static void undo_op(splitting *s) {
    for (uint32_t d = 0; d < s->t->set.n; d++) {
        s->programs[d].n_operands = s->operands[d];
        s->programs[d].n_ops--;
    }
    npu_hex_hazards_undo(&s->hazards);
}

/* Op |i| in every device's program, after a barrier where one is needed. A barrier only for the place of the result,
 * whose bytes others still read for what was there before, is saved by another place. */
static npu_status add_op_everywhere(splitting *s, uint32_t i, npu_error *err) {
    cutting c;
    mode m = choose(s, i, &s->batch->ops[i], &c);
    const npu_tensor *y = operand(s, &s->batch->ops[i], NPU_OP_SRCS);
    NPU_TRY(try_op(s, i, m, false, &c, err));
    if (npu_hex_hazards_inside(&s->hazards)) { /* parts of one op that touch each other */
        undo_op(s);
        m = ALONE;
        NPU_TRY(try_op(s, i, m, false, &c, err));
    }
    if (m == PARTS && npu_hex_hazards_needed(&s->hazards) && is_compute(s->batch, y) && !s->values[i].stays) {
        undo_op(s);
        NPU_TRY(try_op(s, i, m, true, &c, err));
        if (npu_hex_hazards_needed(&s->hazards) || npu_hex_hazards_inside(&s->hazards)) {
            undo_op(s);
            NPU_TRY(try_op(s, i, m, false, &c, err));
        }
    }
    if (!npu_hex_hazards_end(&s->hazards)) return NPU_OK;
    s->barriers++;
    for (uint32_t d = 0; d < s->t->set.n; d++)
        npu_hex_program_sync(&s->programs[d], i, NPU_SYNC_BARRIER, s->t->set.n, s->barriers);
    return NPU_OK;
}

static npu_status make_programs(splitting *s, npu_error *err) {
    const npu_batch *b = s->batch;
    for (uint32_t d = 0; d < s->t->set.n; d++) {
        NPU_TRY(npu_hex_program_init(&s->programs[d], b->n_ops * OPERANDS, b->n_ops, b->n_ops + 1, err));
        s->programs[d].device = d;
    }
    for (uint32_t i = 0; i < b->n_ops; i++)
        for (unsigned k = 0; k < NPU_OP_DSTS; k++) {
            const npu_tensor *y = operand(s, &b->ops[i], NPU_OP_SRCS + k);
            if (y && is_compute(b, y)) s->values[i].stays |= last_value(s, b->n_ops, y) == &s->values[i];
        }
    for (uint32_t i = 0; i < b->n_ops; i++) NPU_TRY(add_op_everywhere(s, i, err));
    for (uint32_t d = 0; d < s->t->set.n; d++) /* so that a failure has a number to come with */
        npu_hex_program_sync(&s->programs[d], b->n_ops, NPU_SYNC_SIGNAL, 0, s->barriers + 1);
    for (uint32_t d = 0; d < s->t->set.n; d++) NPU_TRY(npu_hex_write_images(s->t, &s->programs[d], b->image_id, err));
    return NPU_OK;
}

npu_status npu_hex_split_rows(npu_hex_target *t, const npu_batch *batch, npu_error *err) {
    splitting s = {.t = t, .batch = batch};
    npu_status status = NPU_OK;
    s.values = calloc((size_t)batch->n_ops + 1, sizeof *s.values);
    if (!s.values) status = npu_fail(err, NPU_NO_MEMORY, "hexagon.lower", "no memory to split a batch");
    if (status == NPU_OK) status = make_programs(&s, err);
    for (uint32_t d = 0; d < t->set.n; d++) npu_hex_program_free(&s.programs[d]);
    npu_hex_hazards_free(&s.hazards);
    free(s.values);
    return status;
}
