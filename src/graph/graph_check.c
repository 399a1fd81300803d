/* Holds every op of a finished graph against the op table (wire/op_check.h), and against what only a graph knows: which
 * tensors may be written, and whose rows vary from step to step. Targets may rely on it.
 */
#include <stdio.h>

#include "graph/graph_internal.h"

/* Sound on its own: values without gaps in a row, no overlap between its rows. */
static const char *check_tensor(const npu_tensor *t) {
    const char *wrong = npu_tensor_check(t);
    if (wrong) return wrong;
    uint32_t values, unit = npu_tensor_unit(t, &values);
    if (t->nb[0] != unit) return "a tensor's rows have gaps";
    uint64_t below = (uint64_t)(t->ne[0] / values) * unit;
    for (int i = 1; i < NPU_MAX_DIMS; i++) {
        if (t->ne[i] > 1 && t->nb[i] < below) return "a tensor's rows overlap";
        below = t->nb[i] * t->ne[i];
    }
    return NULL;
}

static const char *check_written(const npu_op *op, const npu_tensor *t) {
    if (t->flags & (NPU_TENSOR_WEIGHT | NPU_TENSOR_INPUT)) return "a weight or input would be written";
    if (op->code == NPU_OP_SET_ROWS && !(t->flags & NPU_TENSOR_STATE)) return "the destination must be state";
    return NULL;
}

/* The op table's check at the row counts of |step|. */
static const char *check_at(const npu_graph *g, const npu_op *op, const npu_step *step) {
    npu_tensor now[NPU_OP_SRCS + NPU_OP_DSTS];
    npu_op here = *op;
    for (unsigned i = 0; i < NPU_OP_SRCS + NPU_OP_DSTS; i++) {
        uint16_t *index = i < NPU_OP_SRCS ? &here.src[i] : &here.dst[i - NPU_OP_SRCS];
        if (*index == NPU_NO_TENSOR) continue;
        now[i] = npu_tensor_at_step(&g->tensors[*index], step);
        *index = (uint16_t)i;
    }
    return npu_op_check(&here, now, NPU_OP_SRCS + NPU_OP_DSTS);
}

/* Shapes that fit at two row counts fit at all: so no rule has to say which operands' rows must be the same. The second
 * counts are unlike each other and unlike any size that the first ones could be mistaken for. */
static const char *check_op(const npu_graph *g, const npu_op *op) {
    for (unsigned i = 0; i < NPU_OP_SRCS + NPU_OP_DSTS; i++) {
        uint16_t index = i < NPU_OP_SRCS ? op->src[i] : op->dst[i - NPU_OP_SRCS];
        if (index == NPU_NO_TENSOR) continue;
        if (index >= g->n_tensors) return "an operand is not in the graph";
        const char *wrong = check_tensor(&g->tensors[index]);
        if (!wrong && i >= NPU_OP_SRCS) wrong = check_written(op, &g->tensors[index]);
        if (wrong) return wrong;
    }
    npu_step most = {.rows = {[NPU_ROWS_STEP] = g->max_rows, [NPU_ROWS_OUT] = g->max_out}};
    npu_step other = {.rows = {[NPU_ROWS_STEP] = 2 * g->max_rows + 1, [NPU_ROWS_OUT] = 2 * g->max_out + 2}};
    const char *wrong = check_at(g, op, &most);
    return wrong ? wrong : check_at(g, op, &other);
}

void npu__graph_check(npu_graph *g) {
    for (uint32_t i = 0; i < g->n_ops && g->status == NPU_OK; i++) {
        const npu_op *op = &g->ops[i];
        const char *wrong = check_op(g, op);
        if (!wrong) continue;
        const npu_op_info *info = npu_op_find(op->code);
        char layer[24] = "outside the layers";
        if (op->layer != NPU_NO_LAYER) snprintf(layer, sizeof layer, "layer %u", op->layer);
        npu__graph_fail(g, NPU_INTERNAL, "graph.op", "op %u (%s, %s, role %s): %s", i, info ? info->name : "unknown",
                        layer, npu_role_name(op->role), wrong);
    }
}
