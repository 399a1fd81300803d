/* FLASH_ATTN on vectors. A template as kernels_map.h; the contract is numerics.md §7, the reference
 * ref/ref_flash_attn.c.
 *
 * A thread takes a KV head and a tile of up to TILE (query row, head) pairs that read it. A block of 32 keys is turned
 * once ([D][32], lanes are keys) and used for the scores of the whole tile; the block's values are converted once and
 * used with lanes = value dimension. Chunks of 1024 keys are merged per pair as the contract says.
 */
enum { CHUNK = 1024, BLOCK = 32, TILE = 32, BLOCK_VECTORS = BLOCK / VW };

/* One (query row, head) of a tile. */
typedef struct attn_row {
    const float *q;
    float *y;
    const uint8_t *mask;
    const float *sink;
    float slope;
    uint32_t n, lo;           /* keys; first visible */
    float m, l, m_all, l_all; /* of the chunk; of the chunks before */
    float *acc, *acc_all;     /* |width| floats each */
} attn_row;

/* Scratch of one thread. */
typedef struct attn_tile {
    const npu_host_call *call;
    uint32_t d, dv, width; /* |width|: dv rounded up to whole vectors */
    uint32_t n_rows;
    uint64_t kv_head, first; /* first cell of the spans */
    float *keys, *turned, *values, *p, *acc;
    attn_row rows[TILE];
} attn_tile;

static uint32_t attn_round(uint32_t n) {
    return (n + 15) / 16 * 16;
}

static uint64_t attn_thread_bytes(uint32_t d, uint32_t dv) {
    uint64_t keys = (uint64_t)BLOCK * attn_round(d), values = (uint64_t)BLOCK * attn_round(dv);
    uint64_t acc = (uint64_t)2 * TILE * attn_round(dv), p = (uint64_t)TILE * BLOCK;
    return npu_host_round(sizeof(attn_tile)) + npu_host_round((2 * keys + values + acc + p) * sizeof(float));
}

uint64_t VEC_FN(flash_attn_scratch)(const npu_op *op, const npu_tensor *tensors, npu_mode mode, unsigned nth) {
    (void)mode;
    return nth * attn_thread_bytes(tensors[op->src[0]].ne[0], tensors[op->src[2]].ne[0]);
}

/* Keys |block| … of the span, at most |count|, turned so that lanes are keys. Lanes past |count| are left as they are:
 * their scores are never used. */
static void turn_keys(const attn_tile *t, uint32_t block, uint32_t count) {
    const npu_host_operand *k = &t->call->src[1];
    uint32_t stride = attn_round(t->d);
    for (uint32_t j = 0; j < count; j++) {
        to_floats(k->t.type, npu_host_at(k, t->kv_head, t->first + block + j, 0), t->keys + j * stride, t->d);
    }
    for (uint32_t j = 0; j < count; j += VTILE) {
        for (uint32_t i = 0; i < t->d; i += VTILE) {
            vf_transpose(t->keys + j * stride + i, stride, t->turned + (size_t)i * BLOCK + j, BLOCK);
        }
    }
}

static void convert_values(const attn_tile *t, uint32_t block, uint32_t count) {
    const npu_host_operand *v = &t->call->src[2];
    for (uint32_t j = 0; j < count; j++) {
        to_floats(v->t.type, npu_host_at(v, t->kv_head, t->first + block + j, 0), t->values + j * t->width, t->dv);
    }
}

/* Sums of products with the block's keys for |n| rows from |row|; n is a constant where it is called. */
NPU_INLINE void dot_rows(const attn_tile *t, uint32_t row, int n) {
    vf s[VROWS][BLOCK_VECTORS];
    for (int r = 0; r < n; r++)
        for (int v = 0; v < BLOCK_VECTORS; v++) s[r][v] = vf_set(0.0f);
    for (uint32_t i = 0; i < t->d; i++) {
        const float *k = t->turned + (size_t)i * BLOCK;
        for (int r = 0; r < n; r++) {
            vf q = vf_set(t->rows[row + (uint32_t)r].q[i]);
            for (int v = 0; v < BLOCK_VECTORS; v++) s[r][v] = vf_fma(q, vf_load(k + v * VW), s[r][v]);
        }
    }
    for (int r = 0; r < n; r++)
        for (int v = 0; v < BLOCK_VECTORS; v++) vf_store(t->p + (row + (uint32_t)r) * BLOCK + v * VW, s[r][v]);
}

