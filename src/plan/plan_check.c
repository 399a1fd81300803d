/* Compares a plan that somebody brought with the one that was just derived; names the first difference. */
#include "plan/plan.h"

#include <string.h>

static npu_status check_model(const npu_plan *a, const npu_plan *b, npu_error *err) {
    if (strcmp(a->architecture, b->architecture) != 0)
        return npu_fail(err, NPU_REFUSED, "plan.model", "the plan is for architecture %s, the model is %s",
                        a->architecture, b->architecture);
    if (a->n_layers != b->n_layers)
        return npu_fail(err, NPU_REFUSED, "plan.layers", "the plan has %u layers, the model %u", a->n_layers,
                        b->n_layers);
    if (a->n_entries != b->n_entries)
        return npu_fail(err, NPU_REFUSED, "plan.model", "the plan has %u ops, the model %u", a->n_entries,
                        b->n_entries);
    for (uint32_t i = 0; i < a->n_facts || i < b->n_facts; i++) {
        if (i >= a->n_facts || i >= b->n_facts || strcmp(a->facts[i].name, b->facts[i].name) != 0)
            return npu_fail(err, NPU_REFUSED, "plan.model", "the plan has %u model facts, the model %u", a->n_facts,
                            b->n_facts);
        if (strcmp(a->facts[i].value, b->facts[i].value) != 0)
            return npu_fail(err, NPU_REFUSED, "plan.model", "the plan says %s = %s, the model %s (%s)",
                            a->facts[i].name, a->facts[i].value, b->facts[i].value, b->facts[i].key);
    }
    return NPU_OK;
}

npu_status npu_plan_check_caps(const npu_plan *a, const char *target, const npu_caps *caps, npu_error *err) {
    if (strcmp(a->target, target) != 0)
        return npu_fail(err, NPU_REFUSED, "plan.target", "the plan is for target %s, asked for is %s", a->target,
                        target);
    if (strcmp(a->needs.generation, caps->generation) != 0)
        return npu_fail(err, NPU_REFUSED, "plan.generation", "the plan is for %s %s, the device is %s", a->target,
                        a->needs.generation, caps->generation);
    const npu_hw *want = &a->needs.hw, *have = &caps->hw;
    const struct {
        const char *name;
        uint64_t want, have;
    } rows[] = {
        {"max_rows", a->needs.max_rows, caps->max_rows},
        {"prefill_rows", a->needs.prefill_rows, caps->prefill_rows},
        {"devices", a->needs.devices, caps->devices},
        {"graph", a->needs.graph, caps->graph},
        {"t2_expansion", a->needs.t2_expansion, caps->t2_expansion},
        {"gdn", a->needs.gdn, caps->gdn},
        {"attn", a->needs.attn, caps->attn},
        {"lm_head", a->needs.lm_head, caps->lm_head},
        {"int8_kv", a->needs.int8_kv, caps->int8_kv},
        {"threads", want->threads, have->threads},
        {"vtcm_bytes", want->vtcm_bytes, have->vtcm_bytes},
        {"window_bytes", want->window_bytes, have->window_bytes},
        {"max_buffer_bytes", want->max_buffer_bytes, have->max_buffer_bytes},
        {"slots", want->slots, have->slots ? have->slots : UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].have < rows[i].want)
            return npu_fail(err, NPU_REFUSED, "plan.caps", "the plan needs %s %llu, the device has %llu", rows[i].name,
                            (unsigned long long)rows[i].want, (unsigned long long)rows[i].have);
    return NPU_OK;
}

static npu_status check_bytes(const npu_plan *a, const npu_plan *b, npu_error *err) {
    const struct {
        const char *name;
        uint64_t plan, here;
    } rows[] = {{"state", a->state_bytes, b->state_bytes},
                {"compute", a->compute_bytes, b->compute_bytes},
                {"i/o", a->io_bytes, b->io_bytes}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].plan != rows[i].here)
            return npu_fail(err, NPU_REFUSED, "plan.bytes", "the plan has %llu bytes of %s memory, this build %llu",
                            (unsigned long long)rows[i].plan, rows[i].name, (unsigned long long)rows[i].here);
    return NPU_OK;
}

