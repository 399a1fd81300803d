/* The variants of MUL_MAT: reference first, better ones later. */
#include "target/host/variants.h"

#include "target/host/ref/ref.h"

const npu_host_variant npu_host_MUL_MAT[] = {
    {"ref", 0, npu_host_mul_mat_ref, npu_host_mul_mat_scratch_ref, NULL},
    {0},
};
