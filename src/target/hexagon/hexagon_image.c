/* A program (hexagon_lower.h) becomes wire images in shared memory: only the operands its ops use, op plans filled
 * in, as many parts as it takes so that the buffers of each fit into the NPU's window. An op that is done in pieces
 * (hexagon_large.c) ends a part with each but its last piece, so that every part has ops of consecutive numbers. */
#include "target/hexagon/hexagon_large.h"

#include <stdlib.h>
#include <string.h>

#include "wire/alibi.h"
#include "wire/check.h"
#include "wire/guard.h"

enum { OPERANDS = NPU_OP_SRCS + NPU_OP_DSTS };

typedef struct lowering {
    const npu_hex_target *t;
    const npu_hex_program *p;
    uint16_t *index; /* [operands] -> image tensor, NPU_NO_TENSOR = not used */
    npu_tensor *tensors;
    npu_op *ops;
    npu_wire_sync *syncs;
    npu_wire_buffer buffers[NPU_WIRE_MAX_BUFFERS];
    uint32_t n_tensors, n_buffers, n_syncs;
    uint16_t fence_buffer;
    uint64_t buffer_bytes;             /* of all in |buffers| */
    uint64_t weight_bytes;             /* of those that are not pinned */
    uint32_t first_op, n_ops;          /* of this part, in the program */
    uint32_t first_piece, pieces_left; /* of its first op; of its last one */
    bool full;                         /* the last op's buffers did not fit beside the others */
} lowering;

npu_status npu_hex_program_init(npu_hex_program *p, uint32_t operands, uint32_t ops, uint32_t syncs, npu_error *err) {
    *p = (npu_hex_program){.operand_slots = operands};
    p->operands = calloc((size_t)operands + 1, sizeof *p->operands);
    p->ops = calloc((size_t)ops + 1, sizeof *p->ops);
    p->syncs = calloc((size_t)syncs + 1, sizeof *p->syncs);
    if (p->operands && p->ops && p->syncs) return NPU_OK;
    npu_hex_program_free(p);
    return npu_fail(err, NPU_NO_MEMORY, "hexagon.lower", "no memory to lower a batch of %u ops", ops);
}

void npu_hex_program_free(npu_hex_program *p) {
    free(p->operands);
    free(p->ops);
    free(p->syncs);
    *p = (npu_hex_program){0};
}

npu_status npu_hex_program_add(npu_hex_program *p, const npu_tensor *tensor, const npu_hex_buffer *buffer,
                               uint16_t *index, npu_error *err) {
    if (p->n_operands == p->operand_slots || p->n_operands == NPU_NO_TENSOR)
        return npu_fail(err, NPU_NO_MEMORY, "hexagon.lower", "more than %u operands", p->n_operands);
    p->operands[p->n_operands] = (npu_hex_operand){*tensor, buffer};
    *index = (uint16_t)p->n_operands++;
    return NPU_OK;
}

void npu_hex_program_sync(npu_hex_program *p, uint32_t op, unsigned kind, uint32_t slot, int32_t number) {
    p->syncs[p->n_syncs++] =
        (npu_wire_sync){.op = op, .kind = (uint16_t)kind, .slot = (uint16_t)slot, .number = number};
}

static npu_status buffer_index(lowering *l, const npu_hex_buffer *b, uint16_t *index, npu_error *err) {
    for (uint32_t i = 0; i < l->n_buffers; i++)
        if (l->buffers[i].fd == b->fd) {
            *index = (uint16_t)i;
            return NPU_OK;
        }
    uint64_t window = npu_hex_session_window(l->t->session);
    uint32_t most =
        NPU_GUARD(DRIVER_SLOTS) ? npu_hex_batch_buffers(npu_hex_session_hw(l->t->session)) : NPU_WIRE_MAX_BUFFERS;
    l->full = l->n_buffers >= most || l->buffer_bytes + b->bytes > window ||
              (l->n_ops && !b->pinned && l->weight_bytes + b->bytes > l->t->step_bytes);
    if (l->n_buffers >= most)
        return npu_fail(err, NPU_REFUSED, "hexagon.slots",
                        "an op needs more buffers mapped at once than the NPU's %u slots, one of them for a trace",
                        npu_hex_session_hw(l->t->session)->slots);
    if (l->full)
        return npu_fail(err, NPU_REFUSED, "hexagon.window",
                        "an op needs more buffers at once than the NPU's window of "
                        "%llu bytes holds",
                        (unsigned long long)window);
    l->buffer_bytes += b->bytes;
    if (!b->pinned) l->weight_bytes += b->bytes;
    l->buffers[l->n_buffers] = (npu_wire_buffer){b->fd, b->pinned ? NPU_WIRE_BUFFER_PINNED : 0, b->bytes};
    *index = (uint16_t)l->n_buffers++;
    return NPU_OK;
}

