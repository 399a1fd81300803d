/* Reading plan.json: everything in the file is checked before use, then the hash (plan_seal.c). A hand-edited plan is
 * refused by its hash or by the field; one from another version by its version. */
#include "plan/plan.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "plan/plan_fields.h"
#include "plan/plan_hash.h"

enum { MAX_LAYERS = 4096, MAX_DEVICE = 255 };

/* So that sums of sizes stay sums. */
#define MAX_BYTES ((uint64_t)1 << 48)

static void read_caps(npu_plan_reader *r, const json_t *o, const char *in, npu_caps *c) {
    npu__plan_text(r, o, in, "device", c->device, sizeof c->device);
    npu__plan_text(r, o, in, "generation", c->generation, sizeof c->generation);
    c->max_rows = npu__plan_word(r, o, in, "max_rows");
    c->prefill_rows = npu__plan_word(r, o, in, "prefill_rows");
    c->devices = npu__plan_word(r, o, in, "devices");
    c->graph = npu__plan_flag(r, o, in, "graph");
    c->t2_expansion = npu__plan_flag(r, o, in, "t2_expansion");
    c->gdn = npu__plan_flag(r, o, in, "gdn");
    c->attn = npu__plan_flag(r, o, in, "attn");
    c->lm_head = npu__plan_flag(r, o, in, "lm_head");
    c->int8_kv = npu__plan_flag(r, o, in, "int8_kv");
    c->bit_exact = npu__plan_flag(r, o, in, "bit_exact");
    c->hw.arch = npu__plan_word(r, o, in, "arch");
    c->hw.threads = npu__plan_word(r, o, in, "threads");
    c->hw.vtcm_bytes = npu__plan_word(r, o, in, "vtcm_bytes");
    c->hw.hmx = npu__plan_word(r, o, in, "hmx");
    c->hw.window_bytes = npu__plan_number(r, o, in, "window_bytes", MAX_BYTES);
    c->hw.max_buffer_bytes = npu__plan_word(r, o, in, "max_buffer_bytes");
    c->hw.slots = json_object_get(o, "slots") ? npu__plan_word(r, o, in, "slots") : 0;
    c->hw.line_bytes = npu__plan_word(r, o, in, "line_bytes");
}

static void read_settings(npu_plan_reader *r, const json_t *o, npu_plan_settings *s) {
    const char *in = "settings";
    char mode[16] = "", kv[16] = "";
    npu__plan_text(r, o, in, "mode", mode, sizeof mode);
    npu__plan_text(r, o, in, "kv", kv, sizeof kv);
    s->mode = !strcmp(mode, "exact") ? NPU_MODE_EXACT : !strcmp(mode, "fast") ? NPU_MODE_FAST : NPU_MODE_DEFAULT;
    if (s->mode == NPU_MODE_DEFAULT && strcmp(mode, "default") != 0)
        npu__plan_bad(r, in, "mode", "is not default, exact or fast");
    s->kv_type = npu__plan_type(r, in, "kv", kv);
    s->ctx = npu__plan_word(r, o, in, "ctx");
    s->n_seq = npu__plan_word(r, o, in, "sequences");
    s->decode_rows = npu__plan_word(r, o, in, "decode_rows");
    s->prefill_rows = npu__plan_word(r, o, in, "prefill_rows");
    s->out_rows = npu__plan_word(r, o, in, "out_rows");
    if (!json_object_get(o, "devices")) return;
    npu__plan_text(r, o, in, "devices", s->devices, sizeof s->devices);
    npu__plan_text(r, o, in, "split", s->split, sizeof s->split);
    if (r->status == NPU_OK && !s->devices[0]) npu__plan_bad(r, in, "devices", "is empty");
}

