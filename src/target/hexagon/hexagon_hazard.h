/* When devices that share memory must wait for each other: what each reads and writes since the last barrier, and
 * whether what comes next would meet another device's lines. A tensor is taken for the lines its bytes are in, rows by
 * rows; where its shape is too odd for that, for all from its first byte to its last. Lines, not bytes, because caches
 * clean and drop whole ones: two devices in one line can lose each other's writes though no byte is in common. */
#ifndef NPU_HEXAGON_HAZARD_H
#define NPU_HEXAGON_HAZARD_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/tensor.h"

enum { NPU_HEX_LINE = 128 }; /* bytes of a cache line, of which no two devices may write parts */

typedef struct npu_hex_access npu_hex_access;

typedef struct npu_hex_hazards {
    npu_hex_access *list;
    uint32_t n, slots;
    uint32_t next; /* from here on the op at hand */
} npu_hex_hazards;

void npu_hex_hazards_free(npu_hex_hazards *h);

/* An op: begin, add all that all devices do, end. |buffer| tells memory apart. False: out of memory. */
void npu_hex_hazards_begin(npu_hex_hazards *h);
bool npu_hex_hazards_add(npu_hex_hazards *h, uint32_t device, const npu_tensor *t, const void *buffer, bool written);
void npu_hex_hazards_undo(npu_hex_hazards *h); /* back to begin */

/* Whether the op's devices meet each other, which no barrier helps. */
bool npu_hex_hazards_inside(const npu_hex_hazards *h);

/* Whether a barrier is needed before the op. */
bool npu_hex_hazards_needed(const npu_hex_hazards *h);

/* The same, at the op's end: a barrier starts the list anew. */
bool npu_hex_hazards_end(npu_hex_hazards *h);

#endif
