/* The formats as the kernels see them: kind, offset of the stored codes, blocks and bytes of a unit, unpackers (whose
 * code is in matmul_unpack.h); and from each constant the instances of |stream| and |panel| and the table of them.
 * Included by every matmul_<isa>.c after its vectors and, where it has one, its own |panel|. */
#ifndef NPU_MATMUL_FORMATS_H
#define NPU_MATMUL_FORMATS_H

#include "target/host/matmul/matmul_kernel.h"
#include "wire/format.h"

static const wformat q4_0 = {KIND_PLAIN, 8, 1, 18, no_head, block_q4_0};
static const wformat q4_1 = {KIND_MIN, 0, 1, 20, no_head, block_q4_1};
static const wformat q5_0 = {KIND_PLAIN, 16, 1, 22, no_head, block_q5_0};
static const wformat q5_1 = {KIND_MIN, 0, 1, 24, no_head, block_q5_1};
static const wformat q8_0 = {KIND_PLAIN, 128, 1, 34, no_head, block_q8_0};
static const wformat iq4_nl = {KIND_PLAIN, 128, 1, 18, no_head, block_iq4_nl};
static const wformat mxfp4 = {KIND_PLAIN, 16, 1, 17, no_head, block_mxfp4};
static const wformat q2_k = {KIND_TWO_MIN, 0, 8, 84, head_q2_k, block_q2_k};
static const wformat q3_k = {KIND_TWO, 4, 8, 110, head_q3_k, block_q3_k};
static const wformat q4_k = {KIND_MIN, 0, 8, 144, head_q4_k, block_q4_k};
static const wformat q5_k = {KIND_MIN, 0, 8, 176, head_q5_k, block_q5_k};
static const wformat q6_k = {KIND_TWO, 32, 8, 210, head_q6_k, block_q6_k};
static const wformat iq4_xs = {KIND_PLAIN, 128, 8, 136, head_iq4_xs, block_iq4_xs};

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

#endif