static void read_entry(npu_plan_reader *r, const json_t *o, const npu_plan *p, npu_plan_entry *e) {
    const char *in = "entries";
    char op[32] = "", where[16] = "", type[16] = "";
    const json_t *layer = json_object_get(o, "layer"), *tensors = json_object_get(o, "tensors");
    e->role = npu__plan_role(r, o, in);
    npu__plan_text(r, o, in, "op", op, sizeof op);
    npu__plan_text(r, o, in, "where", where, sizeof where);
    npu__plan_text(r, o, in, "why", e->why, sizeof e->why);
    npu__plan_text(r, o, in, "image", e->image, sizeof e->image);
    npu__plan_text(r, o, in, "type", type, sizeof type);
    if (!json_is_integer(layer) || json_integer_value(layer) < -1 || json_integer_value(layer) >= NPU_NO_LAYER)
        npu__plan_bad(r, in, "layer", "is missing or out of range");
    e->layer = json_integer_value(layer) < 0 ? NPU_NO_LAYER : (uint16_t)json_integer_value(layer);
    if (r->status == NPU_OK && e->layer != NPU_NO_LAYER && e->layer >= p->n_layers)
        r->status = npu_fail(r->err, NPU_REFUSED, "plan.layers", "%s: an entry of layer %u; the plan has %u layers",
                             r->path, e->layer, p->n_layers);
    const npu_op_info *info = npu_op_find_name(op);
    if (!info) npu__plan_bad(r, in, "op", "is not an op of this version");
    e->code = info ? info->code : 0;
    e->on_device = !strcmp(where, "device");
    if (!e->on_device && strcmp(where, "host") != 0) npu__plan_bad(r, in, "where", "is not device or host");
    if (!json_is_array(tensors) || json_array_size(tensors) > NPU_PLAN_MAX_TENSORS)
        npu__plan_bad(r, in, "tensors", "is not a short list");
    e->n_tensors = (uint16_t)(r->status == NPU_OK ? json_array_size(tensors) : 0);
    for (unsigned i = 0; i < e->n_tensors; i++) {
        const char *name = json_string_value(json_array_get(tensors, i));
        if (!name || strlen(name) >= sizeof e->tensors[0])
            npu__plan_bad(r, in, "tensors", "has a name that is no string or too long");
        else
            memcpy(e->tensors[i], name, strlen(name) + 1);
    }
    if (e->n_tensors) e->type = npu__plan_type(r, in, "type", type);
    e->K = npu__plan_dim(r, o, in, "K");
    e->N = npu__plan_dim(r, o, in, "N");
    e->real_k = npu__plan_dim(r, o, in, "real_k");
    e->real_n = npu__plan_dim(r, o, in, "real_n");
    npu__plan_check_padding(r, in, e->K, e->N, e->real_k, e->real_n);
    e->n_splits = npu__plan_splits(r, o, in, e->real_n, e->splits);
    e->bytes = npu__plan_number(r, o, in, "bytes", MAX_BYTES);
    e->parts = json_object_get(o, "parts") ? npu__plan_dim(r, o, in, "parts") : 1;
    if (e->on_device && p->settings.devices[0]) e->device = (uint8_t)npu__plan_number(r, o, in, "device", MAX_DEVICE);
}

static void read_kernel(npu_plan_reader *r, const json_t *o, npu_plan_kernel *k) {
    const char *in = "kernels";
    k->role = npu__plan_role(r, o, in);
    k->M = npu__plan_dim(r, o, in, "M");
    k->K = npu__plan_dim(r, o, in, "K");
    k->N = npu__plan_dim(r, o, in, "N");
    npu__plan_text(r, o, in, "kind", k->kind, sizeof k->kind);
    npu__plan_text(r, o, in, "layout", k->layout, sizeof k->layout);
    npu__plan_text(r, o, in, "file", k->file, sizeof k->file);
    npu__plan_text(r, o, in, "sha256", k->sha256, sizeof k->sha256);
}

static uint16_t kernel_index(npu_plan_reader *r, const json_t *o, const char *field, const npu_plan *p) {
    const json_t *v = json_object_get(o, field);
    json_int_t i = json_is_integer(v) ? json_integer_value(v) : -2;
    if (i < -1 || i >= (json_int_t)p->n_kernels)
        npu__plan_bad(r, "designs", field, "is not an index of kernels, or -1");
    return i < 0 ? NPU_PLAN_NO_KERNEL : (uint16_t)i;
}

