/* ROPE_TABLE and ROPE. A unit of ROPE is one token: all its heads and its row of the table. */
#include "htp/hvx/f32.h"
#include "htp/memory.h"
#include "htp/op.h"

static uint32_t load_nothing(const htp_rows *r, const htp_unit *u, htp_dma *dma, uint8_t *const in[2]) {
    (void)r, (void)u, (void)dma, (void)in;
    return 0;
}

static void make_table(const htp_rows *r, const htp_unit *u, const uint8_t *const in[2], uint8_t *out, uint8_t *work) {
    const float *freqs = (const float *)r->o->src_data[1];
    float position = (float)((const int32_t *)r->o->src_data[0])[u->i[1]], scale = r->o->op->params.rope_table.scale;
    (void)in, (void)work;
    for (uint32_t v = 0; v < (u->values + 31) / 32; v++) {
        htp_f32 y; /* 16 pairs: made in a register's worth of cached memory, stored as one vector */
        for (uint32_t i = 0; i < 16 && v * 16 + i < u->values / 2; i++) {
            float s, c;
            npu_sincosf(position * freqs[v * 16 + i], &s, &c);
            y.f[2 * i] = c * scale;
            y.f[2 * i + 1] = s * scale;
        }
        ((htp_f32 *)out)[v] = y;
    }
}

void htp_rope_table(htp_op *o) {
    htp_rows r = {.o = o, .k = o->kernel, .rows = o->dst[0].ne[1], .row_values = o->dst[0].ne[0]};
    r.load = load_nothing;
    r.compute = make_table;
    r.out_value_bytes = 4;
    htp_memory_refresh(o->src_data[0], r.rows * 4);
    htp_memory_refresh(o->src_data[1], (uint64_t)o->src[1].ne[0] * 4);
    htp_rows_run(&r);
}

static uint32_t load_token(const htp_rows *r, const htp_unit *u, htp_dma *dma, uint8_t *const in[2]) {
    const npu_tensor *x = &r->o->src[0], *table = &r->o->src[1];
    uint64_t row = u->row;
    htp_dma_push_2d(dma, in[0], r->o->src_data[0] + row * x->nb[2], x->ne[0] * 4, x->ne[1], x->ne[0] * 4, x->nb[1]);
    htp_dma_push(dma, in[1], r->o->src_data[1] + row * table->nb[1], table->ne[0] * 4);
    return 2;
}

/* Heads start anywhere in the slot, so this goes by values; pairs are (2i, 2i+1) or (i, i + P). */
static void rotate(const htp_rows *r, const htp_unit *u, const uint8_t *const in[2], uint8_t *out, uint8_t *work) {
    uint32_t d = r->o->src[0].ne[0], heads = r->o->src[0].ne[1], pairs = r->o->src[1].ne[0] / 2;
    int neox = r->o->op->params.rope.mode == NPU_ROPE_NEOX;
    const float *table = (const float *)in[1];
    (void)u, (void)work;
    for (uint32_t h = 0; h < heads; h++) {
        const float *x = (const float *)in[0] + (uint64_t)h * d;
        float *y = (float *)out + (uint64_t)h * d;
        for (uint32_t i = 0; i < pairs; i++) {
            uint32_t first = neox ? i : 2 * i, second = neox ? i + pairs : 2 * i + 1;
            float c = table[2 * i], s = table[2 * i + 1], x0 = x[first], x1 = x[second];
            y[first] = __builtin_fmaf(x0, c, -(x1 * s));
            y[second] = __builtin_fmaf(x0, s, x1 * c);
        }
        for (uint32_t i = 2 * pairs; i < d; i++) y[i] = x[i];
    }
}

static uint32_t store_token(const htp_rows *r, const htp_unit *u, htp_dma *dma, const uint8_t *out) {
    const npu_tensor *y = &r->o->dst[0];
    htp_dma_push_2d(dma, r->o->dst_data[0] + u->row * y->nb[2], out, y->ne[0] * 4, y->ne[1], y->nb[1], y->ne[0] * 4);
    return 1;
}

void htp_rope(htp_op *o) {
    htp_rows r = {.o = o, .k = o->kernel, .rows = o->dst[0].ne[2], .row_values = o->dst[0].ne[0] * o->dst[0].ne[1]};
    r.load = load_token, r.compute = rotate, r.store = store_token;
    htp_rows_run(&r);
}
