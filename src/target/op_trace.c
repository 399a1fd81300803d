#include "target/op_trace.h"

#include <stdio.h>
#include <string.h>

#include "target/weights.h"
#include "wire/format.h"

/* "q4_0 576x1536", at the step's row counts. */
static size_t shape(char *out, size_t size, const npu_tensor *tensor, const npu_step *step) {
    npu_tensor t = npu_tensor_at_step(tensor, step);
    int dims = NPU_MAX_DIMS;
    while (dims > 1 && t.ne[dims - 1] == 1) dims--;
    size_t used = (size_t)snprintf(out, size, "%s ", npu_format_name(t.type));
    for (int d = 0; d < dims && used < size; d++)
        used += (size_t)snprintf(out + used, size - used, "%s%u", d ? "x" : "", t.ne[d]);
    return used < size ? used : size - 1;
}

static size_t shapes(char *out, size_t size, const uint16_t *list, unsigned n, const npu_tensor *tensors,
                     const npu_step *step) {
    size_t used = 0;
    for (unsigned i = 0; i < n; i++) {
        if (list[i] == NPU_NO_TENSOR || size - used < 8) continue;
        if (used) used += (size_t)snprintf(out + used, size - used, ", ");
        used += shape(out + used, size - used, &tensors[list[i]], step);
    }
    return used;
}

void npu_op_describe(npu_op_label *out, const npu_op *op, const npu_tensor *tensors, const npu_step *step,
                     uint32_t index) {
    const npu_op_info *info = npu_op_find(op->code);
    size_t size = sizeof out->shape, used = shapes(out->shape, size - 60, op->src, NPU_OP_SRCS, tensors, step);
    used += (size_t)snprintf(out->shape + used, size - used, " -> ");
    shapes(out->shape + used, size - used, op->dst, NPU_OP_DSTS, tensors, step);
    out->name = info ? info->name : "op";
    out->n_notes = 0;
    out->notes[out->n_notes++] = (npu_trace_note){.name = "op", .value = index};
    if (op->layer != NPU_NO_LAYER) out->notes[out->n_notes++] = (npu_trace_note){.name = "layer", .value = op->layer};
    out->notes[out->n_notes++] = (npu_trace_note){.name = "role", .text = npu_role_name(op->role)};
    out->notes[out->n_notes++] = (npu_trace_note){.name = "shape", .text = out->shape};
}
