/* Op plans: for each op family one pure function (descriptor, hardware) -> numbers or a reason.
 *
 * The same function serves `supports` while planning and the lowering that fills npu_op.kernel. The NPU program uses
 * those numbers and never derives them while it works; once, when it takes a batch image in, it makes every plan anew
 * and refuses an image that carries other numbers (wire/check.c), so that no kernel can be sent out of its memory. Each
 * family has wire/opplan_<family>.c with its own struct below (at most 128 bytes, the first word is the kernel number,
 * 0 = none) and is listed by opcode in opplan.c. A plan also vouches for the operands: what it accepts has the types,
 * shapes, strides and row counts that the kernel relies on.
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
    uint32_t slots;      /* buffers that can be mapped at once; 0 = not a limit */
    uint32_t line_bytes; /* cache line, 128 */
} npu_hw;

enum {
    NPU_SCRATCH_BYTES = 4 << 20, /* cached memory of the NPU program beside VTCM, for what scalars read */
    NPU_MAX_THREADS = 10,
};

/* The start of every plan. Thread t of |threads| owns |vtcm_thread_bytes| of VTCM from t * vtcm_thread_bytes and
 * |scratch_thread_bytes| of scratch from scratch_shared_bytes + t * scratch_thread_bytes. */
typedef struct npu_kernel_head {
    uint32_t kernel;
    uint32_t threads;
    uint32_t depth; /* buffers a stream: 2 .. 16 */
    uint32_t vtcm_thread_bytes;
    uint32_t scratch_thread_bytes;
    uint32_t scratch_shared_bytes;
} npu_kernel_head;

/* Row by row through VTCM: norms, element-wise ops, GLU, rope, copies, row gather and scatter. A unit is |columns|
 * values of a row; a slot holds one unit of every stream. */
enum { NPU_ROWS_IN = 3 };
typedef struct npu_kernel_rows {
    npu_kernel_head head;
    uint32_t columns; /* of a unit; the last one of a row may be shorter */
    uint32_t units;   /* a row */
    uint32_t in_bytes[NPU_ROWS_IN];
    uint32_t out_bytes;
    uint32_t work_bytes; /* a thread, after its slots */
} npu_kernel_rows;

typedef struct npu_kernel_mul_mat {
    npu_kernel_head head;
    uint32_t m_chunk;                /* rows of x per pass over the weights */
    uint32_t act_row_bytes;          /* one row of x in shared scratch: codes, records of blocks, numbers */
    uint32_t records_at, numbers_at; /* in it; numbers only for weights of plain numbers (unit_rows not 0) */
    uint32_t unit_rows;              /* of such a weight: rows of a unit; of an image it is a row tile */
    uint32_t x_slot_bytes, weight_slot_bytes, out_slot_bytes;
} npu_kernel_mul_mat;

typedef struct npu_kernel_attn {
    npu_kernel_head head;
    uint32_t rows;                     /* of the query a task takes */
    uint32_t group;                    /* query heads per KV head */
    uint32_t k_row_bytes, v_row_bytes; /* of a key and a value in a slot: whole vectors */
    uint32_t mask_row_bytes;           /* of a block's mask for one query row; 0 = no mask */
    uint32_t slot_bytes;
} npu_kernel_attn;

/* Fills |kernel| for |op| with tensors from |tensors| (row dimensions at their largest). Returns NULL when the device
 * can do it, else a constant text: why not. Indices must be in range; the descriptors may say anything. Pure: no
 * allocation, no global, same answer on both sides. */
const char *npu_opplan_make(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw,
                            uint32_t kernel[NPU_OP_KERNEL_WORDS]);

/* The families of npu_ops.def, called with what npu_op_check lets through; |kernel| is zero. They add what the NPU
 * cannot do, and the numbers. */
typedef const char *npu_opplan_fn(const npu_op *op, const npu_tensor *tensors, const npu_hw *hw, void *kernel);
#define NPU_OP(NAME, code, name, in_min, in_max, out, params, family, nmse, text) npu_opplan_fn npu_opplan_##family;
#include "wire/npu_ops.def"

/* What the families share: an operand that the op table demands, and one that may be absent (NULL). */
static inline const npu_tensor *npu_opplan_operand(const npu_op *op, const npu_tensor *tensors, unsigned i) {
    return &tensors[op->src[i]];
}

static inline const npu_tensor *npu_opplan_src(const npu_op *op, const npu_tensor *tensors, unsigned i) {
    return op->src[i] == NPU_NO_TENSOR ? NULL : &tensors[op->src[i]];
}

static inline uint32_t npu_round_up(uint32_t x, uint32_t to) {
    return (x + to - 1) / to * to;
}

/* Rows of numbers (no blocks) that lie without gaps inside a row. */
int npu_opplan_plain(const npu_tensor *t, uint8_t type);
int npu_opplan_same_shape(const npu_tensor *a, const npu_tensor *b);

/* Bytes a value of each stream of a row pipeline; 0 = no such stream. |whole|: a unit is always a whole row. */
typedef struct npu_opplan_streams {
    uint32_t in[NPU_ROWS_IN], out;
    int whole;
} npu_opplan_streams;

/* Sets threads, depth and slots of a row pipeline over |rows| rows of |row_values|; work_bytes and the scratch of a
 * thread are the caller's and count. Fewer threads when the local memory is too small for all. */
const char *npu_opplan_rows_fit(npu_kernel_rows *k, const npu_hw *hw, uint64_t rows, uint32_t row_values,
                                const npu_opplan_streams *streams);

#endif
