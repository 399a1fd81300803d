/* ADD, SUB, MUL, DIV, SCALE, GLU, CPY: one pass over units, values independent of each other. */
#include "htp/hvx/hvx_math.h"
#include "htp/op.h"

#include "wire/format.h"

static uint32_t vectors(const htp_unit *u) {
    return (u->values + 31) / 32;
}

static void binary(const htp_rows *r, const htp_unit *u, const uint8_t *const in[2], uint8_t *out, uint8_t *work) {
    const HVX_Vector *a = (const HVX_Vector *)in[0], *b = (const HVX_Vector *)in[1];
    HVX_Vector *y = (HVX_Vector *)out;
    uint32_t n = vectors(u);
    (void)work;
    switch (r->o->op->code) {
    case NPU_OP_ADD:
        for (uint32_t i = 0; i < n; i++) y[i] = hvx_f32_add(a[i], b[i]);
        break;
    case NPU_OP_SUB:
        for (uint32_t i = 0; i < n; i++) y[i] = hvx_f32_sub(a[i], b[i]);
        break;
    case NPU_OP_MUL:
        for (uint32_t i = 0; i < n; i++) y[i] = hvx_f32_mul(a[i], b[i]);
        break;
    default:
        for (uint32_t i = 0; i < n; i++) y[i] = hvx_f32_div(a[i], b[i]);
    }
}

static void scale(const htp_rows *r, const htp_unit *u, const uint8_t *const in[2], uint8_t *out, uint8_t *work) {
    const HVX_Vector *x = (const HVX_Vector *)in[0];
    HVX_Vector *y = (HVX_Vector *)out;
    const npu_params_scale *p = &r->o->op->params.scale;
    HVX_Vector factor = hvx_f32_splat(p->scale), bias = hvx_f32_splat(p->bias);
    uint32_t n = vectors(u);
    (void)work;
    for (uint32_t i = 0; i < n; i++) y[i] = hvx_f32_mul(x[i], factor);
    if (p->bias != 0)
        for (uint32_t i = 0; i < n; i++) y[i] = hvx_f32_add(y[i], bias);
}

/* One vector is a long chain: several of them side by side fill the packets. A function of its own, so that
 * scripts/htp-packets finds the loop. */
__attribute__((noinline)) static void silu_times(const HVX_Vector *restrict gate, const HVX_Vector *restrict up,
                                                 HVX_Vector *restrict y, uint32_t n) {
    HVX_Vector one = hvx_f32_splat(1.0f);
    _Pragma("GCC unroll 4") for (uint32_t i = 0; i < n; i++) {
        HVX_Vector e = hvx_f32_exp(hvx_f32_negate(gate[i]));
        y[i] = hvx_f32_mul(hvx_f32_div(gate[i], hvx_f32_add(one, e)), up[i]);
    }
}

static void glu_silu(const htp_rows *r, const htp_unit *u, const uint8_t *const in[2], uint8_t *out, uint8_t *work) {
    (void)r, (void)work;
    silu_times((const HVX_Vector *)in[0], (const HVX_Vector *)in[1], (HVX_Vector *)out, vectors(u));
}

static void copy(const htp_rows *r, const htp_unit *u, const uint8_t *const in[2], uint8_t *out, uint8_t *work) {
    const HVX_Vector *x = (const HVX_Vector *)in[0];
    HVX_Vector *y = (HVX_Vector *)out;
    uint32_t wide = vectors(u), half = (u->values + 63) / 64; /* vectors of f32, of f16 */
    (void)work;
    if (r->in_value_bytes[0] == r->out_value_bytes) {
        for (uint32_t i = 0, n = r->out_value_bytes == 2 ? half : wide; i < n; i++) y[i] = x[i];
    } else if (r->out_value_bytes == 2) {
        for (uint32_t i = 0; i < half; i++) {
            HVX_Vector high = 2 * i + 1 < wide ? x[2 * i + 1] : Q6_V_vzero();
            y[i] = hvx_f32_to_half(Q6_W_vcombine_VV(high, x[2 * i]));
        }
    } else {
        for (uint32_t i = 0; i < half; i++) {
            HVX_VectorPair w = hvx_f32_from_half(x[i]);
            y[2 * i] = Q6_V_lo_W(w);
            if (2 * i + 1 < wide) y[2 * i + 1] = Q6_V_hi_W(w);
        }
    }
}

static htp_rows rows_of(htp_op *o, uint32_t sources) {
    htp_rows r = {.o = o, .k = o->kernel, .rows = npu_tensor_rows(&o->dst[0]), .row_values = o->dst[0].ne[0]};
    r.in_value_bytes[0] = 4;
    r.in_value_bytes[1] = sources > 1 ? 4 : 0;
    r.out_value_bytes = 4;
    r.src[1] = 1;
    return r;
}

void htp_binary(htp_op *o) {
    htp_rows r = rows_of(o, 2);
    r.compute = binary;
    htp_rows_run(&r);
}

void htp_scale(htp_op *o) {
    htp_rows r = rows_of(o, 1);
    r.compute = scale;
    htp_rows_run(&r);
}

void htp_glu(htp_op *o) {
    htp_rows r = rows_of(o, 2);
    r.compute = glu_silu;
    if (!o->src_data[1]) { /* one source: both halves of its rows */
        int64_t half = (int64_t)o->dst[0].ne[0] * 4;
        r.src[1] = 0;
        r.src_shift[o->op->params.glu.swapped ? 0 : 1] = half;
    }
    htp_rows_run(&r);
}

void htp_cpy(htp_op *o) {
    htp_rows r = rows_of(o, 1);
    r.compute = copy;
    r.in_value_bytes[0] = o->src[0].type == NPU_TYPE_F16 ? 2 : 4;
    r.out_value_bytes = o->dst[0].type == NPU_TYPE_F16 ? 2 : 4;
    htp_rows_run(&r);
}
