/* First sight of a batch: checking it, choosing variants, packing weights, sizing scratch. Called by submit and by
 * whoever binds graphs; runs nothing. */
#include <stdlib.h>

#include "target/host/host.h"
#include "wire/image.h"
#include "wire/op_check.h"

static const char *operand_problem(const npu_batch *batch, const npu_tensor *t, bool written) {
    if (t->buffer >= batch->n_buffers || !batch->buffers[t->buffer]) return "an operand's buffer does not exist";
    const npu_buffer *buffer = batch->buffers[t->buffer];
    uint64_t bytes = npu_tensor_extent(t);
    if (bytes > buffer->bytes || t->offset > buffer->bytes - bytes) return "an operand is outside of its buffer";
    if (written && buffer->use == NPU_BUFFER_WEIGHTS && npu_host_buffer_is_wrapped(buffer)) return "writes into a file";
    return NULL;
}

static const char *op_problem(const npu_batch *batch, const npu_op *op) {
    const char *why = npu_op_check(op, batch->tensors, batch->n_tensors);
    for (int i = 0; i < NPU_OP_SRCS && !why; i++)
        if (op->src[i] != NPU_NO_TENSOR) why = operand_problem(batch, &batch->tensors[op->src[i]], false);
    for (int i = 0; i < NPU_OP_DSTS && !why; i++)
        if (op->dst[i] != NPU_NO_TENSOR) why = operand_problem(batch, &batch->tensors[op->dst[i]], true);
    return why;
}

/* The last variant that fits the CPU level and takes the op; ref takes everything. */
static const npu_host_variant *choose(const npu_host *host, const npu_op *op, const npu_tensor *tensors) {
    const npu_host_variant *all = npu_host_variants(op->code), *best = &all[0];
    for (const npu_host_variant *v = &all[1]; v->name; v++) {
        if (v->features & ~host->features) continue;
        if (!v->takes || v->takes(op, tensors, host->base.mode)) best = v;
    }
    return best;
}

static npu_status make_scratch(npu_host *host, uint64_t bytes, npu_error *err) {
    if (bytes <= host->scratch_bytes) return NPU_OK;
    uint8_t *scratch =
        bytes <= SIZE_MAX - NPU_VECTOR_BYTES
            ? aligned_alloc(NPU_VECTOR_BYTES, (bytes + NPU_VECTOR_BYTES - 1) / NPU_VECTOR_BYTES * NPU_VECTOR_BYTES)
            : NULL;
    if (!scratch) {
        return npu_fail(err, NPU_NO_MEMORY, "host.scratch", "no memory for %llu bytes of scratch",
                        (unsigned long long)bytes);
    }
    free(host->scratch);
    host->scratch = scratch;
    host->scratch_bytes = bytes;
    return NPU_OK;
}

static void limit_rows(const npu_batch *batch, const uint16_t *indices, int n, npu_host_image *image) {
    for (int i = 0; i < n; i++) {
        if (indices[i] == NPU_NO_TENSOR) continue;
        const npu_tensor *t = &batch->tensors[indices[i]];
        if (t->rows_of != NPU_ROWS_FIXED && t->ne[t->rows_dim] < image->max_rows[t->rows_of]) {
            image->max_rows[t->rows_of] = t->ne[t->rows_dim];
        }
    }
}

static void pack_weights(npu_host *host, const npu_batch *batch, const npu_op *op, struct npu_host_choice *choice) {
    const npu_host_variant *v = choice->variant;
    for (int i = 0; i < NPU_OP_SRCS && (v->packing || v->borrows); i++) {
        if (op->src[i] == NPU_NO_TENSOR) continue;
        const npu_tensor *t = &batch->tensors[op->src[i]];
        const npu_buffer *buffer = batch->buffers[t->buffer];
        if (t->flags & NPU_TENSOR_WEIGHT)
            choice->packed[i] = v->packing ? npu_host_packed(host, v->packing, buffer, t)
                                           : npu_host_copied(host, v->borrows, buffer, t);
    }
}

static void forget(npu_host *host, uint64_t id) {
    for (npu_host_image **at = &host->images; *at; at = &(*at)->next) {
        if ((*at)->id != id) continue;
        npu_host_image *gone = *at;
        *at = gone->next;
        free(gone);
        return;
    }
}

npu_status npu_host_prepare(npu_target *target, const npu_batch *batch, npu_error *err) {
    npu_host *host = (npu_host *)target;
    forget(host, batch->image_id);
    npu_host_image *image = calloc(1, sizeof *image + batch->n_ops * sizeof image->choices[0]);
    if (!image) return npu_fail(err, NPU_NO_MEMORY, "host.image", "no memory for a batch of %u ops", batch->n_ops);
    uint64_t scratch = 0;
    npu_status status = NPU_OK;
    image->id = batch->image_id;
    image->n_ops = batch->n_ops;
    for (int i = 0; i < NPU_ROWS_COUNT; i++) image->max_rows[i] = UINT32_MAX;
    for (uint32_t i = 0; i < batch->n_ops && status == NPU_OK; i++) {
        const npu_op *op = &batch->ops[i];
        const npu_op_info *info = npu_op_find(op->code);
        const char *why = op_problem(batch, op);
        if (why) {
            status = npu_fail(err, NPU_INVALID, "host.bad_op", "op %u (%s, layer %u): %s", i, info ? info->name : "?",
                              op->layer, why);
            break;
        }
        const npu_host_variant *v = image->choices[i].variant = choose(host, op, batch->tensors);
        uint64_t bytes = v->scratch ? v->scratch(op, batch->tensors, host->base.mode, npu_pool_threads(host->pool)) : 0;
        if (bytes > scratch) scratch = bytes;
        limit_rows(batch, op->src, NPU_OP_SRCS, image);
        limit_rows(batch, op->dst, NPU_OP_DSTS, image);
    }
    if (status == NPU_OK) status = make_scratch(host, scratch, err);
    if (status != NPU_OK) {
        free(image);
        return status;
    }
    for (int lent = 0; lent < 2; lent++) /* when all copies are there */
        for (uint32_t i = 0; i < batch->n_ops; i++)
            if (lent == !image->choices[i].variant->packing)
                pack_weights(host, batch, &batch->ops[i], &image->choices[i]);
    image->next = host->images;
    host->images = image;
    return NPU_OK;
}

bool npu_host_supports(const npu_caps *caps, npu_mode mode, const npu_op *op, const npu_tensor *tensors,
                       const char **why_not) {
    (void)caps, (void)mode;
    *why_not = npu_op_check(op, tensors, NPU_NO_TENSOR);
    return !*why_not;
}

void npu_host_images_free(npu_host *host) {
    while (host->images) {
        npu_host_image *next = host->images->next;
        free(host->images);
        host->images = next;
    }
}
