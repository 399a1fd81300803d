/* What a tensor descriptor may say by itself, and how many bytes it spans. Declared in op_check.h. */
#include "wire/op_check.h"

#include "wire/format.h"

enum { MAX_EXTENT_BITS = 47 }; /* no address space is larger, and sums of four stay far from overflow */

uint32_t npu_tensor_unit(const npu_tensor *t, uint32_t *values) {
    *values = 1;
    if (t->type == NPU_TYPE_I32) return 4;
    const npu_format *format = npu_format_of(t->type);
    if (!format) return 0;
    *values = format->block_values;
    return format->block_bytes;
}

uint64_t npu_tensor_extent(const npu_tensor *t) {
    uint32_t values, unit = npu_tensor_unit(t, &values);
    uint64_t bytes = (t->ne[0] / values - 1) * t->nb[0] + unit;
    for (int i = 1; i < NPU_MAX_DIMS; i++) bytes += (t->ne[i] - 1) * t->nb[i];
    return bytes;
}

const char *npu_tensor_check(const npu_tensor *t) {
    uint32_t values, unit = npu_tensor_unit(t, &values);
    if (!unit) return "a tensor has an unknown type";
    if (t->rows_of >= NPU_ROWS_COUNT || t->rows_dim >= NPU_MAX_DIMS) return "a tensor's row dimension does not exist";
    if (t->rows_of != NPU_ROWS_FIXED && t->rows_dim == 0 && values != 1) return "rows can't be counted inside blocks";
    uint64_t elements = 1; /* strides may be 0, so the extent does not bound it */
    for (int i = 0; i < NPU_MAX_DIMS; i++) {
        if (!t->ne[i]) return "a tensor has an empty dimension";
        elements *= t->ne[i];
        if (elements >> MAX_EXTENT_BITS) return "a tensor has too many elements";
        uint64_t steps = i ? t->ne[i] : t->ne[i] / values;
        if (t->nb[i] >> MAX_EXTENT_BITS || (steps > 1 && t->nb[i] > ((uint64_t)1 << MAX_EXTENT_BITS) / steps)) {
            return "a tensor is larger than any memory";
        }
    }
    if (t->offset >> MAX_EXTENT_BITS) return "a tensor begins outside of any memory";
    if (t->ne[0] % values) return "a row is not a whole number of blocks";
    if (values == 1 && t->offset % unit) return "a tensor is not aligned to its elements";
    for (int i = 0; i < NPU_MAX_DIMS && values == 1; i++)
        if (t->nb[i] % unit) return "a stride is not a multiple of the element";
    return NULL;
}
