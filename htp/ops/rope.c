/* ROPE_TABLE and ROPE. A unit of ROPE is one token: all its heads and its row of the table. */
#include "htp/hvx/hvx_math.h"
#include "htp/op.h"

#include "wire/guard.h"

static uint32_t load_nothing(const htp_rows *r, const htp_unit *u, htp_dma *dma, uint8_t *const in[2]) {
    (void)r, (void)u, (void)dma, (void)in;
    return 0;
}

static void make_table(const htp_rows *r, const htp_unit *u, const uint8_t *const in[2], uint8_t *out, uint8_t *work) {
    const float *freqs = (const float *)r->o->src_data[1];
    float position = (float)((const int32_t *)r->o->src_data[0])[u->i[1]], scale = r->o->op->params.rope_table.scale;
    (void)in, (void)work;
    for (uint32_t v = 0; v < (u->values + 31) / 32; v++) {
        float y[32] __attribute__((aligned(128))) = {0}; /* 16 pairs, made in cached memory, stored as one vector */
        for (uint32_t i = 0; i < 16 && v * 16 + i < u->values / 2; i++) {
            float s, c;
            npu_sincosf(position * freqs[v * 16 + i], &s, &c);
            y[2 * i] = c * scale;
            y[2 * i + 1] = s * scale;
        }
        ((HVX_Vector *)out)[v] = *(const HVX_Vector *)y;
    }
}

void htp_rope_table(htp_op *o) {
    htp_rows r = {.o = o, .k = o->kernel, .rows = o->dst[0].ne[1], .row_values = o->dst[0].ne[0]};
    r.load = load_nothing;
    r.compute = make_table;
    r.out_value_bytes = 4;
    if (NPU_GUARD(REFRESH_POSITIONS)) htp_op_refresh(o, o->src_data[0], r.rows * 4);
    if (NPU_GUARD(REFRESH_FREQS)) htp_op_refresh(o, o->src_data[1], (uint64_t)o->src[1].ne[0] * 4);
    htp_rows_run(&r);
}

static uint32_t load_token(const htp_rows *r, const htp_unit *u, htp_dma *dma, uint8_t *const in[2]) {
    const npu_tensor *x = &r->o->src[0], *table = &r->o->src[1];
    uint64_t row = u->row;
    htp_dma_push_2d(dma, in[0], r->o->src_data[0] + row * x->nb[2], x->ne[0] * 4, x->ne[1], x->ne[0] * 4, x->nb[1]);
    htp_dma_push(dma, in[1], r->o->src_data[1] + row * table->nb[1], table->ne[0] * 4);
    return 2;
}

/* (x0, x1) turned by (c, s), 32 pairs. */
#ifdef HTP_BUILD_REAL
static inline void turn(HVX_Vector x0, HVX_Vector x1, HVX_Vector c, HVX_Vector s, HVX_Vector *y0, HVX_Vector *y1) {
    HVX_Vector minus = hvx_f32_negate(s);
    *y0 = Q6_Vsf_equals_Vqf32(Q6_Vqf32_vadd_Vqf32Vqf32(Q6_Vqf32_vmpy_VsfVsf(x0, c), Q6_Vqf32_vmpy_VsfVsf(x1, minus)));
    *y1 = Q6_Vsf_equals_Vqf32(Q6_Vqf32_vadd_Vqf32Vqf32(Q6_Vqf32_vmpy_VsfVsf(x0, s), Q6_Vqf32_vmpy_VsfVsf(x1, c)));
}
#else
static inline void turn(HVX_Vector x0, HVX_Vector x1, HVX_Vector c, HVX_Vector s, HVX_Vector *y0, HVX_Vector *y1) {
    *y0 = hvx_f32_fma(x0, c, hvx_f32_negate(hvx_f32_mul(x1, s)));
    *y1 = hvx_f32_fma(x0, s, hvx_f32_mul(x1, c));
}
#endif

/* The same 32 pairs of every head, where they are whole vectors: (i, i + P), |gap| vectors apart, or neighbours. */
HVX_HOT void turn_heads(const HVX_Vector *restrict x, HVX_Vector *restrict y, HVX_Vector c, HVX_Vector s,
                        uint32_t heads, uint32_t stride, uint32_t gap) {
    HVX_F32_UNROLL for (uint32_t h = 0; h < heads; h++)
        turn(x[h * stride], x[h * stride + gap], c, s, &y[h * stride], &y[h * stride + gap]);
}

