/* Plan to JSON, its hash, and writing the file. The schema lives here and in plan_read.c; docs/plan.md describes it. */
#include "plan/plan.h"

#include <errno.h>
#include <jansson.h>
#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_text.h"
#include "plan/plan_hash.h"
#include "wire/format.h"

static const char *const mode_names[] = {"default", "exact", "fast"};

static json_t *caps_body(const npu_caps *c) {
    json_t *body = json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "device",
        c->device, "generation", c->generation, "max_rows", (json_int_t)c->max_rows, "prefill_rows",
        (json_int_t)c->prefill_rows, "devices", (json_int_t)c->devices, "graph", c->graph, "t2_expansion",
        c->t2_expansion, "gdn", c->gdn, "attn", c->attn, "lm_head", c->lm_head, "int8_kv", c->int8_kv, "bit_exact",
        c->bit_exact, "arch", (json_int_t)c->hw.arch, "threads", (json_int_t)c->hw.threads, "vtcm_bytes",
        (json_int_t)c->hw.vtcm_bytes, "hmx", (json_int_t)c->hw.hmx, "window_bytes", (json_int_t)c->hw.window_bytes,
        "max_buffer_bytes", (json_int_t)c->hw.max_buffer_bytes, "line_bytes", (json_int_t)c->hw.line_bytes);
    if (!c->hw.slots || json_object_set_new(body, "slots", json_integer(c->hw.slots)) == 0) return body;
    json_decref(body);
    return NULL;
}

static json_t *number_list(const uint32_t *values, unsigned n) {
    json_t *list = json_array();
    for (unsigned i = 0; i < n; i++) json_array_append_new(list, json_integer(values[i]));
    return list;
}

static json_t *kernel_index(uint16_t index) {
    return json_integer(index == NPU_PLAN_NO_KERNEL ? -1 : index);
}

static json_t *kernel_body(const npu_plan_kernel *k) {
    return json_pack("{s:s, s:I, s:I, s:I, s:s, s:s, s:s, s:s}", "role", npu_role_name(k->role), "M", (json_int_t)k->M,
                     "K", (json_int_t)k->K, "N", (json_int_t)k->N, "kind", k->kind, "layout", k->layout, "file",
                     k->file, "sha256", k->sha256);
}

static json_t *design_body(const npu_plan_design *d) {
    return json_pack("{s:s, s:i, s:o, s:I, s:I, s:I, s:I, s:I, s:s, s:s, s:I, s:o, s:o}", "role",
                     npu_role_name(d->role), "first", (int)d->first, "splits", number_list(d->splits, d->n_splits), "K",
                     (json_int_t)d->K, "N", (json_int_t)d->N, "real_k", (json_int_t)d->real_k, "real_n",
                     (json_int_t)d->real_n, "hadamard", (json_int_t)d->hadamard, "image", d->image, "layout", d->layout,
                     "bytes", (json_int_t)d->bytes, "decode_kernel", kernel_index(d->decode_kernel), "prefill_kernel",
                     kernel_index(d->prefill_kernel));
}

/* An entry's designs by their index, each with the residency key of its image: "layer/role/image kind". */
static json_t *designs_of(const npu_plan *p, const npu_plan_entry *e) {
    json_t *list = json_array();
    for (unsigned i = 0; i < e->n_designs; i++) {
        const npu_plan_design *d = &p->designs[e->designs[i]];
        char layer[16] = "-";
        if (e->layer != NPU_NO_LAYER) snprintf(layer, sizeof layer, "%u", e->layer);
        json_array_append_new(list, json_pack("{s:i, s:o}", "design", (int)e->designs[i], "residency",
                                              json_sprintf("%s/%s/%s", layer, npu_role_name(d->role), d->image)));
    }
    return list;
}

static json_t *settings_body(const npu_plan_settings *s) {
    json_t *body =
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:s}", "mode", mode_names[s->mode], "ctx", (json_int_t)s->ctx,
                  "sequences", (json_int_t)s->n_seq, "decode_rows", (json_int_t)s->decode_rows, "prefill_rows",
                  (json_int_t)s->prefill_rows, "out_rows", (json_int_t)s->out_rows, "kv", npu_format_name(s->kv_type));
    if (!body || !s->devices[0]) return body;
    json_object_set_new(body, "devices", json_string(s->devices));
    json_object_set_new(body, "split", json_string(s->split));
    return body;
}

