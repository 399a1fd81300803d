/* A batch split by rows or by tensors: every device runs every op, but makes only its part of each result
 * (hexagon_parts.h says which).
 *
 * By rows a product is cut by rows of its weights (never by partial sums), attention with the ops on its heads by
 * key-value heads, element-wise ops by columns, all on whole lines (hexagon_cut.h); what needs a whole row and costs
 * little, norms and the embedding, every device makes for itself in memory of its own. What can't be cut device 0 does
 * alone. By tensors, moreover, a product may be cut by K and its sums added up by all devices (hexagon_parts_sums.c).
 * Each device's ops are ordinary ones over parts of tensors, so its program knows nothing of the others but the
 * barriers.
 *
 * A barrier stands before an op only when some device would read or write lines that another one writes, or write what
 * another one reads, since the barrier before: found from the operands themselves (hexagon_hazard.h). */
#include <stdlib.h>
#include <string.h>

#include "target/hexagon/hexagon_hazard.h"
#include "target/hexagon/hexagon_lower.h"
#include "target/hexagon/hexagon_parts.h"
#include "wire/image.h"
#include "wire/op_check.h"

typedef struct splitting {
    npu_hex_target *t;
    const npu_batch *batch;
    npu_hex_parting parting;
    npu_hex_program programs[NPU_HEX_DEVICES];
    npu_hex_hazards hazards;
    uint32_t operands[NPU_HEX_DEVICES]; /* of the programs, before the op at hand */
    int32_t barriers;
    npu_hex_buffer *sums;  /* what each device made of a product over its part of K; two products' in turn */
    uint64_t sums_bytes;   /* of one device and product */
    uint32_t n_sums;       /* such products so far */
    npu_hex_parts summing; /* the last of them */
} splitting;

static void take_part(npu_tensor *t, unsigned dim, uint32_t first, uint32_t count) {
    uint32_t values;
    npu_tensor_unit(t, &values);
    if (t->layout == NPU_LAYOUT_TILES && dim == 0) { /* wire/image.h: a slice */
        t->nb[0] = first;
        t->nb[1] = t->ne[0];
    } else if (t->layout == NPU_LAYOUT_TILES) {
        t->offset += (uint64_t)first / NPU_TILE_ROWS * npu_image_row_tile_bytes(npu_image_format_of(t->type), t->ne[0]);
    } else {
        t->offset += first / (dim ? 1 : values) * t->nb[dim];
    }
    t->ne[dim] = count;
}

/* What device |d| made of the last product over parts of K. */
static npu_status place_sums(splitting *s, uint32_t d, npu_hex_operand *out, npu_error *err) {
    if (!s->sums)
        NPU_TRY(npu_hex_group_passing(s->t, s->batch->image_id, npu_hex_sums_room(s->t->set.n, s->sums_bytes), &s->sums,
                                      err));
    out->buffer = s->sums;
    out->tensor.offset = (s->n_sums % 2 * s->t->set.n + d) * s->sums_bytes;
    return NPU_OK;
}

