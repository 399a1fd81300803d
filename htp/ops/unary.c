/* Element-wise ops of one operand: a row of the table each. */
#include "htp/hvx/hvx_act.h"
#include "htp/op.h"

/* Functions of their own, so that scripts/htp-packets finds their loops. |a|, |b|: the op's parameters, where it has
 * any. */
typedef void loop_fn(const HVX_Vector *restrict x, HVX_Vector *restrict y, uint32_t n, float a, float b);

#define UNARY(name, ...)                                                                                       \
    HVX_HOT void name(const HVX_Vector *restrict in, HVX_Vector *restrict y, uint32_t n, float pa, float pb) { \
        const HVX_Vector a = hvx_f32_splat(pa), b = hvx_f32_splat(pb);                                         \
        (void)a, (void)b;                                                                                      \
        HVX_F32_UNROLL for (uint32_t i = 0; i < n; i++) {                                                      \
            HVX_Vector x = in[i];                                                                              \
            y[i] = __VA_ARGS__;                                                                                \
        }                                                                                                      \
    }
UNARY(loop_scale, hvx_f32_mul(x, a))
UNARY(loop_scale_bias, hvx_f32_add(hvx_f32_mul(x, a), b))
UNARY(loop_clamp, hvx_f32_min(b, hvx_f32_max(a, x)))
UNARY(loop_softcap, hvx_f32_mul(a, hvx_f32_tanh(hvx_f32_div(x, a))))
UNARY(loop_silu, hvx_f32_silu(x))
UNARY(loop_gelu, hvx_f32_gelu(x))
UNARY(loop_gelu_erf, hvx_f32_gelu_erf(x))
UNARY(loop_gelu_quick, hvx_f32_gelu_quick(x))
UNARY(loop_relu, hvx_f32_relu(x))
UNARY(loop_sigmoid, hvx_f32_sigmoid(x))
UNARY(loop_tanh, hvx_f32_tanh(x))
UNARY(loop_exp, hvx_f32_exp(x))
UNARY(loop_softplus, hvx_f32_softplus(x))
#undef UNARY

static loop_fn *const loops[NPU_OP_CODE_LIMIT] = {
    [NPU_OP_SCALE] = loop_scale,
    [NPU_OP_CLAMP] = loop_clamp,
    [NPU_OP_SOFTCAP] = loop_softcap,
    [NPU_OP_SILU] = loop_silu,
    [NPU_OP_GELU] = loop_gelu,
    [NPU_OP_GELU_ERF] = loop_gelu_erf,
    [NPU_OP_GELU_QUICK] = loop_gelu_quick,
    [NPU_OP_RELU] = loop_relu,
    [NPU_OP_SIGMOID] = loop_sigmoid,
    [NPU_OP_TANH] = loop_tanh,
    [NPU_OP_EXP] = loop_exp,
    [NPU_OP_SOFTPLUS] = loop_softplus,
};

typedef struct unary {
    loop_fn *loop;
    float a, b;
} unary;

static void compute(const htp_rows *r, const htp_unit *u, const uint8_t *const in[NPU_ROWS_IN], uint8_t *out,
                    uint8_t *work) {
    const unary *job = r->job;
    (void)work;
    job->loop((const HVX_Vector *)in[0], (HVX_Vector *)out, htp_unit_vectors(u), job->a, job->b);
}

void htp_unary(htp_op *o) {
    unary job = {.loop = loops[o->op->code]};
    htp_rows r = htp_rows_f32(o, 1);
    if (o->op->code == NPU_OP_CLAMP) {
        job.a = o->op->params.clamp.lo;
        job.b = o->op->params.clamp.hi;
    } else if (o->op->code == NPU_OP_SCALE || o->op->code == NPU_OP_SOFTCAP) {
        job.a = o->op->params.scale.scale;
        job.b = o->op->params.scale.bias;
    }
    if (o->op->code == NPU_OP_SCALE && job.b != 0) job.loop = loop_scale_bias;
    r.compute = compute;
    r.job = &job;
    htp_rows_run(&r);
}
