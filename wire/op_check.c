/* Checks of op descriptors, one function a shape family, found by opcode. */
#include "wire/op_check.h"

#include "wire/format.h"

/* What the checks below see: operand pointers, NULL = absent. */
typedef struct view {
    const npu_op *op;
    const npu_tensor *src[NPU_OP_SRCS], *dst[NPU_OP_DSTS];
} view;

static int dense(const npu_tensor *t) {
    uint32_t values;
    return t->nb[0] == npu_tensor_unit(t, &values);
}

static int is(const npu_tensor *t, uint32_t type) {
    return t->type == type && dense(t);
}

static int same_shape(const npu_tensor *a, const npu_tensor *b) {
    for (int i = 0; i < NPU_MAX_DIMS; i++)
        if (a->ne[i] != b->ne[i]) return 0;
    return 1;
}

static int divides(const npu_tensor *b, const npu_tensor *a) {
    for (int i = 0; i < NPU_MAX_DIMS; i++)
        if (a->ne[i] % b->ne[i]) return 0;
    return 1;
}

static uint64_t elements(const npu_tensor *t) {
    return t->ne[0] * npu_tensor_rows(t);
}

static int is_vector(const npu_tensor *t, uint32_t type, uint32_t n) {
    return is(t, type) && t->ne[0] == n && npu_tensor_rows(t) == 1;
}

static int is_float(uint32_t type) {
    return type == NPU_TYPE_F32 || type == NPU_TYPE_F16 || type == NPU_TYPE_BF16;
}

static const char *check_get_rows(const view *v) {
    const npu_tensor *table = v->src[0], *ids = v->src[1], *y = v->dst[0];
    if (table->type == NPU_TYPE_I32 || !dense(table) || table->ne[2] != 1 || table->ne[3] != 1)
        return "table: not [K,N]";
    if (!is_vector(ids, NPU_TYPE_I32, y->ne[1])) return "ids: not I32 [M]";
    if (!is(y, NPU_TYPE_F32) || y->ne[0] != table->ne[0] || y->ne[2] != 1 || y->ne[3] != 1)
        return "result: not F32 [K,M]";
    const npu_params_rows *part = &v->op->params.rows;
    if (part->first && !part->all) return "a part of no table";
    if (part->all && (part->first > part->all || table->ne[1] > part->all - part->first))
        return "a part that is not inside its table";
    return NULL;
}

static const char *check_set_rows(const view *v) {
    const npu_tensor *x = v->src[0], *cells = v->src[1], *state = v->dst[0];
    if (!is(x, NPU_TYPE_F32) || x->ne[2] != 1 || x->ne[3] != 1) return "x: not F32 [K,M]";
    if (!is_vector(cells, NPU_TYPE_I32, x->ne[1])) return "cells: not I32 [M]";
    if (!is_float(state->type) && state->type != NPU_TYPE_Q8_0) return "state: not F32, F16, BF16 or Q8_0";
    if (!dense(state) || state->ne[0] != x->ne[0] || state->ne[2] != 1 || state->ne[3] != 1) return "state: not [K,N]";
    return NULL;
}

static const char *check_cpy(const view *v) {
    const npu_tensor *x = v->src[0], *y = v->dst[0];
    if (elements(x) != elements(y)) return "not the same number of elements";
    if (x->type == y->type && is_float(x->type)) return NULL;
    if (x->type == NPU_TYPE_I32 || y->type == NPU_TYPE_I32)
        return x->type == y->type ? NULL : "I32 is only copied to I32";
    int known_x = is_float(x->type) || x->type == NPU_TYPE_Q8_0,
        known_y = is_float(y->type) || y->type == NPU_TYPE_Q8_0;
    return known_x && known_y ? NULL : "no such conversion";
}

static const char *check_concat(const view *v) {
    const npu_tensor *a = v->src[0], *b = v->src[1], *y = v->dst[0];
    uint32_t values;
    int dim = v->op->params.dim.dim;
    if (dim < 0 || dim >= NPU_MAX_DIMS) return "no such dimension";
    if (a->type != b->type || a->type != y->type) return "types differ";
    npu_tensor_unit(a, &values);
    if (values != 1) return "not a 4-byte or 2-byte type";
    for (int i = 0; i < NPU_MAX_DIMS; i++) {
        if (i == dim ? (uint64_t)a->ne[i] + b->ne[i] != y->ne[i] : a->ne[i] != y->ne[i] || b->ne[i] != y->ne[i]) {
            return "shapes do not add up";
        }
    }
    return NULL;
}

