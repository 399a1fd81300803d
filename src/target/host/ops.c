/* The table of op implementations, made from npu_ops.def. Each op's variants are listed in variants_*.c. */
#include "target/host/variants.h"

#include "base/cpu.h"

static const npu_host_variant *const table[NPU_OP_CODE_LIMIT] = {
#define NPU_OP(NAME, code, name, in_min, in_max, out, params, family, nmse, text) [code] = npu_host_##NAME,
#include "wire/npu_ops.def"
};

const npu_host_variant *npu_host_variants(uint32_t code) {
    return code < NPU_OP_CODE_LIMIT ? table[code] : NULL;
}

/* Products with weights on AMX, attention with BF16 products. */
bool npu_host_has_fast(uint32_t features) {
    return (features & (NPU_CPU_AMX | NPU_CPU_AVX512BF16)) != 0;
}
