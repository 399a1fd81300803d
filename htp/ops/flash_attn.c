/* FLASH_ATTN (docs/numerics.md, section 7). A task is one KV head and a few neighbouring query rows; rows whose spans
 * start at the same cell share each block of 32 keys and values that DMA brings. Lanes are keys for the scores and
 * values' elements for the sums, so no result depends on the split.
 */
#include "htp/hvx/hvx_convert.h"
#include "htp/hvx/hvx_math.h"
#include "htp/memory.h"
#include "htp/op.h"

#include "wire/alibi.h"
#include "wire/image.h"
#include "wire/format.h"
#include "wire/guard.h"
#include "wire/op_check.h"

enum { BLOCK = 32, CHUNK = 1024 };

typedef struct state {
    float m, l;   /* of the chunk */
    float tm, tl; /* of all chunks before */
} state;

typedef struct attn {
    htp_op *o;
    const npu_kernel_attn *k;
    const int32_t *spans; /* [rows][2], a private copy: the host can change its own at any time */
    const float *slopes;  /* by head */
    uint32_t d, dv, rows, tasks;
    uint32_t k_width, v_width; /* vectors of a key and of a value as f32 */
} attn;

typedef struct attn_thread {
    const attn *a;
    htp_dma *dma;
    uint8_t *raw;              /* slots: keys, values, mask */
    HVX_Vector *keys;          /* [32 * k_width] vectors of 32 keys */
    HVX_Vector *values, *rows; /* [32][v_width], [32][k_width] */
    HVX_Vector *sums, *totals; /* [states][v_width] */
    state *states;             /* in scratch */
    uint32_t kv, first_row, n_rows, first_cell;
    uint32_t from; /* first block */
} attn_thread;

static const int32_t *span(const attn *a, uint32_t row) {
    return a->spans + 2 * (uint64_t)row;
}

static uint32_t load_block(void *job, uint64_t block, uint32_t slot) {
    attn_thread *t = job;
    const attn *a = t->a;
    uint8_t *to = t->raw + slot * a->k->slot_bytes;
    uint32_t most = 0;
    for (uint32_t r = 0; r < t->n_rows; r++) {
        uint32_t n = (uint32_t)span(a, t->first_row + r)[1];
        most = n > most ? n : most;
    }
    uint32_t left = most - (uint32_t)block * BLOCK, n = left < BLOCK ? left : BLOCK;
    for (unsigned i = 1; i <= 2; i++) {
        const npu_tensor *s = &a->o->src[i];
        uint32_t values, unit = npu_tensor_unit(s, &values), row = i == 1 ? a->k->k_row_bytes : a->k->v_row_bytes;
        const uint8_t *from = a->o->src_data[i] + t->kv * s->nb[1] + (t->first_cell + block * BLOCK) * s->nb[2];
        htp_dma_push_2d(t->dma, to, from, s->ne[0] / values * unit, n, row, s->nb[2]);
        to += BLOCK * row;
    }
    if (!a->k->mask_row_bytes) return 2;
    const npu_tensor *mask = &a->o->src[4];
    const uint8_t *from = a->o->src_data[4] + t->first_row * mask->nb[1] + block * BLOCK * mask->nb[0];
    htp_dma_push_2d(t->dma, to, from, n * (uint32_t)mask->nb[0], t->n_rows, a->k->mask_row_bytes, mask->nb[1]);
    return 3;
}

/* Keys to vectors of one element of 32 keys; values, which stay rows, to f32. Elements past d and dv mean nothing. */
static void prepare(attn_thread *t, const uint8_t *raw) {
    const attn *a = t->a;
    for (uint32_t j = 0; j < BLOCK; j++, raw += a->k->k_row_bytes)
        hvx_convert_to_f32(a->o->src[1].type, raw, t->rows + j * a->k_width, a->d);
    for (uint32_t piece = 0; piece < a->k_width; piece++) {
        HVX_Vector square[32];
        for (uint32_t j = 0; j < BLOCK; j++) square[j] = t->rows[j * a->k_width + piece];
        hvx_transpose_32x32(square, t->keys + piece * 32);
    }
    for (uint32_t j = 0; j < BLOCK; j++, raw += a->k->v_row_bytes)
        hvx_convert_to_f32(a->o->src[2].type, raw, t->values + j * a->v_width, a->dv);
}

