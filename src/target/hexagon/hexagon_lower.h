/* What one device does of a batch, before it becomes wire images: operands with the buffers they lie in, ops over them,
 * and where the device waits for others. Made whole for one device (hexagon_lower.c) or split over several
 * (hexagon_split_*.c); written as images by hexagon_image.c. Private to this folder. */
#ifndef NPU_HEXAGON_LOWER_H
#define NPU_HEXAGON_LOWER_H

#include "target/hexagon/hexagon_internal.h"

typedef struct npu_hex_operand {
    npu_tensor tensor; /* its buffer index means nothing */
    const npu_hex_buffer *buffer;
} npu_hex_operand;

typedef struct npu_hex_program {
    uint32_t device;
    npu_hex_pass pass;
    npu_hex_operand *operands;
    npu_op *ops; /* over |operands|; SKIPPED ones keep the batch's numbers */
    npu_wire_sync *syncs;
    uint32_t n_operands, operand_slots;
    uint32_t first_op, n_ops; /* of the batch: ops[i] is its op first_op + i */
    uint32_t n_syncs;
} npu_hex_program;

/* Room for |operands|, |ops| and |syncs|. */
npu_status npu_hex_program_init(npu_hex_program *p, uint32_t operands, uint32_t ops, uint32_t syncs, npu_error *err);
void npu_hex_program_free(npu_hex_program *p);

/* Appends an operand: |*index| is its number. NO_MEMORY when there is no room. */
npu_status npu_hex_program_add(npu_hex_program *p, const npu_tensor *tensor, const npu_hex_buffer *buffer,
                               uint16_t *index, npu_error *err);
void npu_hex_program_sync(npu_hex_program *p, uint32_t op, unsigned kind, uint32_t slot, int32_t number);

/* Where tensor |index| of a batch lies: the resident weight, or the piece of the batch's buffer. */
npu_status npu_hex_resolve(const npu_hex_target *t, const npu_batch *batch, uint16_t index, npu_hex_operand *out,
                           npu_error *err);

/* Appends the images of a program to the target's list. UNSUPPORTED names the op that the device can't do. */
npu_status npu_hex_write_images(npu_hex_target *t, const npu_hex_program *p, uint64_t image_id, npu_error *err);

/* Makes and writes the programs of a batch split over the target's devices. */
npu_status npu_hex_split_layers(npu_hex_target *t, const npu_batch *batch, npu_error *err);
/* By rows, or by tensors. */
npu_status npu_hex_split_rows(npu_hex_target *t, const npu_batch *batch, npu_error *err);

#endif
