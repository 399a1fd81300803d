/* A batch becomes a wire image: only the tensors its ops use, weights where they are resident, op plans filled in. Done
 * once for an image_id; later submits of it cost a look-up. */
#include "target/hexagon/hexagon_internal.h"

#include <stdlib.h>
#include <string.h>

#include "wire/alibi.h"
#include "wire/check.h"
#include "wire/op_check.h"

typedef struct lowering {
    const npu_hex_target *t;
    const npu_batch *batch;
    uint16_t *index; /* [batch tensors] -> image tensor, NPU_NO_TENSOR = not used */
    npu_tensor *tensors;
    npu_op *ops;
    npu_wire_buffer buffers[NPU_WIRE_MAX_BUFFERS];
    uint32_t n_tensors, n_buffers;
    uint64_t buffer_bytes;    /* of all in |buffers| */
    uint32_t first_op, n_ops; /* of this part */
    bool full;                /* the last op's buffers did not fit beside the others */
} lowering;

static npu_status buffer_index(lowering *l, const npu_hex_buffer *b, uint16_t *index, npu_error *err) {
    for (uint32_t i = 0; i < l->n_buffers; i++)
        if (l->buffers[i].fd == b->fd) {
            *index = (uint16_t)i;
            return NPU_OK;
        }
    uint64_t window = npu_hex_session_hw(l->t->session)->window_bytes;
    l->full = l->n_buffers == NPU_WIRE_MAX_BUFFERS || l->buffer_bytes + b->bytes > window;
    if (l->full)
        return npu_fail(err, NPU_REFUSED, "hexagon.window",
                        "an op needs more buffers at once than the NPU's window of "
                        "%llu bytes holds",
                        (unsigned long long)window);
    l->buffer_bytes += b->bytes;
    l->buffers[l->n_buffers] = (npu_wire_buffer){b->fd, b->pinned ? NPU_WIRE_BUFFER_PINNED : 0, b->bytes};
    *index = (uint16_t)l->n_buffers++;
    return NPU_OK;
}

static npu_status lower_tensor(lowering *l, uint16_t from, uint16_t *to, npu_error *err) {
    *to = NPU_NO_TENSOR;
    if (from == NPU_NO_TENSOR) return NPU_OK;
    if (from >= l->batch->n_tensors)
        return npu_fail(err, NPU_INVALID, "hexagon.tensor", "tensor %u of %u", from, l->batch->n_tensors);
    *to = l->index[from];
    if (*to != NPU_NO_TENSOR) return NPU_OK;
    npu_tensor t = l->batch->tensors[from];
    const npu_hex_buffer *buffer;
    if (t.flags & NPU_TENSOR_WEIGHT) {
        const npu_weight_ref *ref = &l->batch->weights[from];
        const npu_hex_weight *w = npu_hex_weight_find(l->t, ref->layer, ref->role, ref->part);
        if (!w)
            return npu_fail(err, NPU_NOT_FOUND, "hexagon.weight",
                            "weight (layer %u, role %s, part %u) is not on the device", ref->layer,
                            npu_role_name(ref->role), ref->part);
        if (w->tensor.type != t.type || memcmp(w->tensor.ne, t.ne, sizeof t.ne))
            return npu_fail(err, NPU_INVALID, "hexagon.weight",
                            "weight (layer %u, role %s) has another shape on the device", ref->layer,
                            npu_role_name(ref->role));
        t = w->tensor;
        buffer = w->buffer;
    } else {
        if (t.buffer >= l->batch->n_buffers || l->batch->buffers[t.buffer]->owner != &l->t->base)
            return npu_fail(err, NPU_INVALID, "hexagon.buffer", "tensor %u does not lie in a buffer of the device",
                            from);
        buffer = l->batch->buffers[t.buffer]->impl;
    }
    NPU_TRY(buffer_index(l, buffer, &t.buffer, err));
    *to = l->index[from] = (uint16_t)l->n_tensors;
    l->tensors[l->n_tensors++] = t;
    return NPU_OK;
}

