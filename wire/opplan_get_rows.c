/* Op plan of GET_ROWS: from weight images and from rows as they lie in a file. */
#include "wire/opplan.h"

#include "wire/format.h"
#include "wire/image.h"

/* Kernels. */
enum { TILES = 2, CONVERT = 3 };

static int is_plain(const npu_tensor *t) {
    return npu_opplan_plain(t, NPU_TYPE_F16) || npu_opplan_plain(t, NPU_TYPE_BF16) ||
           npu_opplan_plain(t, NPU_TYPE_Q8_0);
}

const char *npu_opplan_get_rows(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_tensor *table = npu_opplan_operand(op, tensors, 0), *dst = &tensors[op->dst[0]];
    npu_kernel_rows *k = kernel;
    npu_opplan_streams streams = {{4}, 4, 1};
    uint32_t values = dst->ne[0], number = TILES;
    if (table->rows_of != NPU_ROWS_FIXED && table->rows_dim != 1) return "the table's rows are not dimension 1";
    if (table->layout == NPU_LAYOUT_TILES) {
        const npu_image_format *f = npu_image_format_of(table->type);
        if (!f || !npu_image_fits(f, values) || table->nb[1]) return "no such image";
        /* A slot takes what a row has in each plane, brought out of the tiles by a DMA of its own: at most a byte of
         * codes and two of scales and minima a value, and a vector a plane because each begins one. */
        values = npu_round_up(values, 64) + 64;
    } else if (npu_opplan_plain(table, NPU_TYPE_F32)) {
        number = CONVERT; /* not out of the slot it came into: the next load goes there, and DMA keeps no order */
    } else if (is_plain(table)) {
        number = CONVERT;
        streams.in[0] = 2;
    } else {
        return "a table of this type has no image";
    }
    const char *why_not = npu_opplan_rows_fit(k, hw, dst->ne[1], values, &streams);
    k->head.kernel = number;
    return why_not;
}
