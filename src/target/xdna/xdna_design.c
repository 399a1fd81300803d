/* Planning for XDNA: which products the array takes, and which kernels of a folder carry them out. All choices are made
 * here, once, and written into the plan; nothing is looked for at run time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/xdna/xdna_internal.h"
#include "quant/quant.h"

bool npu_xdna_supports(const npu_caps *caps, npu_mode mode, const npu_op *op, const npu_tensor *tensors,
                       const char **why_not) {
    (void)caps;
    *why_not = NULL;
    if (mode != NPU_MODE_DEFAULT) *why_not = "the array computes in its own int8 contract, in default mode only";
    if (op->code != NPU_OP_MUL_MAT) *why_not = "the array multiplies only";
    if (*why_not) return false;
    const npu_tensor *x = &tensors[op->src[0]];
    if (x->type != NPU_TYPE_F32 || x->ne[2] != 1 || x->ne[3] != 1 || x->nb[1] != (uint64_t)x->ne[0] * sizeof(float) ||
        (x->rows_of != NPU_ROWS_FIXED && x->rows_dim != 1))
        *why_not = "the activation is not rows of f32";
    if (x->ne[0] > NPU_XDNA_MAX_K) *why_not = "a row is longer than int32 sums allow";
    for (unsigned i = 1; i <= NPU_OP_DSTS && op->src[i] != NPU_NO_TENSOR && !*why_not; i++) {
        const npu_tensor *w = &tensors[op->src[i]];
        if (!(w->flags & NPU_TENSOR_WEIGHT) || w->ne[2] != 1 || w->ne[3] != 1 || !npu_quant_of(w->type))
            *why_not = "the second operand is no weight matrix";
    }
    return !*why_not;
}

/* The roles of the results of a product that is made of several weights. */
static const struct {
    uint16_t role, n, parts[NPU_XDNA_MAX_PARTS];
} several[] = {
    {NPU_ROLE_QKV, 3, {NPU_ROLE_Q, NPU_ROLE_K, NPU_ROLE_V}},
    {NPU_ROLE_GU, 2, {NPU_ROLE_G, NPU_ROLE_U}},
    {NPU_ROLE_EXP_GU, 2, {NPU_ROLE_EXP_G, NPU_ROLE_EXP_U}},
    {NPU_ROLE_SHEXP_GU, 2, {NPU_ROLE_SHEXP_G, NPU_ROLE_SHEXP_U}},
};

uint16_t npu_xdna_part_role(const npu_plan_entry *e, unsigned part) {
    if (e->n_splits == 1) return e->role;
    for (size_t i = 0; i < sizeof several / sizeof several[0]; i++)
        if (several[i].role == e->role && part < several[i].n) return several[i].parts[part];
    return NPU_ROLE_NONE;
}

static uint32_t round_up(uint32_t n, uint32_t to) {
    return (n + to - 1) / to * to;
}

/* How many columns a design of this kernel has: the head's are made tile by tile. */
static uint32_t columns_of(const npu_plan_kernel *k, uint32_t real_n) {
    return !strcmp(k->kind, "head") ? round_up(real_n, k->N) : k->N;
}

typedef struct want {
    uint16_t role;
    uint32_t real_k, real_n;
    const char *kind;
} want;

static bool serves(const npu_plan_kernel *k, const want *w) {
    return (k->role == w->role || k->role == NPU_ROLE_NONE) && !strcmp(k->kind, w->kind) && k->K >= w->real_k &&
           (columns_of(k, w->real_n) >= w->real_n);
}

/* The least padding wins, then the order of the manifest. */
static const npu_plan_kernel *find(const npu_xdna_manifest *m, const want *w, uint32_t rows,
                                   const npu_plan_kernel *like) {
    const npu_plan_kernel *best = NULL;
    for (uint32_t i = 0; i < m->n; i++) {
        const npu_plan_kernel *k = &m->kernels[i];
        if (k->M != rows || !serves(k, w)) continue;
        if (like && (k->K != like->K || k->N != like->N || strcmp(k->layout, like->layout) != 0)) continue;
        if (!best || (uint64_t)k->K * columns_of(k, w->real_n) < (uint64_t)best->K * columns_of(best, w->real_n))
            best = k;
    }
    return best;
}

/* The kernels of one product, which read the same weight image; false when the folder has none. */
static bool choose(const npu_xdna_manifest *m, const npu_caps *caps, const want *w, const npu_plan_kernel **decode,
                   const npu_plan_kernel **prefill) {
    *prefill = find(m, w, caps->prefill_rows, NULL);
    *decode = find(m, w, caps->max_rows, *prefill);
    if (!*prefill && !*decode) return false;
    const npu_plan_kernel *k = *prefill ? *prefill : *decode;
    return npu_xdna_block_fits(m->hadamard, k->K);
}

