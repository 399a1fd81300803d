/* The XDNA target's vtable. A gemv-class target: it holds int8 weight images on the device and multiplies rows by them;
 * everything else of a model runs on the host. The plan says which kernels; here nothing is chosen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "target/xdna/xdna_chip.h"
#include "target/xdna/xdna_internal.h"

enum { DECODE_ROWS = 16, PREFILL_ROWS = 128 };

static npu_xdna_target *of(npu_target *target) {
    return (npu_xdna_target *)(void *)target;
}

const npu_xdna_counts *npu_xdna_counts_of(const npu_target *target) {
    return &((const npu_xdna_target *)(const void *)target)->counts;
}

static npu_xdna_params device_params(const npu_target_params *p) {
    return (npu_xdna_params){
        .logger = p->logger, .driver = p->driver, .emu = p->emu, .timeout_s = p->timeout_s, .no_wait = p->no_wait};
}

void npu_xdna_caps(npu_caps *caps, const char *device, const char *generation) {
    *caps = (npu_caps){
        .max_rows = DECODE_ROWS, .prefill_rows = PREFILL_ROWS, .devices = 1, .lm_head = true, .bit_exact = false};
    snprintf(caps->device, sizeof caps->device, "%s", device);
    snprintf(caps->generation, sizeof caps->generation, "%s", generation);
}

static npu_status unknown_arch(const char *arch, npu_error *err) {
    char known[64] = "";
    for (unsigned i = 0, n = 0; i < npu_xdna_n_chips && n < sizeof known; i++)
        n += (unsigned)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", npu_xdna_chips[i].generation);
    return npu_fail(err, NPU_REFUSED, "xdna.arch", "`arch` %s: not one of %s", arch, known);
}

static npu_status xdna_probe(const npu_target_params *params, npu_caps *caps, npu_error *err) {
    *caps = (npu_caps){0};
    if (params->arch && !params->driver) {
        if (!npu_xdna_chip_named(params->arch)) return unknown_arch(params->arch, err);
        npu_xdna_caps(caps, "planned", params->arch);
        return NPU_OK;
    }
    npu_xdna_params p = device_params(params);
    npu_xdna_info info = {0};
    NPU_TRY(npu_xdna_probe(&p, &info, err));
    if (params->arch && strcmp(params->arch, info.generation) != 0)
        return npu_fail(err, NPU_REFUSED, "xdna.arch", "`arch` %s, but the device is %s", params->arch,
                        info.generation);
    npu_xdna_caps(caps, info.device, info.generation);
    return NPU_OK;
}

static npu_status make_scratch(npu_xdna_target *t, npu_error *err) {
    uint64_t k = 0, n = 0, codes = 0, rows = 0;
    for (uint32_t i = 0; i < t->plan->n_kernels; i++) {
        const npu_plan_kernel *p = &t->plan->kernels[i];
        k = p->K > k ? p->K : k;
        n = p->N > n ? p->N : n;
        rows = p->M > rows ? p->M : rows;
        codes = (uint64_t)p->M * p->K > codes ? (uint64_t)p->M * p->K : codes;
    }
    t->rotated = malloc((k + 1) * sizeof(float));
    t->codes = malloc(codes + 1);
    t->scales = malloc((rows + 1) * sizeof(float));
    t->sums = malloc((n + 1) * sizeof(int32_t));
    t->kernels = calloc(t->plan->n_kernels + (size_t)1, sizeof *t->kernels);
    t->proofs = calloc(t->plan->n_designs + (size_t)1, sizeof *t->proofs);
    if (t->rotated && t->codes && t->scales && t->sums && t->kernels && t->proofs) return NPU_OK;
    return npu_fail(err, NPU_NO_MEMORY, "xdna.memory", "no memory to open the device");
}

static npu_status read_manifest(npu_xdna_target *t, const npu_target_params *params, const char *kernels_dir,
                                npu_error *err) {
    char *generated = NULL;
    if (!kernels_dir) {
        NPU_TRY(npu_xdna_no_kernels(params, err));
        NPU_TRY(npu_xdna_emu_kernels(params->cache_dir, t->plan->needs.generation, t->plan->kernels, t->plan->n_kernels,
                                     &generated, err));
    }
    const char *folder = kernels_dir ? kernels_dir : generated;
    npu_status status = npu_xdna_manifest_read(folder, &t->manifest, err);
    if (status == NPU_OK) npu_log(&t->base.logger, NPU_LOG_INFO, "xdna: kernels in %s", folder);
    free(generated);
    if (status == NPU_OK) status = npu_plan_check_kernels(t->plan, t->manifest.kernels, t->manifest.n, err);
    return status;
}

static void xdna_close(npu_target *target) {
    if (!target) return;
    npu_xdna_target *t = of(target);
    npu_xdna_drop(t);
    npu_xdna_tell_unmet(&t->params);
    npu_xdna_manifest_free(&t->manifest);
    npu_pool_destroy(t->pool);
    free(t->rotated);
    free(t->codes);
    free(t->scales);
    free(t->sums);
    free(t->kernels);
    free(t->proofs);
    free(t);
}

/* Refusals come before the device is touched: what the plan says of itself, then the kernels folder. */
static npu_status open_target(npu_xdna_target *t, const npu_target_params *params, const char *kernels_dir,
                              npu_error *err) {
    uint32_t features;
    NPU_TRY(npu_cpu_level(params->cpu_level, &features, err));
    t->math = npu_xdna_math_for(features);
    NPU_TRY(npu_xdna_check_plan(&t->plan->caps, t->plan, err));
    NPU_TRY(read_manifest(t, params, kernels_dir, err));
    NPU_TRY(npu_pool_create(params->n_threads, &t->pool, err));
    NPU_TRY(make_scratch(t, err));
    return npu_xdna_set_up(t, err);
}