static uint16_t *operand_of(npu_op *op, unsigned k) {
    return k < NPU_OP_SRCS ? &op->src[k] : &op->dst[k - NPU_OP_SRCS];
}

static npu_status add_tensor(lowering *l, const npu_hex_operand *operand, uint16_t *to, npu_error *err) {
    npu_tensor t = operand->tensor;
    NPU_TRY(buffer_index(l, operand->buffer, &t.buffer, err));
    *to = (uint16_t)l->n_tensors;
    l->tensors[l->n_tensors++] = t;
    return NPU_OK;
}

/* The operands of an op that is done as it is. */
static npu_status lower_operands(lowering *l, npu_op *op, npu_error *err) {
    for (unsigned k = 0; k < OPERANDS; k++) {
        uint16_t *index = operand_of(op, k), from = *index;
        if (from == NPU_NO_TENSOR) continue;
        if (l->p->operands[from].buffer->part_bytes)
            return npu_fail(err, NPU_UNSUPPORTED, "hexagon.parts",
                            "an op that can't be done in pieces, on a weight in parts");
        if (l->index[from] == NPU_NO_TENSOR) NPU_TRY(add_tensor(l, &l->p->operands[from], &l->index[from], err));
        *index = l->index[from];
    }
    return NPU_OK;
}

/* Those of piece |n| are its own. */
static npu_status lower_piece(lowering *l, npu_op *op, uint32_t n, npu_error *err) {
    npu_hex_operand at[OPERANDS] = {{.buffer = NULL}};
    for (unsigned k = 0; k < OPERANDS; k++)
        if (*operand_of(op, k) != NPU_NO_TENSOR) at[k] = l->p->operands[*operand_of(op, k)];
    npu_hex_piece(op, at, n);
    for (unsigned k = 0; k < OPERANDS; k++)
        if (*operand_of(op, k) != NPU_NO_TENSOR) NPU_TRY(add_tensor(l, &at[k], operand_of(op, k), err));
    return NPU_OK;
}

/* What the NPU program cannot make of the parameters by itself. */
static void complete_params(npu_op *op, const npu_tensor *tensors) {
    if (op->code == NPU_OP_SOFT_MAX && op->src[0] != NPU_NO_TENSOR)
        op->params.softmax.alibi = npu_alibi_make(op->params.softmax.max_bias, tensors[op->src[0]].ne[2]);
    if (op->code == NPU_OP_FLASH_ATTN && op->src[0] != NPU_NO_TENSOR)
        op->params.attn.alibi = npu_alibi_make(op->params.attn.max_bias, tensors[op->src[0]].ne[1]);
}

/* Op |i| of the program, or its piece |n| if it is done in |pieces|, as the next one of the part. */
static npu_status lower_op(lowering *l, uint32_t i, uint32_t n, uint32_t pieces, npu_error *err) {
    npu_op *op = &l->ops[l->n_ops];
    *op = l->p->ops[i];
    NPU_TRY(pieces ? lower_piece(l, op, n, err) : lower_operands(l, op, err));
    const char *why_not = NULL;
    if (!op->flags) {
        complete_params(op, l->tensors);
        why_not = npu_opplan_make(op, l->tensors, npu_hex_session_hw(l->t->session), op->kernel);
    }
    l->n_ops += !why_not;
    if (!why_not) return NPU_OK;
    const npu_op_info *info = npu_op_find(op->code);
    return npu_fail(err, NPU_UNSUPPORTED, "hexagon.op", "op %u (%s, layer %u): %s", l->p->first_op + i,
                    info ? info->name : "unknown", op->layer, why_not);
}

