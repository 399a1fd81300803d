/* Element-wise ops on vectors: unary, binary, GLU. A template: included by ops_<isa>.c after vec_<isa>.h and with
 * VEC_FN. Formulas as ref/ref_unary.c. Work is shared in pieces of a row, so that the one row of a decode step feeds
 * all threads. */
enum { PIECE = 512 };

typedef struct piece {
    uint64_t row;
    uint32_t from, n;
} piece;

/* Pieces of this thread: [*from, *to) of all rows' pieces. */
static void split_pieces(const npu_host_call *call, uint64_t *from, uint64_t *to, uint32_t *per_row) {
    *per_row = (call->dst[0].t.ne[0] + PIECE - 1) / PIECE;
    npu_host_split(call, npu_tensor_rows(&call->dst[0].t) * *per_row, from, to);
}

static piece piece_of(const npu_host_call *call, uint64_t unit, uint32_t per_row) {
    uint32_t width = call->dst[0].t.ne[0], from = (uint32_t)(unit % per_row) * PIECE;
    return (piece){unit / per_row, from, width - from < PIECE ? width - from : PIECE};
}

static inline vf vf_silu(vf x) {
    return vf_div(x, vf_add(vf_set(1.0f), vf_exp(vf_neg(x))));
}

static inline vf vf_gelu(vf x) {
    vf t = vf_mul(x, x);
    vf u = vf_mul(vf_fma(vf_mul(vf_set(0.044715f), t), x, x), vf_set(0.79788456f));
    return vf_mul(vf_mul(vf_set(0.5f), x), vf_add(vf_set(1.0f), vf_tanh(u)));
}

static inline vf vf_gelu_erf(vf x) {
    vf e = vf_erf(vf_mul(x, vf_set(0.70710678f)));
    return vf_mul(vf_mul(vf_set(0.5f), x), vf_add(vf_set(1.0f), e));
}

static inline vf vf_gelu_quick(vf x) {
    return vf_div(x, vf_add(vf_set(1.0f), vf_exp(vf_mul(vf_set(-1.702f), x))));
}

static inline vf vf_relu(vf x) {
    return vf_select(vm_or(vf_gt(x, vf_set(0.0f)), vf_nan(x)), x, vf_set(0.0f));
}

static inline vf vf_softplus(vf x) {
    return vf_select(vf_gt(x, vf_set(20.0f)), x, vf_log(vf_add(vf_set(1.0f), vf_exp(x))));
}

static inline vf unary_scale(const npu_op *op, vf x) {
    vf y = vf_mul(x, vf_set(op->params.scale.scale));
    return op->params.scale.bias != 0 ? vf_add(y, vf_set(op->params.scale.bias)) : y;
}

static inline vf unary_clamp(const npu_op *op, vf x) {
    vf lo = vf_set(op->params.clamp.lo), hi = vf_set(op->params.clamp.hi);
    vf y = vf_select(vf_lt(x, lo), lo, x);
    return vf_select(vf_gt(y, hi), hi, y);
}

static inline vf unary_softcap(const npu_op *op, vf x) {
    vf s = vf_set(op->params.scale.scale);
    return vf_mul(s, vf_tanh(vf_div(x, s)));
}

static inline vf unary_silu(const npu_op *op, vf x) {
    (void)op;
    return vf_silu(x);
}

static inline vf unary_gelu(const npu_op *op, vf x) {
    (void)op;
    return vf_gelu(x);
}

static inline vf unary_gelu_erf(const npu_op *op, vf x) {
    (void)op;
    return vf_gelu_erf(x);
}

static inline vf unary_gelu_quick(const npu_op *op, vf x) {
    (void)op;
    return vf_gelu_quick(x);
}

static inline vf unary_relu(const npu_op *op, vf x) {
    (void)op;
    return vf_relu(x);
}

static inline vf unary_sigmoid(const npu_op *op, vf x) {
    (void)op;
    return vf_div(vf_set(1.0f), vf_add(vf_set(1.0f), vf_exp(vf_neg(x))));
}

static inline vf unary_tanh(const npu_op *op, vf x) {
    (void)op;
    return vf_tanh(x);
}

