/* Op plans: for each op family one pure function (descriptor, hardware) -> numbers or a reason.
 *
 * The same function serves `supports` while planning and the lowering that fills npu_op.kernel; the NPU program uses
 * those numbers and never derives them again. Each family has wire/opplan_<family>.c with its own struct (at most 128
 * bytes, the first word is the kernel number, 0 = none) and registers it in the table of opplan.c by opcode.
 */
#ifndef NPU_WIRE_OPPLAN_H
#define NPU_WIRE_OPPLAN_H

#include "wire/op.h"

/* What an op plan may know of the hardware; read from the device, or given by --arch when planning for a device that is
 * not here. Part of the plan file. */
typedef struct npu_hw {
    uint32_t arch;    /* Hexagon: 68, 69, 73, 75, 79, 81 */
    uint32_t threads; /* HVX contexts usable at once */
    uint32_t vtcm_bytes;
    uint32_t hmx;          /* units */
    uint64_t window_bytes; /* address space for mapped buffers */
    uint32_t max_buffer_bytes;
    uint32_t line_bytes; /* cache line, 128 */
} npu_hw;

/* Fills |kernel| for |op| with tensors from |tensors| (row dimensions at their largest). Returns NULL when the device
 * can do it, else a constant text: why not. Pure: no allocation, no global, same answer on both sides. */
const char *npu_opplan_make(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw,
                            uint32_t kernel[NPU_OP_KERNEL_WORDS]);

#endif