/* The syncs before the part's ops, and behind the last one when that ends the program. */
static void take_syncs(lowering *l) {
    uint32_t end = l->first_op + l->n_ops;
    l->n_syncs = 0;
    for (uint32_t i = 0; i < l->p->n_syncs; i++) {
        npu_wire_sync sync = l->p->syncs[i];
        bool last = sync.op == end && end == l->p->n_ops && !l->pieces_left;
        if (sync.op < l->first_op || (sync.op == l->first_op && l->first_piece) || (sync.op >= end && !last)) continue;
        sync.op -= l->first_op;
        l->syncs[l->n_syncs++] = sync;
    }
}

/* Ops from |first_op| and its |first_piece| on, as many as can be in the window together. */
static npu_status lower_part(lowering *l, npu_error *err) {
    uint32_t first = l->first_op;
    memset(l->index, 0xFF, l->p->n_operands * sizeof *l->index);
    l->n_ops = l->n_tensors = l->n_buffers = 0;
    l->pieces_left = 0;
    l->buffer_bytes = l->weight_bytes = 0;
    if (l->p->n_syncs) NPU_TRY(buffer_index(l, l->t->fences, &l->fence_buffer, err));
    for (uint32_t i = first; i < l->p->n_ops && !l->pieces_left; i++) {
        uint32_t piece = i == first ? l->first_piece : 0, pieces = npu_hex_pieces(l->p, &l->p->ops[i]);
        uint32_t tensors = l->n_tensors, buffers = l->n_buffers;
        npu_error here = {0};
        l->full = false;
        npu_status status = lower_op(l, i, piece, pieces, &here);
        if (status != NPU_OK && l->full && i > first) { /* this op starts the next part */
            l->n_tensors = tensors;
            l->n_buffers = buffers;
            break;
        }
        if (status != NPU_OK && err) *err = here;
        NPU_TRY(status);
        l->pieces_left = pieces ? pieces - piece - 1 : 0;
    }
    take_syncs(l);
    return NPU_OK;
}

/* Copies the lowered parts behind a header to |out|, which has room. */
static uint32_t write_image(const lowering *l, uint8_t *out) {
    npu_wire_image h = {.magic = NPU_WIRE_MAGIC, .version = NPU_WIRE_VERSION, .header_bytes = sizeof h};
    h.n_buffers = l->n_buffers, h.n_tensors = l->n_tensors, h.n_ops = l->n_ops;
    h.buffer_bytes = sizeof l->buffers[0], h.tensor_bytes = sizeof *l->tensors, h.op_bytes = sizeof *l->ops;
    h.buffers_at = sizeof h;
    h.tensors_at = h.buffers_at + h.n_buffers * h.buffer_bytes;
    h.ops_at = h.tensors_at + h.n_tensors * h.tensor_bytes;
    h.total_bytes = h.ops_at + h.n_ops * h.op_bytes;
    if (l->n_syncs) {
        h.features = NPU_WIRE_HAS_SYNCS;
        h.syncs_at = h.total_bytes, h.n_syncs = l->n_syncs;
        h.fence_buffer = l->fence_buffer, h.fence_slot = (uint16_t)l->p->device;
        h.total_bytes += l->n_syncs * (uint32_t)sizeof *l->syncs;
        memcpy(out + h.syncs_at, l->syncs, l->n_syncs * sizeof *l->syncs);
    }
    memcpy(out, &h, sizeof h);
    memcpy(out + h.buffers_at, l->buffers, h.n_buffers * h.buffer_bytes);
    memcpy(out + h.tensors_at, l->tensors, h.n_tensors * h.tensor_bytes);
    memcpy(out + h.ops_at, l->ops, h.n_ops * h.op_bytes);
    return h.total_bytes;
}

/* Image memory grows only; it ends with the session. Images of batches that are not kept start at the arena's end again
 * and again (npu_hex_lower): submit waits for the one before. */
