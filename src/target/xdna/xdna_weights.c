/* Weight images on the device: packed from a model's weights, from f32 tiles, or taken from a file beside the kernels;
 * kept under (layer, role, image kind) until the device closes. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "quant/quant.h"
#include "target/xdna/xdna_image.h"
#include "target/xdna/xdna_internal.h"

/* Where the columns of an image come from: rows of the model's own matrices, or f32 [real_k][real_n]. */
typedef struct columns {
    const npu_plan_design *d;
    npu_weight parts[NPU_XDNA_MAX_PARTS];
    const float *f32;
} columns;

typedef struct packing {
    const npu_xdna_target *t;
    const columns *from;
    npu_xdna_layout layout; /* of one kernel's B; the image may be several of them */
    npu_xdna_resident *to;
    atomic_int failed;
} packing;

/* Column |n| as f32; the weights' types were checked when the plan was made. */
static void read_column(const columns *c, uint32_t n, float *out) {
    const npu_plan_design *d = c->d;
    if (c->f32) {
        for (uint32_t k = 0; k < d->real_k; k++) out[k] = c->f32[(uint64_t)k * d->real_n + n];
        return;
    }
    unsigned part = 0;
    while (n >= d->splits[part]) n -= d->splits[part++];
    const npu_weight *w = &c->parts[part];
    (void)npu_quant_dequant_row(w->type, (const uint8_t *)w->data + n * w->nb[1], out, d->real_k);
}

static void pack_part(void *context, unsigned ith, unsigned nth) {
    packing *p = context;
    const npu_plan_design *d = p->from->d;
    uint32_t group = npu_xdna_pack_group(&p->layout), groups = d->N / group;
    uint32_t first = (uint32_t)((uint64_t)groups * ith / nth), end = (uint32_t)((uint64_t)groups * (ith + 1) / nth);
    float *values = malloc((uint64_t)d->K * 2 * sizeof(float));
    int8_t *codes = malloc((uint64_t)d->K * group);
    if (!values || !codes) atomic_store(&p->failed, 1);
    for (uint32_t g = first; g < end && values && codes; g++) {
        uint32_t n = g * group, tile = n / p->layout.n;
        for (uint32_t j = 0; j < group; j++) {
            int8_t *column = codes + (uint64_t)j * d->K;
            p->to->scales[n + j] = 0;
            memset(column, 0, d->K);
            if (n + j >= d->real_n) continue;
            read_column(p->from, n + j, values);
            p->to->scales[n + j] =
                npu_xdna_quantise(p->t->math, values, d->real_k, d->K, d->hadamard, values + d->K, column);
        }
        npu_xdna_pack_columns(&p->layout, n % p->layout.n, codes,
                              (int8_t *)p->to->b->data + (uint64_t)tile * npu_xdna_b_bytes(&p->layout));
    }
    free(values);
    free(codes);
}

/* The layout of the weight operand: the same for both kernels of a design. */
static npu_status layout_of(const npu_xdna_target *t, const npu_plan_design *d, npu_xdna_layout *l, npu_error *err) {
    uint16_t kernel = d->prefill_kernel != NPU_PLAN_NO_KERNEL ? d->prefill_kernel : d->decode_kernel;
    return npu_xdna_kernel_layout(&t->plan->kernels[kernel], l, err);
}

static npu_status pack(npu_xdna_target *t, const columns *from, npu_xdna_resident *to, npu_error *err) {
    packing p = {.t = t, .from = from, .to = to};
    uint64_t start = npu_clock_ns();
    NPU_TRY(layout_of(t, from->d, &p.layout, err));
    npu_pool_run(t->pool, pack_part, &p);
    t->phases.pack_ns += npu_clock_ns() - start;
    t->counts.packed++;
    if (!atomic_load(&p.failed)) return NPU_OK;
    return npu_fail(err, NPU_NO_MEMORY, "xdna.memory", "no memory to pack %u x %u weights", from->d->K, from->d->N);
}

static npu_status new_image(npu_xdna_target *t, unsigned layer, const npu_plan_design *d, npu_xdna_resident *out,
                            npu_error *err) {
    *out = (npu_xdna_resident){.layer = (uint16_t)layer,
                               .role = d->role,
                               .K = d->K,
                               .N = d->N,
                               .real_k = d->real_k,
                               .real_n = d->real_n,
                               .hadamard = d->hadamard};
    memcpy(out->kind, d->image, sizeof out->kind);
    out->scales = malloc((uint64_t)d->N * sizeof(float));
    if (!out->scales) return npu_fail(err, NPU_NO_MEMORY, "xdna.memory", "no memory for %u column scales", d->N);
    npu_status status = npu_xdna_buffer_alloc(t->device, d->bytes, &out->b, err);
    t->counters.allocations += status == NPU_OK;
    if (status != NPU_OK) npu_xdna_resident_free(out);
    return status;
}

