/* RMS_NORM: row of x and, optionally, the weight's row through VTCM; sum of squares by lanes. */
#include "htp/hvx/hvx_math.h"
#include "htp/op.h"

/* Functions of their own, so that scripts/htp-packets finds their loops. */
#define HOT __attribute__((noinline)) static

HOT HVX_Vector sum_of_squares(const HVX_Vector *x, uint32_t n) {
    HVX_Vector sum = Q6_V_vzero();
    for (uint32_t i = 0; i < n; i++) sum = hvx_f32_fma(x[i], x[i], sum);
    return sum;
}

HOT void scale_by(const HVX_Vector *restrict x, HVX_Vector scale, HVX_Vector *restrict y, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) y[i] = hvx_f32_mul(x[i], scale);
}

HOT void scale_weigh(const HVX_Vector *restrict x, const HVX_Vector *restrict w, HVX_Vector scale,
                     HVX_Vector *restrict y, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) y[i] = hvx_f32_mul(hvx_f32_mul(x[i], scale), w[i]);
}

static void compute(const htp_rows *r, const htp_unit *u, const uint8_t *const in[2], uint8_t *out, uint8_t *work) {
    const HVX_Vector *x = (const HVX_Vector *)in[0], *w = (const HVX_Vector *)in[1];
    HVX_Vector *y = (HVX_Vector *)out;
    uint32_t full = u->values / 32, rest = u->values % 32, n = full + (rest != 0);
    (void)work;
    HVX_Vector sum = sum_of_squares(x, full);
    if (rest) {
        /* Absent elements as +0: adding their square does not change a lane that began at +0. */
        HVX_Vector last = hvx_f32_keep(x[full], rest);
        sum = hvx_f32_fma(last, last, sum);
    }
    float mean = hvx_f32_sum(sum) / (float)u->values;
    HVX_Vector scale = hvx_f32_splat(1.0f / htp_sqrtf(mean + r->o->op->params.eps.eps));
    if (r->in_value_bytes[1])
        scale_weigh(x, w, scale, y, n);
    else
        scale_by(x, scale, y, n);
}

void htp_rms_norm(htp_op *o) {
    htp_rows r = {.o = o, .k = o->kernel, .rows = npu_tensor_rows(&o->dst[0]), .row_values = o->dst[0].ne[0]};
    r.compute = compute;
    r.in_value_bytes[0] = 4;
    r.in_value_bytes[1] = o->src_data[1] ? 4 : 0;
    r.out_value_bytes = 4;
    r.src[1] = 1;
    htp_rows_run(&r);
}