static npu_status place_image(npu_hex_target *t, const lowering *l, uint64_t image_id, npu_hex_image *image,
                              npu_error *err) {
    uint64_t most = sizeof(npu_wire_image) + sizeof l->buffers + l->n_tensors * sizeof *l->tensors +
                    l->n_ops * sizeof *l->ops + l->n_syncs * sizeof *l->syncs;
    if (most > NPU_WIRE_MAX_IMAGE) return npu_fail(err, NPU_RANGE, "hexagon.image", "a batch of %u ops", l->n_ops);
    if (!t->image_arena || t->image_arena->bytes - t->arena_used < most) {
        uint64_t arena = npu_hex_arena_bytes(npu_hex_session_hw(t->session));
        NPU_TRY(npu_hex_alloc_shared(t, most > arena ? most : arena, true, &t->image_arena, err));
        t->arena_used = 0;
    }
    *image = (npu_hex_image){.id = image_id,
                             .wire_id = image_id ? ++t->next_wire_id : 0,
                             .buffer = t->image_arena,
                             .offset = t->arena_used,
                             .bytes = write_image(l, t->image_arena->data + t->arena_used),
                             .first_op = l->p->first_op + l->first_op,
                             .n_ops = l->n_ops,
                             .device = l->p->device,
                             .pass = l->p->pass,
                             .goes_on = l->first_op > 0 || l->first_piece > 0};
    t->arena_used += (image->bytes + 127) & ~127u;
    npu_hex_session_counters(t->session)->images++;
    npu_hex_session_counters(t->session)->image_bytes += image->bytes;
    return NPU_OK;
}

/* The next free entry of the list. */
static npu_status next_image(npu_hex_target *t, npu_hex_image **out, npu_error *err) {
    if (t->n_images == t->image_slots) {
        uint32_t slots = t->image_slots ? 2 * t->image_slots : 16;
        npu_hex_image *bigger = realloc(t->images, slots * sizeof *bigger);
        if (!bigger) return npu_fail(err, NPU_NO_MEMORY, "hexagon.lower", "out of memory");
        t->images = bigger;
        t->image_slots = slots;
    }
    *out = &t->images[t->n_images];
    return NPU_OK;
}

static npu_status write_parts(npu_hex_target *t, lowering *l, uint64_t image_id, npu_error *err) {
    l->first_op = l->first_piece = 0;
    do {
        npu_hex_image *image = NULL;
        NPU_TRY(lower_part(l, err));
        NPU_TRY(next_image(t, &image, err));
        NPU_TRY(place_image(t, l, image_id, image, err));
        t->n_images++;
        uint32_t last = l->n_ops ? l->n_ops - 1 : 0;
        l->first_piece = l->pieces_left ? (last ? 0 : l->first_piece) + 1 : 0;
        l->first_op += l->pieces_left ? last : l->n_ops;
    } while (l->first_op < l->p->n_ops);
    return NPU_OK;
}

npu_status npu_hex_write_images(npu_hex_target *t, const npu_hex_program *p, uint64_t image_id, npu_error *err) {
    lowering *l = calloc(1, sizeof *l);
    npu_status status = NPU_NO_MEMORY;
    if (l) {
        l->t = t;
        l->p = p;
        l->index = malloc((p->n_operands + 1) * sizeof *l->index);
        l->tensors = malloc((p->n_operands + 2 * OPERANDS) * sizeof *l->tensors); /* of a piece at each end */
        l->ops = malloc((p->n_ops + 1) * sizeof *l->ops);
        l->syncs = malloc((p->n_syncs + 1) * sizeof *l->syncs);
        if (l->index && l->tensors && l->ops && l->syncs) status = NPU_OK;
    }
    if (status == NPU_OK)
        status = write_parts(t, l, image_id, err);
    else
        npu_fail(err, status, "hexagon.lower", "no memory to lower a batch of %u ops", p->n_ops);
    if (l) {
        free(l->index);
        free(l->tensors);
        free(l->ops);
        free(l->syncs);
    }
    free(l);
    return status;
}
