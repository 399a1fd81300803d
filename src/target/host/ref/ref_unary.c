/* Element-wise ops of one and of two operands, and GLU (numerics.md §6). Sources and result F32, dimension 0 dense;
 * the result may be the first source. */
#include "target/host/ref/ref.h"

float npu_ref_silu(float x) {
    return x / (1.0f + npu_expf(-x));
}

float npu_ref_gelu(float x) {
    float t = x * x;
    float u = npu_fmaf(0.044715f * t, x, x) * 0.79788456f;
    return (0.5f * x) * (1.0f + npu_tanhf(u));
}

float npu_ref_gelu_erf(float x) {
    return (0.5f * x) * (1.0f + npu_erff(x * 0.70710678f));
}

float npu_ref_gelu_quick(float x) {
    return x / (1.0f + npu_expf(-1.702f * x));
}

float npu_ref_softplus(float x) {
    return x > 20.0f ? x : npu_logf(1.0f + npu_expf(x));
}

static float relu(float x) {
    return x > 0 || x != x ? x : 0.0f;
}

static float unary(const npu_op *op, float x) {
    switch (op->code) {
    case NPU_OP_SCALE: {
        float y = x * op->params.scale.scale;
        return op->params.scale.bias != 0 ? y + op->params.scale.bias : y;
    }
    case NPU_OP_CLAMP: {
        float y = x < op->params.clamp.lo ? op->params.clamp.lo : x;
        return y > op->params.clamp.hi ? op->params.clamp.hi : y;
    }
    case NPU_OP_SOFTCAP:
        return op->params.scale.scale * npu_tanhf(x / op->params.scale.scale);
    case NPU_OP_SILU:
        return npu_ref_silu(x);
    case NPU_OP_GELU:
        return npu_ref_gelu(x);
    case NPU_OP_GELU_ERF:
        return npu_ref_gelu_erf(x);
    case NPU_OP_GELU_QUICK:
        return npu_ref_gelu_quick(x);
    case NPU_OP_RELU:
        return relu(x);
    case NPU_OP_SIGMOID:
        return 1.0f / (1.0f + npu_expf(-x));
    case NPU_OP_TANH:
        return npu_tanhf(x);
    case NPU_OP_EXP:
        return npu_expf(x);
    default:
        return npu_ref_softplus(x);
    }
}

npu_status npu_host_unary_ref(const npu_host_call *call, npu_error *err) {
    (void)err;
    const npu_host_operand *y = &call->dst[0];
    uint64_t from, to;
    npu_host_split(call, npu_tensor_rows(&y->t), &from, &to);
    for (uint64_t row = from; row < to; row++) {
        const float *in = (const float *)npu_host_row(&call->src[0], row);
        float *out = (float *)npu_host_row(y, row);
        for (uint32_t i = 0; i < y->t.ne[0]; i++) out[i] = unary(call->op, in[i]);
    }
    return NPU_OK;
}

static float binary(uint32_t code, float a, float b) {
    switch (code) {
    case NPU_OP_ADD:
        return a + b;
    case NPU_OP_SUB:
        return a - b;
    case NPU_OP_MUL:
        return a * b;
    default:
        return a / b;
    }
}

npu_status npu_host_binary_ref(const npu_host_call *call, npu_error *err) {
    (void)err;
    const npu_host_operand *y = &call->dst[0], *b = &call->src[1];
    uint64_t from, to;
    npu_host_split(call, npu_tensor_rows(&y->t), &from, &to);
    for (uint64_t row = from; row < to; row++) {
        const float *left = (const float *)npu_host_row(&call->src[0], row);
        const float *right = (const float *)npu_host_row_repeated(b, &y->t, row);
        float *out = (float *)npu_host_row(y, row);
        for (uint32_t i = 0; i < y->t.ne[0]; i++) out[i] = binary(call->op->code, left[i], right[i % b->t.ne[0]]);
    }
    return NPU_OK;
}

npu_status npu_host_add_parts_ref(const npu_host_call *call, npu_error *err) {
    (void)err;
    const npu_host_operand *y = &call->dst[0];
    uint64_t from, to;
    npu_host_split(call, npu_tensor_rows(&y->t), &from, &to);
    for (uint64_t row = from; row < to; row++) {
        const float *x = (const float *)npu_host_row(&call->src[0], row);
        float *out = (float *)npu_host_row(y, row);
        for (uint32_t i = 0; i < y->t.ne[0]; i++) {
            float sum = ((const float *)npu_host_row(&call->src[1], row))[i];
            for (unsigned p = 2; p < NPU_OP_SRCS && call->op->src[p] != NPU_NO_TENSOR; p++)
                sum += ((const float *)npu_host_row(&call->src[p], row))[i];
            out[i] = sum + x[i];
        }
    }
    return NPU_OK;
}

static float glu(const npu_params_glu *p, float gate, float up) {
    switch (p->kind) {
    case NPU_GLU_SILU:
        return npu_ref_silu(gate) * up;
    case NPU_GLU_GELU:
        return npu_ref_gelu(gate) * up;
    case NPU_GLU_GELU_ERF:
        return npu_ref_gelu_erf(gate) * up;
    case NPU_GLU_GELU_QUICK:
        return npu_ref_gelu_quick(gate) * up;
    case NPU_GLU_RELU:
        return relu(gate) * up;
    default: {
        float g = gate > p->limit ? p->limit : gate;
        float u = up < -p->limit ? -p->limit : up;
        u = u > p->limit ? p->limit : u;
        return g / (1.0f + npu_expf(-p->alpha * g)) * (u + 1.0f);
    }
    }
}

npu_status npu_host_glu_ref(const npu_host_call *call, npu_error *err) {
    (void)err;
    const npu_host_operand *x = &call->src[0], *y = &call->dst[0];
    const npu_params_glu *p = &call->op->params.glu;
    uint64_t from, to;
    npu_host_split(call, npu_tensor_rows(&y->t), &from, &to);
    for (uint64_t row = from; row < to; row++) {
        const float *gate = (const float *)npu_host_row(x, row), *up = gate + y->t.ne[0];
        if (call->src[1].data) {
            up = (const float *)npu_host_row(&call->src[1], row);
        } else if (p->swapped) {
            up = gate;
            gate += y->t.ne[0];
        }
        float *out = (float *)npu_host_row(y, row);
        for (uint32_t i = 0; i < y->t.ne[0]; i++) out[i] = glu(p, gate[i], up[i]);
    }
    return NPU_OK;
}
