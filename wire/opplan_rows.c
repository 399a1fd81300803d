/* Op plans of the gather and the scatter of rows. */
#include "wire/opplan.h"

#include "wire/format.h"
#include "wire/image.h"

enum { TYPE_I32 = 26 };

#define SRC(i) npu_opplan_operand(op, tensors, (i))
#define DST    (&tensors[op->dst[0]])

static int is_f32(const npu_tensor *t) {
    return npu_opplan_plain(t, NPU_TYPE_F32);
}

/* [n] of I32 whose row count follows |rows| of another tensor's dimension 1. */
static int is_list(const npu_tensor *ids, const npu_tensor *x) {
    return ids->type == TYPE_I32 && ids->layout == NPU_LAYOUT_GGUF && ids->nb[0] == 4 && ids->ne[0] == x->ne[1] &&
           npu_tensor_rows(ids) == 1 && ids->rows_of == x->rows_of &&
           (ids->rows_of == NPU_ROWS_FIXED || (ids->rows_dim == 0 && x->rows_dim == 1));
}

const char *npu_opplan_get_rows(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_tensor *table = SRC(0), *ids = SRC(1), *dst = DST;
    npu_kernel_rows *k = kernel;
    if (!is_f32(dst) || dst->ne[2] != 1 || dst->ne[3] != 1 || !is_list(ids, dst))
        return "ids or result not as they must be";
    if (table->ne[0] != dst->ne[0] || table->ne[2] != 1 || table->ne[3] != 1) return "the table's shape does not fit";
    if (table->rows_of != NPU_ROWS_FIXED && table->rows_dim != 1) return "the table's rows are not dimension 1";
    const npu_image_format *f = npu_image_format_of(table->type);
    if (table->layout == NPU_LAYOUT_TILES) {
        if (!f || table->ne[0] % 32 || table->ne[0] > NPU_IMAGE_MAX_K) return "no such image";
        /* A slot takes codes, scales and minima of one row, each brought out of the tiles by a DMA of its own; that is
         * less than 4 bytes a value. */
        const npu_opplan_streams s = {{4}, 4, 1};
        const char *why = npu_opplan_rows_fit(k, hw, dst->ne[1], npu_round_up(table->ne[0], 64) + 64, &s);
        k->head.kernel = 2;
        return why;
    }
    if (!npu_opplan_plain(table, NPU_TYPE_F32)) return "a table of this type has no image";
    const npu_opplan_streams s = {{4}, 0, 1};
    return npu_opplan_rows_fit(k, hw, dst->ne[1], dst->ne[0], &s);
}

/* Four bytes a value of the result are enough for every type, and for whole vectors at the ends of blocks. */
const char *npu_opplan_set_rows(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel) {
    const npu_tensor *x = SRC(0);
    const npu_opplan_streams s = {{4}, 4, 1};
    return npu_opplan_rows_fit(kernel, hw, x->ne[1], x->ne[0], &s);
}
