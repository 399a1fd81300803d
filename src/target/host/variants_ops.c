/* The variants of all ops but MUL_MAT (matmul/variants_mul_mat.c): reference first, better ones later. */
#include "target/host/variants.h"

#include "base/cpu.h"
#include "target/host/ref/ref.h"

#define REF(fn, scratch) \
    { "ref", 0, fn, scratch, NULL }
#define OP(NAME, ...) const npu_host_variant npu_host_##NAME[] = {__VA_ARGS__, {0}}

OP(GET_ROWS, REF(npu_host_get_rows_ref, NULL));
OP(SET_ROWS, REF(npu_host_set_rows_ref, NULL));
OP(CPY, REF(npu_host_cpy_ref, NULL));
OP(CONCAT, REF(npu_host_concat_ref, NULL));
OP(REPEAT, REF(npu_host_repeat_ref, NULL));
OP(RMS_NORM, REF(npu_host_norms_ref, NULL));
OP(NORM, REF(npu_host_norms_ref, NULL));
OP(L2_NORM, REF(npu_host_norms_ref, NULL));
OP(ADD, REF(npu_host_binary_ref, NULL));
OP(SUB, REF(npu_host_binary_ref, NULL));
OP(MUL, REF(npu_host_binary_ref, NULL));
OP(DIV, REF(npu_host_binary_ref, NULL));
OP(SCALE, REF(npu_host_unary_ref, NULL));
OP(CLAMP, REF(npu_host_unary_ref, NULL));
OP(SOFTCAP, REF(npu_host_unary_ref, NULL));
OP(SILU, REF(npu_host_unary_ref, NULL));
OP(GELU, REF(npu_host_unary_ref, NULL));
OP(GELU_ERF, REF(npu_host_unary_ref, NULL));
OP(GELU_QUICK, REF(npu_host_unary_ref, NULL));
OP(RELU, REF(npu_host_unary_ref, NULL));
OP(SIGMOID, REF(npu_host_unary_ref, NULL));
OP(TANH, REF(npu_host_unary_ref, NULL));
OP(EXP, REF(npu_host_unary_ref, NULL));
OP(SOFTPLUS, REF(npu_host_unary_ref, NULL));
OP(GLU, REF(npu_host_glu_ref, NULL));
OP(SOFT_MAX, REF(npu_host_soft_max_ref, NULL));
OP(ROPE_TABLE, REF(npu_host_rope_table_ref, NULL));
OP(ROPE, REF(npu_host_rope_ref, NULL));
OP(FLASH_ATTN, REF(npu_host_flash_attn_ref, npu_host_flash_attn_scratch_ref));
OP(SUM_ROWS, REF(npu_host_sum_rows_ref, NULL));
OP(ARGSORT, REF(npu_host_argsort_ref, npu_host_argsort_scratch_ref));