/* Operand |k| of op |i| as device |d| has it. */
static npu_status place(splitting *s, uint32_t i, unsigned k, uint16_t index, uint32_t d, npu_hex_operand *out,
                        npu_error *err) {
    NPU_TRY(npu_hex_resolve(s->t, s->batch, index, out, err));
    const npu_tensor *t = &s->batch->tensors[index];
    bool is_state = !(t->flags & NPU_TENSOR_WEIGHT) && s->batch->buffers[t->buffer]->use == NPU_BUFFER_STATE;
    if (is_state && npu_hex_parts_is_replica(&s->parting, &s->batch->ops[i], d))
        return npu_hex_group_replica(s->t, out->buffer, d, &out->buffer, err);
    if (!npu_hex_parts_is_compute(s->batch, t)) return NPU_OK;
    const npu_hex_value *v = k >= NPU_OP_SRCS ? &s->parting.values[i] : npu_hex_parts_value(&s->parting, i, t);
    npu_hex_buffer *other;
    if (v && v->sums) return place_sums(s, d, out, err);
    if (v && v->spare)
        NPU_TRY(npu_hex_group_spare(s->t, out->buffer, &other, err));
    else if (v && (v->mine || (v->each && !(v->stays && !d))))
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

/* Appends |operand| to device |d|'s program, its part when |range| is one. */
static npu_status add_operand(splitting *s, uint32_t d, npu_hex_operand *operand, int dim, const npu_hex_range *range,
                              bool written, uint16_t *index, npu_error *err) {
    if (dim >= 0) take_part(&operand->tensor, (unsigned)dim, range->first, range->count);
    NPU_TRY(npu_hex_program_add(&s->programs[d], &operand->tensor, operand->buffer, index, err));
    if (npu_hex_hazards_add(&s->hazards, d, &operand->tensor, operand->buffer, written)) return NPU_OK;
    return npu_fail(err, NPU_NO_MEMORY, "hexagon.lower", "no memory to split a batch");
}

/* Whether device |d| has no part in operand |k|. */
static bool has_none(const npu_hex_parts *c, unsigned k, uint32_t d) {
    if (c->mode == NPU_HEX_ALONE) return d > 0;
    if (c->mode == NPU_HEX_SUMS && k >= NPU_OP_SRCS) return !c->of[0][d].count;
    if (c->mode == NPU_HEX_SUMS && k == 5) return d > 0; /* one bias in all */
    return c->dim[k] >= 0 && !c->of[k][d].count;
}

/* Device |d|'s part of op |i|; an op without results is skipped. */
static npu_status add_op(splitting *s, uint32_t i, const npu_hex_parts *c, uint32_t d, npu_error *err) {
    npu_hex_program *p = &s->programs[d];
    npu_op *op = &p->ops[p->n_ops++];
    unsigned results = 0;
    *op = s->batch->ops[i];
    for (unsigned k = NPU_HEX_OPERANDS; k-- > 0;) { /* results first: without one, its sources go too */
        uint16_t *index = k < NPU_OP_SRCS ? &op->src[k] : &op->dst[k - NPU_OP_SRCS];
        npu_hex_operand operand;
        if (*index == NPU_NO_TENSOR) continue;
        if (has_none(c, k, d) || (k < NPU_OP_SRCS && !results)) {
            *index = NPU_NO_TENSOR;
            continue;
        }
        results += k >= NPU_OP_SRCS;
        NPU_TRY(place(s, i, k, *index, d, &operand, err));
        NPU_TRY(add_operand(s, d, &operand, c->dim[k], &c->of[k][d], k >= NPU_OP_SRCS, index, err));
    }
    if (results && op->code == NPU_OP_MUL_MAT) close_gaps(op);
    if (!results) op->flags = NPU_OP_SKIPPED;
    return NPU_OK;
}

/* The same of an ADD that adds up what the devices made in the op before. */
static npu_status add_up(splitting *s, uint32_t i, const npu_hex_parts *c, uint32_t d, npu_error *err) {
    static const unsigned dst = NPU_OP_SRCS;
    const npu_op *from = &s->batch->ops[i];
    uint16_t part = from[-1].dst[0], to = from->src[from->src[0] == part];
    npu_hex_program *p = &s->programs[d];
    npu_op *op = &p->ops[p->n_ops++];
    npu_hex_operand operand;
    unsigned n = 0;
    *op = *from;
    memset(op->src, 0xFF, sizeof op->src);
    op->dst[0] = NPU_NO_TENSOR;
    op->flags = NPU_OP_SKIPPED;
    if (has_none(c, dst, d)) return NPU_OK;
    op->code = NPU_OP_ADD_PARTS;
    op->flags = 0;
    NPU_TRY(place(s, i, dst, from->dst[0], d, &operand, err));
    NPU_TRY(add_operand(s, d, &operand, c->dim[dst], &c->of[dst][d], true, &op->dst[0], err));
    NPU_TRY(place(s, i, 0, to, d, &operand, err));
    NPU_TRY(add_operand(s, d, &operand, c->dim[dst], &c->of[dst][d], false, &op->src[0], err));
    for (uint32_t k = 0; k < s->t->set.n; k++) {
        if (!s->summing.of[0][k].count) continue;
        NPU_TRY(place(s, i, 1, part, k, &operand, err));
        NPU_TRY(add_operand(s, d, &operand, c->dim[dst], &c->of[dst][d], false, &op->src[1 + n++], err));
    }
    return NPU_OK;
}

/* Op |i| at the end of every device's program; how it is done may still change. */
static npu_status try_op(splitting *s, uint32_t i, const npu_hex_parts *c, bool spare, npu_error *err) {
    npu_hex_parts_note(&s->parting, i, c);
    s->parting.values[i].spare = spare;
    npu_hex_hazards_begin(&s->hazards);
    for (uint32_t d = 0; d < s->t->set.n; d++) {
        s->operands[d] = s->programs[d].n_operands;
        NPU_TRY(c->adds_up ? add_up(s, i, c, d, err) : add_op(s, i, c, d, err));
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
    npu_hex_parts c;
    const npu_tensor *y = npu_hex_parts_operand(&s->parting, &s->batch->ops[i], NPU_OP_SRCS);
    npu_hex_parts_choose(&s->parting, i, &c);
    if (s->parting.conflict) return NPU_OK; /* the batch is split anew */
    if (c.mode == NPU_HEX_SUMS) s->summing = c;
    NPU_TRY(try_op(s, i, &c, false, err));
    if (npu_hex_hazards_inside(&s->hazards)) { /* parts of one op that touch one line */
        undo_op(s);
        bool adds_up = c.adds_up;
        c = npu_hex_parts_alone();
        s->parting.conflict |= npu_hex_parts_misses(&s->parting, i, &c);
        c.adds_up = adds_up;
        NPU_TRY(try_op(s, i, &c, false, err));
    }
    if (c.mode == NPU_HEX_PARTS && npu_hex_hazards_needed(&s->hazards) && npu_hex_parts_is_compute(s->batch, y) &&
        !s->parting.values[i].stays) {
        undo_op(s);
        NPU_TRY(try_op(s, i, &c, true, err));
        if (npu_hex_hazards_needed(&s->hazards) || npu_hex_hazards_inside(&s->hazards)) {
            undo_op(s);
            NPU_TRY(try_op(s, i, &c, false, err));
        }
    }
    s->n_sums += c.adds_up;
    if (!npu_hex_hazards_end(&s->hazards)) return NPU_OK;
    s->barriers++;
    for (uint32_t d = 0; d < s->t->set.n; d++)
        npu_hex_program_sync(&s->programs[d], i, NPU_SYNC_BARRIER, s->t->set.n, s->barriers);
    return NPU_OK;
}

/* Room for what a device makes of a product over its part of K: of any product. */
static void find_sums_bytes(splitting *s) {
    for (uint32_t i = 0; i < s->batch->n_ops; i++) {
        const npu_tensor *y = npu_hex_parts_operand(&s->parting, &s->batch->ops[i], NPU_OP_SRCS);
        if (!y || s->batch->ops[i].code != NPU_OP_MUL_MAT || s->batch->ops[i].layer == NPU_NO_LAYER) continue;
        uint64_t bytes = npu_hex_sums_bytes(npu_tensor_extent(y));
        if (bytes > s->sums_bytes) s->sums_bytes = bytes;
    }
}

static npu_status make_programs(splitting *s, npu_error *err) {
    const npu_batch *b = s->batch;
    for (uint32_t d = 0; d < s->t->set.n; d++) {
        NPU_TRY(npu_hex_program_init(&s->programs[d], b->n_ops * NPU_HEX_OPERANDS, b->n_ops, b->n_ops + 1, err));
        s->programs[d].device = d;
    }
    npu_hex_parts_begin(&s->parting);
    find_sums_bytes(s);
    for (uint32_t i = 0; i < b->n_ops && !s->parting.conflict; i++) NPU_TRY(add_op_everywhere(s, i, err));
    if (s->parting.conflict) return NPU_OK;
    if (s->barriers + 1 >= NPU_FENCE_MOST)
        return npu_fail(err, NPU_RANGE, "hexagon.lower", "%d barriers in a batch: at most %d", s->barriers,
                        NPU_FENCE_MOST - 2);
    for (uint32_t d = 0; d < s->t->set.n; d++) /* so that a failure has a number to come with */
        npu_hex_program_sync(&s->programs[d], b->n_ops, NPU_SYNC_SIGNAL, 0, s->barriers + 1);
    for (uint32_t d = 0; d < s->t->set.n; d++) NPU_TRY(npu_hex_write_images(s->t, &s->programs[d], b->image_id, err));
    return NPU_OK;
}

static npu_status split(npu_hex_target *t, const npu_batch *batch, bool *conflict, npu_error *err) {
    splitting s = {.t = t, .batch = batch};
    npu_status status = NPU_OK;
    s.parting = (npu_hex_parting){.batch = batch, .n = t->set.n, .sums = t->set.split == NPU_HEX_TENSOR};
    s.parting.no_replicas = t->group.replicas == NPU_HEX_REPLICAS_NONE;
    s.parting.values = calloc((size_t)batch->n_ops + 1, sizeof *s.parting.values);
    if (!s.parting.values) status = npu_fail(err, NPU_NO_MEMORY, "hexagon.lower", "no memory to split a batch");
    if (status == NPU_OK) status = make_programs(&s, err);
    for (uint32_t d = 0; d < t->set.n; d++) npu_hex_program_free(&s.programs[d]);
    npu_hex_hazards_free(&s.hazards);
    free(s.parting.values);
    *conflict = s.parting.conflict;
    if (status != NPU_OK || *conflict) npu_hex_group_drop_passing(batch->image_id, s.sums);
    if (status == NPU_OK && !*conflict && s.parting.has_replicas) t->group.replicas = NPU_HEX_REPLICAS_USED;
    return status;
}

npu_status npu_hex_split_rows(npu_hex_target *t, const npu_batch *batch, npu_error *err) {
    bool conflict;
    NPU_TRY(split(t, batch, &conflict, err));
    if (!conflict) return NPU_OK;
    if (t->group.replicas == NPU_HEX_REPLICAS_USED) /* copies would not be written any more */
        return npu_fail(err, NPU_UNSUPPORTED, "hexagon.split",
                        "a batch uses keys and values in a way that heads with copies on several devices are not for");
    t->group.replicas = NPU_HEX_REPLICAS_NONE;
    npu_hex_group_drop_replicas(t);
    return split(t, batch, &conflict, err);
}
