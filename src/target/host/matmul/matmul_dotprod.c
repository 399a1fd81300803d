/* MUL_MAT on NEON with the dot product extension: the instances for each format, float dots. */
#include "target/host/matmul/matmul.h"
/* The vectors come first. */
#include "target/host/matmul/matmul_vec_neon.h"

#include "target/host/matmul/matmul_formats.h"
#include "target/host/matmul/matmul_float_neon.h"
#include "wire/format.h"
#include "wire/half.h"

static void stream_q4_0(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    stream(&q4_0, t, n0, n1, s);
}

static void panel_q4_0(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    panel(&q4_0, t, n0, n1, s);
}

static void stream_q4_1(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    stream(&q4_1, t, n0, n1, s);
}

static void panel_q4_1(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    panel(&q4_1, t, n0, n1, s);
}

static void stream_q5_0(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    stream(&q5_0, t, n0, n1, s);
}

static void panel_q5_0(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    panel(&q5_0, t, n0, n1, s);
}

static void stream_q5_1(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    stream(&q5_1, t, n0, n1, s);
}

static void panel_q5_1(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    panel(&q5_1, t, n0, n1, s);
}

static void stream_q8_0(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    stream(&q8_0, t, n0, n1, s);
}

static void panel_q8_0(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    panel(&q8_0, t, n0, n1, s);
}

static void stream_iq4_nl(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    stream(&iq4_nl, t, n0, n1, s);
}

static void panel_iq4_nl(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    panel(&iq4_nl, t, n0, n1, s);
}

static void stream_mxfp4(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    stream(&mxfp4, t, n0, n1, s);
}

static void panel_mxfp4(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    panel(&mxfp4, t, n0, n1, s);
}

static void stream_q2_k(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    stream(&q2_k, t, n0, n1, s);
}

static void panel_q2_k(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    panel(&q2_k, t, n0, n1, s);
}

static void stream_q3_k(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    stream(&q3_k, t, n0, n1, s);
}

static void panel_q3_k(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    panel(&q3_k, t, n0, n1, s);
}

static void stream_q4_k(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    stream(&q4_k, t, n0, n1, s);
}

static void panel_q4_k(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    panel(&q4_k, t, n0, n1, s);
}

static void stream_q5_k(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    stream(&q5_k, t, n0, n1, s);
}

static void panel_q5_k(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    panel(&q5_k, t, n0, n1, s);
}

static void stream_q6_k(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    stream(&q6_k, t, n0, n1, s);
}

static void panel_q6_k(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    panel(&q6_k, t, n0, n1, s);
}

static void stream_iq4_xs(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    stream(&iq4_xs, t, n0, n1, s);
}

static void panel_iq4_xs(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *s) {
    panel(&iq4_xs, t, n0, n1, s);
}

static const npu_mm_format formats[NPU_TYPE_LIMIT] = {
    [NPU_TYPE_Q4_0] = {stream_q4_0, panel_q4_0},       [NPU_TYPE_Q4_1] = {stream_q4_1, panel_q4_1},
    [NPU_TYPE_Q5_0] = {stream_q5_0, panel_q5_0},       [NPU_TYPE_Q5_1] = {stream_q5_1, panel_q5_1},
    [NPU_TYPE_Q8_0] = {stream_q8_0, panel_q8_0},       [NPU_TYPE_IQ4_NL] = {stream_iq4_nl, panel_iq4_nl},
    [NPU_TYPE_MXFP4] = {stream_mxfp4, panel_mxfp4},    [NPU_TYPE_Q2_K] = {stream_q2_k, panel_q2_k},
    [NPU_TYPE_Q3_K] = {stream_q3_k, panel_q3_k},       [NPU_TYPE_Q4_K] = {stream_q4_k, panel_q4_k},
    [NPU_TYPE_Q5_K] = {stream_q5_k, panel_q5_k},       [NPU_TYPE_Q6_K] = {stream_q6_k, panel_q6_k},
    [NPU_TYPE_IQ4_XS] = {stream_iq4_xs, panel_iq4_xs},
};

static const npu_mm_kernels kernels = {quantise, formats, dot, widen_f16, widen_bf16};

npu_status npu_host_mul_mat_dotprod(const npu_host_call *call, npu_error *err) {
    return npu__mm_run(call, &kernels, err);
}