static npu_status xdna_open(const npu_target_params *params, const npu_plan *plan, const char *kernels_dir,
                            npu_target **out, npu_error *err) {
    *out = NULL;
    if (params->mode != NPU_MODE_DEFAULT)
        return npu_fail(err, NPU_REFUSED, "xdna.mode", "the array computes in default mode only");
    if (!plan) return npu_fail(err, NPU_INVALID, "xdna.plan", "the XDNA target needs a plan");
    npu_xdna_target *t = calloc(1, sizeof *t);
    if (!t) return npu_fail(err, NPU_NO_MEMORY, "xdna.memory", "no memory to open a target");
    t->base = (npu_target){.ops = &npu_target_xdna, .logger = params->logger, .mode = params->mode};
    t->params = device_params(params);
    t->plan = plan;
    npu_status status = open_target(t, params, kernels_dir, err);
    if (status != NPU_OK) {
        xdna_close(&t->base);
        return status;
    }
    *out = &t->base;
    return NPU_OK;
}

static npu_status xdna_load_block(npu_target *target, unsigned first_layer, unsigned n_layers,
                                  const npu_weight_source *source, npu_error *err) {
    npu_xdna_target *t = of(target);
    t->source = *source;
    NPU_TRY(npu_xdna_ready(t, err));
    return npu_xdna_load(t, first_layer, n_layers, err);
}

static npu_status xdna_gdn_step(npu_target *target, unsigned layer, uint32_t M, const float *x, float *y,
                                npu_error *err) {
    (void)target, (void)M, (void)x, (void)y;
    return npu_fail(err, NPU_UNSUPPORTED, "xdna.gdn_step", "layer %u: the array has no kernel for this step", layer);
}

static npu_status xdna_attn_step(npu_target *target, const npu_attn_args *args, npu_error *err) {
    (void)target;
    return npu_fail(err, NPU_UNSUPPORTED, "xdna.attn_step", "layer %u: the array has no kernel for attention",
                    args->layer);
}

static npu_status xdna_check_params(const npu_target_params *params, const char *kernels_dir, npu_error *err) {
    (void)kernels_dir;
    npu_xdna_params p = device_params(params);
    return npu_xdna_check_params(&p, err);
}

static npu_status xdna_describe_emu(const npu_target_params *params, const char **text, npu_error *err) {
    npu_xdna_params p = device_params(params);
    return npu_xdna_describe_emu(&p, text, err);
}

static void xdna_count(const npu_target *target, npu_target_counters *out) {
    *out = ((const npu_xdna_target *)(const void *)target)->counters;
}

static const npu_xdna_loaded *loaded(const npu_xdna_target *t, uint16_t kernel) {
    return kernel == NPU_PLAN_NO_KERNEL ? NULL : &t->kernels[kernel];
}

static void xdna_phases(const npu_target *target, npu_target_phases *out) {
    *out = ((const npu_xdna_target *)(const void *)target)->phases;
}

/* A line a design: which kernels make it, and whether the small one may. */
static void xdna_report(const npu_target *target, void (*line)(void *user, const char *text), void *user) {
    const npu_xdna_target *t = (const npu_xdna_target *)(const void *)target;
    static const char *const words[] = {
        [NPU_XDNA_UNPROVEN] = "not proven, not used",
        [NPU_XDNA_EQUAL] = "proven: its int32 sums are those of the large one",
        [NPU_XDNA_DIFFERENT] = "its int32 sums are OTHERS than the large one's: not used",
    };
    for (uint32_t i = 0; i < t->plan->n_designs; i++) {
        const npu_plan_design *d = &t->plan->designs[i];
        const npu_xdna_loaded *small = loaded(t, d->decode_kernel), *large = loaded(t, d->prefill_kernel);
        char text[200];
        const char *proof = small && large ? words[t->proofs[i]] : "the only one";
        uint32_t rows = small ? small->layout.m : large ? large->layout.m : 0;
        snprintf(text, sizeof text, "%-6s K %u, N %u: %u-row kernel, %s", npu_role_name(d->role), d->K, d->N, rows,
                 proof);
        line(user, text);
    }
}

const npu_target_ops npu_target_xdna = {
    .name = "xdna",
    .is_npu = true,
    .probe = xdna_probe,
    .open = xdna_open,
    .load_block = xdna_load_block,
    .gemv = npu_xdna_gemv,
    .gdn_step = xdna_gdn_step,
    .attn_step = xdna_attn_step,
    .lm_head = npu_xdna_lm_head,
    .supports = npu_xdna_supports,
    .design = npu_xdna_design,
    .check_plan = npu_xdna_check_plan,
    .check_params = xdna_check_params,
    .describe_emu = xdna_describe_emu,
    .count = xdna_count,
    .phases = xdna_phases,
    .report = xdna_report,
    .close = xdna_close,
};
