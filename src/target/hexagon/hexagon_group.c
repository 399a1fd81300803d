/* Several devices as one target: their sessions, the plan's place for each layer, and the memory that they share or
 * have beside each other. Batches on them: hexagon_group_run.c; which device does what: hexagon_split_*.c. */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "target/hexagon/hexagon_internal.h"

npu_status npu_hex_alloc_shared(npu_hex_target *t, uint64_t bytes, bool pinned, npu_hex_buffer **out, npu_error *err) {
    npu_hex_buffer *b;
    *out = NULL;
    NPU_TRY(npu_hex_buffer_alloc(t->session, bytes, pinned, &b, err));
    for (uint32_t i = 1; i < t->set.n; i++) {
        npu_status status = npu_hex_buffer_share(b, t->sessions[i], err);
        if (status == NPU_OK) continue;
        npu_hex_buffer_free(b);
        return status;
    }
    *out = b;
    return NPU_OK;
}

static npu_status check_same(const npu_hex_target *t, uint32_t i, npu_error *err) {
    const npu_hw *a = npu_hex_session_hw(t->session), *b = npu_hex_session_hw(t->sessions[i]);
    if (a->arch == b->arch && a->threads == b->threads && a->vtcm_bytes == b->vtcm_bytes && a->hmx == b->hmx &&
        a->window_bytes == b->window_bytes)
        return NPU_OK;
    return npu_fail(
        err, NPU_REFUSED, "hexagon.devices_differ",
        "%s is v%u with %u threads and %u bytes of local memory, %s is v%u with %u and %u: one plan can't be "
        "for both",
        npu_hex_session_name(t->session), a->arch, a->threads, a->vtcm_bytes, npu_hex_session_name(t->sessions[i]),
        b->arch, b->threads, b->vtcm_bytes);
}

/* A plain invoke returns when the batch has ended. Devices that follow each other can be called one after the other;
 * devices that meet at barriers can't. */
static npu_status check_transport(const npu_hex_target *t, npu_error *err) {
    for (uint32_t i = 0; i < t->set.n && t->set.split != NPU_HEX_LAYER; i++) {
        npu_status status;
        if (npu_hex_session_has_queue(t->sessions[i])) continue;
        const char *why = npu_hex_session_no_queue(t->sessions[i], &status);
        return npu_fail(err, status, "hexagon.split_transport",
                        "`split` %s needs packet queues, as its devices wait for each other inside a batch, and %s has "
                        "none (%s). `split` layer works",
                        npu_hex_split_name(t->set.split), npu_hex_session_name(t->sessions[i]), why);
    }
    return NPU_OK;
}

npu_status npu_hex_group_open(npu_hex_target *t, const npu_target_params *params, npu_error *err) {
    NPU_TRY(npu_hex_sessions_open(&t->driver, params, t->set.at, t->set.n, t->sessions, err));
    t->session = t->sessions[0];
    for (uint32_t i = 1; i < t->set.n; i++) NPU_TRY(check_same(t, i, err));
    if (t->set.n == 1) return NPU_OK;
    NPU_TRY(check_transport(t, err));
    t->group.next = NPU_FENCE_FIRST;
    return npu_hex_alloc_shared(t, NPU_FENCE_SLOTS * sizeof(npu_fence), true, &t->fences, err);
}

/* What the plan says of a set of devices is what is there, and which device has which layer. */
npu_status npu_hex_group_obey(npu_hex_target *t, const npu_plan *plan, npu_error *err) {
    char devices[64] = "";
    const npu_plan_settings *s = &plan->settings;
    if (t->set.n > 1 || s->devices[0]) npu_hex_set_write(&t->set, devices);
    if (strcmp(devices, s->devices) != 0 || (devices[0] && strcmp(s->split, npu_hex_split_name(t->set.split)) != 0))
        return npu_fail(err, NPU_REFUSED, "plan.devices",
                        "the plan is for devices \"%s\" by %s, asked for are \"%s\" by %s", s->devices, s->split,
                        devices, npu_hex_split_name(t->set.split));
    t->layer_device = calloc(plan->n_layers + 1, 1);
    if (!t->layer_device) return npu_fail(err, NPU_NO_MEMORY, "hexagon.group", "out of memory");
    t->n_layers = plan->n_layers;
    for (uint32_t i = 0; i < plan->n_entries; i++) {
        const npu_plan_entry *e = &plan->entries[i];
        if (!e->on_device || e->layer == NPU_NO_LAYER) continue;
        if (e->device >= t->set.n)
            return npu_fail(err, NPU_REFUSED, "plan.devices", "layer %u is planned on device %u of %u", e->layer,
                            e->device, t->set.n);
        t->layer_device[e->layer] = e->device;
    }
    return NPU_OK;
}

void npu_hex_group_close(npu_hex_target *t) {
    free(t->layer_device);
    npu_hex_sessions_close(t->sessions, t->set.n);
}