/* Scores of the 32 keys of a block for one query row and head. |mask|: its row's, in local memory; NULL = none. */
static HVX_Vector score(const attn_thread *t, const float *q, const uint8_t *mask, float slope) {
    const npu_params_attn *p = &t->a->o->op->params.attn;
    HVX_Vector s = Q6_V_vzero();
    for (uint32_t i = 0; i < t->a->d; i++) s = hvx_f32_fma(hvx_f32_splat(q[i]), t->keys[i], s);
    s = hvx_f32_mul(s, hvx_f32_splat(p->scale));
    if (p->softcap != 0) {
        HVX_Vector cap = hvx_f32_splat(p->softcap);
        s = hvx_f32_mul(cap, hvx_f32_tanh(hvx_f32_div(s, cap)));
    }
    if (mask) {
        HVX_Vector m;
        hvx_convert_to_f32(t->a->o->src[4].type, mask, &m, BLOCK);
        s = hvx_f32_add(s, hvx_f32_mul(hvx_f32_splat(slope), m));
    }
    return s;
}

/* One block into one state. Keys lo .. hi - 1 of the block are visible, at least one is. */
static void step(attn_thread *t, state *st, HVX_Vector *acc, HVX_Vector s, uint32_t lo, uint32_t hi) {
    HVX_VectorPred visible = hvx_lanes_between(lo, hi);
    float mb = hvx_f32_largest(Q6_V_vmux_QVV(visible, s, hvx_f32_splat(-NPU_F32_INF)));
    float m = npu_maxf(st->m, mb);
    if (m == -NPU_F32_INF) return;
    float c = npu_expf(st->m - m), lanes[32] __attribute__((aligned(128)));
    HVX_Vector p = hvx_f32_exp(hvx_f32_sub(s, hvx_f32_splat(m))), cs = hvx_f32_splat(c);
    p = Q6_V_vmux_QVV(visible, p, Q6_V_vzero());
    st->l = __builtin_fmaf(st->l, c, hvx_f32_sum(p));
    st->m = m;
    *(HVX_Vector *)lanes = p; /* cached memory: read back as scalars */
    uint32_t width = t->a->v_width;
    for (uint32_t i = 0; i < width; i++) {
        HVX_Vector x = hvx_f32_mul(acc[i], cs);
        for (uint32_t j = lo; j < hi; j++) x = hvx_f32_fma(hvx_f32_splat(lanes[j]), t->values[j * width + i], x);
        acc[i] = x;
    }
}

/* The chunk's state joins the running one and starts anew. */
static void merge(const attn_thread *t, state *st, HVX_Vector *sum, HVX_Vector *total) {
    uint32_t width = t->a->v_width;
    if (st->m != -NPU_F32_INF) {
        if (st->tm == -NPU_F32_INF) {
            st->tm = st->m, st->tl = st->l;
            for (uint32_t i = 0; i < width; i++) total[i] = sum[i];
        } else {
            float m = npu_maxf(st->tm, st->m), a = npu_expf(st->tm - m), b = npu_expf(st->m - m);
            HVX_Vector as = hvx_f32_splat(a), bs = hvx_f32_splat(b);
            st->tl = __builtin_fmaf(st->l, b, st->tl * a);
            st->tm = m;
            for (uint32_t i = 0; i < width; i++) total[i] = hvx_f32_fma(sum[i], bs, hvx_f32_mul(total[i], as));
        }
    }
    st->m = -NPU_F32_INF, st->l = 0;
    for (uint32_t i = 0; i < width; i++) sum[i] = Q6_V_vzero();
}

