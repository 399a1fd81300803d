/* The host target's own record and the functions its files share; prepare is also for whoever binds a graph. */
#ifndef NPU_HOST_H
#define NPU_HOST_H

#include "base/pool.h"
#include "target/host/host_op.h"
#include "target/target.h"

/* A batch seen before: which variant runs each op, and the row counts it was built for. */
typedef struct npu_host_image {
    struct npu_host_image *next;
    uint64_t id;
    uint32_t n_ops;
    uint32_t max_rows[NPU_ROWS_COUNT];
    struct npu_host_choice {
        const npu_host_variant *variant;
        const uint8_t *packed[NPU_OP_SRCS]; /* copies of sources, NULL = in place */
    } choices[];
} npu_host_image;

typedef struct npu_host {
    npu_target base; /* first: an npu_target* of this target is an npu_host* */
    npu_pool *pool;
    uint32_t features; /* of the CPU level in force */
    uint8_t *scratch;
    uint64_t scratch_bytes;
    npu_host_image *images; /* latest first */
    struct npu_host_copy *copies;
    struct npu_host_arena *arenas;
    const npu_weight_cache *cache; /* NULL = none */
    uint64_t sequence;
} npu_host;

/* Checks a batch (every op, every operand inside its buffer), chooses the variants and makes room for scratch, so that
 * submit allocates nothing. submit does it at first sight of an image_id; doing it when a graph is bound moves the
 * cost. Step row counts are not looked at. INVALID names the op; NO_MEMORY leaves the target usable. */
npu_status npu_host_prepare(npu_target *target, const npu_batch *batch, npu_error *err);

npu_status npu_host_submit(npu_target *target, const npu_batch *batch, npu_event *event, npu_error *err);
bool npu_host_supports(const npu_caps *caps, npu_mode mode, const npu_op *op, const npu_tensor *tensors,
                       const char **why_not);
void npu_host_images_free(npu_host *host);

/* The weight |w|, which lies in |buffer|, as |packing| (NULL = none) likes it; NULL = it is used in place: it may
 * change, or there is no memory for a copy. The copy lives until npu_host_copies_free. */
const uint8_t *npu_host_packed(npu_host *host, const npu_host_packing *packing, const npu_buffer *buffer,
                               const npu_tensor *w);
/* The copy that |packing| (NULL = none) made of |w| already; NULL = there is none. */
const uint8_t *npu_host_copied(const npu_host *host, const npu_host_packing *packing, const npu_buffer *buffer,
                               const npu_tensor *w);
void npu_host_forget_copies(npu_host *host, const uint8_t *from, uint64_t bytes); /* of weights in there */
void npu_host_copies_free(npu_host *host);

/* Whether |buffer| lives in memory of somebody else (npu_host_buffer_wrap). */
bool npu_host_buffer_is_wrapped(const npu_buffer *buffer);

#endif