static const char *check_repeat(const view *v) {
    uint32_t values;
    npu_tensor_unit(v->src[0], &values);
    if (values != 1 || v->src[0]->type != v->dst[0]->type) return "not one 4-byte or 2-byte type";
    return divides(v->src[0], v->dst[0]) ? NULL : "x's dimensions do not divide the result's";
}

static const char *check_mul_mat(const view *v) {
    const npu_tensor *x = v->src[0];
    if (!is(x, NPU_TYPE_F32)) return "x: not F32";
    for (int i = 0; i < 4; i++) {
        const npu_tensor *w = v->src[1 + i], *b = v->src[5 + i], *y = v->dst[i];
        if (!w != !y) return "weights and results differ in number";
        if (!w) {
            if (b) return "a bias without its weight";
            continue;
        }
        if (w->type == NPU_TYPE_I32 || !dense(w) || w->ne[0] != x->ne[0]) return "weight: not [K,N]";
        if (!is(y, NPU_TYPE_F32) || y->ne[0] != w->ne[1]) return "result: not F32 [N,M]";
        for (int d = 1; d < NPU_MAX_DIMS; d++)
            if (y->ne[d] != x->ne[d]) return "result: not [N,M]";
        if (x->ne[2] % w->ne[2] || x->ne[3] % w->ne[3]) return "the weight's outer dimensions do not divide x's";
        if ((w->ne[2] != 1 || w->ne[3] != 1) && (i || v->src[2] || !is_float(w->type)))
            return "a batched weight must be one float";
        if (b && !is_vector(b, NPU_TYPE_F32, w->ne[1])) return "bias: not F32 [N]";
    }
    return v->src[1] ? NULL : "no weight";
}

static const char *check_norm(const view *v) {
    const npu_tensor *x = v->src[0], *y = v->dst[0];
    if (!is(x, NPU_TYPE_F32) || !is(y, NPU_TYPE_F32) || !same_shape(x, y)) return "x and result: not F32 of one shape";
    for (int i = 1; i <= 2; i++)
        if (v->src[i] && !is_vector(v->src[i], NPU_TYPE_F32, x->ne[0])) return "weight or bias: not F32 [K]";
    float eps = v->op->params.eps.eps;
    return eps >= 0 && eps < 1 ? NULL : "eps: not from 0 to 1";
}

static const char *check_binary(const view *v) {
    const npu_tensor *a = v->src[0], *b = v->src[1], *y = v->dst[0];
    if (!is(a, NPU_TYPE_F32) || !is(b, NPU_TYPE_F32) || !is(y, NPU_TYPE_F32)) return "not F32";
    return same_shape(a, y) && divides(b, a) ? NULL : "b's dimensions do not divide a's";
}

static const char *check_unary(const view *v) {
    const npu_tensor *x = v->src[0], *y = v->dst[0];
    return is(x, NPU_TYPE_F32) && is(y, NPU_TYPE_F32) && same_shape(x, y) ? NULL : "x and result: not F32 of one shape";
}

static const char *check_softcap(const view *v) {
    return v->op->params.scale.scale > 0 ? check_unary(v) : "scale: not above 0";
}

static const char *check_glu(const view *v) {
    const npu_tensor *x = v->src[0], *up = v->src[1], *y = v->dst[0];
    int kind = v->op->params.glu.kind;
    if (kind < NPU_GLU_SILU || kind > NPU_GLU_OAI) return "no such activation";
    if (!is(x, NPU_TYPE_F32) || !is(y, NPU_TYPE_F32)) return "not F32";
    if (up)
        return is(up, NPU_TYPE_F32) && same_shape(x, up) && same_shape(x, y) ? NULL : "gate, up, result: shapes differ";
    if (x->ne[0] % 2 || x->ne[0] / 2 != y->ne[0]) return "x is not twice as wide as the result";
    for (int i = 1; i < NPU_MAX_DIMS; i++)
        if (x->ne[i] != y->ne[i]) return "rows of x and result differ";
    return NULL;
}

static const char *check_soft_max(const view *v) {
    const npu_tensor *x = v->src[0], *mask = v->src[1], *sinks = v->src[2];
    const char *why = check_unary(v);
    if (why) return why;
    if (mask) {
        if (!is(mask, NPU_TYPE_F32) && !is(mask, NPU_TYPE_F16)) return "mask: not F32 or F16";
        if (mask->ne[0] != x->ne[0] || mask->ne[1] < x->ne[1] || mask->ne[2] != 1 || mask->ne[3] != 1)
            return "mask: not [K,R]";
    }
    return !sinks || is_vector(sinks, NPU_TYPE_F32, x->ne[2]) ? NULL : "sinks: not F32 [H]";
}