/* The visible part of a block for one row: keys from .. to - 1, counted from the block; none when from >= to. */
static inline void visible(const attn_row *r, uint32_t block, uint32_t *from, uint32_t *to) {
    *from = r->lo > block ? r->lo - block : 0;
    *to = r->n <= block ? 0 : r->n - block < BLOCK ? r->n - block : BLOCK;
}

static inline vf add_mask(const attn_tile *t, const attn_row *r, uint32_t j, uint32_t end, vf s) {
    float values[VW] = {0};
    for (uint32_t i = 0; i < VW && j + i < end; i++) values[i] = npu_ref_mask(&t->call->src[4], r->mask, j + i);
    return vf_add(s, vf_mul(vf_set(r->slope), vf_load(values)));
}

/* Sums of products become p; m and l of the row move on. Returns the factor for what was accumulated before, or a
 * negative number when the block adds nothing. */
static float weigh(const attn_tile *t, attn_row *r, uint32_t block, float *p) {
    const npu_params_attn *params = &t->call->op->params.attn;
    uint32_t from, to;
    vf s[BLOCK_VECTORS], top = vf_set(-NPU_F32_INF);
    vm seen[BLOCK_VECTORS], nan = vm_first(0);
    visible(r, block, &from, &to);
    if (from >= to) return -1;
    for (int v = 0; v < BLOCK_VECTORS; v++) {
        int base = v * VW;
        seen[v] = vm_and_not(vm_first((int)to - base), vm_first((int)from - base));
        s[v] = vf_mul(vf_load(p + base), vf_set(params->scale));
        if (params->softcap != 0) {
            vf cap = vf_set(params->softcap);
            s[v] = vf_mul(cap, vf_tanh(vf_div(s[v], cap)));
        }
        if (r->mask) s[v] = add_mask(t, r, block + (uint32_t)base, block + to, s[v]);
        vf shown = vf_select(seen[v], s[v], vf_set(-NPU_F32_INF));
        nan = vm_or(nan, vf_nan(shown));
        top = vf_select(vf_gt(shown, top), shown, top);
    }
    float m_new = npu_maxf(r->m, vm_any(nan) ? NPU_F32_NAN : vf_top(top));
    if (m_new == -NPU_F32_INF) return -1;
    float keep = npu_expf(r->m - m_new);
    for (int v = 0; v < BLOCK_VECTORS; v++) {
        s[v] = vf_select(seen[v], vf_exp(vf_sub(s[v], vf_set(m_new))), vf_set(0.0f));
        vf_store(p + v * VW, s[v]);
    }
    r->l = npu_fmaf(r->l, keep, fold32(s));
    r->m = m_new;
    return keep;
}

/* acc = acc * keep, then p_j * v_j for j = from .. to - 1, for |count| vectors at |i|. */
NPU_INLINE void add_values(const attn_tile *t, const attn_row *r, const float *p, float keep, uint32_t from,
                           uint32_t to, uint32_t i, int count) {
    vf acc[8];
    for (int v = 0; v < count; v++) acc[v] = vf_mul(vf_load(r->acc + i + v * VW), vf_set(keep));
    for (uint32_t j = from; j < to; j++) {
        const float *value = t->values + j * t->width + i;
        vf weight = vf_set(p[j]);
        for (int v = 0; v < count; v++) acc[v] = vf_fma(weight, vf_load(value + v * VW), acc[v]);
    }
    for (int v = 0; v < count; v++) vf_store(r->acc + i + v * VW, acc[v]);
}

static void take_values(const attn_tile *t, const attn_row *r, uint32_t block, const float *p, float keep) {
    uint32_t from, to, i = 0;
    visible(r, block, &from, &to);
    for (; i + 8 * VW <= t->width; i += 8 * VW) add_values(t, r, p, keep, from, to, i, 8);
    for (; i + 4 * VW <= t->width; i += 4 * VW) add_values(t, r, p, keep, from, to, i, 4);
    for (; i < t->width; i += VW) add_values(t, r, p, keep, from, to, i, 1);
}

