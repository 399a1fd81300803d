/* What a plan needs of the device as a whole: the same program, and a window that holds the largest batch at once.
 * Asked while planning and again by open, so that neither a step nor a load finds out in the middle. */
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "target/hexagon/hexagon_large.h"
#include "target/hexagon/hexagon_parts.h"
#include "wire/guard.h"
#include "wire/image.h"

enum { CHUNK_MOST = 256 << 20, CHUNKS = 32 };

void npu_hex_weight_image(const npu_tensor *weight, const char **kind, uint64_t *bytes) {
    npu_tensor t = *weight;
    npu_hex_weight_layout(&t);
    if (t.layout != NPU_LAYOUT_TILES) return;
    *kind = "tiles";
    *bytes = npu_image_bytes(npu_image_format_of(t.type), t.ne[0], t.ne[1]);
}

static npu_hex_set set_of(const npu_plan *plan) {
    const npu_plan_settings *s = &plan->settings;
    npu_hex_set set;
    npu_status status = npu_hex_set_read(s->devices[0] ? s->devices : NULL, s->split[0] ? s->split : NULL, &set, NULL);
    return status == NPU_OK ? set : (npu_hex_set){.n = 1};
}

/* Whether some layer has fewer key-value heads than there are devices, so that some have them twice. K of SET_ROWS is
 * the width of a row of all heads' keys, K of FLASH_ATTN that of one head; what can't be told counts as one head. */
static bool may_copy_heads(const npu_plan *plan, uint32_t devices) {
    const npu_plan_entry *keys = NULL;
    for (uint32_t i = 0; i < plan->n_entries; i++) {
        const npu_plan_entry *e = &plan->entries[i];
        if (e->code == NPU_OP_SET_ROWS && (!keys || keys->layer != e->layer)) keys = e;
        if (e->code != NPU_OP_FLASH_ATTN) continue;
        uint32_t heads = keys && keys->layer == e->layer && e->K && keys->K % e->K == 0 ? keys->K / e->K : 1;
        if (heads < devices) return true;
    }
    return false;
}

static uint64_t step_rows(const npu_plan *plan) {
    const npu_plan_settings *s = &plan->settings;
    return s->prefill_rows < s->decode_rows ? s->decode_rows : s->prefill_rows;
}

/* Room for the largest product that may be done over parts of K. */
static uint64_t sums_room(const npu_plan *plan, uint32_t devices) {
    uint64_t rows = step_rows(plan), most = 0;
    for (uint32_t i = 0; i < plan->n_entries; i++) {
        const npu_plan_entry *e = &plan->entries[i];
        uint32_t width = e->n_splits ? e->splits[0] : e->real_n;
        if (e->code == NPU_OP_MUL_MAT && e->layer != NPU_NO_LAYER && width > most) most = width;
    }
    return npu_hex_sums_room(devices, rows * most * 4);
}

/* Room for what goes from one device to the next by layers (hexagon_split_layer.c), at most: the layers' activation at
 * each change of device and twice where rows are chosen, and the rotary tables. */
static uint64_t transit_room(const npu_plan *plan, uint32_t devices) {
    uint64_t rows = step_rows(plan), width = 0, tables = 0;
    for (uint32_t i = 0; i < plan->n_entries; i++) {
        const npu_plan_entry *e = &plan->entries[i];
        if (e->code == NPU_OP_GET_ROWS && e->real_n > width) width = e->real_n;
        if (e->code == NPU_OP_ROPE_TABLE) tables += rows * e->real_n * 4 + NPU_HEX_LINE;
    }
    return (devices + 1) * (rows * width * 4 + NPU_HEX_LINE) + tables;
}

/* The buffer that devices of a set meet in, as large as it may become. By rows it is none beside those that are as
 * large as compute memory. */
static uint64_t passing_room(const npu_plan *plan) {
    const npu_hex_set set = set_of(plan);
    if (!plan->settings.devices[0] || set.split == NPU_HEX_ROW) return 0;
    return set.split == NPU_HEX_TENSOR ? sums_room(plan, set.n) : transit_room(plan, set.n);
}