static void attend(void *job, uint64_t block, uint32_t slot) {
    attn_thread *t = job;
    const attn *a = t->a;
    const npu_tensor *q = &a->o->src[0];
    uint32_t group = a->k->group, window = a->o->op->params.attn.window, key = (uint32_t)block * BLOCK;
    const uint8_t *raw = t->raw + slot * a->k->slot_bytes;
    const uint8_t *masks = a->k->mask_row_bytes ? raw + BLOCK * (a->k->k_row_bytes + a->k->v_row_bytes) : 0;
    prepare(t, raw);
    for (uint32_t r = 0; r < t->n_rows; r++) {
        uint32_t row = t->first_row + r, n = (uint32_t)span(a, row)[1], first = window && n > window ? n - window : 0;
        for (uint32_t g = 0; g < group; g++) {
            uint32_t i = r * group + g;
            HVX_Vector *sum = t->sums + i * a->v_width;
            if (key % CHUNK == 0) merge(t, &t->states[i], sum, t->totals + i * a->v_width);
            if (key >= n || key + BLOCK <= first) continue;
            uint32_t head = t->kv * group + g;
            const uint8_t *qs = a->o->src_data[0] + row * q->nb[2] + head * q->nb[1];
            HVX_Vector s = score(t, (const float *)qs, masks ? masks + r * a->k->mask_row_bytes : 0, a->slopes[head]);
            step(t, &t->states[i], sum, s, first > key ? first - key : 0, n - key < BLOCK ? n - key : BLOCK);
        }
    }
}

static uint32_t store_none(void *job, uint64_t block, uint32_t slot) {
    (void)job, (void)block, (void)slot;
    return 0;
}

static void finish(attn_thread *t) {
    const attn *a = t->a;
    const npu_tensor *y = &a->o->dst[0];
    uint32_t group = a->k->group, width = a->v_width;
    for (uint32_t i = 0; i < t->n_rows * group; i++) {
        state *st = &t->states[i];
        HVX_Vector *total = t->totals + i * width;
        merge(t, st, t->sums + i * width, total);
        int empty = st->tm == -NPU_F32_INF;
        if (a->o->src_data[5] && !empty) {
            float sink = ((const float *)a->o->src_data[5])[t->kv * group + i % group];
            float m = npu_maxf(st->tm, sink), c = npu_expf(st->tm - m);
            st->tl = __builtin_fmaf(st->tl, c, npu_expf(sink - m));
            for (uint32_t e = 0; e < width; e++) total[e] = hvx_f32_mul(total[e], hvx_f32_splat(c));
        }
        HVX_Vector inverse = hvx_f32_splat(1.0f / st->tl);
        for (uint32_t e = 0; e < width; e++) total[e] = empty ? Q6_V_vzero() : hvx_f32_mul(total[e], inverse);
    }
    for (uint32_t r = 0; r < t->n_rows; r++)
        htp_dma_push_2d(t->dma, a->o->dst_data[0] + (t->first_row + r) * y->nb[2] + t->kv * group * y->nb[1],
                        t->totals + r * group * width, a->dv * 4, group, y->nb[1], width * NPU_VECTOR_BYTES);
    for (uint32_t r = 0; r < t->n_rows && NPU_GUARD(ATTN_STORES_POPPED); r++) htp_dma_pop(t->dma);
}

/* Rows that share their first cell, all heads of one KV head. */
static void run_rows(attn_thread *t) {
    const attn *a = t->a;
    uint32_t window = a->o->op->params.attn.window, lowest = UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < t->n_rows * a->k->group; i++) {
        t->states[i] = (state){-NPU_F32_INF, 0, -NPU_F32_INF, 0};
        for (uint32_t e = 0; e < a->v_width; e++)
            t->sums[i * a->v_width + e] = t->totals[i * a->v_width + e] = Q6_V_vzero();
    }
    for (uint32_t r = 0; r < t->n_rows; r++) {
        uint32_t n = (uint32_t)span(a, t->first_row + r)[1], low = window && n > window ? n - window : 0;
        most = n > most ? n : most;
        lowest = low < lowest ? low : lowest;
    }
    htp_pipe pipe = {t->dma,     t,      a->k->head.depth, lowest / BLOCK, (most + BLOCK - 1) / BLOCK,
                     load_block, attend, store_none};
    if (pipe.first < pipe.end) htp_pipe_run(&pipe);
    finish(t);
}