static void take_block(attn_tile *t, uint32_t block, uint32_t end) {
    uint32_t count = end - block < BLOCK ? end - block : BLOCK, row = 0;
    float keep[TILE];
    int any = 0;
    turn_keys(t, block, count);
    for (; row + VROWS <= t->n_rows; row += VROWS) dot_rows(t, row, VROWS);
    switch (t->n_rows - row) { /* below VROWS; more rows at once hide the latency of the sums */
    case 3:
        dot_rows(t, row, VROWS < 3 ? 1 : 3);
        break;
    case 2:
        dot_rows(t, row, VROWS < 2 ? 1 : 2);
        break;
    case 1:
        dot_rows(t, row, 1);
        break;
    default:
        break;
    }
    for (row = 0; row < t->n_rows; row++) {
        keep[row] = weigh(t, &t->rows[row], block, t->p + row * BLOCK);
        any |= !(keep[row] < 0);
    }
    if (!any) return;
    convert_values(t, block, count);
    for (row = 0; row < t->n_rows; row++) {
        if (!(keep[row] < 0)) take_values(t, &t->rows[row], block, t->p + row * BLOCK, keep[row]);
    }
}

static void merge_chunk(const attn_tile *t, attn_row *r) {
    if (r->m == -NPU_F32_INF) return;
    if (r->m_all == -NPU_F32_INF) {
        float *empty = r->acc_all;
        r->acc_all = r->acc;
        r->acc = empty;
        r->m_all = r->m;
        r->l_all = r->l;
        return;
    }
    float m = npu_maxf(r->m_all, r->m), a = npu_expf(r->m_all - m), b = npu_expf(r->m - m);
    r->l_all = npu_fmaf(r->l, b, r->l_all * a);
    for (uint32_t i = 0; i < t->width; i += VW) {
        vf old = vf_mul(vf_load(r->acc_all + i), vf_set(a));
        vf_store(r->acc_all + i, vf_fma(vf_load(r->acc + i), vf_set(b), old));
    }
    r->m_all = m;
}

static void finish_row(const attn_tile *t, attn_row *r) {
    float keep = 1, l = r->l_all;
    if (r->m_all == -NPU_F32_INF) {
        for (uint32_t i = 0; i < t->dv; i++) r->y[i] = 0;
        return;
    }
    if (r->sink) {
        float m = npu_maxf(r->m_all, *r->sink);
        keep = npu_expf(r->m_all - m);
        l = npu_fmaf(l, keep, npu_expf(*r->sink - m));
    }
    vf factor = vf_set(1.0f / l);
    for (uint32_t i = 0; i < t->dv; i += VW) {
        int left = t->dv - i < VW ? (int)(t->dv - i) : VW;
        vf_store_part(r->y + i, vf_mul(vf_mul(vf_load(r->acc_all + i), vf_set(keep)), factor), left);
    }
}

/* The tile's rows over all chunks of their spans. */
static void attend_tile(attn_tile *t) {
    uint32_t end = 0, lo = UINT32_MAX;
    for (uint32_t i = 0; i < t->n_rows; i++) {
        attn_row *r = &t->rows[i];
        if (r->n > end) end = r->n;
        if (r->lo < lo) lo = r->lo;
        r->m_all = -NPU_F32_INF;
        r->acc_all = t->acc + (size_t)(2 * i) * t->width;
        r->acc = r->acc_all + t->width;
    }
    for (uint32_t chunk = lo / CHUNK * CHUNK; chunk < end; chunk += CHUNK) {
        for (uint32_t i = 0; i < t->n_rows; i++) {
            t->rows[i].m = -NPU_F32_INF;
            t->rows[i].l = 0;
            for (uint32_t k = 0; k < t->width; k += VW) vf_store(t->rows[i].acc + k, vf_set(0.0f));
        }
        for (uint32_t block = chunk; block < end && block - chunk < CHUNK; block += BLOCK)
            if (block + BLOCK > lo) take_block(t, block, end);
        for (uint32_t i = 0; i < t->n_rows; i++) merge_chunk(t, &t->rows[i]);
    }
    for (uint32_t i = 0; i < t->n_rows; i++) finish_row(t, &t->rows[i]);
    t->n_rows = 0;
}