static json_t *entry_body(const npu_plan *p, const npu_plan_entry *e) {
    json_t *tensors = json_array();
    for (unsigned i = 0; i < e->n_tensors; i++) json_array_append_new(tensors, json_string(e->tensors[i]));
    const npu_op_info *op = npu_op_find(e->code);
    json_t *body = json_pack("{s:i, s:s, s:s, s:o, s:I, s:I, s:I, s:I, s:o, s:s, s:s, s:I, s:s, s:s, s:o}", "layer",
                             e->layer == NPU_NO_LAYER ? -1 : (int)e->layer, "role", npu_role_name(e->role), "op",
                             op ? op->name : "none", "tensors", tensors, "K", (json_int_t)e->K, "N", (json_int_t)e->N,
                             "real_k", (json_int_t)e->real_k, "real_n", (json_int_t)e->real_n, "splits",
                             number_list(e->splits, e->n_splits), "type", e->n_tensors ? npu_format_name(e->type) : "",
                             "image", e->image, "bytes", (json_int_t)e->bytes, "where",
                             e->on_device ? "device" : "host", "why", e->why, "designs", designs_of(p, e));
    if (body && e->parts > 1) json_object_set_new(body, "parts", json_integer(e->parts));
    if (body && p->settings.devices[0] && e->on_device) json_object_set_new(body, "device", json_integer(e->device));
    return body;
}

json_t *npu_plan_body(const npu_plan *p) {
    json_t *facts = json_array(), *entries = json_array();
    for (uint32_t i = 0; i < p->n_facts; i++)
        json_array_append_new(facts, json_pack("{s:s, s:s, s:s}", "name", p->facts[i].name, "value", p->facts[i].value,
                                               "key", p->facts[i].key));
    for (uint32_t i = 0; i < p->n_entries; i++) json_array_append_new(entries, entry_body(p, &p->entries[i]));
    json_t *designs = json_array(), *kernels = json_array();
    for (uint32_t i = 0; i < p->n_designs; i++) json_array_append_new(designs, design_body(&p->designs[i]));
    for (uint32_t i = 0; i < p->n_kernels; i++) json_array_append_new(kernels, kernel_body(&p->kernels[i]));
    return json_pack("{s:I, s:{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o}, s:{s:s, s:o, s:o}, s:o, s:o, s:o, s:o}",
                     "npu_plan", (json_int_t)p->version, "model", "architecture", p->architecture, "name",
                     p->model_name, "layers", (json_int_t)p->n_layers, "weight_bytes", (json_int_t)p->weight_bytes,
                     "state_bytes", (json_int_t)p->state_bytes, "compute_bytes", (json_int_t)p->compute_bytes,
                     "io_bytes", (json_int_t)p->io_bytes, "facts", facts, "target", "name", p->target, "caps",
                     caps_body(&p->caps), "needs", caps_body(&p->needs), "settings", settings_body(&p->settings),
                     "entries", entries, "designs", designs, "kernels", kernels);
}

npu_status npu_plan_hash(const npu_plan *plan, char out[NPU_PLAN_HASH_LEN + 1], npu_error *err) {
    json_t *body = npu_plan_body(plan);
    char *text = body ? npu_json_text(body, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(body);
    if (!text)
        return npu_fail(err, NPU_INTERNAL, "plan.json",
                        "the plan of %s can't be written as JSON (out of memory, or a device's name that is not UTF-8)",
                        plan->architecture);
    SHA256Data((const uint8_t *)text, strlen(text), out);
    free(text);
    return NPU_OK;
}

char *npu_plan_to_json(const npu_plan *plan) {
    json_t *body = npu_plan_body(plan);
    if (!body) return NULL;
    char *text = NULL;
    if (json_object_set_new(body, "hash", json_string(plan->hash)) == 0) text = npu_json_text(body, JSON_INDENT(1));
    json_decref(body);
    return text;
}

npu_status npu_plan_write(const npu_plan *plan, const char *path, npu_error *err) {
    char *text = npu_plan_to_json(plan);
    if (!text) return npu_fail(err, NPU_NO_MEMORY, "plan.memory", "no memory to write the plan to %s", path);
    FILE *f = fopen(path, "w");
    int ok = f && fputs(text, f) >= 0 && fputc('\n', f) != EOF;
    if (f && fclose(f) != 0) ok = 0;
    int why = errno;
    free(text);
    if (!ok) return npu_fail(err, NPU_IO, "plan.write", "%s: %s", path, strerror(why));
    return NPU_OK;
}
