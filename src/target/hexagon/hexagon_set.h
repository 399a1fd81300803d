/* Which NPUs and sessions a model runs on, and how it is split over them: --npu-devices and --split, read. Pure. */
#ifndef NPU_HEXAGON_SET_H
#define NPU_HEXAGON_SET_H

#include <stdint.h>

#include "base/status.h"

enum { NPU_HEX_DEVICES = 8 };
enum { NPU_HEX_DECODE_ROWS = 16 }; /* steps up to this decode: a row is a sequence */

typedef enum npu_hex_split {
    NPU_HEX_WHOLE, /* one device */
    NPU_HEX_LAYER,
    NPU_HEX_ROW,
    NPU_HEX_TENSOR
} npu_hex_split;

typedef struct npu_hex_place {
    uint16_t npu, session;
} npu_hex_place;

typedef struct npu_hex_set {
    npu_hex_place at[NPU_HEX_DEVICES];
    uint32_t n;
    npu_hex_split split;
} npu_hex_set;

/* |devices|: "NPU:SESSION,…", or "[NPU:SESSION,…]" for a group that works row by row; ":SESSION" may be left out for
 * session 0. NULL = 0:0. |split|: "layer", "row", "tensor", NULL = layer, of a group row. INVALID
 * ("hexagon.devices", "hexagon.split") says what is wrong with which item. */
npu_status npu_hex_set_read(const char *devices, const char *split, npu_hex_set *out, npu_error *err);

/* Writes the set as it is read. */
void npu_hex_set_write(const npu_hex_set *set, char out[64]);

const char *npu_hex_split_name(npu_hex_split split);

#endif
