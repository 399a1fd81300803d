/* Roles, and the weight source: the only origin of weights for every target. */
#ifndef NPU_TARGET_WEIGHTS_H
#define NPU_TARGET_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/status.h"
#include "wire/tensor.h"

typedef enum npu_role {
#define NPU_ROLE(NAME, value, name, text) NPU_ROLE_##NAME = value,
#include "target/npu_roles.def"
} npu_role;

/* Roles are numbered from 0 without a gap: an array of this many elements has one for each. */
enum {
    NPU_ROLE_COUNT = 0
#define NPU_ROLE(NAME, value, name, text) +1
#include "target/npu_roles.def"
};

typedef enum npu_weight_part { NPU_PART_WEIGHT = 0, NPU_PART_BIAS = 1, NPU_PART_FREQS = 2 } npu_weight_part;

/* The name of a role in lower case ("attn_norm"), "none" for a value that is not in the list. */
const char *npu_role_name(unsigned role);

/* The role of that name, -1 when none has it. */
int npu_role_named(const char *name);

/* One weight as the file holds it: raw GGUF blocks, read only. */
typedef struct npu_weight {
    const char *name; /* the GGUF tensor's name */
    const void *data;
    uint64_t bytes;
    uint8_t type; /* GGUF type number */
    uint32_t ne[NPU_MAX_DIMS];
    uint64_t nb[NPU_MAX_DIMS];
    uint32_t file; /* which file of a split model, and where in it: how the host target uses it in place */
    uint64_t file_offset;
} npu_weight;

/* get: fills |out| for (layer, role, part); layer is NPU_NO_LAYER outside the layers. NPU_NOT_FOUND when the model has
 * no such weight (an optional bias). The data stays valid until the source is closed by its owner. Any thread. */
typedef struct npu_weight_source {
    void *context;
    npu_status (*get)(void *context, unsigned layer, npu_role role, npu_weight_part part, npu_weight *out,
                      npu_error *err);
} npu_weight_source;

/* Weights as a target packed them: what of, and how they lie. Equal values mean equal bytes. */
typedef struct npu_packed {
    const char *layout; /* names the order of the bytes and its version: it changes whenever they do */
    const void *source; /* in a file of the model, rows |row_bytes| apart */
    uint64_t source_bytes, row_bytes;
    uint8_t type;
    uint32_t ne[NPU_MAX_DIMS];
    uint64_t bytes; /* of the packed weights */
} npu_packed;

/* Where a target finds weights that an earlier process packed (src/cache). Neither call fails; from one thread at a
 * time. take: fills |out| with all threads of |pool|; false: nothing was there, pack, and call keep at once, before a
 * device can reach the bytes. What was taken or kept must stay as it is until the target closes: what does not, by a
 * stray write, is not left to later processes. */
typedef struct npu_weight_cache {
    void *context;
    bool (*take)(void *context, const npu_packed *what, npu_pool *pool, uint8_t *out);
    void (*keep)(void *context, const npu_packed *what, npu_pool *pool, const uint8_t *data);
} npu_weight_cache;

#endif