/* What every batch uses of the window. Its image does not count: it is read before the batch's buffers are mapped. */
static uint64_t pinned_bytes(const npu_hw *hw, const npu_plan *plan) {
    /* A device of a set has memory of its own for intermediate results, and a place for what passes between them. */
    uint64_t copies = plan->settings.devices[0] ? 3 : 1;
    const npu_hex_set set = set_of(plan);
    bool by_tensors = set.split == NPU_HEX_TENSOR;
    uint64_t states = by_tensors && may_copy_heads(plan, set.n) ? 2 : 1;
    return states * plan->state_bytes + copies * plan->compute_bytes + (by_tensors ? sums_room(plan, set.n) : 0) +
           plan->io_bytes + npu_hex_ring_bytes(hw) + 3 * 4096;
}

uint64_t npu_hex_free_window(const npu_hw *hw, const npu_plan *plan) {
    uint64_t pinned = plan ? pinned_bytes(hw, plan) : npu_hex_ring_bytes(hw);
    return pinned < hw->window_bytes ? hw->window_bytes - pinned : 0;
}

/* How large a buffer that several weights share may be, so that any op's weights fit into the window. */
static uint64_t chunk_bytes(const npu_hw *hw, const npu_plan *plan) {
    uint64_t chunk = npu_hex_free_window(hw, plan) / CHUNKS, most = CHUNK_MOST;
    if (hw->max_buffer_bytes < most) most = hw->max_buffer_bytes;
    return chunk < most ? chunk : most;
}

void npu_hex_place_weights(npu_hex_target *t, const npu_plan *plan) {
    t->layout_hw = plan ? plan->caps.hw : t->base.caps.hw;
    t->chunk_bytes = chunk_bytes(&t->layout_hw, plan);
    t->step_bytes = npu_hex_step_bytes(&t->layout_hw, plan);
}

/* What of an op's weights is there at once: all, or a part of one. */
static uint64_t weights_at_once(const npu_hw *hw, const npu_plan_entry *e) {
    return e->parts > 1 && hw->max_buffer_bytes < e->bytes ? hw->max_buffer_bytes : e->bytes;
}

static npu_status check_image(const npu_plan_entry *e, npu_error *err) {
    npu_tensor t = {.ne = {e->K, e->N, 1, 1}, .type = e->type};
    const char *kind = "gguf";
    uint64_t bytes;
    if (e->code != NPU_OP_MUL_MAT || !e->n_tensors) return NPU_OK;
    npu_hex_weight_image(&t, &kind, &bytes);
    if (!strcmp(kind, e->image)) return NPU_OK;
    return npu_fail(err, NPU_REFUSED, "plan.image", "layer %d, role %s: the plan has image kind %s, this build %s",
                    e->layer == NPU_NO_LAYER ? -1 : (int)e->layer, npu_role_name(e->role), e->image, kind);
}

static const char *op_name(const npu_plan_entry *e) {
    const npu_op_info *op = npu_op_find(e->code);
    return op ? op->name : "op";
}

/* "MUL_MAT of blk.0.attn_q.weight (layer 0, role attn_q)". */
static const char *describe_op(const npu_plan_entry *e, char text[256]) {
    char place[32] = "outside the layers";
    if (e->layer != NPU_NO_LAYER) snprintf(place, sizeof place, "layer %u", e->layer);
    snprintf(text, 256, "%s%s%s (%s, role %s)", op_name(e), e->n_tensors ? " of " : "",
             e->n_tensors ? e->tensors[0] : "", place, npu_role_name(e->role));
    return text;
}

/* What any op of a plan needs, its weights aside. */
typedef struct needs {
    uint64_t pinned_bytes, chunk_bytes;
    uint32_t buffers;
} needs;

/* What is not weights, of all that one op can touch: state, compute and i/o; of a device of a set also the fences, its
 * own memory for intermediate results, and the places for what passes between devices (hexagon_split_*.c). */
static uint32_t other_buffers(const npu_plan *plan) {
    if (!plan->settings.devices[0]) return 3;
    return set_of(plan).split == NPU_HEX_TENSOR ? 7 : 6;
}