static npu_status add_kernel(npu_plan *plan, const npu_plan_kernel *k, uint16_t *index, npu_error *err) {
    *index = NPU_PLAN_NO_KERNEL;
    return k ? npu_plan_add_kernel(plan, k, index, err) : NPU_OK;
}

static npu_status add_design(npu_plan *plan, npu_plan_entry *e, const npu_xdna_manifest *m, const want *w,
                             unsigned first, unsigned n, const npu_plan_kernel *decode, const npu_plan_kernel *prefill,
                             npu_error *err) {
    const npu_plan_kernel *k = prefill ? prefill : decode;
    npu_plan_design d = {.role = w->role,
                         .first = (uint16_t)first,
                         .n_splits = (uint16_t)n,
                         .K = k->K,
                         .N = columns_of(k, w->real_n),
                         .real_k = w->real_k,
                         .real_n = w->real_n,
                         .hadamard = m->hadamard};
    memcpy(d.splits, e->splits + first, n * sizeof *d.splits);
    snprintf(d.image, sizeof d.image, "%s", npu_xdna_kind_named(k->kind)->image);
    memcpy(d.layout, k->layout, sizeof d.layout);
    d.bytes = (uint64_t)d.K * d.N;
    NPU_TRY(add_kernel(plan, decode, &d.decode_kernel, err));
    NPU_TRY(add_kernel(plan, prefill, &d.prefill_kernel, err));
    if (w->role == NPU_ROLE_HEAD) plan->needs.lm_head = true;
    return npu_plan_add_design(plan, e, &d, err);
}

/* All results as one product, or each for itself. */
static npu_status design_entry(npu_plan *plan, npu_plan_entry *e, const npu_xdna_manifest *m, const npu_caps *caps,
                               npu_error *err) {
    const npu_plan_kernel *decode[NPU_XDNA_MAX_PARTS], *prefill[NPU_XDNA_MAX_PARTS];
    want w = {e->role, e->real_k, e->real_n, e->role == NPU_ROLE_HEAD ? "head" : "int8"};
    if (choose(m, caps, &w, &decode[0], &prefill[0]))
        return add_design(plan, e, m, &w, 0, e->n_splits, decode[0], prefill[0], err);
    bool each = e->n_splits > 1;
    want parts[NPU_XDNA_MAX_PARTS];
    for (unsigned i = 0; each && i < e->n_splits; i++) {
        parts[i] = (want){npu_xdna_part_role(e, i), e->real_k, e->splits[i], w.kind};
        each = choose(m, caps, &parts[i], &decode[i], &prefill[i]);
    }
    if (!each) {
        npu_plan_leave_on_host(e, "the kernels folder has no kernel for %s, K %u, N %u", npu_role_name(e->role),
                               e->real_k, e->real_n);
        return NPU_OK;
    }
    for (unsigned i = 0; i < e->n_splits; i++)
        NPU_TRY(add_design(plan, e, m, &parts[i], i, 1, decode[i], prefill[i], err));
    return NPU_OK;
}

/* A kernel for each shape that the plan's products have, for the emulated device. */
static npu_status generate(const npu_target_params *params, const npu_caps *caps, const npu_plan *plan, char **dir,
                           npu_error *err) {
    npu_plan_kernel *list = calloc(2 * (size_t)plan->n_entries + 1, sizeof *list);
    uint32_t n = 0;
    if (!list) return npu_fail(err, NPU_NO_MEMORY, "xdna.memory", "no memory for kernels");
    for (uint32_t i = 0; i < plan->n_entries; i++) {
        const npu_plan_entry *e = &plan->entries[i];
        bool head = e->role == NPU_ROLE_HEAD;
        uint32_t columns = round_up(e->real_n, NPU_XDNA_EMU_TILE), known = 0;
        if (!e->on_device) continue;
        if (head && columns > NPU_XDNA_EMU_HEAD_COLUMNS) columns = NPU_XDNA_EMU_HEAD_COLUMNS;
        npu_plan_kernel k = {.role = e->role, .M = caps->max_rows, .N = columns};
        k.K = round_up(e->real_k, NPU_XDNA_EMU_TILE);
        snprintf(k.kind, sizeof k.kind, head ? "head" : "int8");
        while (known < n && (list[known].role != k.role || list[known].K != k.K || list[known].N != k.N)) known++;
        if (known < n) continue;
        list[n++] = k;
        k.M = caps->prefill_rows;
        list[n++] = k;
    }
    npu_status status = npu_xdna_emu_kernels(params->cache_dir, caps->generation, list, n, dir, err);
    free(list);
    return status;
}

static bool is_emulated(const npu_target_params *params) {
    return params && params->driver && !strcmp(params->driver, "emu");
}

