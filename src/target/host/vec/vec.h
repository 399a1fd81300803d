/* The entry points that every ops_<isa>.c defines. */
#ifndef NPU_HOST_VEC_H
#define NPU_HOST_VEC_H

#include "base/inline.h"
#include "target/host/host_op.h"

#define NPU_HOST_VEC_OPS(isa)                                                                   \
    npu_host_op_fn npu_host_unary_##isa, npu_host_binary_##isa, npu_host_glu_##isa;             \
    npu_host_op_fn npu_host_rms_norm_##isa, npu_host_soft_max_##isa;                            \
    npu_host_op_fn npu_host_rope_table_##isa, npu_host_rope_##isa;                              \
    npu_host_op_fn npu_host_set_rows_##isa, npu_host_get_rows_##isa, npu_host_flash_attn_##isa; \
    npu_host_scratch_fn npu_host_flash_attn_scratch_##isa

NPU_HOST_VEC_OPS(avx2);
NPU_HOST_VEC_OPS(avx512);
NPU_HOST_VEC_OPS(neon);

/* Fast mode's. */
npu_host_op_fn npu_host_flash_attn_avx512bf16;
npu_host_scratch_fn npu_host_flash_attn_scratch_avx512bf16;

#endif