HVX_HOT void turn_heads_pairs(const HVX_Vector *restrict x, HVX_Vector *restrict y, HVX_Vector c, HVX_Vector s,
                              uint32_t heads, uint32_t stride) {
    HVX_F32_UNROLL for (uint32_t h = 0; h < heads; h++) {
        HVX_VectorPair xs = Q6_W_vdeal_VVR(x[h * stride + 1], x[h * stride], -4);
        HVX_Vector y0, y1;
        turn(Q6_V_lo_W(xs), Q6_V_hi_W(xs), c, s, &y0, &y1);
        HVX_VectorPair ys = Q6_W_vshuff_VVR(y1, y0, -4);
        y[h * stride] = Q6_V_lo_W(ys);
        y[h * stride + 1] = Q6_V_hi_W(ys);
    }
}

/* Heads and pairs of whole vectors. */
static void turn_vectors(const HVX_Vector *x, HVX_Vector *y, const HVX_Vector *table, uint32_t heads, uint32_t d,
                         uint32_t pairs, int neox) {
    uint32_t width = d / 32, half = pairs / 32;
    for (uint32_t i = 0; i < half; i++) {
        HVX_VectorPair cs = Q6_W_vdeal_VVR(table[2 * i + 1], table[2 * i], -4);
        if (neox)
            turn_heads(x + i, y + i, Q6_V_lo_W(cs), Q6_V_hi_W(cs), heads, width, half);
        else
            turn_heads_pairs(x + 2 * i, y + 2 * i, Q6_V_lo_W(cs), Q6_V_hi_W(cs), heads, width);
    }
    for (uint32_t h = 0; h < heads; h++)
        for (uint32_t i = 2 * half; i < width; i++) y[h * width + i] = x[h * width + i];
}

/* Whole vectors are stored in ascending order of places: what one writes too much the next one, or the next head,
 * writes anew, and the plan leaves room behind the last. */
static void turn_neighbours(const float *x, float *y, const HVX_Vector *table, uint32_t pairs) {
    for (uint32_t i = 0; i < pairs; i += 32, table += 2) {
        HVX_VectorPair cs = Q6_W_vdeal_VVR(table[1], table[0], -4);
        HVX_VectorPair xs = Q6_W_vdeal_VVR(hvx_f32_load(x + 2 * i + 32), hvx_f32_load(x + 2 * i), -4);
        HVX_Vector y0, y1;
        turn(Q6_V_lo_W(xs), Q6_V_hi_W(xs), Q6_V_lo_W(cs), Q6_V_hi_W(cs), &y0, &y1);
        HVX_VectorPair ys = Q6_W_vshuff_VVR(y1, y0, -4);
        hvx_f32_store(y + 2 * i, Q6_V_lo_W(ys));
        hvx_f32_store(y + 2 * i + 32, Q6_V_hi_W(ys));
    }
}

/* Pairs (i, i + P): first all y0, then all y1. */
static void turn_halves(const float *x, float *y, const HVX_Vector *table, uint32_t pairs) {
    for (unsigned second = 0; second < 2; second++)
        for (uint32_t i = 0; i < pairs; i += 32) {
            HVX_VectorPair cs = Q6_W_vdeal_VVR(table[i / 16 + 1], table[i / 16], -4);
            HVX_Vector y0, y1;
            turn(hvx_f32_load(x + i), hvx_f32_load(x + pairs + i), Q6_V_lo_W(cs), Q6_V_hi_W(cs), &y0, &y1);
            hvx_f32_store(y + (second ? pairs : 0) + i, second ? y1 : y0);
        }
}

static void turn_head(const float *x, float *y, const HVX_Vector *table, uint32_t d, uint32_t pairs, int neox) {
    if (neox)
        turn_halves(x, y, table, pairs);
    else
        turn_neighbours(x, y, table, pairs);
    for (uint32_t i = 2 * pairs; i < d; i += 32) hvx_f32_store(y + i, hvx_f32_load(x + i));
}

static void rotate(const htp_rows *r, const htp_unit *u, const uint8_t *const in[NPU_ROWS_IN], uint8_t *out,
                   uint8_t *work) {
    uint32_t d = r->o->src[0].ne[0], heads = r->o->src[0].ne[1], pairs = r->o->src[1].ne[0] / 2;
    int neox = r->o->op->params.rope.mode == NPU_ROPE_NEOX;
    const HVX_Vector *table = (const HVX_Vector *)in[1];
    (void)u, (void)work;
    if (d % 32 == 0 && pairs % 32 == 0) {
        turn_vectors((const HVX_Vector *)in[0], (HVX_Vector *)out, table, heads, d, pairs, neox);
        return;
    }
    for (uint32_t h = 0; h < heads; h++)
        turn_head((const float *)in[0] + (uint64_t)h * d, (float *)out + (uint64_t)h * d, table, d, pairs, neox);
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