static const char *check_rope_table(const view *v) {
    const npu_tensor *pos = v->src[0], *freqs = v->src[1], *y = v->dst[0];
    if (!is_vector(freqs, NPU_TYPE_F32, freqs->ne[0])) return "freqs: not F32 [P]";
    if (!is(y, NPU_TYPE_F32) || y->ne[0] != 2 * (uint64_t)freqs->ne[0] || y->ne[2] != 1 || y->ne[3] != 1) {
        return "table: not F32 [2P,M]";
    }
    return is_vector(pos, NPU_TYPE_I32, y->ne[1]) ? NULL : "positions: not I32 [M]";
}

static const char *check_rope(const view *v) {
    const npu_tensor *x = v->src[0], *table = v->src[1];
    int mode = v->op->params.rope.mode;
    const char *why = check_unary(v);
    if (why) return why;
    if (mode != NPU_ROPE_NORMAL && mode != NPU_ROPE_NEOX) return "no such mode";
    if (x->ne[3] != 1 || !is(table, NPU_TYPE_F32) || table->ne[0] % 2 || table->ne[0] > x->ne[0]) {
        return "x: not [D,H,M], or table: not [2P,M] with 2P <= D";
    }
    return table->ne[1] == x->ne[2] && table->ne[2] == 1 && table->ne[3] == 1 ? NULL
                                                                              : "table: not one row for each of x";
}

static int is_cache(const npu_tensor *t) {
    return (is_float(t->type) || t->type == NPU_TYPE_Q8_0) && dense(t) && t->ne[3] == 1;
}

static const char *check_attn(const view *v) {
    const npu_tensor *q = v->src[0], *k = v->src[1], *val = v->src[2], *spans = v->src[3];
    const npu_tensor *mask = v->src[4], *sinks = v->src[5], *y = v->dst[0];
    if (!is(q, NPU_TYPE_F32) || q->ne[3] != 1) return "q: not F32 [D,H,M]";
    if (!is_cache(k) || k->ne[0] != q->ne[0] || q->ne[1] % k->ne[1]) return "k: not [D,Hkv,C]";
    if (!is_cache(val) || val->ne[1] != k->ne[1] || val->ne[2] != k->ne[2]) return "v: not [Dv,Hkv,C]";
    if (!is(y, NPU_TYPE_F32) || y->ne[0] != val->ne[0] || y->ne[1] != q->ne[1] || y->ne[2] != q->ne[2] ||
        y->ne[3] != 1) {
        return "result: not F32 [Dv,H,M]";
    }
    if (!is(spans, NPU_TYPE_I32) || spans->ne[0] != 2 || spans->ne[1] != q->ne[2] ||
        npu_tensor_rows(spans) != q->ne[2]) {
        return "spans: not I32 [2,M]";
    }
    if (mask) {
        if (!is(mask, NPU_TYPE_F32) && !is(mask, NPU_TYPE_F16)) return "mask: not F32 or F16";
        if (mask->ne[1] != q->ne[2] || mask->ne[2] != 1 || mask->ne[3] != 1) return "mask: not [keys,M]";
    }
    return !sinks || is_vector(sinks, NPU_TYPE_F32, q->ne[1]) ? NULL : "sinks: not F32 [H]";
}

static const char *check_add_parts(const view *v) {
    const npu_tensor *x = v->src[0], *y = v->dst[0];
    if (!is(x, NPU_TYPE_F32) || !is(y, NPU_TYPE_F32) || !same_shape(x, y)) return "not F32 of one shape";
    for (unsigned i = 1; i < NPU_OP_SRCS; i++) {
        const npu_tensor *part = v->src[i];
        if (part && (!v->src[i - 1] || !is(part, NPU_TYPE_F32) || !same_shape(part, x)))
            return "a part is not F32 of the sum's shape";
    }
    return NULL;
}

static const char *check_sum_rows(const view *v) {
    const npu_tensor *x = v->src[0], *y = v->dst[0];
    if (!is(x, NPU_TYPE_F32) || !is(y, NPU_TYPE_F32) || y->ne[0] != 1) return "not F32, or result not one value a row";
    return x->ne[1] == y->ne[1] && x->ne[2] == y->ne[2] && x->ne[3] == y->ne[3] ? NULL : "rows differ";
}

