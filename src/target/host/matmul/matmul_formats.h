/* The formats as the kernels see them: kind, offset of the stored codes and the largest of them, blocks and bytes of a
 * unit, unpackers, how codes are made of indices, if so (whose code is in matmul_unpack.h and matmul_unpack_k.h). From
 * this list alone come the constants, the instances of |stream| and |panel|, and the table of them. Included by every
 * matmul_<isa>.c after its vectors and the header that has |panel|. */
#ifndef NPU_MATMUL_FORMATS_H
#define NPU_MATMUL_FORMATS_H

#include "target/host/matmul/matmul_kernel.h"
#include "target/host/matmul/matmul_unpack_k.h"
#include "wire/format.h"

#define MM_FORMATS(X)                                                                            \
    X(Q4_0, q4_0, KIND_PLAIN, 8, 15, 1, 18, no_head, scales_half)                                \
    X(Q4_1, q4_1, KIND_MIN, 0, 15, 1, 20, no_head, scales_half_min)                              \
    X(Q5_0, q5_0, KIND_PLAIN, 16, 31, 1, 22, no_head, scales_half)                               \
    X(Q5_1, q5_1, KIND_MIN, 0, 31, 1, 24, no_head, scales_half_min)                              \
    X(Q8_0, q8_0, KIND_PLAIN, 128, 255, 1, 34, no_head, scales_half)                             \
    X(IQ4_NL, iq4_nl, KIND_PLAIN, 128, 241, 1, 18, no_head, scales_half, index_iq4_nl, iq4_rest) \
    X(MXFP4, mxfp4, KIND_PLAIN, 16, 28, 1, 17, no_head, scales_mxfp4)                            \
    X(Q2_K, q2_k, KIND_PAIR_MIN, 0, 3, 8, 84, head_q2_k, scales_q2_k)                            \
    X(Q3_K, q3_k, KIND_PAIR, 4, 7, 8, 110, head_q3_k, scales_q3_k)                               \
    X(Q4_K, q4_k, KIND_MIN, 0, 15, 8, 144, head_q4_k, scales_q4_k)                               \
    X(Q5_K, q5_k, KIND_MIN, 0, 31, 8, 176, head_q4_k, scales_q4_k)                               \
    X(Q6_K, q6_k, KIND_TWO, 32, 63, 8, 210, head_q6_k, scales_q6_k)                              \
    X(IQ4_XS, iq4_xs, KIND_PLAIN, 128, 241, 8, 136, head_iq4_xs, scales_iq4_xs, index_iq4_xs, iq4_rest)

/* What the kernels take for granted of sums (numerics.md §5): v_counted and v_dot16f have 22 bits, halves of a PAIR 16,
 * with scales of at most 32; a PAIR_MIN's codes times their scales, of at most 15, are signed bytes for some. */
enum { SUM_LIMIT = 1 << 22 };
_Static_assert(2 * 8 * 15 * 127 <= INT16_MAX && 2 * 4 * LEVEL_REST * 127 <= INT16_MAX, "sums of indices fit 16 bits");
#define MM_CONSTANT(type, name, kind, offset, top, blocks, bytes, ...)                                          \
    static const wformat name = {kind, offset, top, blocks, bytes, code_##name, __VA_ARGS__};                   \
    _Static_assert((blocks) <= MOST_UNIT_BLOCKS, "every panel has room for a unit");                            \
    _Static_assert(32 * (top)*127 < SUM_LIMIT, "sums of a block are counted as floats");                        \
    _Static_assert((kind) != KIND_PAIR || 16 * (top)*127 <= INT16_MAX, "sums of 16 values fit 16 bits");        \
    _Static_assert((kind) != KIND_PAIR || 2 * 16 * (top)*127 * 32 < SUM_LIMIT, "so do they with their scales"); \
    _Static_assert((kind) != KIND_PAIR_MIN || (top)*15 <= INT8_MAX, "codes with scales are signed bytes");
MM_FORMATS(MM_CONSTANT)

#define MM_PANEL(type, name, ...)                                                                \
    static void panel_##name(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *scratch) { \
        panel(&name, t, n0, n1, scratch);                                                        \
    }
MM_FORMATS(MM_PANEL)

#ifdef NPU_MATMUL_MANY /* another table serves few rows */
#define MM_ROW(type, name, ...) [NPU_TYPE_##type] = {NULL, panel_##name},
#else
#define MM_STREAM(type, name, ...)                                                                \
    static void stream_##name(const npu_mm_task *t, uint32_t n0, uint32_t n1, uint8_t *scratch) { \
        stream(&name, t, n0, n1, scratch);                                                        \
    }
MM_FORMATS(MM_STREAM)
#undef MM_STREAM
#define MM_ROW(type, name, ...) [NPU_TYPE_##type] = {stream_##name, panel_##name},
#endif
static const npu_mm_format formats[NPU_TYPE_LIMIT] = {MM_FORMATS(MM_ROW)};

#undef MM_CONSTANT
#undef MM_PANEL
#undef MM_ROW
#undef MM_FORMATS

#endif
