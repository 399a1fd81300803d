/* What a plan needs of the device as a whole: the same program, and a window that holds the largest batch at once.
 * Asked while planning and again by open, so that neither a step nor a load finds out in the middle. */
#include <string.h>

#include "plan/plan.h"
#include "target/hexagon/hexagon_internal.h"
#include "wire/image.h"

enum { CHUNK_MOST = 256 << 20, CHUNKS = 32 };

void npu_hex_weight_image(const npu_tensor *weight, const char **kind, uint64_t *bytes) {
    npu_tensor t = *weight;
    npu_hex_weight_layout(&t);
    if (t.layout != NPU_LAYOUT_TILES) return;
    *kind = "tiles";
    *bytes = npu_image_bytes(npu_image_format_of(t.type), t.ne[0], t.ne[1]);
}

/* What is left of the window beside the buffers that every batch uses. */
static uint64_t free_window(uint64_t window, const npu_plan *plan) {
    uint64_t pinned = plan->state_bytes + plan->compute_bytes + plan->io_bytes + 3 * 4096 + NPU_HEX_ARENA_BYTES;
    return pinned < window ? window - pinned : 0;
}

uint64_t npu_hex_chunk_bytes(uint64_t window, const npu_plan *plan) {
    uint64_t chunk = (plan ? free_window(window, plan) : window) / CHUNKS;
    return chunk < CHUNK_MOST ? chunk : CHUNK_MOST;
}

static npu_status check_entry(const npu_caps *caps, const npu_plan *plan, uint32_t i, npu_error *err) {
    const npu_plan_entry *e = &plan->entries[i];
    int layer = e->layer == NPU_NO_LAYER ? -1 : (int)e->layer;
    if (!e->on_device || !e->n_tensors) return NPU_OK;
    npu_tensor t = {.ne = {e->K, e->N, 1, 1}, .type = e->type};
    const char *kind = "gguf";
    uint64_t bytes;
    if (e->code == NPU_OP_MUL_MAT) npu_hex_weight_image(&t, &kind, &bytes);
    if (e->code == NPU_OP_MUL_MAT && strcmp(kind, e->image) != 0)
        return npu_fail(err, NPU_REFUSED, "plan.image", "layer %d, role %s: the plan has image kind %s, this build %s",
                        layer, npu_role_name(e->role), e->image, kind);
    /* Each of the op's tensors shares a buffer with at most a chunk of others (hexagon_weights.c). */
    uint64_t need = e->bytes + e->n_tensors * (npu_hex_chunk_bytes(caps->hw.window_bytes, plan) + 4096);
    if (need > free_window(caps->hw.window_bytes, plan))
        return npu_fail(
            err, NPU_REFUSED, "plan.window",
            "layer %d, role %s: %llu bytes of weights beside %llu of state and %llu of compute buffers do "
            "not fit into the NPU's window of %llu",
            layer, npu_role_name(e->role), (unsigned long long)e->bytes, (unsigned long long)plan->state_bytes,
            (unsigned long long)(plan->compute_bytes + plan->io_bytes), (unsigned long long)caps->hw.window_bytes);
    return NPU_OK;
}

npu_status npu_hex_check_plan(const npu_caps *caps, const npu_plan *plan, npu_error *err) {
    const struct {
        const char *name;
        uint64_t bytes;
    } pinned[] = {{"state", plan->state_bytes}, {"compute", plan->compute_bytes}, {"i/o", plan->io_bytes}};
    NPU_TRY(npu_plan_check_caps(plan, npu_target_hexagon.name, caps, err));
    for (unsigned i = 0; i < 3; i++)
        if (pinned[i].bytes > caps->hw.max_buffer_bytes)
            return npu_fail(err, NPU_REFUSED, "plan.buffer", "%llu bytes of %s memory: at most %u in one buffer",
                            (unsigned long long)pinned[i].bytes, pinned[i].name, (unsigned)caps->hw.max_buffer_bytes);
    if (!free_window(caps->hw.window_bytes, plan))
        return npu_fail(err, NPU_REFUSED, "plan.window",
                        "%llu bytes of state and %llu of compute buffers do not fit into the NPU's window of %llu",
                        (unsigned long long)plan->state_bytes,
                        (unsigned long long)(plan->compute_bytes + plan->io_bytes),
                        (unsigned long long)caps->hw.window_bytes);
    for (uint32_t i = 0; i < plan->n_entries; i++) NPU_TRY(check_entry(caps, plan, i, err));
    return NPU_OK;
}
