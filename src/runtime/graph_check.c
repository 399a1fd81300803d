/* Holds every op of a finished graph against the op table: operand counts, types, shapes, strides, rows. Targets may
 * rely on it and check nothing again. One function for each op that the builders make.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/graph_internal.h"

typedef struct operands {
    const npu_op *op;
    const npu_tensor *src[NPU_OP_SRCS], *dst[NPU_OP_DSTS]; /* NULL = absent */
} operands;

/* A check returns NULL or what is wrong. */
typedef const char *check_fn(const operands *o);

static int is_f32(const npu_tensor *t) {
    return t->type == NPU_TYPE_F32 && t->nb[0] == 4;
}

static int is_i32(const npu_tensor *t) {
    return t->type == NPU_TYPE_I32 && t->nb[0] == 4;
}

/* All dimensions from |first| on are equal, and so are the rows. */
static int same_from(const npu_tensor *a, const npu_tensor *b, int first) {
    for (int i = first; i < NPU_MAX_DIMS; i++)
        if (a->ne[i] != b->ne[i]) return 0;
    return a->rows_of == b->rows_of && a->rows_dim == b->rows_dim;
}

/* A fixed F32 vector of |n| values. */
static int is_vector(const npu_tensor *t, uint32_t n) {
    return is_f32(t) && t->ne[0] == n && npu_tensor_rows(t) == 1 && t->rows_of == NPU_ROWS_FIXED;
}

static const char *check_get_rows(const operands *o) {
    const npu_tensor *table = o->src[0], *ids = o->src[1], *y = o->dst[0];
    if (table->type == NPU_TYPE_I32) return "the table must hold numbers";
    if (!is_i32(ids) || npu_tensor_rows(ids) != 1) return "row ids must be a vector of i32";
    if (y->ne[0] != table->ne[0] || y->ne[1] != ids->ne[0] || y->rows_of != ids->rows_of) return "shapes do not match";
    return is_f32(y) ? NULL : "the result must be f32";
}

static const char *check_set_rows(const operands *o) {
    const npu_tensor *x = o->src[0], *cells = o->src[1], *state = o->dst[0];
    if (!is_f32(x) || !is_i32(cells) || npu_tensor_rows(cells) != 1) return "x must be f32, cells a vector of i32";
    if (!(state->flags & NPU_TENSOR_STATE)) return "the destination must be state";
    if (state->type != NPU_TYPE_F32 && state->type != NPU_TYPE_F16 && state->type != NPU_TYPE_BF16 &&
        state->type != NPU_TYPE_Q8_0)
        return "state must be f32, f16, bf16 or q8_0";
    if (x->ne[0] != state->ne[0] || x->ne[1] != cells->ne[0] || x->ne[2] != 1 || x->rows_of != cells->rows_of)
        return "shapes do not match";
    return NULL;
}

static const char *check_mul_mat(const operands *o) {
    const npu_tensor *x = o->src[0];
    if (!is_f32(x)) return "the activation must be f32";
    for (int i = 0; i < NPU_OP_DSTS; i++) {
        const npu_tensor *w = o->src[1 + i], *bias = o->src[1 + NPU_OP_DSTS + i], *y = o->dst[i];
        if (!w != !y || (bias && !w)) return "each weight needs a result";
        if (!w) continue;
        if (w->type == NPU_TYPE_I32) return "weights must be numbers";
        if (w->ne[0] != x->ne[0]) return "a weight's rows are not as long as the activation";
        if (w->ne[2] != 1 || w->ne[3] != 1) return "a weight must be a matrix";
        if (y->ne[0] != w->ne[1] || !same_from(y, x, 1) || !is_f32(y)) return "shapes do not match";
        if (bias && !is_vector(bias, w->ne[1])) return "a bias must be a vector of f32, one value for each output";
    }
    return NULL;
}

