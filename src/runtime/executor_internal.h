/* The executor's inner structs, shared by executor.c (life), executor_run.c (runs), executor_cut.c (batches and
 * syncs) and executor_gemv.c (products on a gemv-class device). */
#ifndef NPU_RUNTIME_EXECUTOR_INTERNAL_H
#define NPU_RUNTIME_EXECUTOR_INTERNAL_H

#include "plan/plan.h"
#include "runtime/executor.h"

/* Before |tensor| is read it must be synced in this direction, as far as the step's rows go. */
typedef struct npu__sync {
    npu_t tensor;
    npu_sync_dir dir;
} npu__sync;

/* Consecutive ops of one owner, and the syncs that come before them. */
typedef struct npu__segment {
    uint32_t first_op, n_ops, first_sync, n_syncs;
    bool device;
} npu__segment;

typedef struct npu__bound {
    const npu_graph *graph;
    npu__segment *segments; /* the last one has no ops: what the host reads at the end */
    npu__sync *syncs;
    npu_buffer **buffers; /* [graph->n_buffers] */
    uint32_t n_segments, n_syncs;
} npu__bound;

/* A gemv-class device, the plan that says how it makes products, and room for the results of fused ones. */
typedef struct npu__gemv {
    npu_target *device; /* NULL = none */
    const npu_plan *plan;
    float *values;
    uint64_t n_values;
} npu__gemv;

typedef struct npu__gemv_bytes {
    uint64_t to_device, to_host;
} npu__gemv_bytes;

struct npu_executor {
    npu_executor_params params;
    npu_buffer *own[NPU_GRAPH_FILES]; /* io, compute, state; NULL when empty */
    npu_buffer **files;               /* wrapped mappings */
    uint32_t n_files, n_graphs;
    npu__bound *graphs;
    npu__gemv gemv; /* gemv.device: the device when it takes products one by one */
    npu_target *state_owner;
    npu_profile_fn *profile;
    void *profile_user;
    uint32_t track; /* of the host's spans in the trace */
    npu_counters counters;
    npu_error broken; /* why the device is lost */
};

/* Checks what |graph| wants of the device and adds up the room it needs; npu__gemv_alloc makes it. REFUSED
 * ("executor.gemv"): an op that is no product of rows and weights, or for which the plan has no design. */
npu_status npu__gemv_bind(npu__gemv *v, const npu_executor_graph *graph, npu_error *err);
npu_status npu__gemv_alloc(npu__gemv *v, npu_error *err);

/* Runs op |index| of |b|, adds to |bytes|. Allocates only on the target's residency misses. */
npu_status npu__gemv_run(npu__gemv *v, const npu__bound *b, uint32_t index, const npu_step *step,
                         npu__gemv_bytes *bytes, npu_error *err);

/* Fills segments and syncs of |b|; frees nothing on failure (npu_executor_free does). With |shared| both sides work on
 * the host's own memory and nothing is synced. */
npu_status npu__executor_cut(npu__bound *b, const bool *on_device, bool shared, npu_error *err);

#endif
