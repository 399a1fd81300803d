/* Checks of messages and batch images, see check.h. All arithmetic on outside numbers is 64-bit on values bounded
 * before, or goes through the overflow builtins. */
#include "wire/check.h"

#include "wire/image.h"
#include "wire/op_check.h"

enum { MAX_DIMENSION = 1 << 28 };

static int fail(npu_wire_fault *f, uint32_t code, int32_t op, uint32_t index, const char *text) {
    *f = (npu_wire_fault){code, op, index, text};
    return 0;
}

int npu_wire_check_request(const npu_wire_request *r, uint32_t bytes, npu_wire_fault *f) {
    if (bytes != sizeof *r) return fail(f, NPU_WIRE_BAD_SIZE, NPU_WIRE_NO_OP, 0, "size of a request");
    if (r->magic != NPU_WIRE_MAGIC) return fail(f, NPU_WIRE_BAD_MAGIC, NPU_WIRE_NO_OP, 0, "magic");
    if (r->version != NPU_WIRE_VERSION) return fail(f, NPU_WIRE_BAD_VERSION, NPU_WIRE_NO_OP, 0, "version");
    if (r->kind != NPU_WIRE_ECHO && r->kind != NPU_WIRE_BATCH)
        return fail(f, NPU_WIRE_BAD_KIND, NPU_WIRE_NO_OP, 0, "kind");
    return 1;
}

int npu_wire_check_step(const npu_step *step, const uint32_t max_rows[NPU_ROWS_COUNT], npu_wire_fault *f) {
    for (unsigned i = 0; i < NPU_ROWS_COUNT; i++)
        if (step->rows[i] > max_rows[i]) return fail(f, NPU_WIRE_BAD_STEP, NPU_WIRE_NO_OP, i, "rows");
    if (step->first > max_rows[NPU_ROWS_STEP] - step->rows[NPU_ROWS_STEP])
        return fail(f, NPU_WIRE_BAD_STEP, NPU_WIRE_NO_OP, NPU_ROWS_STEP, "first row");
    return 1;
}

const char *npu_wire_check_tensor(const npu_tensor *t, uint64_t buffer_bytes) {
    uint64_t values = 1;
    for (unsigned i = 0; i < NPU_MAX_DIMS; i++) {
        if (!t->ne[i] || t->ne[i] > MAX_DIMENSION) return "an empty or too large dimension";
        values *= t->ne[i];
        if (values > 1ull << 32) return "too many values";
    }
    if (t->rows_of >= NPU_ROWS_COUNT || t->rows_dim >= NPU_MAX_DIMS || (t->rows_of == NPU_ROWS_FIXED && t->rows_dim))
        return "no such row dimension";
    uint64_t bytes, align = 128;
    if (t->layout == NPU_LAYOUT_TILES) {
        const npu_image_format *f = npu_image_format_of(t->type);
        if (!f || t->ne[0] % NPU_TILE_K || t->ne[0] > NPU_IMAGE_MAX_K || t->ne[2] != 1 || t->ne[3] != 1) return "image";
        if (t->nb[1] && !npu_image_is_slice(f, t->nb[0], t->ne[0], t->nb[1])) return "slice of an image";
        bytes = npu_image_bytes(f, t->nb[1] ? (uint32_t)t->nb[1] : t->ne[0], t->ne[1]);
    } else if (t->layout == NPU_LAYOUT_GGUF) {
        uint32_t block, unit = npu_tensor_unit(t, &block);
        const char *why_not = npu_tensor_check(t);
        if (why_not) return why_not;
        align = block == 1 ? unit : 1;
        for (unsigned i = 0; i < NPU_MAX_DIMS; i++)
            if (t->ne[i] > (i ? 1 : block) && (!t->nb[i] || t->nb[i] > 1ull << 40))
                return "a stride of 0 or too large a one";
        bytes = npu_tensor_extent(t);
    } else {
        return "layout";
    }
    if (t->offset % align) return "alignment";
    if (!bytes || bytes > buffer_bytes || t->offset > buffer_bytes - bytes) return "the tensor leaves its buffer";
    return NULL;
}

static int check_section(uint32_t at, uint64_t n, uint32_t each, uint64_t total) {
    return at % 8 == 0 && at >= sizeof(npu_wire_image) && at <= total && n * each <= total - at;
}

