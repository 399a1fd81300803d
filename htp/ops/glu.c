/* GLU: act(gate) * up. Both are sources of their own, or the halves of the rows of one. */
#include "htp/hvx/hvx_act.h"
#include "htp/op.h"

/* See unary.c. */
typedef void loop_fn(const HVX_Vector *restrict gate, const HVX_Vector *restrict up, HVX_Vector *restrict y, uint32_t n,
                     const npu_params_glu *p);

#define GLU(name, act)                                                                                        \
    HVX_HOT void name(const HVX_Vector *restrict gate, const HVX_Vector *restrict up, HVX_Vector *restrict y, \
                      uint32_t n, const npu_params_glu *p) {                                                  \
        (void)p;                                                                                              \
        HVX_F32_UNROLL for (uint32_t i = 0; i < n; i++) y[i] = hvx_f32_mul(act(gate[i]), up[i]);              \
    }
GLU(glu_silu, hvx_f32_silu)
GLU(glu_gelu, hvx_f32_gelu)
GLU(glu_gelu_erf, hvx_f32_gelu_erf)
GLU(glu_gelu_quick, hvx_f32_gelu_quick)
GLU(glu_relu, hvx_f32_relu)
#undef GLU

HVX_HOT void glu_oai(const HVX_Vector *restrict gate, const HVX_Vector *restrict up, HVX_Vector *restrict y, uint32_t n,
                     const npu_params_glu *p) {
    HVX_Vector most = hvx_f32_splat(p->limit), least = hvx_f32_splat(-p->limit), one = hvx_f32_splat(1.0f);
    HVX_Vector minus_alpha = hvx_f32_splat(-p->alpha);
    HVX_F32_UNROLL for (uint32_t i = 0; i < n; i++) {
        HVX_Vector g = hvx_f32_min(most, gate[i]), u = hvx_f32_min(most, hvx_f32_max(least, up[i]));
        y[i] = hvx_f32_mul(hvx_f32_gated(g, hvx_f32_mul(minus_alpha, g)), hvx_f32_add(u, one));
    }
}

static loop_fn *const loops[] = {
    [NPU_GLU_SILU] = glu_silu,         [NPU_GLU_GELU] = glu_gelu,
    [NPU_GLU_GELU_ERF] = glu_gelu_erf, [NPU_GLU_GELU_QUICK] = glu_gelu_quick,
    [NPU_GLU_RELU] = glu_relu,         [NPU_GLU_OAI] = glu_oai,
};

static void compute(const htp_rows *r, const htp_unit *u, const uint8_t *const in[NPU_ROWS_IN], uint8_t *out,
                    uint8_t *work) {
    const npu_params_glu *p = &r->o->op->params.glu;
    (void)work;
    loops[p->kind]((const HVX_Vector *)in[0], (const HVX_Vector *)in[1], (HVX_Vector *)out, htp_unit_vectors(u), p);
}

void htp_glu(htp_op *o) {
    htp_rows r = htp_rows_f32(o, 2);
    if (!o->src_data[1]) {
        r.in_value_bytes[1] = 4;
        r.src[1] = 0;
        r.src_shift[o->op->params.glu.swapped ? 0 : 1] = (int64_t)o->dst[0].ne[0] * 4;
    }
    r.compute = compute;
    htp_rows_run(&r);
}