static void drop_image(npu_xdna_resident *r) {
    npu_xdna_buffer_free(r->b);
    npu_xdna_resident_free(r);
}

static npu_status keep(npu_xdna_target *t, const npu_xdna_resident *r, npu_error *err) {
    if (t->n_residents == t->room_residents) {
        uint32_t room = t->room_residents ? 2 * t->room_residents : 64;
        npu_xdna_resident *more = realloc(t->residents, room * sizeof *more);
        if (!more) return npu_fail(err, NPU_NO_MEMORY, "xdna.memory", "no memory for %u weight images", room);
        t->residents = more;
        t->room_residents = room;
    }
    t->residents[t->n_residents++] = *r;
    return NPU_OK;
}

npu_status npu_xdna_find(const npu_xdna_target *t, unsigned layer, const npu_plan_design *d,
                         const npu_xdna_resident **out, npu_error *err) {
    *out = NULL;
    for (uint32_t i = 0; i < t->n_residents; i++) {
        const npu_xdna_resident *r = &t->residents[i];
        if (r->layer != layer || r->role != d->role || strcmp(r->kind, d->image) != 0) continue;
        if (r->K != d->K || r->N != d->N || r->real_k != d->real_k || r->real_n != d->real_n ||
            r->hadamard != d->hadamard)
            return npu_fail(
                err, NPU_INTERNAL, "xdna.residency",
                "layer %u, role %s, image %s: resident with K %u, N %u (%u x %u), asked for K %u, N %u (%u x "
                "%u)",
                layer, npu_role_name(d->role), r->kind, r->K, r->N, r->real_k, r->real_n, d->K, d->N, d->real_k,
                d->real_n);
        *out = r;
        return NPU_OK;
    }
    return NPU_OK;
}

npu_status npu_xdna_pack_f32(npu_xdna_target *t, unsigned layer, const npu_plan_design *d, const float *weights,
                             npu_xdna_resident *alone, const npu_xdna_resident **out, npu_error *err) {
    npu_xdna_resident r;
    columns from = {.d = d, .f32 = weights};
    NPU_TRY(new_image(t, layer, d, &r, err));
    npu_status status = pack(t, &from, &r, err);
    if (status == NPU_OK) status = npu_xdna_buffer_sync(r.b, NPU_XDNA_TO_DEVICE, 0, r.b->bytes, err);
    if (status == NPU_OK && !alone) status = keep(t, &r, err);
    if (status != NPU_OK) {
        drop_image(&r);
        return status;
    }
    if (alone) *alone = r;
    *out = alone ? alone : &t->residents[t->n_residents - 1];
    return NPU_OK;
}

static npu_status get_parts(const npu_xdna_target *t, const npu_plan_entry *e, columns *c, npu_error *err) {
    for (unsigned i = 0; i < c->d->n_splits; i++) {
        npu_weight *w = &c->parts[i];
        unsigned role = npu_xdna_part_role(e, c->d->first + i);
        NPU_TRY(t->source.get(t->source.context, e->layer, (npu_role)role, NPU_PART_WEIGHT, w, err));
        if (w->ne[0] != c->d->real_k || w->ne[1] != c->d->splits[i] || w->ne[2] != 1 || w->ne[3] != 1 ||
            !npu_quant_of(w->type))
            return npu_fail(err, NPU_REFUSED, "plan.dims", "tensor %s is %u x %u, the plan has %u x %u", w->name,
                            w->ne[0], w->ne[1], c->d->real_k, c->d->splits[i]);
    }
    return NPU_OK;
}

static npu_xdna_image_head head_of(const npu_plan_entry *e, const columns *c) {
    const npu_plan_design *d = c->d;
    npu_xdna_image_head h = {.layer = e->layer,
                             .role = d->role,
                             .K = d->K,
                             .N = d->N,
                             .real_k = d->real_k,
                             .real_n = d->real_n,
                             .hadamard = d->hadamard};
    snprintf(h.kind, sizeof h.kind, "%s", d->image);
    snprintf(h.layout, sizeof h.layout, "%s", d->layout);
    for (unsigned i = 0; i < d->n_splits; i++) {
        const npu_weight *w = &c->parts[i];
        h.source_hash = npu_xdna_image_hash(h.source_hash + w->type, w->data, w->bytes);
    }
    return h;
}