static void read_design(npu_plan_reader *r, const json_t *o, const npu_plan *p, npu_plan_design *d) {
    const char *in = "designs";
    d->role = npu__plan_role(r, o, in);
    d->first = (uint16_t)npu__plan_number(r, o, in, "first", NPU_PLAN_MAX_SPLITS);
    d->K = npu__plan_dim(r, o, in, "K");
    d->N = npu__plan_dim(r, o, in, "N");
    d->real_k = npu__plan_dim(r, o, in, "real_k");
    d->real_n = npu__plan_dim(r, o, in, "real_n");
    npu__plan_check_padding(r, in, d->K, d->N, d->real_k, d->real_n);
    d->n_splits = npu__plan_splits(r, o, in, d->real_n, d->splits);
    d->hadamard = (uint32_t)npu__plan_number(r, o, in, "hadamard", NPU_PLAN_MAX_DIM);
    npu__plan_text(r, o, in, "image", d->image, sizeof d->image);
    npu__plan_text(r, o, in, "layout", d->layout, sizeof d->layout);
    d->bytes = npu__plan_number(r, o, in, "bytes", MAX_BYTES);
    d->decode_kernel = kernel_index(r, o, "decode_kernel", p);
    d->prefill_kernel = kernel_index(r, o, "prefill_kernel", p);
}

/* An entry's designs: they make its results, in order and each once, from its K. */
static void read_designs_of(npu_plan_reader *r, const json_t *o, const npu_plan *p, npu_plan_entry *e) {
    const json_t *list = json_object_get(o, "designs");
    unsigned next = 0;
    if (!json_is_array(list) || json_array_size(list) > NPU_PLAN_MAX_SPLITS)
        npu__plan_bad(r, "entries", "designs", "is not a short list");
    for (size_t i = 0; i < json_array_size(list) && r->status == NPU_OK; i++) {
        uint64_t index = npu__plan_number(r, json_array_get(list, i), "entries.designs", "design", UINT16_MAX);
        const npu_plan_design *d = index < p->n_designs ? &p->designs[index] : NULL;
        if (!d || d->first != next || next + d->n_splits > e->n_splits || d->real_k != e->real_k ||
            memcmp(d->splits, e->splits + next, d->n_splits * sizeof *d->splits) != 0) {
            npu__plan_bad(r, "entries", "designs", "do not make up the op's results");
            return;
        }
        next += d->n_splits;
        e->designs[e->n_designs++] = (uint16_t)index;
    }
    if (e->n_designs && next != e->n_splits) npu__plan_bad(r, "entries", "designs", "do not make up the op's results");
}

/* A list's place in memory, one element more than it has; NULL when that fails. */
static void *list(npu_plan_reader *r, const json_t *o, const char *section, const char *field, size_t size) {
    const json_t *elements = json_object_get(o, field);
    if (!json_is_array(elements)) npu__plan_bad(r, section, field, "is missing or not a list");
    if (json_array_size(elements) >= NPU_PLAN_NO_KERNEL) npu__plan_bad(r, section, field, "is too long");
    return calloc(r->status == NPU_OK ? json_array_size(elements) + 1 : 1, size);
}

static void read_lists(npu_plan_reader *r, const json_t *root, npu_plan *p) {
    const json_t *model = json_object_get(root, "model"), *facts = json_object_get(model, "facts");
    const json_t *entries = json_object_get(root, "entries"), *designs = json_object_get(root, "designs");
    const json_t *kernels = json_object_get(root, "kernels");
    p->facts = list(r, model, "model", "facts", sizeof *p->facts);
    p->entries = list(r, root, "plan", "entries", sizeof *p->entries);
    p->designs = list(r, root, "plan", "designs", sizeof *p->designs);
    p->kernels = list(r, root, "plan", "kernels", sizeof *p->kernels);
    if (!p->facts || !p->entries || !p->designs || !p->kernels) {
        r->status = npu_fail(r->err, NPU_NO_MEMORY, "plan.memory", "%s: no memory", r->path);
        return;
    }
    for (; r->status == NPU_OK && p->n_facts < json_array_size(facts); p->n_facts++) {
        const json_t *o = json_array_get(facts, p->n_facts);
        npu_plan_fact *f = &p->facts[p->n_facts];
        npu__plan_text(r, o, "model.facts", "name", f->name, sizeof f->name);
        npu__plan_text(r, o, "model.facts", "value", f->value, sizeof f->value);
        npu__plan_text(r, o, "model.facts", "key", f->key, sizeof f->key);
    }
    for (; r->status == NPU_OK && p->n_kernels < json_array_size(kernels); p->n_kernels++)
        read_kernel(r, json_array_get(kernels, p->n_kernels), &p->kernels[p->n_kernels]);
    for (; r->status == NPU_OK && p->n_designs < json_array_size(designs); p->n_designs++)
        read_design(r, json_array_get(designs, p->n_designs), p, &p->designs[p->n_designs]);
    for (; r->status == NPU_OK && p->n_entries < json_array_size(entries); p->n_entries++) {
        read_entry(r, json_array_get(entries, p->n_entries), p, &p->entries[p->n_entries]);
        read_designs_of(r, json_array_get(entries, p->n_entries), p, &p->entries[p->n_entries]);
    }
}

