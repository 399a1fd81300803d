/* ADD, SUB, MUL, DIV, SCALE, GLU, CPY: one pass over units, values independent of each other. */
#include "htp/hvx/f32.h"
#include "htp/op.h"

#include "wire/format.h"

static uint32_t vectors(const htp_unit *u) {
    return (u->values + 31) / 32;
}

static void binary(const htp_rows *r, const htp_unit *u, const uint8_t *const in[2], uint8_t *out, uint8_t *work) {
    const htp_f32 *a = (const htp_f32 *)in[0], *b = (const htp_f32 *)in[1];
    htp_f32 *y = (htp_f32 *)out;
    uint32_t n = vectors(u), code = r->o->op->code;
    (void)work;
    for (uint32_t i = 0; i < n; i++)
        y[i] = code == NPU_OP_ADD   ? htp_f32_add(a[i], b[i])
               : code == NPU_OP_SUB ? htp_f32_sub(a[i], b[i])
               : code == NPU_OP_MUL ? htp_f32_mul(a[i], b[i])
                                    : htp_f32_div(a[i], b[i]);
}

static void scale(const htp_rows *r, const htp_unit *u, const uint8_t *const in[2], uint8_t *out, uint8_t *work) {
    const htp_f32 *x = (const htp_f32 *)in[0];
    htp_f32 *y = (htp_f32 *)out;
    const npu_params_scale *p = &r->o->op->params.scale;
    htp_f32 factor = htp_f32_splat(p->scale), bias = htp_f32_splat(p->bias);
    (void)work;
    for (uint32_t i = 0, n = vectors(u); i < n; i++) {
        y[i] = htp_f32_mul(x[i], factor);
        if (p->bias != 0) y[i] = htp_f32_add(y[i], bias);
    }
}

static void glu_silu(const htp_rows *r, const htp_unit *u, const uint8_t *const in[2], uint8_t *out, uint8_t *work) {
    const htp_f32 *gate = (const htp_f32 *)in[0], *up = (const htp_f32 *)in[1];
    htp_f32 *y = (htp_f32 *)out, one = htp_f32_splat(1), sign = htp_f32_splat(-1);
    (void)r, (void)work;
    for (uint32_t i = 0, n = vectors(u); i < n; i++) {
        htp_f32 e = htp_f32_exp(htp_f32_mul(gate[i], sign));
        y[i] = htp_f32_mul(htp_f32_div(gate[i], htp_f32_add(one, e)), up[i]);
    }
}

static void copy(const htp_rows *r, const htp_unit *u, const uint8_t *const in[2], uint8_t *out, uint8_t *work) {
    uint32_t n = npu_round_up(u->values, 32);
    (void)work;
    if (r->in_value_bytes[0] == r->out_value_bytes) {
        const htp_f32 *x = (const htp_f32 *)in[0];
        for (uint32_t i = 0; i < (n * r->out_value_bytes + 127) / 128; i++) ((htp_f32 *)out)[i] = x[i];
    } else if (r->out_value_bytes == 2) {
        for (uint32_t i = 0; i < n; i++) ((uint16_t *)out)[i] = npu_float_to_half(((const float *)in[0])[i]);
    } else {
        for (uint32_t i = 0; i < n; i++) ((float *)out)[i] = npu_half_to_float(((const uint16_t *)in[0])[i]);
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