/* What the NPU program cannot make of the parameters by itself. */
static void complete_params(npu_op *op, const npu_tensor *tensors) {
    if (op->code == NPU_OP_SOFT_MAX && op->src[0] != NPU_NO_TENSOR)
        op->params.softmax.alibi = npu_alibi_make(op->params.softmax.max_bias, tensors[op->src[0]].ne[2]);
    if (op->code == NPU_OP_FLASH_ATTN && op->src[0] != NPU_NO_TENSOR)
        op->params.attn.alibi = npu_alibi_make(op->params.attn.max_bias, tensors[op->src[0]].ne[1]);
}

/* Op |i| of the batch as the next one of the part. */
static npu_status lower_op(lowering *l, uint32_t i, npu_error *err) {
    npu_op *op = &l->ops[l->n_ops];
    *op = l->batch->ops[i];
    for (unsigned s = 0; s < NPU_OP_SRCS; s++) NPU_TRY(lower_tensor(l, op->src[s], &op->src[s], err));
    for (unsigned d = 0; d < NPU_OP_DSTS; d++) NPU_TRY(lower_tensor(l, op->dst[d], &op->dst[d], err));
    complete_params(op, l->tensors);
    const char *why_not = npu_opplan_make(op, l->tensors, npu_hex_session_hw(l->t->session), op->kernel);
    l->n_ops += !why_not;
    if (!why_not) return NPU_OK;
    const npu_op_info *info = npu_op_find(op->code);
    return npu_fail(err, NPU_UNSUPPORTED, "hexagon.op", "op %u (%s, layer %u): %s", i, info ? info->name : "unknown",
                    op->layer, why_not);
}

/* Ops from |first| on, as many as can be in the window together. */
static npu_status lower_part(lowering *l, uint32_t first, npu_error *err) {
    memset(l->index, 0xFF, l->batch->n_tensors * sizeof *l->index);
    l->first_op = first;
    l->n_ops = l->n_tensors = l->n_buffers = 0;
    l->buffer_bytes = 0;
    for (uint32_t i = first; i < l->batch->n_ops; i++) {
        uint32_t tensors = l->n_tensors, buffers = l->n_buffers;
        npu_error here = {0};
        l->full = false;
        npu_status status = lower_op(l, i, &here);
        if (status != NPU_OK && l->full && i > first) { /* this op starts the next part */
            l->n_tensors = tensors;
            l->n_buffers = buffers;
            return NPU_OK;
        }
        if (status != NPU_OK && err) *err = here;
        NPU_TRY(status);
    }
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
    memcpy(out, &h, sizeof h);
    memcpy(out + h.buffers_at, l->buffers, h.n_buffers * h.buffer_bytes);
    memcpy(out + h.tensors_at, l->tensors, h.n_tensors * h.tensor_bytes);
    memcpy(out + h.ops_at, l->ops, h.n_ops * h.op_bytes);
    return h.total_bytes;
}

/* Image memory grows only; it ends with the session. Images of batches that are not kept start at the arena's end again
 * and again (lower): submit waits for the one before. */
