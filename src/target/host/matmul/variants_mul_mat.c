/* The variants of MUL_MAT: reference first, better ones later. */
#include "target/host/variants.h"

#include "base/cpu.h"
#include "target/host/matmul/matmul.h"
#include "target/host/ref/ref.h"

const npu_host_variant npu_host_MUL_MAT[] = {
    {"ref", 0, npu_host_mul_mat_ref, npu_host_mul_mat_scratch_ref, NULL},
#if defined(__x86_64__)
    {"avx2", NPU_CPU_AVX2, npu_host_mul_mat_avx2, npu_host_mul_mat_scratch, NULL, &npu_host_mul_mat_packing},
    {"avxvnni", NPU_CPU_AVX2 | NPU_CPU_AVXVNNI, npu_host_mul_mat_avxvnni, npu_host_mul_mat_scratch, NULL,
     &npu_host_mul_mat_packing},
    {"avx512", NPU_CPU_AVX512, npu_host_mul_mat_avx512, npu_host_mul_mat_scratch, NULL, &npu_host_mul_mat_packing},
    {"amx", NPU_CPU_AVX512 | NPU_CPU_AMX, npu_host_mul_mat_amx, npu_host_mul_mat_scratch, NULL,
     &npu_host_mul_mat_packing},
#elif defined(__aarch64__)
    {"neon", NPU_CPU_NEON, npu_host_mul_mat_neon, npu_host_mul_mat_scratch, NULL, &npu_host_mul_mat_packing},
    {"dotprod", NPU_CPU_NEON | NPU_CPU_DOTPROD, npu_host_mul_mat_dotprod, npu_host_mul_mat_scratch, NULL,
     &npu_host_mul_mat_packing},
    {"i8mm", NPU_CPU_NEON | NPU_CPU_DOTPROD | NPU_CPU_I8MM, npu_host_mul_mat_i8mm, npu_host_mul_mat_scratch, NULL,
     &npu_host_mul_mat_packing},
#endif
    {0},
};