static void read_plan(npu_plan_reader *r, const json_t *root, npu_plan *p) {
    const json_t *model = json_object_get(root, "model"), *target = json_object_get(root, "target");
    p->version = npu__plan_word(r, root, "plan", "npu_plan");
    if (r->status == NPU_OK && p->version != NPU_PLAN_VERSION)
        r->status = npu_fail(r->err, NPU_REFUSED, "plan.version", "%s: plan version %u, this build reads %u", r->path,
                             p->version, NPU_PLAN_VERSION);
    npu__plan_text(r, root, "plan", "hash", p->hash, sizeof p->hash);
    npu__plan_text(r, model, "model", "architecture", p->architecture, sizeof p->architecture);
    npu__plan_text(r, model, "model", "name", p->model_name, sizeof p->model_name);
    p->n_layers = npu__plan_word(r, model, "model", "layers");
    if (r->status == NPU_OK && (!p->n_layers || p->n_layers > MAX_LAYERS))
        r->status = npu_fail(r->err, NPU_REFUSED, "plan.layers", "%s: %u layers, not from 1 to %d", r->path,
                             p->n_layers, MAX_LAYERS);
    p->weight_bytes = npu__plan_number(r, model, "model", "weight_bytes", MAX_BYTES);
    p->state_bytes = npu__plan_number(r, model, "model", "state_bytes", MAX_BYTES);
    p->compute_bytes = npu__plan_number(r, model, "model", "compute_bytes", MAX_BYTES);
    p->io_bytes = npu__plan_number(r, model, "model", "io_bytes", MAX_BYTES);
    npu__plan_text(r, target, "target", "name", p->target, sizeof p->target);
    read_caps(r, json_object_get(target, "caps"), "target.caps", &p->caps);
    read_caps(r, json_object_get(target, "needs"), "target.needs", &p->needs);
    read_settings(r, json_object_get(root, "settings"), &p->settings);
    if (r->status == NPU_OK) read_lists(r, root, p);
}

npu_status npu_plan_parse(const json_t *root, const char *name, bool sealed, npu_plan **out, npu_error *err) {
    *out = NULL;
    npu_plan *p = calloc(1, sizeof *p);
    if (!p) return npu_fail(err, NPU_NO_MEMORY, "plan.memory", "%s: no memory", name);
    npu_plan_reader r = {name, NPU_OK, err};
    read_plan(&r, root, p);
    if (r.status == NPU_OK && sealed) r.status = npu_plan_check_seal(p, root, name, err);
    if (r.status == NPU_OK)
        *out = p;
    else
        npu_plan_free(p);
    return r.status;
}

static npu_status load(const char *path, FILE *file, json_t **out, npu_error *err) {
    json_error_t why;
    *out = json_loadf(file, JSON_REJECT_DUPLICATES, &why);
    if (*out) return NPU_OK;
    if (ferror(file)) return npu_fail(err, NPU_IO, "plan.open", "%s can't be read: %s", path, strerror(errno));
    return npu_fail(err, NPU_REFUSED, "plan.json", "%s: line %d: %s", path, why.line, why.text);
}

npu_status npu_plan_read(const char *path, npu_plan **out, npu_error *err) {
    *out = NULL;
    struct stat what;
    if (stat(path, &what) == 0 && S_ISDIR(what.st_mode))
        return npu_fail(err, NPU_INVALID, "plan.directory", "%s is a directory, not a plan", path);
    FILE *file = fopen(path, "rb");
    if (!file) return npu_fail(err, NPU_IO, "plan.open", "%s can't be opened: %s", path, strerror(errno));
    json_t *root;
    npu_status status = load(path, file, &root, err);
    fclose(file);
    if (status == NPU_OK) status = npu_plan_parse(root, path, true, out, err);
    json_decref(root);
    return status;
}
