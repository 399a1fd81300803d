/* ROPE_TABLE and ROPE on vectors. A template as kernels_map.h; formulas as ref/ref_rope.c. */
npu_status VEC_FN(rope_table)(const npu_host_call *call, npu_error *err) {
    (void)err;
    const int32_t *positions = (const int32_t *)call->src[0].data;
    const float *freqs = (const float *)call->src[1].data;
    uint32_t pairs = call->src[1].t.ne[0];
    float scale = call->op->params.rope_table.scale;
    uint64_t from, to;
    npu_host_split(call, call->dst[0].t.ne[1], &from, &to);
    for (uint64_t m = from; m < to; m++) {
        float *table = (float *)npu_host_row(&call->dst[0], m);
        vf s, c, position = vf_set((float)positions[m]);
        uint32_t i = 0;
        for (; i + VW <= pairs; i += VW) {
            vf_sincos(vf_mul(position, vf_load(freqs + i)), &s, &c);
            vf_store_pairs(table + 2 * i, vf_mul(c, vf_set(scale)), vf_mul(s, vf_set(scale)));
        }
        for (; i < pairs; i++) {
            float sine, cosine;
            npu_sincosf((float)positions[m] * freqs[i], &sine, &cosine);
            table[2 * i] = cosine * scale;
            table[2 * i + 1] = sine * scale;
        }
    }
    return NPU_OK;
}

static inline void rotate(vf x0, vf x1, vf c, vf s, vf *y0, vf *y1) {
    *y0 = vf_fma(x0, c, vf_neg(vf_mul(x1, s)));
    *y1 = vf_fma(x0, s, vf_mul(x1, c));
}

/* The pairs of one head; all vectors of a step are read before they are written, so |y| may be |x|. */
static inline void rotate_head(const float *x, const float *table, uint32_t pairs, int neox, float *y) {
    uint32_t i = 0;
    vf x0, x1, c, s, y0, y1;
    for (; i + VW <= pairs; i += VW) {
        vf_load_pairs(table + 2 * i, &c, &s);
        if (neox) {
            rotate(vf_load(x + i), vf_load(x + pairs + i), c, s, &y0, &y1);
            vf_store(y + i, y0);
            vf_store(y + pairs + i, y1);
        } else {
            vf_load_pairs(x + 2 * i, &x0, &x1);
            rotate(x0, x1, c, s, &y0, &y1);
            vf_store_pairs(y + 2 * i, y0, y1);
        }
    }
    for (; i < pairs; i++) {
        uint32_t a = neox ? i : 2 * i, b = neox ? i + pairs : 2 * i + 1;
        float u = x[a], v = x[b], cosine = table[2 * i], sine = table[2 * i + 1];
        y[a] = npu_fmaf(u, cosine, -(v * sine));
        y[b] = npu_fmaf(u, sine, v * cosine);
    }
}

npu_status VEC_FN(rope)(const npu_host_call *call, npu_error *err) {
    (void)err;
    const npu_host_operand *y = &call->dst[0];
    uint32_t heads = y->t.ne[1], pairs = call->src[1].t.ne[0] / 2;
    uint64_t from, to;
    npu_host_split(call, npu_tensor_rows(&y->t), &from, &to);
    for (uint64_t row = from; row < to; row++) {
        const float *x = (const float *)npu_host_row(&call->src[0], row);
        const float *table = (const float *)npu_host_at(&call->src[1], row / heads, 0, 0);
        float *out = (float *)npu_host_row(y, row);
        rotate_head(x, table, pairs, call->op->params.rope.mode == NPU_ROPE_NEOX, out);
        if (out != x) memcpy(out + 2 * pairs, x + 2 * pairs, (y->t.ne[0] - 2 * pairs) * sizeof(float));
    }
    return NPU_OK;
}
