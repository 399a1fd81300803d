/* The executor's inner structs, shared by executor.c (life and runs) and executor_cut.c (batches and syncs). */
#ifndef NPU_RUNTIME_EXECUTOR_INTERNAL_H
#define NPU_RUNTIME_EXECUTOR_INTERNAL_H

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

/* Fills segments and syncs of |b|; frees nothing on failure (npu_executor_free does). */
npu_status npu__executor_cut(npu__bound *b, const bool *on_device, npu_error *err);

#endif
