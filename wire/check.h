/* The checker of batch images and requests: one piece of code for the NPU program, the host's tests and fuzzers.
 *
 * After npu_wire_check_image said OK, every index in the image is in range, every tensor lies inside its buffer at its
 * largest row counts, every op has the operands, types and shapes its kernel relies on, and the plan that
 * wire/opplan.h makes for it. What is left to the kernels are values that only the operands hold: row ids, cells,
 * spans. Reads nothing outside |bytes|; the image must be a private copy, because a shared one could change under the
 * reader.
 */
#ifndef NPU_WIRE_CHECK_H
#define NPU_WIRE_CHECK_H

#include "wire/message.h"
#include "wire/opplan.h"

typedef struct npu_wire_fault {
    uint32_t code;  /* npu_wire_code */
    int32_t op;     /* NPU_WIRE_NO_OP when it is not about one */
    uint32_t index; /* of the buffer or tensor */
    const char *text;
} npu_wire_fault;

/* |image| is 8-byte aligned. Returns 1 when all is well. |max_rows| gets the most rows a step may ask for, by
 * NPU_ROWS_*. */
int npu_wire_check_image(const void *image, uint64_t bytes, const npu_hw *hw, uint32_t max_rows[NPU_ROWS_COUNT],
                         npu_wire_fault *fault);
int npu_wire_check_request(const npu_wire_request *request, uint32_t bytes, npu_wire_fault *fault);
int npu_wire_check_step(const npu_step *step, const uint32_t max_rows[NPU_ROWS_COUNT], npu_wire_fault *fault);

/* One tensor by itself: strides, type, and that it ends inside a buffer of |buffer_bytes|. NULL or the reason. */
const char *npu_wire_check_tensor(const npu_tensor *t, uint64_t buffer_bytes);

static inline const npu_wire_buffer *npu_wire_buffers(const npu_wire_image *image) {
    return (const npu_wire_buffer *)((const uint8_t *)image + image->buffers_at);
}
static inline const npu_tensor *npu_wire_tensors(const npu_wire_image *image) {
    return (const npu_tensor *)((const uint8_t *)image + image->tensors_at);
}
static inline const npu_op *npu_wire_ops(const npu_wire_image *image) {
    return (const npu_op *)((const uint8_t *)image + image->ops_at);
}
static inline const npu_wire_sync *npu_wire_syncs(const npu_wire_image *image) {
    return (const npu_wire_sync *)((const uint8_t *)image + image->syncs_at);
}

#endif
