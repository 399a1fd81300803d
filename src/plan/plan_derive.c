/* Derivation of a plan from the model's graphs and a target's caps: one entry per op. Opens nothing. */
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "plan/plan_hash.h"
#include "wire/format.h"

/* All texts of a plan go through here: those from a model's file may be any bytes, but JSON is UTF-8. */
static void copy(char *out, size_t out_size, const char *text) {
    npu_utf8_sanitize(out, out_size, text ? text : "", text ? strlen(text) : 0);
}

static void add_weight(npu_plan_entry *e, const npu_plan_request *r, const npu_graph *g, uint16_t index) {
    const npu_tensor *t = &g->tensors[index];
    const npu_weight_ref *ref = &g->weights[index];
    npu_weight w;
    if (!(t->flags & NPU_TENSOR_WEIGHT) || e->n_tensors == NPU_PLAN_MAX_TENSORS) return;
    if (r->source->get(r->source->context, ref->layer, ref->role, ref->part, &w, NULL) != NPU_OK) return;
    const char *kind = "gguf";
    uint64_t bytes = w.bytes;
    if (e->on_device && r->target && r->target->image) r->target->image(t, &kind, &bytes);
    if (e->n_tensors == 0) {
        e->type = w.type;
        copy(e->image, sizeof e->image, kind);
    }
    e->bytes += bytes;
    copy(e->tensors[e->n_tensors++], sizeof e->tensors[0], w.name);
}

/* K and N are those of the product; other ops say the row length they work on. */
static void set_dims(npu_plan_entry *e, const npu_graph *g, const npu_op *op) {
    const npu_tensor *x = &g->tensors[op->src[0]];
    const npu_tensor *y = op->dst[0] == NPU_NO_TENSOR ? x : &g->tensors[op->dst[0]];
    e->K = e->real_k = x->ne[0];
    e->N = e->real_n = y->ne[0];
    if (op->code != NPU_OP_MUL_MAT) return;
    e->N = 0;
    for (int i = 0; i < NPU_OP_DSTS && op->dst[i] != NPU_NO_TENSOR; i++)
        e->N += e->splits[e->n_splits++] = g->tensors[op->dst[i]].ne[0];
    e->real_n = e->N;
}

static void make_entry(npu_plan_entry *e, const npu_plan_request *r, uint32_t i) {
    const npu_op *op = &r->decode->ops[i];
    e->layer = op->layer;
    e->role = op->role;
    e->code = op->code;
    copy(e->image, sizeof e->image, "gguf");
    set_dims(e, r->decode, op);
    const char *why = NULL;
    e->on_device = r->target && r->target->supports &&
                   r->target->supports(&r->caps, r->settings.mode, op, r->decode->tensors, &why) &&
                   r->target->supports(&r->caps, r->settings.mode, &r->prefill->ops[i], r->prefill->tensors, &why);
    if (!r->target)
        copy(e->why, sizeof e->why, "no device target was asked for");
    else if (!e->on_device)
        copy(e->why, sizeof e->why, why ? why : "the target takes no graph ops");
    for (int s = 0; s < NPU_OP_SRCS; s++)
        if (op->src[s] != NPU_NO_TENSOR) add_weight(e, r, r->decode, op->src[s]);
}

static void set_parts(npu_plan *p, const npu_plan_request *r, uint32_t i) {
    npu_plan_entry *e = &p->entries[i];
    const npu_op *op = &r->decode->ops[i];
    e->parts = 1;
    for (int s = 0; s < NPU_OP_SRCS && e->on_device && r->target && r->target->parts; s++) {
        const npu_tensor *t = op->src[s] == NPU_NO_TENSOR ? NULL : &r->decode->tensors[op->src[s]];
        uint32_t parts = t && t->flags & NPU_TENSOR_WEIGHT ? r->target->parts(p, t) : 1;
        if (parts > e->parts) e->parts = parts;
    }
}

static bool is_on_state(const npu_graph *g, const npu_op *op) {
    for (int i = 0; i < NPU_OP_SRCS; i++)
        if (op->src[i] != NPU_NO_TENSOR && g->tensors[op->src[i]].flags & NPU_TENSOR_STATE) return true;
    for (int i = 0; i < NPU_OP_DSTS; i++)
        if (op->dst[i] != NPU_NO_TENSOR && g->tensors[op->dst[i]].flags & NPU_TENSOR_STATE) return true;
    return false;
}

/* Attention and the writes of what it reads never part: where one op on a layer's state stays on the host, all do. */
static void keep_state_together(npu_plan *p, const npu_graph *g) {
    for (uint32_t i = 0; i < p->n_entries; i++) {
        const npu_plan_entry *host = &p->entries[i];
        if (host->on_device || !is_on_state(g, &g->ops[i])) continue;
        for (uint32_t k = 0; k < p->n_entries; k++) {
            npu_plan_entry *e = &p->entries[k];
            if (!e->on_device || e->layer != host->layer || !is_on_state(g, &g->ops[k])) continue;
            e->on_device = false;
            copy(e->why, sizeof e->why, "the layer's attention is on the host");
        }
    }
}