static int check_header(const npu_wire_image *h, uint64_t bytes, npu_wire_fault *f) {
    if (bytes < sizeof *h || bytes > NPU_WIRE_MAX_IMAGE)
        return fail(f, NPU_WIRE_BAD_SIZE, NPU_WIRE_NO_OP, 0, "size of the image");
    if (h->magic != NPU_WIRE_MAGIC) return fail(f, NPU_WIRE_BAD_MAGIC, NPU_WIRE_NO_OP, 0, "magic of the image");
    if (h->version != NPU_WIRE_VERSION || h->features & ~(uint32_t)NPU_WIRE_HAS_SYNCS)
        return fail(f, NPU_WIRE_BAD_VERSION, NPU_WIRE_NO_OP, 0, "version of the image");
    if (h->header_bytes != sizeof *h || h->total_bytes != bytes || h->buffer_bytes != sizeof(npu_wire_buffer) ||
        h->tensor_bytes != sizeof(npu_tensor) || h->op_bytes != sizeof(npu_op))
        return fail(f, NPU_WIRE_BAD_SIZE, NPU_WIRE_NO_OP, 0, "sizes in the image");
    if (h->n_buffers > NPU_WIRE_MAX_BUFFERS || h->n_tensors > NPU_WIRE_MAX_TENSORS || h->n_ops > NPU_WIRE_MAX_OPS)
        return fail(f, NPU_WIRE_BAD_SIZE, NPU_WIRE_NO_OP, 0, "counts in the image");
    if (!check_section(h->buffers_at, h->n_buffers, h->buffer_bytes, bytes) ||
        !check_section(h->tensors_at, h->n_tensors, h->tensor_bytes, bytes) ||
        !check_section(h->ops_at, h->n_ops, h->op_bytes, bytes))
        return fail(f, NPU_WIRE_BAD_SECTION, NPU_WIRE_NO_OP, 0, "section");
    return 1;
}

static int check_buffers(const npu_wire_image *h, const npu_hw *hw, npu_wire_fault *f) {
    const npu_wire_buffer *b = npu_wire_buffers(h);
    for (uint32_t i = 0; i < h->n_buffers; i++) {
        if (b[i].fd < 0 || !b[i].bytes || b[i].bytes > hw->max_buffer_bytes ||
            b[i].flags & ~(uint32_t)NPU_WIRE_BUFFER_PINNED)
            return fail(f, NPU_WIRE_BAD_BUFFER, NPU_WIRE_NO_OP, i, "buffer");
        for (uint32_t j = 0; j < i; j++)
            if (b[j].fd == b[i].fd) return fail(f, NPU_WIRE_BAD_BUFFER, NPU_WIRE_NO_OP, i, "buffer listed twice");
    }
    return 1;
}

/* What devices wait for is outside of any buffer but the fences', so that no op can make a fence. */
static int check_syncs(const npu_wire_image *h, uint64_t bytes, npu_wire_fault *f) {
    if (!h->features) {
        if (h->syncs_at || h->n_syncs || h->fence_buffer || h->fence_slot)
            return fail(f, NPU_WIRE_BAD_SYNC, NPU_WIRE_NO_OP, 0, "syncs without the feature");
        return 1;
    }
    if (h->n_syncs > NPU_FENCE_MOST || !check_section(h->syncs_at, h->n_syncs, sizeof(npu_wire_sync), bytes))
        return fail(f, NPU_WIRE_BAD_SECTION, NPU_WIRE_NO_OP, 0, "syncs");
    if (h->fence_slot >= NPU_FENCE_SLOTS || h->fence_buffer >= h->n_buffers ||
        npu_wire_buffers(h)[h->fence_buffer].bytes < NPU_FENCE_SLOTS * sizeof(npu_fence))
        return fail(f, NPU_WIRE_BAD_SYNC, NPU_WIRE_NO_OP, 0, "fences");
    for (uint32_t i = 0; i < h->n_tensors; i++)
        if (npu_wire_tensors(h)[i].buffer == h->fence_buffer)
            return fail(f, NPU_WIRE_BAD_SYNC, NPU_WIRE_NO_OP, i, "a tensor among the fences");
    for (uint32_t i = 0; i < h->n_syncs; i++) {
        const npu_wire_sync *s = &npu_wire_syncs(h)[i];
        if (s->kind < NPU_SYNC_SIGNAL || s->kind > NPU_SYNC_BARRIER || s->reserved || s->op > h->n_ops ||
            (i && s->op < s[-1].op) || s->number <= -NPU_FENCE_MOST || s->number >= NPU_FENCE_MOST ||
            s->slot > NPU_FENCE_SLOTS || (s->slot == NPU_FENCE_SLOTS && s->kind != NPU_SYNC_BARRIER) ||
            (s->kind == NPU_SYNC_BARRIER && s->slot <= h->fence_slot))
            return fail(f, NPU_WIRE_BAD_SYNC, NPU_WIRE_NO_OP, i, "sync");
    }
    return 1;
}