static void run_tasks(void *job, unsigned thread) {
    const attn *a = job;
    const npu_kernel_attn *k = a->k;
    uint32_t states = k->rows * k->group, threads = k->head.threads, kv_heads = a->o->src[1].ne[1];
    attn_thread t = {.a = a, .dma = &a->o->session->dma[thread], .raw = htp_op_vtcm(a->o, thread)};
    t.keys = (HVX_Vector *)(t.raw + k->head.depth * k->slot_bytes);
    t.values = t.keys + BLOCK * a->k_width;
    t.rows = t.values + BLOCK * a->v_width;
    t.sums = t.rows + BLOCK * a->k_width;
    t.totals = t.sums + states * a->v_width;
    t.states = (state *)htp_op_scratch(a->o, thread);
    for (uint32_t task = thread; task < a->tasks; task += threads) {
        t.kv = task % kv_heads;
        uint32_t row = task / kv_heads * k->rows, end = row + k->rows < a->rows ? row + k->rows : a->rows;
        while (row < end) {
            t.first_row = row;
            t.first_cell = (uint32_t)span(a, row)[0];
            while (row < end && (uint32_t)span(a, row)[0] == t.first_cell) row++;
            t.n_rows = row - t.first_row;
            run_rows(&t);
        }
    }
}

/* A private copy of the spans. 0 when one leaves the cache or the mask. */
static int take_spans(htp_op *o, uint32_t rows, int32_t *spans) {
    uint32_t most = o->src_data[4] ? o->src[4].ne[0] : INT32_MAX;
    if (NPU_GUARD(REFRESH_SPANS)) htp_op_refresh(o, o->src_data[3], (rows - 1) * o->src[3].nb[1] + 8);
    for (uint32_t row = 0; row < rows; row++) {
        int32_t *s = spans + 2 * (uint64_t)row;
        htp_copy(s, o->src_data[3] + row * o->src[3].nb[1], 8);
        if (s[0] >= 0 && s[1] >= 0 && (uint64_t)s[0] + (uint64_t)s[1] <= o->src[1].ne[2] && (uint32_t)s[1] <= most)
            continue;
        htp_op_fail(o, NPU_WIRE_BAD_SPAN, row);
        return 0;
    }
    return 1;
}

void htp_flash_attn(htp_op *o) {
    const npu_params_attn *p = &o->op->params.attn;
    const npu_tensor *q = &o->src[0];
    attn a = {.o = o, .k = o->kernel, .d = q->ne[0], .dv = o->src[2].ne[0], .rows = q->ne[2]};
    int32_t *spans = (int32_t *)htp_op_shared_scratch(o);
    float *slopes = (float *)(spans + npu_round_up(a.rows * 2, 32));
    a.spans = spans;
    a.slopes = slopes;
    a.k_width = (a.d + 31) / 32;
    a.v_width = (a.dv + 31) / 32;
    if (!take_spans(o, a.rows, spans)) return;
    for (uint32_t h = 0; h < q->ne[1]; h++) slopes[h] = npu_alibi_slope(&p->alibi, p->max_bias, h, q->ne[1]);
    for (uint32_t row = 0; row < a.rows && NPU_GUARD(REFRESH_QUERIES); row++)
        htp_op_refresh(o, o->src_data[0] + row * q->nb[2], (q->ne[1] - 1) * q->nb[1] + a.d * 4);
    if (o->src_data[5] && NPU_GUARD(REFRESH_SINKS)) htp_op_refresh(o, o->src_data[5], (uint64_t)o->src[5].ne[0] * 4);
    a.tasks = NPU_GUARD_CEIL(ROUND_ATTN_TASKS, a.rows, a.k->rows) * o->src[1].ne[1];
    htp_pool_run(&o->session->pool, run_tasks, &a, a.k->head.threads);
}
