/* A batch becomes wire images: weights where they are resident, everything else where the batch's buffers are. Done
 * once for an image_id; later submits of it cost a look-up. */
#include "target/hexagon/hexagon_large.h"

#include <stdlib.h>
#include <string.h>

#include "wire/check.h"
#include "wire/op_check.h"

static npu_status resolve_weight(const npu_hex_target *t, const npu_tensor *as, const npu_weight_ref *ref,
                                 npu_hex_operand *out, npu_error *err) {
    const npu_hex_weight *w = npu_hex_weight_find(t, ref->layer, ref->role, ref->part);
    if (!w)
        return npu_fail(err, NPU_NOT_FOUND, "hexagon.weight",
                        "weight (layer %u, role %s, part %u) is not on the device", ref->layer,
                        npu_role_name(ref->role), ref->part);
    if (w->tensor.type != as->type || memcmp(w->tensor.ne, as->ne, sizeof as->ne))
        return npu_fail(err, NPU_INVALID, "hexagon.weight",
                        "weight (layer %u, role %s) has another shape on the device", ref->layer,
                        npu_role_name(ref->role));
    *out = (npu_hex_operand){w->tensor, w->buffer};
    return NPU_OK;
}

npu_status npu_hex_resolve(const npu_hex_target *t, const npu_batch *batch, uint16_t index, npu_hex_operand *out,
                           npu_error *err) {
    if (index >= batch->n_tensors)
        return npu_fail(err, NPU_INVALID, "hexagon.tensor", "tensor %u of %u", index, batch->n_tensors);
    const npu_tensor *tensor = &batch->tensors[index];
    if (tensor->flags & NPU_TENSOR_WEIGHT) return resolve_weight(t, tensor, &batch->weights[index], out, err);
    if (tensor->buffer >= batch->n_buffers || batch->buffers[tensor->buffer]->owner != &t->base)
        return npu_fail(err, NPU_INVALID, "hexagon.buffer", "tensor %u does not lie in a buffer of the device", index);
    *out = (npu_hex_operand){*tensor, batch->buffers[tensor->buffer]->impl};
    return NPU_OK;
}

/* Operands keep the batch's numbers; those that no op uses stay empty. */
static npu_status make_whole(const npu_hex_target *t, const npu_batch *batch, npu_hex_program *p, npu_error *err) {
    p->n_operands = batch->n_tensors;
    p->n_ops = batch->n_ops;
    memcpy(p->ops, batch->ops, batch->n_ops * sizeof *p->ops);
    for (uint32_t i = 0; i < batch->n_ops; i++)
        for (unsigned k = 0; k < NPU_OP_SRCS + NPU_OP_DSTS; k++) {
            uint16_t index = k < NPU_OP_SRCS ? p->ops[i].src[k] : p->ops[i].dst[k - NPU_OP_SRCS];
            if (index == NPU_NO_TENSOR || (index < p->n_operands && p->operands[index].buffer)) continue;
            npu_hex_operand operand;
            NPU_TRY(npu_hex_resolve(t, batch, index, &operand, err));
            p->operands[index] = operand;
        }
    return NPU_OK;
}

static npu_status lower_whole(npu_hex_target *t, const npu_batch *batch, npu_error *err) {
    npu_hex_program p;
    NPU_TRY(npu_hex_program_init(&p, batch->n_tensors, batch->n_ops, 0, err));
    npu_status status = make_whole(t, batch, &p, err);
    if (status == NPU_OK) status = npu_hex_write_images(t, &p, batch->image_id, err);
    npu_hex_program_free(&p);
    return status;
}

/* Appends the batch's images to the list. */
static npu_status lower(npu_hex_target *t, const npu_batch *batch, npu_error *err) {
    if (batch->n_tensors >= NPU_NO_TENSOR || batch->n_ops > NPU_WIRE_MAX_OPS)
        return npu_fail(err, NPU_RANGE, "hexagon.lower", "a batch of %u ops", batch->n_ops);
    switch (t->set.split) {
    case NPU_HEX_LAYER:
        return npu_hex_split_layers(t, batch, err);
    case NPU_HEX_ROW:
    case NPU_HEX_TENSOR:
        return npu_hex_split_rows(t, batch, err);
    default:
        return lower_whole(t, batch, err);
    }
}

npu_status npu_hex_lower(npu_hex_target *t, const npu_batch *batch, const npu_hex_image **out, uint32_t *n,
                         npu_error *err) {
    uint32_t first = t->n_images, end = first;
    for (uint32_t i = 0; batch->image_id && i < t->n_images && end == first; i++) {
        if (t->images[i].id != batch->image_id) continue;
        for (end = first = i; end < t->n_images && t->images[end].id == batch->image_id;) end++;
    }
    if (end > first) {
        *out = &t->images[first];
        *n = end - first;
        return NPU_OK;
    }
    const npu_hex_buffer *arena = t->image_arena;
    uint64_t used = t->arena_used;
    npu_status status = lower(t, batch, err);
    *out = t->images + first;
    *n = status == NPU_OK ? t->n_images - first : 0;
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
static bool weight_fits(npu_tensor *weight, unsigned code, const npu_caps *caps) {
    const char *kind;
    uint64_t bytes = npu_tensor_extent(weight);
    npu_hex_weight_image(weight, &kind, &bytes);
    npu_hex_weight_layout(weight);
    return bytes <= caps->hw.max_buffer_bytes || ((code == NPU_OP_MUL_MAT || code == NPU_OP_GET_ROWS) &&
                                                  npu_hex_part_rows(weight, caps->hw.max_buffer_bytes));
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
        if (local[i].flags & NPU_TENSOR_WEIGHT && !weight_fits(&local[i], op->code, caps)) {
            *why_not = "a weight, or 32 rows of it, is larger than a shared buffer can be";
            return false;
        }
        /* What the NPU program asks of every tensor; of weights it sees what the target made of them. */
        *why_not = local[i].flags & NPU_TENSOR_WEIGHT ? NULL : npu_wire_check_tensor(&local[i], UINT64_MAX);
        if (*why_not) return false;
        *index = (uint16_t)i;
    }
    *why_not = npu_opplan_make(&here, local, &caps->hw, kernel);
    return !*why_not;
}
