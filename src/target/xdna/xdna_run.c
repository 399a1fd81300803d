/* One kernel launch: codes into A, a canary into every row of C, submit, wait, look at the canaries. A row that the
 * device did not write is never delivered: the launch is repeated once, then it fails. */
#include <string.h>

#include "base/clock.h"
#include "target/xdna/xdna_internal.h"

/* No sum can be this: |sum| <= 127 * 127 * NPU_XDNA_MAX_K. */
#define CANARY INT32_MIN

/* One canary in each row for each piece of columns that a compute tile writes. */
static uint32_t stride(const npu_xdna_layout *l) {
    return l->tiled ? l->nt : l->n < 64 ? l->n : 64;
}

static uint32_t canary_at(const npu_xdna_layout *l, uint32_t piece) {
    uint64_t n = (uint64_t)(piece + 1) * stride(l) - 1;
    return n < l->n ? (uint32_t)n : l->n - 1;
}

static uint32_t pieces(const npu_xdna_layout *l) {
    return (l->n + stride(l) - 1) / stride(l);
}

static void place_canaries(npu_xdna_loaded *k) {
    int32_t *c = (int32_t *)(void *)k->c->data;
    for (uint32_t m = 0; m < k->layout.m; m++)
        for (uint32_t p = 0; p < pieces(&k->layout); p++)
            c[npu_xdna_c_at(&k->layout, m, canary_at(&k->layout, p))] = CANARY;
}

/* The first row that holds a canary still; -1 when none does. */
static int64_t short_row(const npu_xdna_loaded *k) {
    const int32_t *c = (const int32_t *)(const void *)k->c->data;
    for (uint32_t m = 0; m < k->layout.m; m++)
        for (uint32_t p = 0; p < pieces(&k->layout); p++)
            if (c[npu_xdna_c_at(&k->layout, m, canary_at(&k->layout, p))] == CANARY) return m;
    return -1;
}

/* Rows behind |rows| are zero: the kernel reads all that it was built for. */
static npu_status write_rows(npu_xdna_loaded *k, const int8_t *codes, uint32_t rows, npu_error *err) {
    int8_t *a = (int8_t *)k->a->data;
    if (rows < k->layout.m) memset(a, 0, npu_xdna_a_bytes(&k->layout));
    for (uint32_t m = 0; m < rows; m++) npu_xdna_pack_row(&k->layout, m, codes + (uint64_t)m * k->layout.k, a);
    return npu_xdna_buffer_sync(k->a, NPU_XDNA_TO_DEVICE, 0, npu_xdna_a_bytes(&k->layout), err);
}

static npu_status run(npu_xdna_target *t, npu_xdna_loaded *k, const npu_xdna_resident *r, uint32_t first,
                      npu_error *err) {
    npu_xdna_arg args[] = {{k->a, 0}, {r->b, (uint64_t)first * k->layout.k}, {k->c, 0}};
    npu_xdna_ticket ticket;
    uint64_t bytes = npu_xdna_c_bytes(&k->layout), start = npu_clock_ns();
    place_canaries(k);
    NPU_TRY(npu_xdna_buffer_sync(k->c, NPU_XDNA_TO_DEVICE, 0, bytes, err));
    NPU_TRY(npu_xdna_submit(t->contexts[k->context], k->in_context, args, 3, &ticket, err));
    t->counters.submits++;
    uint64_t submitted = npu_clock_ns();
    t->phases.launch_ns += submitted - start;
    NPU_TRY(npu_xdna_wait(t->contexts[k->context], ticket, err));
    uint64_t waited = npu_clock_ns();
    t->phases.wait_ns += waited - submitted;
    npu_status status = npu_xdna_buffer_sync(k->c, NPU_XDNA_FROM_DEVICE, 0, bytes, err);
    t->phases.readback_ns += npu_clock_ns() - waited;
    return status;
}

/* The launch as one that may come back short. */
static npu_status attempt(npu_xdna_target *t, npu_xdna_loaded *k, const npu_xdna_resident *r, uint32_t first,
                          int64_t *row, npu_error *err) {
    NPU_TRY(run(t, k, r, first, err));
    uint64_t start = npu_clock_ns();
    *row = short_row(k);
    t->phases.readback_ns += npu_clock_ns() - start;
    t->counts.short_rows += *row >= 0;
    return NPU_OK;
}

npu_status npu_xdna_launch(npu_xdna_target *t, npu_xdna_loaded *k, const npu_xdna_resident *r, uint32_t first,
                           const int8_t *codes, uint32_t rows, bool new_rows, npu_error *err) {
    int64_t row = -1;
    uint64_t start = npu_clock_ns();
    npu_status status = new_rows ? write_rows(k, codes, rows, err) : NPU_OK;
    t->phases.launch_ns += npu_clock_ns() - start;
    if (status == NPU_OK) status = attempt(t, k, r, first, &row, err);
    if (status == NPU_OK && row >= 0) {
        npu_log(&t->base.logger, NPU_LOG_WARN, "layer %u, role %s: the device did not write row %lld; trying again",
                r->layer, npu_role_name(r->role), (long long)row);
        t->phases.retries++;
        status = attempt(t, k, r, first, &row, err);
    }
    if (status != NPU_OK || row < 0) return status;
    return npu_fail(err, NPU_DEVICE_SHORT, "xdna.short_row",
                    "layer %d, role %s: the device did not write row %lld of %u, twice",
                    r->layer == NPU_NO_LAYER ? -1 : (int)r->layer, npu_role_name(r->role), (long long)row, k->layout.m);
}
