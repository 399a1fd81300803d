/* What a trace says of an op: its name, layer, role, shapes. For the executor's spans and for what a device reports. */
#ifndef NPU_TARGET_OP_TRACE_H
#define NPU_TARGET_OP_TRACE_H

#include "trace/trace.h"
#include "wire/op.h"

enum { NPU_OP_NOTES = 6 };

/* Notes point into the struct itself: it must not move. The last ones are free for the caller. */
typedef struct npu_op_label {
    const char *name;
    char shape[160];
    npu_trace_note notes[NPU_OP_NOTES];
    uint32_t n_notes;
} npu_op_label;

/* |index| of the op in its graph or batch; tensors at |step|. */
void npu_op_describe(npu_op_label *out, const npu_op *op, const npu_tensor *tensors, const npu_step *step,
                     uint32_t index);

#endif
