/* What lives on the device besides weight images: the plan's kernels in contexts, and their operands. Made when the
 * target opens and again after the device was lost; called by xdna_target.c and, before each product, by xdna_gemv.c.
 */
#include <stdlib.h>
#include <string.h>

#include "target/xdna/xdna_internal.h"

/* Is the kernel used only where its sums were compared with those of another one (npu_xdna_prove)? */
static bool is_proven(const npu_plan *plan, uint32_t kernel) {
    for (uint32_t i = 0; i < plan->n_designs; i++) {
        const npu_plan_design *d = &plan->designs[i];
        bool alone = d->decode_kernel == kernel && d->prefill_kernel == NPU_PLAN_NO_KERNEL;
        if (alone || d->prefill_kernel == kernel) return false;
    }
    return true;
}

static npu_status load_kernel(npu_xdna_target *t, uint32_t plan_kernel, npu_xdna_kernel_files *files, npu_error *err) {
    const npu_plan_kernel *k = &t->plan->kernels[plan_kernel];
    uint32_t i = 0;
    while (strcmp(t->manifest.kernels[i].file, k->file) != 0) i++; /* npu_plan_check_kernels found it */
    NPU_TRY(npu_xdna_kernel_open(&t->manifest, i, is_proven(t->plan, plan_kernel), files, err));
    t->kernels[plan_kernel].columns = files->columns;
    return npu_xdna_kernel_layout(k, &t->kernels[plan_kernel].layout, err);
}

/* The next kernels that can share a context: of one number of rows (so that decoding and prefill never wait for each
 * other's kernels) and one width. Returns how many there are; |which| gets their indices in the plan. */
static uint32_t group(const npu_xdna_target *t, bool *placed, uint32_t *which) {
    uint32_t n = 0, first = 0;
    for (uint32_t i = 0; i < t->plan->n_kernels && n < NPU_XDNA_KERNELS; i++) {
        const npu_xdna_loaded *k = &t->kernels[i];
        if (placed[i]) continue;
        if (!n) first = i;
        if (k->layout.m != t->kernels[first].layout.m || k->columns != t->kernels[first].columns) continue;
        placed[i] = true;
        which[n++] = i;
    }
    return n;
}

static npu_status make_contexts(npu_xdna_target *t, const npu_xdna_kernel_files *files, npu_error *err) {
    uint32_t which[NPU_XDNA_KERNELS], n;
    npu_xdna_kernel kernels[NPU_XDNA_KERNELS];
    bool *placed = calloc(t->plan->n_kernels + (size_t)1, sizeof *placed);
    t->contexts = calloc(t->plan->n_kernels + (size_t)1, sizeof *t->contexts);
    npu_status status = NPU_OK;
    if (!placed || !t->contexts) status = npu_fail(err, NPU_NO_MEMORY, "xdna.memory", "no memory for contexts");
    while (status == NPU_OK && (n = group(t, placed, which))) {
        for (uint32_t i = 0; i < n; i++) {
            kernels[i] = files[which[i]].kernel;
            t->kernels[which[i]].context = t->n_contexts;
            t->kernels[which[i]].in_context = i;
        }
        status = npu_xdna_context_create(t->device, kernels, n, &t->contexts[t->n_contexts], err);
        t->n_contexts += status == NPU_OK;
    }
    free(placed);
    return status;
}

static npu_status make_operands(npu_xdna_target *t, npu_error *err) {
    for (uint32_t i = 0; i < t->plan->n_kernels; i++) {
        npu_xdna_loaded *k = &t->kernels[i];
        NPU_TRY(npu_xdna_buffer_alloc(t->device, npu_xdna_a_bytes(&k->layout), &k->a, err));
        NPU_TRY(npu_xdna_buffer_alloc(t->device, npu_xdna_c_bytes(&k->layout), &k->c, err));
        t->counters.allocations += 2;
    }
    return NPU_OK;
}

npu_status npu_xdna_set_up(npu_xdna_target *t, npu_error *err) {
    npu_xdna_kernel_files *files = calloc(t->plan->n_kernels + (size_t)1, sizeof *files);
    npu_status status = files ? NPU_OK : npu_fail(err, NPU_NO_MEMORY, "xdna.memory", "no memory for kernels");
    for (uint32_t i = 0; i < t->plan->n_kernels && status == NPU_OK; i++) status = load_kernel(t, i, &files[i], err);
    if (status == NPU_OK) status = npu_xdna_open(&t->params, &t->device, err);
    if (status == NPU_OK) {
        const npu_xdna_info *info = npu_xdna_get_info(t->device);
        npu_xdna_caps(&t->base.caps, info->device, info->generation);
        status = npu_xdna_check_plan(&t->base.caps, t->plan, err);
    }
    if (status == NPU_OK) status = make_contexts(t, files, err);
    if (status == NPU_OK) status = make_operands(t, err);
    for (uint32_t i = 0; files && i < t->plan->n_kernels; i++) npu_xdna_kernel_close(&files[i]);
    free(files);
    if (status != NPU_OK) npu_xdna_drop(t);
    return status;
}

/* What was proven was proven on this device. */
void npu_xdna_drop(npu_xdna_target *t) {
    if (t->proofs) memset(t->proofs, 0, t->plan->n_designs * sizeof *t->proofs);
    npu_xdna_close(t->device);
    t->device = NULL;
    npu_xdna_residents_free(t);
    free(t->contexts);
    t->contexts = NULL;
    t->n_contexts = 0;
}

npu_status npu_xdna_ready(npu_xdna_target *t, npu_error *err) {
    if (t->device && npu_xdna_lost(t->device)) npu_xdna_drop(t);
    if (t->device) return NPU_OK;
    NPU_TRY(npu_xdna_set_up(t, err));
    t->counts.reopened++;
    npu_log(&t->base.logger, NPU_LOG_WARN, "the device was lost and is open again");
    return NPU_OK;
}