/* An op of other devices only. */
static int check_skipped(const npu_op *op, uint32_t i, npu_wire_fault *f) {
    for (unsigned k = 0; k < NPU_OP_SRCS + NPU_OP_DSTS; k++)
        if ((k < NPU_OP_SRCS ? op->src[k] : op->dst[k - NPU_OP_SRCS]) != NPU_NO_TENSOR)
            return fail(f, NPU_WIRE_BAD_OP, (int32_t)i, 0, "operands of an op that is skipped");
    return 1;
}

static int check_op(const npu_wire_image *h, uint32_t i, const npu_hw *hw, npu_wire_fault *f) {
    const npu_op *op = &npu_wire_ops(h)[i];
    for (unsigned s = 0; s < NPU_OP_SRCS; s++)
        if (op->src[s] != NPU_NO_TENSOR && op->src[s] >= h->n_tensors)
            return fail(f, NPU_WIRE_BAD_OP, (int32_t)i, op->src[s], "source index");
    for (unsigned d = 0; d < NPU_OP_DSTS; d++) {
        if (op->dst[d] == NPU_NO_TENSOR) continue;
        if (op->dst[d] >= h->n_tensors) return fail(f, NPU_WIRE_BAD_OP, (int32_t)i, op->dst[d], "result index");
        if (npu_wire_tensors(h)[op->dst[d]].flags & NPU_TENSOR_WEIGHT)
            return fail(f, NPU_WIRE_BAD_OP, (int32_t)i, op->dst[d], "a weight as result");
    }
    if (op->flags & ~NPU_OP_SKIPPED || op->reserved) return fail(f, NPU_WIRE_BAD_OP, (int32_t)i, 0, "reserved words");
    if (op->flags) return check_skipped(op, i, f);
    uint32_t kernel[NPU_OP_KERNEL_WORDS];
    const char *why_not = npu_opplan_make(op, npu_wire_tensors(h), hw, kernel);
    if (why_not) return fail(f, NPU_WIRE_BAD_OP, (int32_t)i, 0, why_not);
    for (unsigned k = 0; k < NPU_OP_KERNEL_WORDS; k++)
        if (op->kernel[k] != kernel[k]) return fail(f, NPU_WIRE_BAD_PLAN, (int32_t)i, k, "plan");
    return 1;
}

int npu_wire_check_image(const void *image, uint64_t bytes, const npu_hw *hw, uint32_t max_rows[NPU_ROWS_COUNT],
                         npu_wire_fault *f) {
    const npu_wire_image *h = image;
    if (!check_header(h, bytes, f) || !check_buffers(h, hw, f)) return 0;
    const npu_tensor *t = npu_wire_tensors(h);
    for (unsigned i = 0; i < NPU_ROWS_COUNT; i++) max_rows[i] = i == NPU_ROWS_FIXED ? 0 : UINT32_MAX;
    for (uint32_t i = 0; i < h->n_tensors; i++) {
        if (t[i].buffer >= h->n_buffers) return fail(f, NPU_WIRE_BAD_TENSOR, NPU_WIRE_NO_OP, i, "buffer index");
        const char *why_not = npu_wire_check_tensor(&t[i], npu_wire_buffers(h)[t[i].buffer].bytes);
        if (why_not) return fail(f, NPU_WIRE_BAD_TENSOR, NPU_WIRE_NO_OP, i, why_not);
        if (t[i].rows_of != NPU_ROWS_FIXED && t[i].ne[t[i].rows_dim] < max_rows[t[i].rows_of])
            max_rows[t[i].rows_of] = t[i].ne[t[i].rows_dim];
    }
    for (uint32_t i = 0; i < h->n_ops; i++)
        if (!check_op(h, i, hw, f)) return 0;
    return check_syncs(h, bytes, f);
}
