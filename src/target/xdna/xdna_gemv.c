/* Products on the array: rows are quantised, launched in the rows that a kernel has, and the sums made floats again.
 * Also the proof that a 16-row kernel gives the sums of the 128-row one, without which it is not used. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "target/xdna/xdna_internal.h"

static npu_xdna_target *of(npu_target *target) {
    return (npu_xdna_target *)(void *)target;
}

static npu_xdna_loaded *kernel_of(const npu_xdna_target *t, uint16_t kernel) {
    return kernel == NPU_PLAN_NO_KERNEL ? NULL : &t->kernels[kernel];
}

/* Few rows go through the small kernel where it was proven, everything else through the large one. */
static npu_xdna_loaded *choose(const npu_xdna_target *t, unsigned index, uint32_t rows) {
    const npu_plan_design *d = &t->plan->designs[index];
    npu_xdna_loaded *small = kernel_of(t, d->decode_kernel), *large = kernel_of(t, d->prefill_kernel);
    if (!large) return small;
    return small && rows <= small->layout.m && t->proofs[index] == NPU_XDNA_EQUAL ? small : large;
}

static void quantise_rows(npu_xdna_target *t, const npu_plan_design *d, const float *x, uint32_t rows) {
    uint64_t start = npu_clock_ns();
    for (uint32_t m = 0; m < rows; m++)
        t->scales[m] = npu_xdna_quantise(t->math, x + (uint64_t)m * d->real_k, d->real_k, d->K, d->hadamard, t->rotated,
                                         t->codes + (uint64_t)m * d->K);
    t->phases.quant_ns += npu_clock_ns() - start;
}

/* The sums of columns |first| … of all rows become results. */
static void dequantise_rows(npu_xdna_target *t, const npu_xdna_loaded *k, const npu_xdna_resident *r, uint32_t first,
                            uint32_t rows, float *out) {
    uint64_t start = npu_clock_ns();
    uint32_t n = r->real_n - first < k->layout.n ? r->real_n - first : k->layout.n;
    for (uint32_t m = 0; m < rows; m++) {
        npu_xdna_unpack_row(&k->layout, m, n, (const int32_t *)(const void *)k->c->data, t->sums);
        t->math->dequantise(t->sums, n, t->scales[m], r->scales + first, out + (uint64_t)m * r->real_n + first);
    }
    t->phases.dequant_ns += npu_clock_ns() - start;
}

static npu_status multiply(npu_xdna_target *t, unsigned index, const npu_xdna_resident *r, uint32_t rows,
                           const float *x, float *out, npu_error *err) {
    const npu_plan_design *d = &t->plan->designs[index];
    npu_xdna_loaded *k = choose(t, index, rows);
    for (uint32_t row = 0; row < rows; row += k->layout.m) {
        uint32_t n = rows - row < k->layout.m ? rows - row : k->layout.m;
        quantise_rows(t, d, x + (uint64_t)row * d->real_k, n);
        for (uint32_t first = 0; first < d->real_n; first += k->layout.n) {
            NPU_TRY(npu_xdna_launch(t, k, r, first, t->codes, n, first == 0, err));
            dequantise_rows(t, k, r, first, n, out + (uint64_t)row * d->real_n);
        }
    }
    return NPU_OK;
}

/* --- the proof --- */

/* Codes of all sizes, the extremes among them; the same for every design. */
static void make_codes(int8_t *codes, uint64_t n) {
    uint64_t seed = 16;
    for (uint64_t i = 0; i < n; i++) {
        int code = (int)(npu_random_next(&seed) >> 40) % 255 - 127;
        codes[i] = (int8_t)(seed >> 60 ? code : code < 0 ? -127 : 127);
    }
}

static bool same_sums(const npu_xdna_loaded *small, const npu_xdna_loaded *large) {
    const int32_t *a = (const int32_t *)(const void *)small->c->data;
    const int32_t *b = (const int32_t *)(const void *)large->c->data;
    for (uint32_t m = 0; m < small->layout.m; m++)
        for (uint32_t n = 0; n < small->layout.n; n++)
            if (a[npu_xdna_c_at(&small->layout, m, n)] != b[npu_xdna_c_at(&large->layout, m, n)]) return false;
    return true;
}

npu_status npu_xdna_prove(npu_xdna_target *t, unsigned index, const npu_xdna_resident *r, npu_error *err) {
    const npu_plan_design *d = &t->plan->designs[index];
    npu_xdna_loaded *small = kernel_of(t, d->decode_kernel), *large = kernel_of(t, d->prefill_kernel);
    if (!small || !large || t->proofs[index] != NPU_XDNA_UNPROVEN) return NPU_OK;
    const uint32_t tiles[] = {0, d->N - large->layout.n}; /* the head has many: its first and its last */
    bool equal = true;
    make_codes(t->codes, (uint64_t)small->layout.m * d->K);
    for (int i = 0; i < (tiles[1] ? 2 : 1); i++) {
        NPU_TRY(npu_xdna_launch(t, small, r, tiles[i], t->codes, small->layout.m, i == 0, err));
        NPU_TRY(npu_xdna_launch(t, large, r, tiles[i], t->codes, small->layout.m, i == 0, err));
        equal = equal && same_sums(small, large);
    }
    t->proofs[index] = equal ? NPU_XDNA_EQUAL : NPU_XDNA_DIFFERENT;
    if (equal)
        npu_log(&t->base.logger, NPU_LOG_DEBUG, "role %s, K %u, N %u: the %u-row kernel gives the %u-row kernel's sums",
                npu_role_name(d->role), d->K, d->N, small->layout.m, large->layout.m);
    else
        npu_log(&t->base.logger, NPU_LOG_WARN,
                "role %s, K %u, N %u: the %u-row kernel gives other sums than the %u-row kernel and is not used",
                npu_role_name(d->role), d->K, d->N, small->layout.m, large->layout.m);
    return NPU_OK;
}