static const char *check_argsort(const view *v) {
    const npu_tensor *x = v->src[0], *y = v->dst[0];
    if (!is(x, NPU_TYPE_F32) || !is(y, NPU_TYPE_I32) || y->ne[0] > x->ne[0])
        return "x: not F32, or result: not I32 [k,rows]";
    return x->ne[1] == y->ne[1] && x->ne[2] == y->ne[2] && x->ne[3] == y->ne[3] ? NULL : "rows differ";
}

typedef const char *check_fn(const view *v);

static check_fn *const checks[NPU_OP_CODE_LIMIT] = {
    [NPU_OP_GET_ROWS] = check_get_rows,
    [NPU_OP_SET_ROWS] = check_set_rows,
    [NPU_OP_CPY] = check_cpy,
    [NPU_OP_CONCAT] = check_concat,
    [NPU_OP_REPEAT] = check_repeat,
    [NPU_OP_MUL_MAT] = check_mul_mat,
    [NPU_OP_RMS_NORM] = check_norm,
    [NPU_OP_NORM] = check_norm,
    [NPU_OP_L2_NORM] = check_norm,
    [NPU_OP_ADD] = check_binary,
    [NPU_OP_SUB] = check_binary,
    [NPU_OP_MUL] = check_binary,
    [NPU_OP_ADD_PARTS] = check_add_parts,
    [NPU_OP_DIV] = check_binary,
    [NPU_OP_SOFTCAP] = check_softcap,
    [NPU_OP_GLU] = check_glu,
    [NPU_OP_SOFT_MAX] = check_soft_max,
    [NPU_OP_ROPE] = check_rope,
    [NPU_OP_ROPE_TABLE] = check_rope_table,
    [NPU_OP_FLASH_ATTN] = check_attn,
    [NPU_OP_SUM_ROWS] = check_sum_rows,
    [NPU_OP_ARGSORT] = check_argsort,
};

/* Fills |out| from |indices|; NULL when fine. */
static const char *resolve(const uint16_t *indices, int n, const npu_tensor *tensors, uint32_t n_tensors,
                           const npu_tensor **out) {
    for (int i = 0; i < n; i++) {
        if (indices[i] == NPU_NO_TENSOR) continue;
        if (indices[i] >= n_tensors) return "a tensor index is out of range";
        out[i] = &tensors[indices[i]];
        const char *why = npu_tensor_check(out[i]);
        if (why) return why;
    }
    return NULL;
}

/* The shapes fit at their largest; they must at every step. One row shows what exceeds a fixed operand, two primes that
 * occur nowhere else show operands that follow different counts. */
static const char *check_steps(check_fn *check, const view *largest) {
    static const npu_step steps[] = {{.rows = {0, 1, 1}}, {.rows = {0, 1000003, 1000033}}};
    npu_tensor now[NPU_OP_SRCS + NPU_OP_DSTS];
    const char *why = NULL;
    for (unsigned s = 0; s < sizeof steps / sizeof steps[0] && !why; s++) {
        view v = *largest;
        for (int i = 0; i < NPU_OP_SRCS + NPU_OP_DSTS; i++) {
            const npu_tensor **t = i < NPU_OP_SRCS ? &v.src[i] : &v.dst[i - NPU_OP_SRCS];
            if (!*t) continue;
            now[i] = npu_tensor_at_step(*t, &steps[s]);
            *t = &now[i];
        }
        why = check(&v);
    }
    return why ? "row counts of operands differ" : NULL;
}

const char *npu_op_check(const npu_op *op, const npu_tensor *tensors, uint32_t n_tensors) {
    const npu_op_info *info = npu_op_find(op->code);
    if (!info) return "no such op";
    view v = {.op = op};
    const char *why = resolve(op->src, NPU_OP_SRCS, tensors, n_tensors, v.src);
    if (!why) why = resolve(op->dst, NPU_OP_DSTS, tensors, n_tensors, v.dst);
    if (why) return why;
    /* MUL_MAT's weights and biases may have gaps; of the others the first |in_min| sources are always there. */
    for (int i = 0; i < NPU_OP_SRCS; i++) {
        if (!v.src[i] && i < info->in_min) return "a source is missing";
        if (v.src[i] && i >= info->in_max) return "too many sources";
    }
    if (!v.dst[0]) return "no result";
    for (int i = 1; i < NPU_OP_DSTS; i++)
        if (v.dst[i] && op->code != NPU_OP_MUL_MAT) return "too many results";
    check_fn *check = checks[op->code] ? checks[op->code] : check_unary;
    why = check(&v);
    return why ? why : check_steps(check, &v);
}
