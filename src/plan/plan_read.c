/* Reading plan.json: everything in the file is checked before use, then the hash. A hand-edited plan is refused by its
 * hash; one from another version by its version. */
#include "plan/plan.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan_hash.h"
#include "wire/format.h"

/* A reader keeps the first failure, so that the schema below reads as a list. */
typedef struct reader {
    const char *path;
    npu_status status;
    npu_error *err;
} reader;

static void bad(reader *r, const char *section, const char *field, const char *what) {
    if (r->status == NPU_OK)
        r->status = npu_fail(r->err, NPU_REFUSED, "plan.field", "%s: %s.%s %s", r->path, section, field, what);
}

static uint64_t number(reader *r, const json_t *o, const char *section, const char *field, uint64_t max) {
    const json_t *v = json_object_get(o, field);
    if (!json_is_integer(v)) {
        bad(r, section, field, "is missing or not an integer");
        return 0;
    }
    if (json_integer_value(v) < 0 || (uint64_t)json_integer_value(v) > max) {
        bad(r, section, field, "is out of range");
        return 0;
    }
    return (uint64_t)json_integer_value(v);
}

static uint32_t word(reader *r, const json_t *o, const char *section, const char *field) {
    return (uint32_t)number(r, o, section, field, UINT32_MAX);
}

static bool flag(reader *r, const json_t *o, const char *section, const char *field) {
    const json_t *v = json_object_get(o, field);
    if (!json_is_boolean(v)) bad(r, section, field, "is missing or not true or false");
    return json_is_true(v);
}

static void text(reader *r, const json_t *o, const char *section, const char *field, char *out, size_t out_size) {
    const char *s = json_string_value(json_object_get(o, field));
    if (!s)
        bad(r, section, field, "is missing or not a string");
    else if (strlen(s) >= out_size)
        bad(r, section, field, "is too long");
    else
        memcpy(out, s, strlen(s) + 1);
}

static unsigned role_named(reader *r, const char *name) {
    for (unsigned i = 0; i < 256; i++)
        if (!strcmp(npu_role_name(i), name)) return i;
    bad(r, "entries", "role", "is not a role of this version");
    return 0;
}

static uint8_t type_named(reader *r, const char *section, const char *field, const char *name) {
    const npu_format *f = npu_format_named(name);
    if (!f) bad(r, section, field, "is not a known type");
    return f ? (uint8_t)f->type : 0;
}

static void read_caps(reader *r, const json_t *o, npu_caps *c) {
    const char *in = "target.caps";
    text(r, o, in, "device", c->device, sizeof c->device);
    text(r, o, in, "generation", c->generation, sizeof c->generation);
    c->max_rows = word(r, o, in, "max_rows");
    c->prefill_rows = word(r, o, in, "prefill_rows");
    c->devices = word(r, o, in, "devices");
    c->graph = flag(r, o, in, "graph");
    c->t2_expansion = flag(r, o, in, "t2_expansion");
    c->gdn = flag(r, o, in, "gdn");
    c->attn = flag(r, o, in, "attn");
    c->lm_head = flag(r, o, in, "lm_head");
    c->int8_kv = flag(r, o, in, "int8_kv");
    c->bit_exact = flag(r, o, in, "bit_exact");
    c->hw.arch = word(r, o, in, "arch");
    c->hw.threads = word(r, o, in, "threads");
    c->hw.vtcm_bytes = word(r, o, in, "vtcm_bytes");
    c->hw.hmx = word(r, o, in, "hmx");
    c->hw.window_bytes = number(r, o, in, "window_bytes", INT64_MAX);
    c->hw.max_buffer_bytes = word(r, o, in, "max_buffer_bytes");
    c->hw.line_bytes = word(r, o, in, "line_bytes");
}

static void read_settings(reader *r, const json_t *o, npu_plan_settings *s) {
    const char *in = "settings";
    char mode[16] = "", kv[16] = "";
    text(r, o, in, "mode", mode, sizeof mode);
    text(r, o, in, "kv", kv, sizeof kv);
    s->mode = !strcmp(mode, "exact") ? NPU_MODE_EXACT : !strcmp(mode, "fast") ? NPU_MODE_FAST : NPU_MODE_DEFAULT;
    if (s->mode == NPU_MODE_DEFAULT && strcmp(mode, "default") != 0)
        bad(r, in, "mode", "is not default, exact or fast");
    s->kv_type = type_named(r, in, "kv", kv);
    s->ctx = word(r, o, in, "ctx");
    s->n_seq = word(r, o, in, "sequences");
    s->decode_rows = word(r, o, in, "decode_rows");
    s->prefill_rows = word(r, o, in, "prefill_rows");
    s->out_rows = word(r, o, in, "out_rows");
}