static inline vf unary_exp(const npu_op *op, vf x) {
    (void)op;
    return vf_exp(x);
}

static inline vf unary_softplus(const npu_op *op, vf x) {
    (void)op;
    return vf_softplus(x);
}

/* Inlined with a constant |f|, so each op gets a loop of its own. */
NPU_INLINE void map(vf (*f)(const npu_op *, vf), const npu_op *op, const float *x, float *y, uint32_t n) {
    uint32_t i = 0;
    for (; i + VW <= n; i += VW) vf_store(y + i, f(op, vf_load(x + i)));
    if (i < n) vf_store_part(y + i, f(op, vf_load_part(x + i, (int)(n - i))), (int)(n - i));
}

static void map_piece(const npu_op *op, const float *x, float *y, uint32_t n) {
    switch (op->code) {
    case NPU_OP_SCALE:
        map(unary_scale, op, x, y, n);
        return;
    case NPU_OP_CLAMP:
        map(unary_clamp, op, x, y, n);
        return;
    case NPU_OP_SOFTCAP:
        map(unary_softcap, op, x, y, n);
        return;
    case NPU_OP_SILU:
        map(unary_silu, op, x, y, n);
        return;
    case NPU_OP_GELU:
        map(unary_gelu, op, x, y, n);
        return;
    case NPU_OP_GELU_ERF:
        map(unary_gelu_erf, op, x, y, n);
        return;
    case NPU_OP_GELU_QUICK:
        map(unary_gelu_quick, op, x, y, n);
        return;
    case NPU_OP_RELU:
        map(unary_relu, op, x, y, n);
        return;
    case NPU_OP_SIGMOID:
        map(unary_sigmoid, op, x, y, n);
        return;
    case NPU_OP_TANH:
        map(unary_tanh, op, x, y, n);
        return;
    case NPU_OP_EXP:
        map(unary_exp, op, x, y, n);
        return;
    default:
        map(unary_softplus, op, x, y, n);
        return;
    }
}

npu_status VEC_FN(unary)(const npu_host_call *call, npu_error *err) {
    (void)err;
    uint64_t from, to;
    uint32_t per_row;
    split_pieces(call, &from, &to, &per_row);
    for (uint64_t unit = from; unit < to; unit++) {
        piece p = piece_of(call, unit, per_row);
        const float *x = (const float *)npu_host_row(&call->src[0], p.row) + p.from;
        map_piece(call->op, x, (float *)npu_host_row(&call->dst[0], p.row) + p.from, p.n);
    }
    return NPU_OK;
}

static inline vf binary_add(vf a, vf b) {
    return vf_add(a, b);
}

static inline vf binary_sub(vf a, vf b) {
    return vf_sub(a, b);
}

static inline vf binary_mul(vf a, vf b) {
    return vf_mul(a, b);
}

static inline vf binary_div(vf a, vf b) {
    return vf_div(a, b);
}

/* |one|: b is one value for the whole row. */
NPU_INLINE void map2(vf (*f)(vf, vf), const float *a, const float *b, int one, float *y, uint32_t n) {
    uint32_t i = 0;
    vf value = vf_set(b[0]);
    for (; i + VW <= n; i += VW) vf_store(y + i, f(vf_load(a + i), one ? value : vf_load(b + i)));
    if (i < n) {
        int left = (int)(n - i);
        vf_store_part(y + i, f(vf_load_part(a + i, left), one ? value : vf_load_part(b + i, left)), left);
    }
}

