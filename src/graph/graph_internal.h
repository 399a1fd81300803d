/* Shared by the files of the graph builder: growing, shapes, and the two passes of npu_graph_finish. Private to
 * src/graph/graph*.c.
 */
#ifndef NPU_GRAPH_INTERNAL_H
#define NPU_GRAPH_INTERNAL_H

#include "graph/graph.h"
#include "wire/op_check.h"

enum { NPU__GRAPH_ALIGN = 128 };

/* Appends a tensor or an op. NPU_NO_TENSOR or NULL after a failure, which is then in the graph. |root| NPU_NO_TENSOR:
 * it has its own storage. */
npu_t npu__graph_tensor(npu_graph *g, const npu_tensor *t, npu_t root);
npu_op *npu__graph_op(npu_graph *g, npu_opcode code);

/* Records the first failure. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
void npu__graph_fail(npu_graph *g, npu_status status, const char *code, const char *format, ...);

/* Whether the graph is sound so far and |t| is one of its tensors; records a failure when only the latter is wrong. */
int npu__graph_has(npu_graph *g, npu_t t, const char *what);

/* Sets nb[] of a contiguous tensor; false when the size overflows or ne[0] is not whole blocks. */
int npu__graph_contiguous(npu_tensor *t);

/* The passes of npu_graph_finish, each reporting through the graph's failure. */
void npu__graph_check(npu_graph *g);
void npu__graph_layout(npu_graph *g);

#endif