static void read_entry(reader *r, const json_t *o, npu_plan_entry *e) {
    const char *in = "entries";
    char role[32] = "", op[32] = "", where[16] = "", type[16] = "";
    const json_t *layer = json_object_get(o, "layer"), *tensors = json_object_get(o, "tensors");
    text(r, o, in, "role", role, sizeof role);
    text(r, o, in, "op", op, sizeof op);
    text(r, o, in, "where", where, sizeof where);
    text(r, o, in, "why", e->why, sizeof e->why);
    text(r, o, in, "image", e->image, sizeof e->image);
    text(r, o, in, "type", type, sizeof type);
    if (!json_is_integer(layer) || json_integer_value(layer) < -1 || json_integer_value(layer) >= NPU_NO_LAYER)
        bad(r, in, "layer", "is missing or out of range");
    e->layer = json_integer_value(layer) < 0 ? NPU_NO_LAYER : (uint16_t)json_integer_value(layer);
    e->role = (uint16_t)role_named(r, role);
    const npu_op_info *info = npu_op_find_name(op);
    if (!info) bad(r, in, "op", "is not an op of this version");
    e->code = info ? info->code : 0;
    e->on_device = !strcmp(where, "device");
    if (!e->on_device && strcmp(where, "host") != 0) bad(r, in, "where", "is not device or host");
    if (!json_is_array(tensors) || json_array_size(tensors) > NPU_PLAN_MAX_TENSORS)
        bad(r, in, "tensors", "is not a short list");
    e->n_tensors = (uint16_t)(r->status == NPU_OK ? json_array_size(tensors) : 0);
    for (unsigned i = 0; i < e->n_tensors; i++) {
        const char *name = json_string_value(json_array_get(tensors, i));
        if (!name || strlen(name) >= sizeof e->tensors[0])
            bad(r, in, "tensors", "has a name that is no string or too long");
        else
            memcpy(e->tensors[i], name, strlen(name) + 1);
    }
    if (e->n_tensors) e->type = type_named(r, in, "type", type);
    e->K = word(r, o, in, "K");
    e->N = word(r, o, in, "N");
    e->real_k = word(r, o, in, "real_k");
    e->real_n = word(r, o, in, "real_n");
    e->bytes = number(r, o, in, "bytes", INT64_MAX);
}

static void read_lists(reader *r, const json_t *facts, const json_t *entries, npu_plan *p) {
    if (!json_is_array(facts)) bad(r, "model", "facts", "is missing or not a list");
    if (!json_is_array(entries)) bad(r, "plan", "entries", "is missing or not a list");
    p->facts = calloc(json_array_size(facts) + 1, sizeof *p->facts);
    p->entries = calloc(json_array_size(entries) + 1, sizeof *p->entries);
    if (!p->facts || !p->entries) {
        r->status = npu_fail(r->err, NPU_NO_MEMORY, "plan.memory", "%s: no memory", r->path);
        return;
    }
    for (; r->status == NPU_OK && p->n_facts < json_array_size(facts); p->n_facts++) {
        const json_t *o = json_array_get(facts, p->n_facts);
        npu_plan_fact *f = &p->facts[p->n_facts];
        text(r, o, "model.facts", "name", f->name, sizeof f->name);
        text(r, o, "model.facts", "value", f->value, sizeof f->value);
        text(r, o, "model.facts", "key", f->key, sizeof f->key);
    }
    for (; r->status == NPU_OK && p->n_entries < json_array_size(entries); p->n_entries++)
        read_entry(r, json_array_get(entries, p->n_entries), &p->entries[p->n_entries]);
}

static void read_plan(reader *r, const json_t *root, npu_plan *p) {
    const json_t *model = json_object_get(root, "model"), *target = json_object_get(root, "target");
    p->version = word(r, root, "plan", "npu_plan");
    if (r->status == NPU_OK && p->version != NPU_PLAN_VERSION)
        r->status = npu_fail(r->err, NPU_REFUSED, "plan.version", "%s: plan version %u, this build reads %u", r->path,
                             p->version, NPU_PLAN_VERSION);
    text(r, root, "plan", "hash", p->hash, sizeof p->hash);
    text(r, model, "model", "architecture", p->architecture, sizeof p->architecture);
    text(r, model, "model", "name", p->model_name, sizeof p->model_name);
    p->n_layers = word(r, model, "model", "layers");
    p->weight_bytes = number(r, model, "model", "weight_bytes", INT64_MAX);
    p->state_bytes = number(r, model, "model", "state_bytes", INT64_MAX);
    p->compute_bytes = number(r, model, "model", "compute_bytes", INT64_MAX);
    p->io_bytes = number(r, model, "model", "io_bytes", INT64_MAX);
    text(r, target, "target", "name", p->target, sizeof p->target);
    read_caps(r, json_object_get(target, "caps"), &p->caps);
    read_settings(r, json_object_get(root, "settings"), &p->settings);
    if (r->status == NPU_OK) read_lists(r, json_object_get(model, "facts"), json_object_get(root, "entries"), p);

    char hash[NPU_PLAN_HASH_LEN + 1];
    if (r->status == NPU_OK) r->status = npu_plan_hash(p, hash, r->err);
    if (r->status == NPU_OK && strcmp(hash, p->hash) != 0)
        r->status =
            npu_fail(r->err, NPU_REFUSED, "plan.hash",
                     "%s: says hash %.16s..., its content has %.16s... (edited by hand?)", r->path, p->hash, hash);
}

npu_status npu_plan_read(const char *path, npu_plan **out, npu_error *err) {
    *out = NULL;
    json_error_t why;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    if (!root)
        return npu_fail(err, why.line < 0 ? NPU_IO : NPU_REFUSED, "plan.json", "%s: line %d: %s", path, why.line,
                        why.text);
    npu_plan *p = calloc(1, sizeof *p);
    if (!p) {
        json_decref(root);
        return npu_fail(err, NPU_NO_MEMORY, "plan.memory", "%s: no memory", path);
    }
    reader r = {path, NPU_OK, err};
    read_plan(&r, root, p);
    json_decref(root);
    if (r.status != NPU_OK) {
        npu_plan_free(p);
        return r.status;
    }
    *out = p;
    return NPU_OK;
}