/* --- the vtable's --- */

static npu_status check_args(const npu_xdna_target *t, const npu_gemv_args *a, npu_error *err) {
    if (a->role >= t->plan->n_designs)
        return npu_fail(err, NPU_INVALID, "xdna.gemv", "design %u of %u", a->role, t->plan->n_designs);
    const npu_plan_design *d = &t->plan->designs[a->role];
    if (!a->M || a->M > t->base.caps.prefill_rows || a->K != d->real_k || a->N != d->real_n)
        return npu_fail(err, NPU_INVALID, "xdna.gemv", "role %s: %u x %u x %u, the plan has at most %u x %u x %u",
                        npu_role_name(d->role), a->M, a->K, a->N, t->base.caps.prefill_rows, d->real_k, d->real_n);
    if (a->wkey >= 0 ? a->wkey != ((int64_t)a->layer << 16 | d->role) || !a->tiles : !a->weights)
        return npu_fail(err, NPU_INVALID, "xdna.gemv", "role %s: a key of another layer or role, or no weights",
                        npu_role_name(d->role));
    return NPU_OK;
}

/* The callback is asked once: afterwards the image is resident. */
static npu_status fetch(npu_xdna_target *t, const npu_gemv_args *a, const npu_xdna_resident **out, npu_error *err) {
    uint64_t bytes = (uint64_t)a->K * a->N * sizeof(float);
    float *tiles = malloc(bytes);
    if (!tiles) return npu_fail(err, NPU_NO_MEMORY, "xdna.memory", "no memory for %u x %u weights", a->K, a->N);
    t->counts.tiles++;
    npu_status status = a->tiles(a->tiles_user, a->layer, a->role, (uint8_t *)tiles, bytes, err);
    if (status == NPU_OK) status = npu_xdna_pack_f32(t, a->layer, &t->plan->designs[a->role], tiles, NULL, out, err);
    free(tiles);
    return status;
}

npu_status npu_xdna_gemv(npu_target *target, const npu_gemv_args *a, float *out, npu_error *err) {
    npu_xdna_target *t = of(target);
    npu_xdna_resident alone = {0};
    const npu_xdna_resident *r = NULL;
    NPU_TRY(check_args(t, a, err));
    NPU_TRY(npu_xdna_ready(t, err));
    const npu_plan_design *d = &t->plan->designs[a->role];
    if (a->wkey < 0) {
        NPU_TRY(npu_xdna_pack_f32(t, a->layer, d, a->weights, &alone, &r, err));
    } else {
        NPU_TRY(npu_xdna_find(t, a->layer, d, &r, err));
        if (!r) NPU_TRY(fetch(t, a, &r, err));
    }
    npu_status status = npu_xdna_prove(t, a->role, r, err);
    if (status == NPU_OK) status = multiply(t, a->role, r, a->M, a->x, out, err);
    if (a->wkey < 0) {
        if (t->device) npu_xdna_buffer_free(alone.b);
        npu_xdna_resident_free(&alone);
    }
    return status;
}

static int head_design(const npu_plan *plan) {
    for (uint32_t i = 0; i < plan->n_designs; i++)
        if (plan->designs[i].role == NPU_ROLE_HEAD) return (int)i;
    return -1;
}

npu_status npu_xdna_lm_head(npu_target *target, uint32_t M, const float *h, float *logits, npu_error *err) {
    npu_xdna_target *t = of(target);
    const npu_xdna_resident *r = NULL;
    int index = head_design(t->plan);
    if (index < 0) return npu_fail(err, NPU_UNSUPPORTED, "xdna.head", "the plan leaves the head to the host");
    if (!M || M > t->base.caps.prefill_rows)
        return npu_fail(err, NPU_INVALID, "xdna.head", "%u rows: from 1 to %u", M, t->base.caps.prefill_rows);
    NPU_TRY(npu_xdna_ready(t, err));
    const npu_plan_design *d = &t->plan->designs[index];
    NPU_TRY(npu_xdna_find(t, NPU_NO_LAYER, d, &r, err));
    if (!r) {
        NPU_TRY(npu_xdna_load_head(t, err));
        NPU_TRY(npu_xdna_find(t, NPU_NO_LAYER, d, &r, err));
    }
    return multiply(t, (unsigned)index, r, M, h, logits, err);
}
