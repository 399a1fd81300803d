/* The variants of all ops but MUL_MAT (matmul/variants_mul_mat.c): reference first, better ones later. */
#include "target/host/variants.h"

#include "base/cpu.h"
#include "target/host/matmul/matmul.h"
#include "target/host/ref/ref.h"
#include "target/host/vec/vec.h"
#include "wire/format.h"

/* VECTOR(rope, NULL, NULL): the kernel of that name for every instruction set of this machine, ascending. What follows
 * |takes| is a variant's packing and what it borrows. */
#if defined(__x86_64__)
#define VECTOR(name, scratch, ...)                                              \
    {"avx2", NPU_CPU_AVX2, npu_host_##name##_avx2, scratch(avx2), __VA_ARGS__}, \
        {"avx512", NPU_CPU_AVX512, npu_host_##name##_avx512, scratch(avx512), __VA_ARGS__},
#elif defined(__aarch64__)
#define VECTOR(name, scratch, ...) {"neon", NPU_CPU_NEON, npu_host_##name##_neon, scratch(neon), __VA_ARGS__},
#else
#define VECTOR(name, scratch, ...)
#endif
#define NO_SCRATCH(isa)   NULL
#define ATTN_SCRATCH(isa) npu_host_flash_attn_scratch_##isa

#define ROWS_SCRATCH(isa) npu_host_get_rows_scratch

#define REF(fn, scratch) {"ref", 0, fn, scratch, NULL},
#define OP(NAME, ...)    const npu_host_variant npu_host_##NAME[] = {__VA_ARGS__{0}}
#define UNARY(NAME)      OP(NAME, REF(npu_host_unary_ref, NULL) VECTOR(unary, NO_SCRATCH, NULL))
#define BINARY(NAME)     OP(NAME, REF(npu_host_binary_ref, NULL) VECTOR(binary, NO_SCRATCH, plain_rows))

/* b's rows are a's, or one value. */
static bool plain_rows(const npu_op *op, const npu_tensor *tensors, npu_mode mode) {
    (void)mode;
    uint32_t b = tensors[op->src[1]].ne[0];
    return b == 1 || b == tensors[op->dst[0]].ne[0];
}

/* Exact mode sums in double precision: the reference does. */
static bool single_sums(const npu_op *op, const npu_tensor *tensors, npu_mode mode) {
    (void)op, (void)tensors;
    return mode != NPU_MODE_EXACT;
}

static bool table_is_simple(const npu_op *op, const npu_tensor *tensors, npu_mode mode) {
    (void)mode;
    uint32_t type = tensors[op->src[0]].type;
    return npu_format_of(type)->flags & NPU_FORMAT_FLOAT || type == NPU_TYPE_Q8_0;
}

static bool state_is_simple(const npu_op *op, const npu_tensor *tensors, npu_mode mode) {
    (void)mode;
    uint32_t type = tensors[op->dst[0]].type;
    return type == NPU_TYPE_F16 || type == NPU_TYPE_F32;
}

#if defined(__x86_64__)
static bool fast_attn(const npu_op *op, const npu_tensor *tensors, npu_mode mode) {
    (void)tensors;
    return mode == NPU_MODE_FAST && op->src[4] == NPU_NO_TENSOR;
}
#define FAST_ATTN                                                                       \
    {"avx512bf16", NPU_CPU_AVX512 | NPU_CPU_AVX512BF16, npu_host_flash_attn_avx512bf16, \
     npu_host_flash_attn_scratch_avx512bf16, fast_attn},
#else
#define FAST_ATTN
#endif

/* An embedding that is the head too is read from the head's copy. */
OP(GET_ROWS, {"ref", 0, npu_host_get_rows_ref, npu_host_get_rows_scratch, NULL, NULL, &npu_host_mul_mat_packing},
   VECTOR(get_rows, ROWS_SCRATCH, table_is_simple, NULL, &npu_host_mul_mat_packing));
OP(SET_ROWS, REF(npu_host_set_rows_ref, NULL) VECTOR(set_rows, NO_SCRATCH, state_is_simple));
OP(CPY, REF(npu_host_cpy_ref, NULL));
OP(CONCAT, REF(npu_host_concat_ref, NULL));
OP(REPEAT, REF(npu_host_repeat_ref, NULL));
OP(RMS_NORM, REF(npu_host_norms_ref, NULL) VECTOR(rms_norm, NO_SCRATCH, single_sums));
OP(NORM, REF(npu_host_norms_ref, NULL));
OP(L2_NORM, REF(npu_host_norms_ref, NULL));
BINARY(ADD);
BINARY(SUB);
BINARY(MUL);
BINARY(DIV);
OP(ADD_PARTS, REF(npu_host_add_parts_ref, NULL));
UNARY(SCALE);
UNARY(CLAMP);
UNARY(SOFTCAP);
UNARY(SILU);
UNARY(GELU);
UNARY(GELU_ERF);
UNARY(GELU_QUICK);
UNARY(RELU);
UNARY(SIGMOID);
UNARY(TANH);
UNARY(EXP);
UNARY(SOFTPLUS);
OP(GLU, REF(npu_host_glu_ref, NULL) VECTOR(glu, NO_SCRATCH, NULL));
OP(SOFT_MAX, REF(npu_host_soft_max_ref, NULL) VECTOR(soft_max, NO_SCRATCH, NULL));
OP(ROPE_TABLE, REF(npu_host_rope_table_ref, NULL) VECTOR(rope_table, NO_SCRATCH, NULL));
OP(ROPE, REF(npu_host_rope_ref, NULL) VECTOR(rope, NO_SCRATCH, NULL));
OP(FLASH_ATTN,
   REF(npu_host_flash_attn_ref, npu_host_flash_attn_scratch_ref) VECTOR(flash_attn, ATTN_SCRATCH, NULL) FAST_ATTN);
OP(SUM_ROWS, REF(npu_host_sum_rows_ref, NULL));
OP(ARGSORT, REF(npu_host_argsort_ref, npu_host_argsort_scratch_ref));