static npu_status place_image(npu_hex_target *t, const lowering *l, npu_hex_image *image, npu_error *err) {
    uint64_t most =
        sizeof(npu_wire_image) + sizeof l->buffers + l->n_tensors * sizeof *l->tensors + l->n_ops * sizeof *l->ops;
    if (most > NPU_WIRE_MAX_IMAGE) return npu_fail(err, NPU_RANGE, "hexagon.image", "a batch of %u ops", l->n_ops);
    if (!t->image_arena || t->image_arena->bytes - t->arena_used < most) {
        NPU_TRY(npu_hex_buffer_alloc(t->session, most > NPU_HEX_ARENA_BYTES ? most : NPU_HEX_ARENA_BYTES, true,
                                     &t->image_arena, err));
        t->arena_used = 0;
    }
    image->buffer = t->image_arena;
    image->offset = t->arena_used;
    image->bytes = write_image(l, t->image_arena->data + t->arena_used);
    image->id = l->batch->image_id;
    image->first_op = l->first_op;
    image->n_ops = l->n_ops;
    image->wire_id = image->id ? ++t->next_wire_id : 0;
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

static npu_status lower_parts(npu_hex_target *t, lowering *l, npu_error *err) {
    uint32_t first = 0;
    do {
        npu_hex_image *image = NULL;
        NPU_TRY(lower_part(l, first, err));
        NPU_TRY(next_image(t, &image, err));
        NPU_TRY(place_image(t, l, image, err));
        t->n_images++;
        first += l->n_ops;
    } while (first < l->batch->n_ops);
    return NPU_OK;
}

/* Appends the batch's images to the list. */
static npu_status lower(npu_hex_target *t, const npu_batch *batch, npu_error *err) {
    lowering *l = calloc(1, sizeof *l);
    npu_status status = NPU_NO_MEMORY;
    if (l && batch->n_tensors < NPU_NO_TENSOR && batch->n_ops <= NPU_WIRE_MAX_OPS) {
        l->t = t;
        l->batch = batch;
        l->index = malloc((batch->n_tensors + 1) * sizeof *l->index);
        l->tensors = malloc((batch->n_tensors + 1) * sizeof *l->tensors);
        l->ops = malloc((batch->n_ops + 1) * sizeof *l->ops);
        if (l->index && l->tensors && l->ops) status = NPU_OK;
    }
    if (status == NPU_OK)
        status = lower_parts(t, l, err);
    else
        npu_fail(err, status, "hexagon.lower", "no memory to lower a batch of %u ops", batch->n_ops);
    if (l) {
        free(l->index);
        free(l->tensors);
        free(l->ops);
    }
    free(l);
    return status;
}

static uint32_t count_parts(const npu_hex_target *t, uint32_t first) {
    uint32_t n = 1;
    while (first + n < t->n_images && t->images[first + n].first_op) n++;
    return n;
}

npu_status npu_hex_lower(npu_hex_target *t, const npu_batch *batch, const npu_hex_image **out, uint32_t *n,
                         npu_error *err) {
    uint32_t first = t->n_images;
    for (uint32_t i = 0; batch->image_id && i < t->n_images; i++)
        if (t->images[i].id == batch->image_id) {
            *out = &t->images[i];
            *n = count_parts(t, i);
            return NPU_OK;
        }
    const npu_hex_buffer *arena = t->image_arena;
    uint64_t used = t->arena_used;
    npu_status status = lower(t, batch, err);
    *out = t->images + first;
    *n = status == NPU_OK ? count_parts(t, first) : 0;
    if (status != NPU_OK || !batch->image_id) { /* not kept */
        t->n_images = first;
        t->arena_used = t->image_arena == arena ? used : 0;
    }
    return status;
}

void npu_hex_images_free(npu_hex_target *t) {
    free(t->images);
    t->images = NULL;
    t->n_images = t->image_slots = 0;
}

/* Gives |weight| the layout that it has on the device. */
static bool weight_fits(npu_tensor *weight, const npu_caps *caps) {
    const char *kind;
    uint64_t bytes = npu_tensor_extent(weight);
    npu_hex_weight_image(weight, &kind, &bytes);
    npu_hex_weight_layout(weight);
    return bytes <= caps->hw.max_buffer_bytes;
}

bool npu_hex_supports(const npu_caps *caps, npu_mode mode, const npu_op *op, const npu_tensor *tensors,
                      const char **why_not) {
    npu_tensor local[NPU_OP_SRCS + NPU_OP_DSTS];
    npu_op here = *op;
    uint32_t kernel[NPU_OP_KERNEL_WORDS];
    if (mode != NPU_MODE_DEFAULT) {
        *why_not = "the NPU computes in default mode only";
        return false;
    }
    for (unsigned i = 0; i < NPU_OP_SRCS + NPU_OP_DSTS; i++) {
        uint16_t *index = i < NPU_OP_SRCS ? &here.src[i] : &here.dst[i - NPU_OP_SRCS];
        if (*index == NPU_NO_TENSOR) continue;
        local[i] = tensors[*index];
        if (local[i].flags & NPU_TENSOR_WEIGHT && !weight_fits(&local[i], caps)) {
            *why_not = "a weight is larger than a shared buffer can be";
            return false;
        }
        *index = (uint16_t)i;
    }
    *why_not = npu_opplan_make(&here, local, &caps->hw, kernel);
    return !*why_not;
}
