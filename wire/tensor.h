/* Tensor descriptor, shared by host and NPU program: what the graph, the wire messages and every kernel speak.
 *
 * Conventions are ggml's: ne[0] is the fastest dimension, nb[] are strides in bytes, types are GGUF type numbers
 * (wire/format.h). For a block format nb[0] is the size of one block and ne[0] a multiple of the block length. A tensor
 * is (buffer, offset): no pointer crosses to the other side. Fixed width, little endian, no implicit padding.
 */
#ifndef NPU_WIRE_TENSOR_H
#define NPU_WIRE_TENSOR_H

#include <stddef.h>
#include <stdint.h>

enum {
    NPU_MAX_DIMS = 4,
    NPU_NO_TENSOR = 0xFFFF, /* an absent optional operand */
    NPU_NO_LAYER = 0xFFFF,  /* operands outside the layers: embeddings, output norm, head */
};

/* Bytes of a tensor are in the GGUF order unless |layout| says otherwise; image layouts are listed by the target that
 * makes them (wire/image.h) and never appear in a graph that the model layer builds. */
enum { NPU_LAYOUT_GGUF = 0 };

/* Counts that change from step to step. A tensor whose |rows_of| is not FIXED has ne[rows_dim] = the most rows the
 * graph was built for; a step uses the first npu_step.rows[rows_of] of them. The row dimension is the outermost one
 * above 1. */
enum { NPU_ROWS_FIXED = 0, NPU_ROWS_STEP = 1, NPU_ROWS_OUT = 2, NPU_ROWS_COUNT = 3 };

enum {
    NPU_TENSOR_WEIGHT = 1 << 0, /* constant during the life of the model */
    NPU_TENSOR_STATE = 1 << 1,  /* survives a step: KV cache, recurrent state */
    NPU_TENSOR_INPUT = 1 << 2,  /* written by the host before each step */
    NPU_TENSOR_OUTPUT = 1 << 3, /* read by the host after each step */
};

typedef struct npu_tensor {
    uint64_t offset; /* bytes from the start of the buffer */
    uint64_t nb[NPU_MAX_DIMS];
    uint32_t ne[NPU_MAX_DIMS];
    uint16_t buffer; /* index into the batch's buffer table */
    uint8_t type;
    uint8_t layout;
    uint8_t rows_of;  /* NPU_ROWS_* */
    uint8_t rows_dim; /* 0..3, 0 when rows_of is FIXED */
    uint16_t flags;   /* NPU_TENSOR_* */
} npu_tensor;

_Static_assert(sizeof(npu_tensor) == 64, "wire layout");
_Static_assert(offsetof(npu_tensor, ne) == 40 && offsetof(npu_tensor, flags) == 62, "wire layout");

/* What changes between two runs of one graph besides the bytes of its input tensors. */
typedef struct npu_step {
    uint32_t rows[NPU_ROWS_COUNT]; /* rows[FIXED] is unused and 0 */
    uint32_t first;                /* row of the STEP tensors at which this step starts: of a part of a larger one */
} npu_step;

_Static_assert(sizeof(npu_step) == 16, "wire layout");

/* The tensor as this step sees it: its rows applied. */
static inline npu_tensor npu_tensor_at_step(const npu_tensor *t, const npu_step *step) {
    npu_tensor now = *t;
    if (t->rows_of != NPU_ROWS_FIXED) now.ne[t->rows_dim] = step->rows[t->rows_of];
    if (t->rows_of == NPU_ROWS_STEP) now.offset += step->first * t->nb[t->rows_dim];
    return now;
}

static inline uint64_t npu_tensor_rows(const npu_tensor *t) {
    return (uint64_t)t->ne[1] * t->ne[2] * t->ne[3];
}

#endif
