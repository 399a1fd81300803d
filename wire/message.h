/* Messages between host and NPU program, and the batch image.
 *
 * A batch image lies in a shared buffer: header | buffers | tensors | ops | syncs, at the offsets the header gives. It
 * is immutable: the NPU program copies it once, checks the copy (wire/check.h) and keeps it under |image_id|. What
 * changes from step to step, the row counts, travels in the request; the bytes of input tensors lie in their own
 * buffers. So a step patches nothing in an image, and a late reader can never see half a change.
 *
 * Fixed width, little endian, padding explicit and zero. Every request is answered, also a malformed one.
 */
#ifndef NPU_WIRE_MESSAGE_H
#define NPU_WIRE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "wire/fence.h"
#include "wire/op.h"

enum {
    NPU_WIRE_MAGIC = 0x3155504E, /* "NPU1" */
    NPU_WIRE_VERSION = 1,
    NPU_WIRE_MAX_BUFFERS = 64, /* of one image; the NPU program can map as many at once */
    NPU_WIRE_MAX_TENSORS = 32768,
    NPU_WIRE_MAX_OPS = 16384,
    NPU_WIRE_MAX_IMAGE = 8 << 20,
    NPU_WIRE_KEPT_IMAGES = 256, /* by id, the last used ones; another id is read again */
    NPU_WIRE_NO_OP = -1,
};

enum { NPU_WIRE_ECHO = 1, NPU_WIRE_BATCH = 2 };
enum { NPU_WIRE_HAS_SYNCS = 1 };

typedef enum npu_wire_code {
#define NPU_WIRE_CODE(NAME, value, status, name, text) NPU_WIRE_##NAME = value,
#include "wire/npu_wire_codes.def"
} npu_wire_code;

typedef struct npu_wire_request {
    uint32_t magic;
    uint16_t version;
    uint16_t kind;
    uint64_t sequence;
    uint64_t image_id; /* 0: not kept after the batch */
    int32_t image_fd;
    uint32_t image_bytes;
    uint64_t image_offset;
    npu_step step;
    uint32_t image_buffer_bytes; /* of the buffer |image_fd|, as mapped */
    uint32_t fence;              /* what the image's syncs count from (wire/fence.h) */
} npu_wire_request;

typedef struct npu_wire_response {
    uint32_t magic;
    uint16_t version;
    uint16_t kind;
    uint64_t sequence;
    uint32_t code;  /* npu_wire_code */
    int32_t op;     /* index of the op that failed, NPU_WIRE_NO_OP when it was none */
    uint32_t index; /* what else was wrong: of a buffer, tensor, row, thread; the queue's AEE code; 0 */
    uint32_t usecs; /* time in the NPU program */
    uint64_t cycles;
    uint64_t mapped_bytes;     /* of buffers that this batch had to map */
    uint64_t dma_bytes;        /* that it moved by DMA */
    uint64_t cache_bytes;      /* that it cleaned and dropped from the cache */
    uint32_t barriers, fences; /* that it took part in; other waits and signals */
} npu_wire_response;

typedef struct npu_wire_image {
    uint32_t magic;
    uint16_t version;
    uint16_t header_bytes;
    uint32_t total_bytes;
    uint32_t features; /* NPU_WIRE_HAS_SYNCS; a bit that the reader does not know is refused */
    uint32_t n_buffers, n_tensors, n_ops;
    uint32_t buffers_at, tensors_at, ops_at; /* bytes from the start, multiples of 8 */
    uint32_t buffer_bytes, tensor_bytes, op_bytes;
    uint32_t syncs_at, n_syncs;        /* with HAS_SYNCS, else 0 */
    uint16_t fence_buffer, fence_slot; /* where the fences are, and which of them is this device's */
} npu_wire_image;

enum { NPU_WIRE_BUFFER_PINNED = 1 }; /* stays mapped as long as anything else can go: state, compute, i/o */

typedef struct npu_wire_buffer {
    int32_t fd;
    uint32_t flags; /* NPU_WIRE_BUFFER_* */
    uint64_t bytes;
} npu_wire_buffer;

_Static_assert(sizeof(npu_wire_request) == 64 && offsetof(npu_wire_request, step) == 40, "wire layout");
_Static_assert(sizeof(npu_wire_response) == 72 && offsetof(npu_wire_response, cycles) == 32, "wire layout");
_Static_assert(sizeof(npu_wire_image) == 64 && offsetof(npu_wire_image, op_bytes) == 48, "wire layout");
_Static_assert(sizeof(npu_wire_buffer) == 16, "wire layout");

#endif