static npu_status check_settings(const npu_plan_settings *a, const npu_plan_settings *b, npu_error *err) {
    if (a->mode != b->mode)
        return npu_fail(err, NPU_REFUSED, "plan.settings", "the plan is for another mode than asked for");
    if (a->kv_type != b->kv_type)
        return npu_fail(err, NPU_REFUSED, "plan.settings", "the plan is for another `kv` type");
    if (a->ctx != b->ctx || a->n_seq != b->n_seq)
        return npu_fail(err, NPU_REFUSED, "plan.settings",
                        "the plan is for `ctx` %u and %u sequences, asked for are %u and %u", a->ctx, a->n_seq, b->ctx,
                        b->n_seq);
    if (a->decode_rows != b->decode_rows || a->prefill_rows != b->prefill_rows)
        return npu_fail(err, NPU_REFUSED, "plan.settings", "the plan is for %u and %u rows, asked for are %u and %u",
                        a->decode_rows, a->prefill_rows, b->decode_rows, b->prefill_rows);
    if (strcmp(a->devices, b->devices) != 0 || strcmp(a->split, b->split) != 0)
        return npu_fail(err, NPU_REFUSED, "plan.settings",
                        "the plan is for `npu_devices` \"%s\" `split` %s, asked for are \"%s\" and %s", a->devices,
                        a->split[0] ? a->split : "none", b->devices, b->split[0] ? b->split : "none");
    if (a->out_rows != b->out_rows)
        return npu_fail(err, NPU_REFUSED, "plan.settings", "the plan is for %u rows of logits in a step, this is %u",
                        a->out_rows, b->out_rows);
    return NPU_OK;
}

static bool same_weights(const npu_plan_entry *x, const npu_plan_entry *y) {
    if (x->type != y->type || x->n_tensors != y->n_tensors || x->n_splits != y->n_splits) return false;
    for (unsigned i = 0; i < x->n_tensors; i++)
        if (strcmp(x->tensors[i], y->tensors[i]) != 0) return false;
    return !memcmp(x->splits, y->splits, sizeof x->splits);
}

/* Padding, image and bytes of an entry with designs come from kernels that the target holds against its own. */
static const char *what_differs(const npu_plan_entry *x, const npu_plan_entry *y) {
    if (x->layer != y->layer || x->role != y->role || x->code != y->code) return "another op";
    if (x->real_k != y->real_k || x->real_n != y->real_n) return "other dims";
    if (!same_weights(x, y)) return "other weights";
    if (x->on_device && !y->on_device) return "the device, which does not take it";
    if (x->device != y->device) return "another device of the set";
    if (x->n_designs) return NULL;
    if (x->K != y->K || x->N != y->N) return "other dims";
    if (strcmp(x->image, y->image) != 0) return "another image kind";
    return x->bytes != y->bytes ? "other bytes of weights" : NULL;
}

static npu_status check_entries(const npu_plan *a, const npu_plan *b, npu_error *err) {
    for (uint32_t i = 0; i < a->n_entries; i++) {
        const npu_plan_entry *y = &b->entries[i];
        const char *what = what_differs(&a->entries[i], y);
        if (what)
            return npu_fail(err, NPU_REFUSED, "plan.entry", "entry %u (layer %d, %s): the plan has %s%s%s", i,
                            y->layer == NPU_NO_LAYER ? -1 : (int)y->layer, npu_role_name(y->role), what,
                            y->why[0] ? ": " : "", y->why);
    }
    return NPU_OK;
}

npu_status npu_plan_check(const npu_plan *given, const npu_plan *derived, npu_error *err) {
    NPU_TRY(check_model(given, derived, err));
    NPU_TRY(npu_plan_check_caps(given, derived->target, &derived->caps, err));
    NPU_TRY(check_settings(&given->settings, &derived->settings, err));
    NPU_TRY(check_bytes(given, derived, err));
    return check_entries(given, derived, err);
}
