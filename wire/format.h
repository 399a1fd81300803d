/* Tensor formats as data: what host and NPU program both know about a GGUF type number.
 *
 * Owns the type numbers, block geometry and flags (wire/npu_formats.def); not how values are packed (src/quant/ on the
 * host, unpackers in htp/). Freestanding: no libc, usable by the NPU program. Code asks the table; a format's name is
 * never in a switch outside the file that owns its packing.
 */
#ifndef NPU_WIRE_FORMAT_H
#define NPU_WIRE_FORMAT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* GGUF's tensor type numbers: NPU_TYPE_Q4_0 and so on. */
typedef enum npu_type {
#define NPU_FORMAT(NAME, code, name, values, bytes, group, flags) NPU_TYPE_##NAME = code,
#include "wire/npu_formats.def"
    NPU_TYPE_I32 = 26,  /* row ids, positions, spans: a tensor's type, but no format of weights, so it has no row */
    NPU_TYPE_LIMIT = 40 /* all codes are below; size of a table indexed by code */
} npu_type;

enum {
    NPU_FORMAT_FLOAT = 1,
    NPU_FORMAT_MIN = 2,
    NPU_FORMAT_SUPER = 4,
    NPU_FORMAT_CODEBOOK = 8,
};

typedef struct npu_format {
    char name[12]; /* lower case, "q4_0" */
    uint16_t type; /* the code */
    uint16_t block_values;
    uint16_t block_bytes;
    uint16_t group_values;
    uint32_t flags;
} npu_format;

/* The row of a type number, or NULL if npu has no such format. Any thread. */
const npu_format *npu_format_of(uint32_t type);

/* The row of a name ("q4_0", case ignored), or NULL. */
const npu_format *npu_format_named(const char *name);

/* Iteration: the i-th row in the order of the list; NULL at the end. */
const npu_format *npu_format_at(uint32_t index);

/* What to call a type number in a message, also one that npu does not read ("iq2_xxs"); never NULL. */
const char *npu_format_name(uint32_t type);

/* Bytes of a row of |values| values; |values| must be a multiple of the block (checked by whoever made the tensor). */
static inline uint64_t npu_format_row_bytes(const npu_format *format, uint64_t values) {
    return values / format->block_values * format->block_bytes;
}

#ifdef __cplusplus
}
#endif
#endif