/* What of the caps the plan can't do without. Op plans were made for the device's memory and threads, so those stay;
 * coarse ops and the like are asked for by the target's design hook. */
static npu_caps needs_of(const npu_plan *p) {
    npu_caps needs = p->caps;
    needs.device[0] = 0;
    needs.t2_expansion = needs.gdn = needs.attn = needs.lm_head = needs.int8_kv = needs.bit_exact = false;
    if (p->settings.decode_rows < needs.max_rows) needs.max_rows = p->settings.decode_rows;
    if (p->settings.prefill_rows < needs.prefill_rows) needs.prefill_rows = p->settings.prefill_rows;
    return needs;
}

/* A target without submit runs only what it has designs for. */
static npu_status add_designs(npu_plan *p, const npu_plan_request *r, npu_error *err) {
    if (!r->target || r->target->submit || !r->target_params) return NPU_OK;
    if (r->target->design) NPU_TRY(r->target->design(r->target_params, &r->caps, r->kernels_dir, p, err));
    for (uint32_t i = 0; i < p->n_entries; i++)
        if (p->entries[i].on_device && !p->entries[i].n_designs)
            npu_plan_leave_on_host(&p->entries[i], "the target has no kernel for it");
    return NPU_OK;
}

static bool same_ops(const npu_graph *a, const npu_graph *b) {
    if (a->n_ops != b->n_ops) return false;
    for (uint32_t i = 0; i < a->n_ops; i++)
        if (a->ops[i].code != b->ops[i].code || a->ops[i].layer != b->ops[i].layer || a->ops[i].role != b->ops[i].role)
            return false;
    return true;
}

npu_status npu_plan_derive(const npu_plan_request *r, npu_plan **out, npu_error *err) {
    *out = NULL;
    if (!same_ops(r->decode, r->prefill))
        return npu_fail(err, NPU_INTERNAL, "plan.graphs", "decode and prefill graphs have different ops");

    npu_plan *p = calloc(1, sizeof *p);
    if (p) {
        p->facts = calloc(r->n_facts ? r->n_facts : 1, sizeof *p->facts);
        p->entries = calloc(r->decode->n_ops ? r->decode->n_ops : 1, sizeof *p->entries);
    }
    if (!p || !p->facts || !p->entries) {
        npu_plan_free(p);
        return npu_fail(err, NPU_NO_MEMORY, "plan.memory", "no memory for a plan of %u ops", r->decode->n_ops);
    }
    p->version = NPU_PLAN_VERSION;
    copy(p->architecture, sizeof p->architecture, r->architecture);
    npu_utf8_sanitize(p->model_name, sizeof p->model_name, r->model_name, r->model_name_size);
    copy(p->target, sizeof p->target, r->target ? r->target->name : "host");
    p->n_layers = r->n_layers;
    p->caps = r->caps;
    p->settings = r->settings;
    p->state_bytes = r->decode->state_bytes;
    p->compute_bytes =
        r->prefill->compute_bytes > r->decode->compute_bytes ? r->prefill->compute_bytes : r->decode->compute_bytes;
    p->io_bytes = r->prefill->io_bytes > r->decode->io_bytes ? r->prefill->io_bytes : r->decode->io_bytes;
    p->n_facts = r->n_facts;
    for (uint32_t i = 0; i < p->n_facts; i++) {
        copy(p->facts[i].name, sizeof p->facts[i].name, r->facts[i].name);
        copy(p->facts[i].value, sizeof p->facts[i].value, r->facts[i].value);
        copy(p->facts[i].key, sizeof p->facts[i].key, r->facts[i].key);
    }
    p->n_entries = r->decode->n_ops;
    for (uint32_t i = 0; i < p->n_entries; i++) make_entry(&p->entries[i], r, i);
    keep_state_together(p, r->decode);
    p->needs = needs_of(p);
    npu_status status = add_designs(p, r, err);
    if (status == NPU_OK && p->settings.devices[0] && r->target) status = r->target->spread(p, err);
    for (uint32_t i = 0; i < p->n_entries; i++) p->weight_bytes += p->entries[i].bytes;
    for (uint32_t i = 0; i < p->n_entries; i++) set_parts(p, r, i);
    if (status == NPU_OK) status = npu_plan_hash(p, p->hash, err);
    if (status != NPU_OK) {
        npu_plan_free(p);
        return status;
    }
    *out = p;
    return NPU_OK;
}

void npu_plan_free(npu_plan *plan) {
    if (!plan) return;
    free(plan->facts);
    free(plan->entries);
    free(plan->designs);
    free(plan->kernels);
    free(plan);
}

uint32_t npu_plan_fallbacks(const npu_plan *plan, const npu_plan_entry **first) {
    uint32_t n = 0;
    if (first) *first = NULL;
    if (!strcmp(plan->target, "host")) return 0;
    for (uint32_t i = 0; i < plan->n_entries; i++) {
        if (plan->entries[i].on_device) continue;
        if (first && !n) *first = &plan->entries[i];
        n++;
    }
    return n;
}
