/* ARGSORT: radix sort in cached memory, least significant byte first. It keeps the order of equal keys, so equal values
 * come by ascending index. */
#include "htp/hvx/hvx_f32.h"
#include "htp/op.h"

enum { DIGITS = 256 };

/* Order like the values: NaN last either way, -0 like +0. */
static uint32_t key_of(uint32_t bits, int descending) {
    if ((bits & 0x7FFFFFFF) > 0x7F800000) return UINT32_MAX;
    if (bits == 0x80000000) bits = 0;
    uint32_t key = bits & 0x80000000 ? ~bits : bits | 0x80000000;
    return descending ? ~key : key;
}

/* Indices |from| by the byte at |shift| of their keys to |to|. 0 when all have the same: |from| stays the order. */
static int pass(const uint32_t *keys, unsigned shift, const uint32_t *from, uint32_t *to, uint32_t n) {
    uint32_t starts[DIGITS] = {0}, at = 0;
    for (uint32_t i = 0; i < n; i++) starts[keys[i] >> shift & (DIGITS - 1)]++;
    if (starts[keys[0] >> shift & (DIGITS - 1)] == n) return 0;
    for (unsigned d = 0; d < DIGITS; d++) {
        uint32_t count = starts[d];
        starts[d] = at;
        at += count;
    }
    for (uint32_t i = 0; i < n; i++) to[starts[keys[from[i]] >> shift & (DIGITS - 1)]++] = from[i];
    return 1;
}

static void copy(const void *from, void *to, uint32_t values) {
    const HVX_Vector *x = from;
    HVX_Vector *y = to;
    for (uint32_t i = 0; i < (values + 31) / 32; i++) y[i] = x[i];
}

static void sort(const htp_rows *r, const htp_unit *u, const uint8_t *const in[NPU_ROWS_IN], uint8_t *out,
                 uint8_t *work) {
    uint32_t n = r->o->src[0].ne[0], list = r->k->head.scratch_thread_bytes / 3 / 4;
    uint32_t *keys = (uint32_t *)work, *order = keys + list, *other = order + list;
    int descending = r->o->op->params.sort.descending;
    (void)u;
    copy(in[0], keys, n);
    for (uint32_t i = 0; i < n; i++) {
        keys[i] = key_of(keys[i], descending);
        order[i] = i;
    }
    for (unsigned shift = 0; shift < 32; shift += 8)
        if (pass(keys, shift, order, other, n)) {
            uint32_t *swap = order;
            order = other;
            other = swap;
        }
    copy(order, out, r->o->dst[0].ne[0]);
}

static uint32_t store(const htp_rows *r, const htp_unit *u, htp_dma *dma, const uint8_t *out) {
    const npu_tensor *y = &r->o->dst[0];
    htp_dma_push(dma, r->o->dst_data[0] + htp_unit_offset(y, u, 4), out, y->ne[0] * 4);
    return 1;
}

void htp_argsort(htp_op *o) {
    htp_rows r = htp_rows_f32(o, 1);
    r.row_values = o->src[0].ne[0];
    r.work_in_scratch = 1;
    r.compute = sort, r.store = store;
    htp_rows_run(&r);
}