/* Adds query row |m| of heads |h| … to the tile; a row of another span start closes the tile first. */
static void add_rows(attn_tile *t, uint32_t m, uint32_t h, uint32_t count) {
    const npu_host_call *call = t->call;
    const npu_params_attn *params = &call->op->params.attn;
    const int32_t *span = (const int32_t *)npu_host_at(&call->src[3], m, 0, 0);
    const float *sinks = (const float *)call->src[5].data;
    if (t->n_rows && t->first != (uint64_t)span[0]) attend_tile(t);
    t->first = (uint64_t)span[0];
    for (uint32_t i = 0; i < count; i++) {
        attn_row *r = &t->rows[t->n_rows++];
        *r = (attn_row){.q = (const float *)npu_host_at(&call->src[0], h + i, m, 0),
                        .y = (float *)npu_host_at(&call->dst[0], h + i, m, 0),
                        .mask = call->src[4].data ? npu_host_at(&call->src[4], m, 0, 0) : NULL,
                        .sink = sinks ? &sinks[h + i] : NULL,
                        .slope = npu_ref_alibi_slope(params->max_bias, h + i, call->src[0].t.ne[1]),
                        .n = (uint32_t)span[1]};
        if (params->window && r->n > params->window) r->lo = r->n - params->window;
    }
}

npu_status VEC_FN(flash_attn)(const npu_host_call *call, npu_error *err) {
    const npu_tensor *q = &call->src[0].t;
    uint32_t d = q->ne[0], dv = call->src[2].t.ne[0], kv_heads = call->src[1].t.ne[1], group = q->ne[1] / kv_heads;
    NPU_TRY(npu_host_attn_check_spans(call, err));
    uint8_t *scratch = call->scratch + call->ith * attn_thread_bytes(d, dv);
    attn_tile *t = (attn_tile *)scratch;
    float *floats = (float *)(scratch + npu_host_round(sizeof *t));
    *t = (attn_tile){.call = call, .d = d, .dv = dv, .width = attn_round(dv), .keys = floats};
    t->turned = t->keys + (size_t)BLOCK * attn_round(d);
    t->values = t->turned + (size_t)BLOCK * attn_round(d);
    t->acc = t->values + (size_t)BLOCK * t->width;
    t->p = t->acc + (size_t)2 * TILE * t->width;
    memset(t->keys, 0,
           BLOCK * attn_round(d) * sizeof(float)); /* what pads rows and blocks must not be slow to compute with */
    memset(t->values, 0, BLOCK * t->width * sizeof(float));
    /* Tasks: KV head x slice of its group x tile of query rows. Where that gives less than a task a thread (decoding
     * with few KV heads), slices are made smaller: keys are then turned more than once, but no thread is idle. */
    uint32_t slice = group < TILE ? group : TILE, tile = TILE / slice, tiles = (q->ne[2] + tile - 1) / tile;
    while (slice > 1 && (uint64_t)kv_heads * ((group + slice - 1) / slice) * tiles < call->nth) slice = (slice + 1) / 2;
    uint32_t slices = (group + slice - 1) / slice;
    uint64_t tasks = (uint64_t)kv_heads * slices * tiles;
    for (uint64_t task = call->ith; task < tasks; task += call->nth) {
        uint32_t head = (uint32_t)(task % kv_heads), s = (uint32_t)(task / kv_heads % slices);
        uint32_t m = (uint32_t)(task / kv_heads / slices) * tile, last = m + tile < q->ne[2] ? m + tile : q->ne[2];
        uint32_t h = s * slice, count = group - h < slice ? group - h : slice;
        t->kv_head = head;
        for (; m < last; m++) add_rows(t, m, head * group + h, count);
        attend_tile(t);
    }
    return NPU_OK;
}