npu_status npu_xdna_no_kernels(const npu_target_params *params, npu_error *err) {
    if (is_emulated(params) && params->cache_dir) return NPU_OK;
    return npu_fail(err, NPU_REFUSED, "plan.manifest",
                    is_emulated(params)
                        ? "no folder to keep generated kernels in; give `kernels_dir` DIR"
                        : "`npu_target` xdna needs `kernels_dir` DIR, a folder with " NPU_XDNA_MANIFEST);
}

npu_status npu_xdna_design(const npu_target_params *params, const npu_caps *caps, const char *kernels_dir,
                           npu_plan *plan, npu_error *err) {
    char *generated = NULL;
    npu_xdna_manifest m = {0};
    if (!kernels_dir) {
        NPU_TRY(npu_xdna_no_kernels(params, err));
        NPU_TRY(generate(params, caps, plan, &generated, err));
    }
    npu_status status = npu_xdna_manifest_read(kernels_dir ? kernels_dir : generated, &m, err);
    if (status == NPU_OK && m.generation[0] && strcmp(m.generation, caps->generation) != 0)
        status = npu_fail(err, NPU_REFUSED, "plan.generation", "the kernels in %s are for %s, the device is %s", m.dir,
                          m.generation, caps->generation);
    for (uint32_t i = 0; i < plan->n_entries && status == NPU_OK; i++)
        if (plan->entries[i].on_device) status = design_entry(plan, &plan->entries[i], &m, caps, err);
    npu_xdna_manifest_free(&m);
    free(generated);
    return status;
}

/* Whether weights packed as |image| are what a kernel reads. */
static bool is_image_of(const npu_plan_kernel *k, const char *image) {
    const npu_xdna_kind *kind = npu_xdna_kind_named(k->kind);
    return kind && kind->image && !strcmp(kind->image, image);
}

/* Both kernels read one image, and the small one's sums are compared with the large one's. */
static bool are_pair(const npu_plan_kernel *small, const npu_plan_kernel *large) {
    return small->N == large->N && small->M <= large->M;
}

static npu_status check_design(const npu_plan *plan, const npu_plan_design *d, npu_error *err) {
    const uint16_t kernels[] = {d->decode_kernel, d->prefill_kernel};
    unsigned n = 0;
    if (!d->n_splits || d->bytes != (uint64_t)d->K * d->N)
        return npu_fail(err, NPU_REFUSED, "plan.dims", "design %s, K %u, N %u: %u results in %llu bytes",
                        npu_role_name(d->role), d->K, d->N, d->n_splits, (unsigned long long)d->bytes);
    for (int i = 0; i < 2; i++) {
        if (kernels[i] == NPU_PLAN_NO_KERNEL) continue;
        const npu_plan_kernel *k = kernels[i] < plan->n_kernels ? &plan->kernels[kernels[i]] : NULL;
        npu_xdna_layout l;
        if (!k || k->K != d->K || d->N % k->N || strcmp(k->layout, d->layout) != 0 || !is_image_of(k, d->image))
            return npu_fail(err, NPU_REFUSED, "plan.kernel_shape",
                            "design %s, K %u, N %u, image %s: its kernel is another", npu_role_name(d->role), d->K,
                            d->N, d->image);
        NPU_TRY(npu_xdna_kernel_layout(k, &l, err));
        n++;
    }
    if (n == 2 && !are_pair(&plan->kernels[d->decode_kernel], &plan->kernels[d->prefill_kernel]))
        return npu_fail(err, NPU_REFUSED, "plan.kernel_shape", "design %s, K %u, N %u: its two kernels are no pair",
                        npu_role_name(d->role), d->K, d->N);
    if (!n || !npu_xdna_block_fits(d->hadamard, d->K))
        return npu_fail(err, NPU_REFUSED, "plan.dims", "design %s, K %u: no kernel, or a rotation in blocks of %u",
                        npu_role_name(d->role), d->K, d->hadamard);
    return NPU_OK;
}

npu_status npu_xdna_check_plan(const npu_caps *caps, const npu_plan *plan, npu_error *err) {
    NPU_TRY(npu_plan_check_caps(plan, npu_target_xdna.name, caps, err));
    for (uint32_t i = 0; i < plan->n_designs; i++) NPU_TRY(check_design(plan, &plan->designs[i], err));
    for (uint32_t i = 0; i < plan->n_entries; i++) {
        const npu_plan_entry *e = &plan->entries[i];
        for (unsigned k = 0; k < e->n_designs; k++) {
            const npu_plan_design *d = &plan->designs[e->designs[k]];
            for (unsigned part = d->first; part < d->first + d->n_splits; part++)
                if (part >= e->n_splits || npu_xdna_part_role(e, part) == NPU_ROLE_NONE)
                    return npu_fail(err, NPU_REFUSED, "plan.role", "layer %d, role %s: result %u has no weight role",
                                    e->layer == NPU_NO_LAYER ? -1 : (int)e->layer, npu_role_name(e->role), part);
        }
    }
    return NPU_OK;
}