static npu_status find_twin(npu_hex_group *g, const npu_hex_buffer *of, npu_hex_twin **out, npu_error *err) {
    uint32_t i = 0;
    while (i < g->n_twins && g->twins[i].of != of) i++;
    if (i == sizeof g->twins / sizeof g->twins[0])
        return npu_fail(err, NPU_NO_MEMORY, "hexagon.group", "more compute buffers than there is room for");
    if (i == g->n_twins) g->twins[g->n_twins++] = (npu_hex_twin){.of = of};
    *out = &g->twins[i];
    return NPU_OK;
}

npu_status npu_hex_group_twin(npu_hex_target *t, const npu_hex_buffer *of, uint32_t device, npu_hex_buffer **out,
                              npu_error *err) {
    npu_hex_twin *twin = NULL;
    NPU_TRY(find_twin(&t->group, of, &twin, err));
    if (!twin->own[device])
        NPU_TRY(npu_hex_buffer_alloc(t->sessions[device], of->bytes, true, &twin->own[device], err));
    *out = twin->own[device];
    return NPU_OK;
}

npu_status npu_hex_group_replica(npu_hex_target *t, const npu_hex_buffer *of, uint32_t device,
                                 const npu_hex_buffer **out, npu_error *err) {
    npu_hex_twin *twin = NULL;
    npu_hex_buffer *own;
    NPU_TRY(find_twin(&t->group, of, &twin, err));
    bool is_new = !twin->own[device];
    twin->is_state = true;
    NPU_TRY(npu_hex_group_twin(t, of, device, &own, err));
    if (is_new) memcpy(own->data, of->data, of->bytes);
    *out = own;
    return NPU_OK;
}

void npu_hex_group_drop_replicas(npu_hex_target *t) {
    for (uint32_t i = 0; i < t->group.n_twins; i++) {
        npu_hex_twin *twin = &t->group.twins[i];
        for (uint32_t d = 0; d < NPU_HEX_DEVICES && twin->is_state; d++) {
            npu_hex_buffer_free(twin->own[d]);
            twin->own[d] = NULL;
        }
        twin->is_state = false;
    }
}

void npu_hex_group_sync(npu_hex_target *t, const npu_hex_buffer *of, uint64_t offset, uint64_t bytes) {
    for (uint32_t i = 0; i < t->group.n_twins; i++) {
        const npu_hex_twin *twin = &t->group.twins[i];
        for (uint32_t d = 0; d < t->set.n && twin->of == of && twin->is_state; d++)
            if (twin->own[d]) memcpy(twin->own[d]->data + offset, of->data + offset, bytes);
    }
}

npu_status npu_hex_group_spare(npu_hex_target *t, const npu_hex_buffer *of, npu_hex_buffer **out, npu_error *err) {
    npu_hex_twin *twin = NULL;
    NPU_TRY(find_twin(&t->group, of, &twin, err));
    if (!twin->spare) NPU_TRY(npu_hex_alloc_shared(t, of->bytes, true, &twin->spare, err));
    *out = twin->spare;
    return NPU_OK;
}

/* A record that outlives its buffer would be taken for that of the next one at the same address, whose size and whose
 * bytes are others. */
void npu_hex_group_forget(npu_hex_target *t, const npu_hex_buffer *of) {
    npu_hex_group *g = &t->group;
    uint32_t i = 0;
    while (i < g->n_twins && g->twins[i].of != of) i++;
    if (i == g->n_twins) return;
    for (uint32_t d = 0; d < NPU_HEX_DEVICES; d++) npu_hex_buffer_free(g->twins[i].own[d]);
    npu_hex_buffer_free(g->twins[i].spare);
    g->twins[i] = g->twins[--g->n_twins];
}

/* Batches that are not kept follow each other, each waited for before the next is made: they share one buffer. */
npu_status npu_hex_group_passing(npu_hex_target *t, uint64_t image_id, uint64_t bytes, npu_hex_buffer **out,
                                 npu_error *err) {
    if (image_id) return npu_hex_alloc_shared(t, bytes, true, out, err);
    npu_hex_buffer **kept = &t->group.passing;
    if (*kept && (*kept)->bytes < bytes) {
        npu_hex_buffer_free(*kept);
        *kept = NULL;
    }
    if (!*kept) NPU_TRY(npu_hex_alloc_shared(t, bytes, true, kept, err));
    *out = *kept;
    return NPU_OK;
}

void npu_hex_group_drop_passing(uint64_t image_id, npu_hex_buffer *b) {
    if (image_id) npu_hex_buffer_free(b);
}

uint32_t npu_hex_group_device(const npu_hex_target *t, unsigned layer) {
    if (layer == NPU_NO_LAYER) return UINT32_MAX;
    return t->n_layers > layer ? t->layer_device[layer] : 0;
}

void npu_hex_group_count(const npu_hex_target *t, npu_target_counters *out) {
    for (uint32_t d = 1; d < t->set.n; d++) { /* barriers are the same of all */
        const npu_target_counters *c = npu_hex_session_counters(t->sessions[d]);
        out->submits += c->submits;
        out->message_bytes += c->message_bytes;
        out->allocations += c->allocations;
        out->mapped_bytes += c->mapped_bytes;
        out->dma_bytes += c->dma_bytes;
        out->cache_bytes += c->cache_bytes;
        out->fences += c->fences;
    }
}