static const char *check_norm(const operands *o) {
    const npu_tensor *x = o->src[0], *y = o->dst[0];
    if (!is_f32(x) || !is_f32(y) || !same_from(x, y, 0)) return "x and the result must be f32 and of one shape";
    for (int i = 1; i < 3; i++)
        if (o->src[i] && !is_vector(o->src[i], x->ne[0]))
            return "weight and bias must be vectors of f32 as long as a row";
    float eps = o->op->params.eps.eps;
    return eps >= 0 && eps < 1 ? NULL : "epsilon must be from 0 to 1";
}

static const char *check_binary(const operands *o) {
    const npu_tensor *a = o->src[0], *b = o->src[1], *y = o->dst[0];
    if (!is_f32(a) || !is_f32(b) || !is_f32(y) || !same_from(a, y, 0)) return "operands must be f32, a like the result";
    for (int i = 0; i < NPU_MAX_DIMS; i++)
        if (a->ne[i] % b->ne[i]) return "every dimension of b must divide a's";
    if (b->rows_of != NPU_ROWS_FIXED && (b->rows_of != a->rows_of || b->rows_dim != a->rows_dim))
        return "rows do not match";
    return NULL;
}

static const char *check_unary(const operands *o) {
    const npu_tensor *x = o->src[0], *y = o->dst[0];
    return is_f32(x) && is_f32(y) && same_from(x, y, 0) ? NULL : "x and the result must be f32 and of one shape";
}

static const char *check_softcap(const operands *o) {
    return o->op->params.scale.scale > 0 ? check_unary(o) : "the cap must be above 0";
}

static const char *check_glu(const operands *o) {
    const npu_tensor *gate = o->src[0], *up = o->src[1], *y = o->dst[0];
    if (!is_f32(gate) || !is_f32(y) || !same_from(gate, y, 1)) return "gate and result must be f32 with the same rows";
    if (up) return is_f32(up) && same_from(up, gate, 0) && y->ne[0] == gate->ne[0] ? NULL : "shapes do not match";
    return gate->ne[0] == (uint64_t)y->ne[0] * 2 ? NULL : "one source must be twice as long as the result";
}

static const char *check_rope_table(const operands *o) {
    const npu_tensor *pos = o->src[0], *freqs = o->src[1], *y = o->dst[0];
    if (!is_i32(pos) || npu_tensor_rows(pos) != 1) return "positions must be a vector of i32";
    if (!is_vector(freqs, freqs->ne[0])) return "frequencies must be a vector of f32";
    if (!is_f32(y) || y->ne[0] != (uint64_t)freqs->ne[0] * 2 || y->ne[1] != pos->ne[0] || y->rows_of != pos->rows_of)
        return "shapes do not match";
    return NULL;
}

static const char *check_rope(const operands *o) {
    const npu_tensor *x = o->src[0], *table = o->src[1], *y = o->dst[0];
    if (!is_f32(x) || !is_f32(y) || !same_from(x, y, 0)) return "x and the result must be f32 and of one shape";
    if (!is_f32(table) || table->ne[0] > x->ne[0] || table->ne[1] != x->ne[2] || table->rows_of != x->rows_of)
        return "the table does not match x";
    int mode = o->op->params.rope.mode;
    return mode == NPU_ROPE_NORMAL || mode == NPU_ROPE_NEOX ? NULL : "unknown mode";
}

static const char *check_flash_attn(const operands *o) {
    const npu_tensor *q = o->src[0], *k = o->src[1], *v = o->src[2], *spans = o->src[3], *y = o->dst[0];
    if (!is_f32(q) || !is_f32(y)) return "q and the result must be f32";
    if (q->ne[0] != k->ne[0] || !k->ne[1] || q->ne[1] % k->ne[1] || v->ne[1] != k->ne[1] || v->ne[2] != k->ne[2])
        return "heads or cells of q, k and v do not match";
    if (k->type == NPU_TYPE_I32 || v->type == NPU_TYPE_I32) return "keys and values must be numbers";
    if (!is_i32(spans) || spans->ne[0] != 2 || spans->ne[1] != q->ne[2] || spans->rows_of != q->rows_of)
        return "spans must be two i32 for each row";
    if (y->ne[0] != v->ne[0] || !same_from(y, q, 1)) return "the result does not match q and v";
    if (o->src[4]) return "no mask can come from a graph";
    return o->src[5] && !is_vector(o->src[5], q->ne[1]) ? "sinks must be a vector of f32, one for each head" : NULL;
}

