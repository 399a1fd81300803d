/* RMS_NORM: row of x and, optionally, the weight's row through VTCM; sum of squares by lanes. */
#include "htp/hvx/f32.h"
#include "htp/op.h"

static void compute(const htp_rows *r, const htp_unit *u, const uint8_t *const in[2], uint8_t *out, uint8_t *work) {
    const htp_f32 *x = (const htp_f32 *)in[0], *w = r->in_value_bytes[1] ? (const htp_f32 *)in[1] : 0;
    htp_f32 *y = (htp_f32 *)out, sum = htp_f32_splat(0);
    uint32_t full = u->values / 32, rest = u->values % 32;
    (void)work;
    for (uint32_t i = 0; i < full; i++) sum = htp_f32_fma(x[i], x[i], sum);
    if (rest) {
        /* An absent element must not touch its lane; adding +0 by fma does not change a sum that began at +0. */
        htp_f32 last = htp_f32_first(x[full], rest);
        sum = htp_f32_fma(last, last, sum);
    }
    float mean = htp_f32_fold(sum) / (float)u->values;
    htp_f32 scale = htp_f32_splat(1.0f / htp_sqrtf(mean + r->o->op->params.eps.eps));
    for (uint32_t i = 0; i < full + (rest != 0); i++) {
        y[i] = htp_f32_mul(x[i], scale);
        if (w) y[i] = htp_f32_mul(y[i], w[i]);
    }
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
