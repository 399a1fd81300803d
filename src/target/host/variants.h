/* The lists of variants, one an op: npu_host_RMS_NORM and so on. Private to src/target/host. */
#ifndef NPU_HOST_VARIANTS_H
#define NPU_HOST_VARIANTS_H

#include "target/host/host_op.h"

#define NPU_OP(NAME, code, name, in_min, in_max, out, params, family, nmse, text) \
    extern const npu_host_variant npu_host_##NAME[];
#include "wire/npu_ops.def"

#endif