static const struct {
    npu_opcode code;
    check_fn *check;
} checks[] = {
    {NPU_OP_GET_ROWS, check_get_rows},
    {NPU_OP_SET_ROWS, check_set_rows},
    {NPU_OP_MUL_MAT, check_mul_mat},
    {NPU_OP_RMS_NORM, check_norm},
    {NPU_OP_NORM, check_norm},
    {NPU_OP_ADD, check_binary},
    {NPU_OP_MUL, check_binary},
    {NPU_OP_SCALE, check_unary},
    {NPU_OP_SOFTCAP, check_softcap},
    {NPU_OP_GLU, check_glu},
    {NPU_OP_ROPE_TABLE, check_rope_table},
    {NPU_OP_ROPE, check_rope},
    {NPU_OP_FLASH_ATTN, check_flash_attn},
};

/* Sound on its own: a known type, whole blocks, no overlap between its rows. */
static const char *check_tensor(const npu_tensor *t) {
    uint32_t values, bytes;
    if (!npu__graph_type(t->type, &values, &bytes)) return "a tensor's type is unknown";
    if (t->nb[0] != bytes || t->ne[0] % values) return "a tensor's rows are not whole blocks";
    uint64_t below = (uint64_t)(t->ne[0] / values) * bytes;
    for (int i = 0; i < NPU_MAX_DIMS; i++) {
        if (!t->ne[i]) return "a tensor has no values";
        if (i && t->ne[i] > 1 && t->nb[i] < below) return "a tensor's rows overlap";
        if (i) below = t->nb[i] * t->ne[i];
    }
    return NULL;
}

/* Resolves the operands and compares their number with the op table. */
static const char *resolve(const npu_graph *g, const npu_op *op, const npu_op_info *info, operands *o) {
    *o = (operands){.op = op};
    for (unsigned i = 0; i < NPU_OP_SRCS; i++) {
        int there = op->src[i] != NPU_NO_TENSOR;
        if (i < info->in_min ? !there : i >= info->in_max && there) return "wrong number of sources";
        if (!there) continue;
        if (op->src[i] >= g->n_tensors) return "a source is not in the graph";
        o->src[i] = &g->tensors[op->src[i]];
        const char *wrong = check_tensor(o->src[i]);
        if (wrong) return wrong;
    }
    for (unsigned i = 0; i < NPU_OP_DSTS; i++) {
        if (op->dst[i] == NPU_NO_TENSOR) {
            if (!i) return "no result";
            continue;
        }
        if (op->dst[i] >= g->n_tensors || (i >= info->out && op->code != NPU_OP_MUL_MAT))
            return "wrong number of results";
        o->dst[i] = &g->tensors[op->dst[i]];
        if (o->dst[i]->flags & (NPU_TENSOR_WEIGHT | NPU_TENSOR_INPUT)) return "a weight or input would be written";
        const char *wrong = check_tensor(o->dst[i]);
        if (wrong) return wrong;
    }
    return NULL;
}

void npu__graph_check(npu_graph *g) {
    for (uint32_t i = 0; i < g->n_ops && g->status == NPU_OK; i++) {
        const npu_op *op = &g->ops[i];
        const npu_op_info *info = npu_op_find(op->code);
        check_fn *check = NULL;
        for (size_t c = 0; c < sizeof checks / sizeof checks[0]; c++)
            if (checks[c].code == op->code) check = checks[c].check;
        operands o;
        const char *wrong = info && check ? resolve(g, op, info, &o) : "no such op in a graph";
        if (!wrong) wrong = check(&o);
        if (!wrong) continue;
        char layer[24] = "outside the layers";
        if (op->layer != NPU_NO_LAYER) snprintf(layer, sizeof layer, "layer %u", op->layer);
        npu__graph_fail(g, NPU_INTERNAL, "graph.op", "op %u (%s, %s, role %s): %s", i, info ? info->name : "unknown",
                        layer, npu_role_name(op->role), wrong);
    }
}
