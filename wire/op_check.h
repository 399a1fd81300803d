/* Is an op what the list says? Presence, types, shapes and strides of its operands, checked before anything runs it:
 * by the graph, by every target when it sees a batch first, and by the NPU program for what comes over the wire.
 * Values inside operands (row ids, spans) are checked by the ops themselves. Freestanding.
 */
#ifndef NPU_WIRE_OP_CHECK_H
#define NPU_WIRE_OP_CHECK_H

#include <stdbool.h>

#include "wire/op.h"

/* NULL when fine, else a constant text that says what is wrong. Checks every tensor the op refers to
 * (npu_tensor_check); all indices must be below |n_tensors|. */
const char *npu_op_check(const npu_op *op, const npu_tensor *tensors, uint32_t n_tensors);

/* NULL when |t| is a tensor of a known type with whole blocks, non-zero dimensions and a size that can be counted. */
const char *npu_tensor_check(const npu_tensor *t);

/* Bytes from the first to past the last byte of a tensor that npu_tensor_check accepts. */
uint64_t npu_tensor_extent(const npu_tensor *t);
/* Whether two tensors that were checked lie in one buffer and their extents share bytes. */
static inline bool npu_tensor_overlap(const npu_tensor *a, const npu_tensor *b) {
    return a->buffer == b->buffer && a->offset < b->offset + npu_tensor_extent(b) &&
           b->offset < a->offset + npu_tensor_extent(a);
}

/* Size of the unit in which dimension 0 is stored: an element, or a block of |*values| values. 0 for an unknown type.
 */
uint32_t npu_tensor_unit(const npu_tensor *t, uint32_t *values);

#endif