static needs needs_of(const npu_plan *plan) {
    const npu_hw *hw = &plan->caps.hw;
    return (needs){pinned_bytes(hw, plan), chunk_bytes(hw, plan), other_buffers(plan)};
}

/* What of the window an op needs at once. Each of its tensors shares a buffer with at most a chunk of others
 * (hexagon_weights.c). */
static uint64_t window_need(const npu_plan *plan, const needs *any, const npu_plan_entry *e) {
    const npu_hw *hw = &plan->caps.hw;
    uint64_t need = any->pinned_bytes + weights_at_once(hw, e) + e->n_tensors * (any->chunk_bytes + 4096);
    uint64_t image = npu_hex_ring_bytes(hw) + npu_hex_arena_bytes(hw);
    return need < image ? image : need;
}

/* Whether nothing that depends on the context and the rows of a step stands against the plan. */
static bool has_room(const npu_caps *caps, const npu_plan *plan) {
    uint64_t most = caps->hw.max_buffer_bytes;
    const needs any = needs_of(plan);
    if (plan->state_bytes > most || plan->compute_bytes > most || plan->io_bytes > most) return false;
    if (passing_room(plan) > most) return false;
    for (uint32_t i = 0; i < plan->n_entries; i++) {
        const npu_plan_entry *e = &plan->entries[i];
        if (e->on_device && window_need(plan, &any, e) > caps->hw.window_bytes) return false;
    }
    return true;
}

/* The same with another context and other rows of a step, as far as can be told from here: memory grows with them, but
 * for what it is rounded up to. */
static bool has_room_with(const npu_caps *caps, const npu_plan *plan, uint32_t ctx, uint32_t rows) {
    npu_plan other = *plan;
    const npu_plan_settings *s = &plan->settings;
    uint64_t rounding = (uint64_t)NPU_HEX_LINE * 2 * (plan->n_layers + 1);
    if (ctx != s->ctx) other.state_bytes = plan->state_bytes / s->ctx * ctx + rounding;
    if (rows != s->prefill_rows) other.compute_bytes = plan->compute_bytes / s->prefill_rows * rows + rounding;
    other.settings.ctx = ctx;
    other.settings.prefill_rows = rows;
    return has_room(caps, &other);
}

/* The most of the context, or of the rows, up to |most|, that there is room for beside |fixed| of the other; 0: none.
 */
static uint32_t most_with_room(const npu_caps *caps, const npu_plan *plan, bool of_ctx, uint32_t most, uint32_t fixed) {
    uint32_t low = 0, high = most + 1;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        bool room = of_ctx ? has_room_with(caps, plan, middle, fixed) : has_room_with(caps, plan, fixed, middle);
        *(room ? &low : &high) = middle;
    }
    return low;
}

/* "; `ctx` 96 or less would fit", "" when nothing of the kind helps. */
static const char *advise(const npu_caps *caps, const npu_plan *plan, char text[128]) {
    enum { LEAST_CTX = 16 }; /* less is no help */
    const npu_plan_settings *s = &plan->settings;
    uint32_t ctx = most_with_room(caps, plan, true, s->ctx, s->prefill_rows);
    uint32_t rows = most_with_room(caps, plan, false, s->prefill_rows, s->ctx);
    text[0] = 0;
    if (ctx >= LEAST_CTX && rows)
        snprintf(text, 128, "; `ctx` %u or less, or `prefill_rows` %u or less, would fit", ctx, rows);
    else if (ctx >= LEAST_CTX)
        snprintf(text, 128, "; `ctx` %u or less would fit", ctx);
    else if (rows)
        snprintf(text, 128, "; `prefill_rows` %u or less would fit", rows);
    if (text[0]) return text;
    uint32_t least = s->ctx < LEAST_CTX ? s->ctx : LEAST_CTX;
    rows = most_with_room(caps, plan, false, s->prefill_rows, least);
    if (!rows) return text;
    rows = (rows + 1) / 2; /* so that some of the room is left for the context */
    ctx = most_with_room(caps, plan, true, s->ctx, rows);
    snprintf(text, 128, "; `ctx` %u or less with `prefill_rows` %u or less would fit", ctx, rows);
    return text;
}