npu_status VEC_FN(binary)(const npu_host_call *call, npu_error *err) {
    (void)err;
    uint64_t from, to;
    uint32_t per_row;
    int one = call->src[1].t.ne[0] != call->dst[0].t.ne[0];
    split_pieces(call, &from, &to, &per_row);
    for (uint64_t unit = from; unit < to; unit++) {
        piece p = piece_of(call, unit, per_row);
        const float *a = (const float *)npu_host_row(&call->src[0], p.row) + p.from;
        const float *b = (const float *)npu_host_row_repeated(&call->src[1], &call->dst[0].t, p.row);
        float *y = (float *)npu_host_row(&call->dst[0], p.row) + p.from;
        if (!one) b += p.from;
        switch (call->op->code) {
        case NPU_OP_ADD:
            map2(binary_add, a, b, one, y, p.n);
            break;
        case NPU_OP_SUB:
            map2(binary_sub, a, b, one, y, p.n);
            break;
        case NPU_OP_MUL:
            map2(binary_mul, a, b, one, y, p.n);
            break;
        default:
            map2(binary_div, a, b, one, y, p.n);
            break;
        }
    }
    return NPU_OK;
}

static inline vf glu_silu(const npu_params_glu *p, vf gate, vf up) {
    (void)p;
    return vf_mul(vf_silu(gate), up);
}

static inline vf glu_gelu(const npu_params_glu *p, vf gate, vf up) {
    (void)p;
    return vf_mul(vf_gelu(gate), up);
}

static inline vf glu_gelu_erf(const npu_params_glu *p, vf gate, vf up) {
    (void)p;
    return vf_mul(vf_gelu_erf(gate), up);
}

static inline vf glu_gelu_quick(const npu_params_glu *p, vf gate, vf up) {
    (void)p;
    return vf_mul(vf_gelu_quick(gate), up);
}

static inline vf glu_relu(const npu_params_glu *p, vf gate, vf up) {
    (void)p;
    return vf_mul(vf_relu(gate), up);
}

static inline vf glu_oai(const npu_params_glu *p, vf gate, vf up) {
    vf limit = vf_set(p->limit), low = vf_set(-p->limit), one = vf_set(1.0f);
    vf g = vf_select(vf_gt(gate, limit), limit, gate);
    vf u = vf_select(vf_lt(up, low), low, up);
    u = vf_select(vf_gt(u, limit), limit, u);
    vf s = vf_div(g, vf_add(one, vf_exp(vf_mul(vf_set(-p->alpha), g))));
    return vf_mul(s, vf_add(u, one));
}

NPU_INLINE void map_glu(vf (*f)(const npu_params_glu *, vf, vf), const npu_params_glu *p, const float *gate,
                        const float *up, float *y, uint32_t n) {
    uint32_t i = 0;
    for (; i + VW <= n; i += VW) vf_store(y + i, f(p, vf_load(gate + i), vf_load(up + i)));
    if (i < n) {
        int left = (int)(n - i);
        vf_store_part(y + i, f(p, vf_load_part(gate + i, left), vf_load_part(up + i, left)), left);
    }
}

npu_status VEC_FN(glu)(const npu_host_call *call, npu_error *err) {
    (void)err;
    const npu_params_glu *params = &call->op->params.glu;
    uint64_t from, to;
    uint32_t per_row, width = call->dst[0].t.ne[0];
    split_pieces(call, &from, &to, &per_row);
    for (uint64_t unit = from; unit < to; unit++) {
        piece p = piece_of(call, unit, per_row);
        const float *gate = (const float *)npu_host_row(&call->src[0], p.row) + p.from, *up = gate + width;
        float *y = (float *)npu_host_row(&call->dst[0], p.row) + p.from;
        if (call->src[1].data) {
            up = (const float *)npu_host_row(&call->src[1], p.row) + p.from;
        } else if (params->swapped) {
            up = gate;
            gate += width;
        }
        switch (params->kind) {
        case NPU_GLU_SILU:
            map_glu(glu_silu, params, gate, up, y, p.n);
            break;
        case NPU_GLU_GELU:
            map_glu(glu_gelu, params, gate, up, y, p.n);
            break;
        case NPU_GLU_GELU_ERF:
            map_glu(glu_gelu_erf, params, gate, up, y, p.n);
            break;
        case NPU_GLU_GELU_QUICK:
            map_glu(glu_gelu_quick, params, gate, up, y, p.n);
            break;
        case NPU_GLU_RELU:
            map_glu(glu_relu, params, gate, up, y, p.n);
            break;
        default:
            map_glu(glu_oai, params, gate, up, y, p.n);
            break;
        }
    }
    return NPU_OK;
}
