/* Kernels and designs of a plan: how a target's design hook adds them, their residency keys, and the comparison of the
 * plan's kernels with those that a manifest has. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

static bool same_design(const npu_plan_design *a, const npu_plan_design *b) {
    return a->role == b->role && a->first == b->first && a->n_splits == b->n_splits &&
           !memcmp(a->splits, b->splits, sizeof a->splits) && a->K == b->K && a->N == b->N && a->real_k == b->real_k &&
           a->real_n == b->real_n && a->hadamard == b->hadamard && a->bytes == b->bytes &&
           a->decode_kernel == b->decode_kernel && a->prefill_kernel == b->prefill_kernel &&
           !strcmp(a->image, b->image) && !strcmp(a->layout, b->layout);
}

static bool same_shape(const npu_plan_kernel *a, const npu_plan_kernel *b) {
    return a->role == b->role && a->M == b->M && a->K == b->K && a->N == b->N && !strcmp(a->kind, b->kind) &&
           !strcmp(a->layout, b->layout);
}

/* Room for one more element; |list| is the plan's pointer to them. */
static npu_status grow(void **list, uint32_t n, size_t size, npu_error *err) {
    if (n >= NPU_PLAN_NO_KERNEL)
        return npu_fail(err, NPU_REFUSED, "plan.designs", "more than %u kernels or designs", NPU_PLAN_NO_KERNEL);
    void *more = realloc(*list, (n + (size_t)1) * size);
    if (!more) return npu_fail(err, NPU_NO_MEMORY, "plan.memory", "no memory for %u kernels or designs", n + 1);
    *list = more;
    return NPU_OK;
}

npu_status npu_plan_add_kernel(npu_plan *p, const npu_plan_kernel *kernel, uint16_t *index, npu_error *err) {
    uint32_t i = 0;
    while (i < p->n_kernels && (!same_shape(&p->kernels[i], kernel) || strcmp(p->kernels[i].file, kernel->file) != 0 ||
                                strcmp(p->kernels[i].sha256, kernel->sha256) != 0))
        i++;
    if (i == p->n_kernels) {
        void *list = p->kernels;
        NPU_TRY(grow(&list, p->n_kernels, sizeof *p->kernels, err));
        p->kernels = list;
        p->kernels[p->n_kernels++] = *kernel;
    }
    *index = (uint16_t)i;
    return NPU_OK;
}

npu_status npu_plan_add_design(npu_plan *p, npu_plan_entry *entry, const npu_plan_design *design, npu_error *err) {
    uint32_t i = 0;
    if (entry->n_designs == NPU_PLAN_MAX_SPLITS)
        return npu_fail(err, NPU_REFUSED, "plan.designs", "layer %d, role %s: more than %d designs",
                        entry->layer == NPU_NO_LAYER ? -1 : (int)entry->layer, npu_role_name(entry->role),
                        NPU_PLAN_MAX_SPLITS);
    while (i < p->n_designs && !same_design(&p->designs[i], design)) i++;
    if (i == p->n_designs) {
        void *list = p->designs;
        NPU_TRY(grow(&list, p->n_designs, sizeof *p->designs, err));
        p->designs = list;
        p->designs[p->n_designs++] = *design;
    }
    if (!entry->n_designs) { /* what the file's own layout would have been */
        entry->bytes = 0;
        entry->N = 0;
    }
    entry->bytes += design->bytes;
    entry->K = design->K;
    entry->N += design->N;
    memcpy(entry->image, design->image, sizeof entry->image);
    entry->designs[entry->n_designs++] = (uint16_t)i;
    return NPU_OK;
}

void npu_plan_leave_on_host(npu_plan_entry *e, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(e->why, sizeof e->why, format, args);
    va_end(args);
    e->on_device = false;
}

int64_t npu_plan_residency(const npu_plan_entry *entry, const npu_plan_design *design) {
    return (int64_t)entry->layer << 16 | design->role;
}

static npu_status check_kernel(const npu_plan_kernel *want, const npu_plan_kernel *have, npu_error *err) {
    if (!same_shape(want, have))
        return npu_fail(
            err, NPU_REFUSED, "plan.kernel_shape",
            "kernel %s: the plan needs %s for %s, M %u, K %u, N %u, layout %s; the manifest has %s for %s, M "
            "%u, K %u, N %u, layout %s",
            want->file, want->kind, npu_role_name(want->role), want->M, want->K, want->N, want->layout, have->kind,
            npu_role_name(have->role), have->M, have->K, have->N, have->layout);
    if (strcmp(want->sha256, have->sha256) != 0)
        return npu_fail(err, NPU_REFUSED, "plan.kernel_hash",
                        "kernel %s: the plan was made for SHA-256 %.16s..., the manifest has %.16s...", want->file,
                        want->sha256, have->sha256);
    return NPU_OK;
}

npu_status npu_plan_check_kernels(const npu_plan *p, const npu_plan_kernel *have, uint32_t n, npu_error *err) {
    for (uint32_t i = 0; i < p->n_kernels; i++) {
        const npu_plan_kernel *want = &p->kernels[i];
        uint32_t k = 0;
        while (k < n && strcmp(have[k].file, want->file) != 0) k++;
        if (k == n)
            return npu_fail(err, NPU_REFUSED, "plan.kernel_missing",
                            "kernel %s (%s for %s, M %u, K %u, N %u) is not in the manifest", want->file, want->kind,
                            npu_role_name(want->role), want->M, want->K, want->N);
        NPU_TRY(check_kernel(want, &have[k], err));
    }
    return NPU_OK;
}
