/* Runs graphs: binds them to buffers, cuts their ops into batches by owner, submits, waits, and syncs when ownership
 * changes between host and device. Owns the io, compute and state buffers, which all graphs of an executor share (they
 * run one after the other, and the state outlives each run). Knows no model. One thread at a time; a run does not
 * allocate.
 *
 * A graph-class device gets batches of ops on buffers of its own, which host and device share. A gemv-class device gets
 * products one by one (weights with gemv, the head with lm_head where it has one), on the host's buffers; everything
 * else runs on the host.
 */
#ifndef NPU_RUNTIME_EXECUTOR_H
#define NPU_RUNTIME_EXECUTOR_H

#include "npu/profile.h"
#include "graph/graph.h"
#include "trace/trace.h"

typedef struct npu_executor npu_executor;

/* A model file's mapping; |data| NULL when no graph uses it. Must outlive the executor. */
typedef struct npu_executor_file {
    const void *data;
    uint64_t bytes;
    bool mapped; /* by npu_map_open: pages that are no longer needed may be given back to the system */
} npu_executor_file;

typedef struct npu_executor_params {
    npu_target *host;     /* always there: runs what the device does not */
    npu_target *device;   /* NULL = none. Both must outlive the executor, and so must |plan| */
    const npu_plan *plan; /* of the graphs, for a gemv-class device: which designs make an op's results */
    const npu_executor_file *files;
    uint32_t n_files;
    bool (*cancelled)(void *user); /* NULL = never; asked before every batch */
    void *cancelled_user;
    npu_trace *trace; /* NULL = none; else steps, batches and the host's ops go there, each op run by itself */
} npu_executor_params;

/* A graph to run, and for each of its ops whether the device does it (NULL = none). The graph and its weight source
 * must outlive the executor; its state lies at the same offsets in all graphs. */
typedef struct npu_executor_graph {
    const npu_graph *graph;
    const bool *on_device;
} npu_executor_graph;

/* Binds the graphs; they are named by their index from then on. Fresh buffers are zero. REFUSED ("executor.state"): an
 * op that writes state and one that reads it have different owners; REFUSED ("executor.gemv", "executor.plan"): an op
 * that a gemv-class device can't be given; NO_MEMORY; or what a target says. On failure *out is NULL. */
npu_status npu_executor_create(const npu_executor_params *params, const npu_executor_graph *graphs, uint32_t n_graphs,
                               npu_executor **out, npu_error *err);
void npu_executor_free(npu_executor *x); /* NULL is fine */

/* Where the host finds an input or output tensor of a graph. Written before a run, read after it. */
void *npu_executor_data(npu_executor *x, uint32_t graph, npu_t tensor);

/* Runs a graph with these row counts. CANCELLED leaves the state half written: the caller forgets the step's cells.
 * After TIMEOUT or DEVICE_LOST of a graph-class device every further run fails the same way: it may still write to the
 * buffers. A gemv-class device never touches them, and the next run asks it again. */
npu_status npu_executor_run(npu_executor *x, uint32_t graph, const npu_step *step, npu_error *err);

/* Copies bytes inside the state buffer (not overlapping), synced when the device owns the state. */
npu_status npu_executor_state_copy(npu_executor *x, uint64_t from, uint64_t to, uint64_t bytes, npu_error *err);

void npu_executor_profile(npu_executor *x, npu_profile_fn *fn, void *user);

/* Adds what was run to the counters of ops, batches and syncs. */
void npu_executor_count(const npu_executor *x, npu_counters *out);

#endif