/* A folder "images" beside the manifest keeps what was packed; without one nothing is written anywhere. */
static char *sidecar_path(const npu_xdna_target *t, const npu_plan_entry *e, const npu_plan_design *d) {
    size_t size = strlen(t->manifest.dir) + 80;
    struct stat st;
    char *path = malloc(size);
    if (!path) return NULL;
    snprintf(path, size, "%s/images", t->manifest.dir);
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        free(path);
        return NULL;
    }
    if (e->layer == NPU_NO_LAYER)
        snprintf(path, size, "%s/images/%s-%s.img", t->manifest.dir, npu_role_name(d->role), d->image);
    else
        snprintf(path, size, "%s/images/%u-%s-%s.img", t->manifest.dir, e->layer, npu_role_name(d->role), d->image);
    return path;
}

/* From the file when it fits, else packed; a file that does not is named in the log and written anew. */
static npu_status fill(npu_xdna_target *t, const npu_plan_entry *e, const columns *c, npu_xdna_resident *r,
                       npu_error *err) {
    char *path = sidecar_path(t, e, c->d);
    if (!path) return pack(t, c, r, err);
    npu_xdna_image_head head = head_of(e, c);
    npu_error why = {0};
    npu_status status = npu_xdna_image_read(path, &head, r->scales, r->b->data, &why);
    t->counts.sidecars += status == NPU_OK;
    if (status != NPU_OK && status != NPU_NOT_FOUND) {
        t->counts.refused++;
        npu_log(&t->base.logger, NPU_LOG_WARN, "%s; packing it instead", why.text);
    }
    if (status != NPU_OK) {
        status = pack(t, c, r, err);
        if (status == NPU_OK && npu_xdna_image_write(path, &head, r->scales, r->b->data, &why) != NPU_OK)
            npu_log(&t->base.logger, NPU_LOG_WARN, "%s", why.text);
    }
    free(path);
    return status;
}

static npu_status load_design(npu_xdna_target *t, const npu_plan_entry *e, unsigned index, npu_error *err) {
    const npu_xdna_resident *there;
    columns c = {.d = &t->plan->designs[index]};
    npu_xdna_resident r;
    NPU_TRY(npu_xdna_find(t, e->layer, c.d, &there, err));
    if (there) return NPU_OK;
    NPU_TRY(get_parts(t, e, &c, err));
    NPU_TRY(new_image(t, e->layer, c.d, &r, err));
    npu_status status = fill(t, e, &c, &r, err);
    if (status == NPU_OK) status = npu_xdna_buffer_sync(r.b, NPU_XDNA_TO_DEVICE, 0, r.b->bytes, err);
    if (status == NPU_OK) status = keep(t, &r, err);
    if (status != NPU_OK) {
        drop_image(&r);
        return status;
    }
    return npu_xdna_prove(t, index, &t->residents[t->n_residents - 1], err);
}

npu_status npu_xdna_load(npu_xdna_target *t, unsigned first_layer, unsigned n_layers, npu_error *err) {
    for (uint32_t i = 0; i < t->plan->n_entries; i++) {
        const npu_plan_entry *e = &t->plan->entries[i];
        bool outside = e->layer == NPU_NO_LAYER;
        if (!e->on_device ||
            (outside ? first_layer != 0 : e->layer < first_layer || e->layer - first_layer >= n_layers))
            continue;
        for (unsigned k = 0; k < e->n_designs; k++) NPU_TRY(load_design(t, e, e->designs[k], err));
    }
    return NPU_OK;
}

npu_status npu_xdna_load_head(npu_xdna_target *t, npu_error *err) {
    for (uint32_t i = 0; i < t->plan->n_entries && t->source.get; i++) {
        const npu_plan_entry *e = &t->plan->entries[i];
        if (e->on_device && e->role == NPU_ROLE_HEAD && e->n_designs) return load_design(t, e, e->designs[0], err);
    }
    return npu_fail(err, NPU_INVALID, "xdna.head",
                    "the plan has no head on the device, or its weights were not loaded");
}

void npu_xdna_resident_free(npu_xdna_resident *r) {
    free(r->scales);
    r->scales = NULL;
}

void npu_xdna_residents_free(npu_xdna_target *t) {
    for (uint32_t i = 0; i < t->n_residents; i++) npu_xdna_resident_free(&t->residents[i]);
    free(t->residents);
    t->residents = NULL;
    t->n_residents = t->room_residents = 0;
}