/* That an op's buffers fit into the window together. */
static npu_status check_window(const npu_caps *caps, const npu_plan *plan, const needs *any, const npu_plan_entry *e,
                               npu_error *err) {
    uint64_t window = caps->hw.window_bytes, weights = weights_at_once(&plan->caps.hw, e);
    uint64_t need = window_need(plan, any, e);
    if (need <= window) return NPU_OK;
    char text[256], advice[128];
    return npu_fail(
        err, NPU_REFUSED, "plan.window",
        "%s needs %llu bytes in the NPU's window at once, which has %llu: %llu of weights, "
        "%llu of state, %llu of compute and i/o, the rest for a trace and for what shares a buffer with them%s",
        describe_op(e, text), (unsigned long long)need, (unsigned long long)window, (unsigned long long)weights,
        (unsigned long long)plan->state_bytes, (unsigned long long)(plan->compute_bytes + plan->io_bytes),
        advise(caps, plan, advice));
}

/* That an op's buffers can be mapped together: each of its tensors may lie in another one, or a part of it. */
static npu_status check_slots(const npu_caps *caps, const needs *any, const npu_plan_entry *e, npu_error *err) {
    uint32_t need = any->buffers + e->n_tensors;
    if (need <= npu_hex_batch_buffers(&caps->hw) || !NPU_GUARD(DRIVER_PLAN_SLOTS)) return NPU_OK;
    char text[256];
    return npu_fail(err, NPU_REFUSED, "plan.slots",
                    "%s may need %u buffers mapped at once, and the NPU has %u slots: %u with weights, "
                    "%u others, one for a trace",
                    describe_op(e, text), need + 1, caps->hw.slots, e->n_tensors, any->buffers);
}

/* Layers in order, as many for each device as can be; ops outside of them go with their neighbours. */
npu_status npu_hex_spread(npu_plan *plan, npu_error *err) {
    npu_hex_set set;
    npu_plan_settings *s = &plan->settings;
    NPU_TRY(npu_hex_set_read(s->devices, s->split[0] ? s->split : NULL, &set, err));
    npu_hex_set_write(&set, s->devices);
    strcpy(s->split, npu_hex_split_name(set.split));
    uint8_t before = 0;
    for (uint32_t i = 0; set.split == NPU_HEX_LAYER && i < plan->n_entries; i++) {
        npu_plan_entry *e = &plan->entries[i];
        if (e->layer != NPU_NO_LAYER) before = (uint8_t)((uint64_t)e->layer * set.n / plan->n_layers);
        e->device = e->on_device ? before : 0;
    }
    return NPU_OK;
}

npu_status npu_hex_check_plan(const npu_caps *caps, const npu_plan *plan, npu_error *err) {
    const struct {
        const char *name;
        uint64_t bytes;
    } pinned[] = {{"state", plan->state_bytes},
                  {"compute", plan->compute_bytes},
                  {"i/o", plan->io_bytes},
                  {"inter-device", passing_room(plan)}};
    char advice[128];
    NPU_TRY(npu_plan_check_caps(plan, npu_target_hexagon.name, caps, err));
    for (unsigned i = 0; i < sizeof pinned / sizeof *pinned; i++)
        if (pinned[i].bytes > caps->hw.max_buffer_bytes)
            return npu_fail(err, NPU_REFUSED, "plan.buffer", "%llu bytes of %s memory: at most %u in one buffer%s",
                            (unsigned long long)pinned[i].bytes, pinned[i].name, (unsigned)caps->hw.max_buffer_bytes,
                            advise(caps, plan, advice));
    const needs any = needs_of(plan);
    for (uint32_t i = 0; i < plan->n_entries; i++) {
        const npu_plan_entry *e = &plan->entries[i];
        if (!e->on_device) continue;
        NPU_TRY(check_image(e, err));
        NPU_TRY(check_window(caps, plan, &any, e, err));
        NPU_TRY(check_slots(caps, &any, e, err));
    }
    return NPU_OK;
}
