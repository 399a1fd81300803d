/* The formats as the kernels see them: kind, offset of the stored codes, blocks and bytes of a unit, unpackers. Their
 * functions are in matmul_unpack.h; each matmul_<isa>.c makes constants of them for its instances. */
#ifndef NPU_MATMUL_FORMATS_H
#define NPU_MATMUL_FORMATS_H

#include "target/host/matmul/matmul_kernel.h"

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

#endif
