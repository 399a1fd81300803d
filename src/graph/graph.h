/* A graph: ops in execution order over symbolic buffers, built once per model and shape class by src/model, planned by
 * src/plan, bound to real buffers and run by src/runtime/executor. What changes from step to step is npu_step and the
 * bytes of the input tensors; nothing else.
 *
 * The builder functions append to the graph and return a tensor index. They never fail one by one: the first failure is
 * kept in the graph and reported by npu_graph_finish, so that model code reads like the formula it implements.
 */
#ifndef NPU_GRAPH_H
#define NPU_GRAPH_H

#include <stdint.h>

#include "target/target.h"

typedef uint16_t npu_t; /* a tensor of the graph under construction */

/* Symbolic buffers: what the first buffers of every graph are for. State and file buffers follow. */
enum { NPU_GRAPH_IO = 0, NPU_GRAPH_COMPUTE = 1, NPU_GRAPH_STATE = 2, NPU_GRAPH_FILES = 3 };

typedef struct npu_graph {
    npu_tensor *tensors;
    npu_weight_ref *weights; /* [n_tensors] */
    npu_op *ops;
    uint32_t n_tensors, n_ops, cap_tensors, cap_ops;
    uint32_t n_buffers; /* FILES + number of files */
    uint64_t io_bytes, compute_bytes, state_bytes;
    uint32_t max_rows, max_out; /* of rows_of STEP and OUT */
    uint16_t layer, role;       /* given to ops appended from now on */
    npu_status status;          /* first failure */
    npu_error error;
    const npu_weight_source *source;
    npu_t *roots; /* while building, [n_tensors]: the tensor whose storage this one lies in; NULL after finish */
} npu_graph;

/* Starts an empty graph for at most |max_rows| rows of which at most |max_out| ask for logits. |source| must outlive
 * it. */
void npu_graph_init(npu_graph *g, const npu_weight_source *source, uint32_t max_rows, uint32_t max_out,
                    uint32_t n_files);
void npu_graph_free(npu_graph *g);

/* Gives the following ops their layer and role. */
void npu_graph_at(npu_graph *g, unsigned layer, npu_role role);

/* Lays compute tensors out (lifetimes overlap-free, 128-byte aligned), checks every op against the op table, and
 * reports the first failure of the builders. After success the graph is immutable. */
npu_status npu_graph_finish(npu_graph *g, npu_error *err);

/* Leaves. A weight that the model does not have gives NPU_NO_TENSOR with |optional|, else a failure naming it. */
npu_t npu_graph_weight(npu_graph *g, unsigned layer, npu_role role, npu_weight_part part, int optional);
/* Inputs: [ne0, ne1] when |rows_of| is FIXED; else [ne0, rows], or [rows] with ne0 0, and ne1 is ignored. */
npu_t npu_graph_input(npu_graph *g, uint8_t type, uint32_t ne0, uint32_t ne1, unsigned rows_of);
npu_t npu_graph_state(npu_graph *g, uint8_t type, uint32_t ne0, uint32_t ne1, uint32_t ne2, uint64_t offset);

/* Views (no op): a reshape of a tensor whose rows are contiguous, and a piece along dimension 0. In the new shape a 0
 * (ne1 or ne2) stands for the row dimension of a tensor whose rows are not FIXED; it is the outermost one above 1. */
npu_t npu_graph_reshape(npu_graph *g, npu_t x, uint32_t ne0, uint32_t ne1, uint32_t ne2);
npu_t npu_graph_slice(npu_graph *g, npu_t x, uint32_t first, uint32_t count);

/* Ops; operands and formulas in wire/npu_ops.def. Optional operands may be NPU_NO_TENSOR. */
npu_t npu_graph_get_rows(npu_graph *g, npu_t table, npu_t ids);
npu_t npu_graph_rms_norm(npu_graph *g, npu_t x, npu_t weight, float eps);
npu_t npu_graph_mul_mat(npu_graph *g, npu_t w, npu_t x, npu_t bias);
void npu_graph_mul_mats(npu_graph *g, unsigned n, const npu_t *w, npu_t x, const npu_t *bias,
                        npu_t *out); /* n <= 4, one activation */
npu_t npu_graph_rope_table(npu_graph *g, npu_t positions, npu_t freqs, float scale);
npu_t npu_graph_rope(npu_graph *g, npu_t x, npu_t table, int mode);
void npu_graph_set_rows(npu_graph *g, npu_t x, npu_t cells, npu_t state);
npu_t npu_graph_attn(npu_graph *g, npu_t q, npu_t k, npu_t v, npu_t spans, npu_t sinks, const npu_params_attn *params);
npu_t npu_graph_glu(npu_graph *g, npu_t gate, npu_t up, int kind);
npu_t npu_graph_add(npu_graph *g, npu_t a, npu_t b);
npu_t npu_graph_mul(npu_graph *g, npu_t a, npu_t b);
npu_t npu_graph_scale(npu_graph *g, npu_t x, float scale);
npu_t npu_graph_softcap(npu_graph *g, npu_t x, float cap);

/* Marks |x| as what the host reads after a step. */
void npu_graph_output(npu_graph *g, npu_t x);

#endif
