/* FLASH_ATTN (docs/numerics.md, section 7). A task is one KV head and a few neighbouring query rows; rows whose spans
 * start at the same cell share each block of 32 keys and values that DMA brings. Lanes are keys for the scores and
 * values' elements for the sums, so no result depends on the split.
 */
#include "htp/hvx/hvx_attn.h"
#include "htp/hvx/hvx_convert.h"
#include "htp/hvx/hvx_math.h"
#include "htp/memory.h"
#include "htp/op.h"

#include "wire/alibi.h"
#include "wire/image.h"
#include "wire/format.h"
#include "wire/guard.h"
#include "wire/op_check.h"

enum { BLOCK = HTP_ATTN_KEYS, CHUNK = 1024, QUERIES = HTP_ATTN_QUERIES };

typedef struct state {
    htp_attn_state chunk, total; /* total: of all chunks before */
} state;

/* Neighbouring queries that see the same keys of a block. */
typedef struct together {
    uint32_t n, first, end;
    const float *q[QUERIES];
    const uint8_t *mask[QUERIES]; /* in local memory; NULL = none */
    float slope[QUERIES];
    uint32_t state[QUERIES];
} together;

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
    htp_attn_keys(a->o->src[1].type, raw, a->k->k_row_bytes, a->d, t->rows, t->keys);
    raw += BLOCK * a->k->k_row_bytes;
    for (uint32_t j = 0; j < BLOCK; j++, raw += a->k->v_row_bytes)
        hvx_convert_to_f32(a->o->src[2].type, raw, t->values + j * a->v_width, a->dv);
}

/* Of products of query and keys. */
static HVX_Vector score(const attn *a, HVX_Vector s, const uint8_t *mask, float slope) {
    const npu_params_attn *p = &a->o->op->params.attn;
    s = hvx_f32_mul(s, hvx_f32_splat(p->scale));
    if (p->softcap != 0) {
        HVX_Vector cap = hvx_f32_splat(p->softcap);
        s = hvx_f32_mul(cap, hvx_f32_tanh(hvx_f32_div(s, cap)));
    }
    if (mask) {
        HVX_Vector m;
        hvx_convert_to_f32(a->o->src[4].type, mask, &m, BLOCK);
        s = hvx_f32_add(s, hvx_f32_mul(hvx_f32_splat(slope), m));
    }
    return s;
}

/* One block into the states of queries; nothing is left of them. */
static void step(attn_thread *t, together *x) {
    const attn *a = t->a;
    htp_attn_state *chunk[QUERIES];
    HVX_Vector scores[QUERIES], weights[QUERIES], *sums[QUERIES]; /* cached memory: weights are read back as scalars */
    const float *p[QUERIES];
    float c[QUERIES];
    uint32_t n = 0;
    if (!x->n) return;
    htp_attn_dot(x->n, x->q, t->keys, a->d, scores);
    for (uint32_t r = 0; r < x->n; r++) {
        scores[r] = score(a, scores[r], x->mask[r], x->slope[r]);
        chunk[r] = &t->states[x->state[r]].chunk;
    }
    htp_attn_softmax(x->n, scores, x->first, x->end, chunk, weights, c);
    for (uint32_t r = 0; r < x->n; r++) {
        if (chunk[r]->m == -NPU_F32_INF) continue;
        p[n] = (const float *)&weights[r];
        sums[n] = t->sums + x->state[r] * a->v_width;
        c[n++] = c[r];
    }
    if (n) htp_attn_add(n, p, c, x->first, x->end, t->values, a->v_width, sums);
    x->n = 0;
}

/* The chunk's state joins the running one and starts anew. */
static void merge(const attn_thread *t, state *st, HVX_Vector *sum, HVX_Vector *total) {
    uint32_t width = t->a->v_width;
    htp_attn_state *chunk = &st->chunk, *all = &st->total;
    if (chunk->m != -NPU_F32_INF) {
        if (all->m == -NPU_F32_INF) {
            *all = *chunk;
            for (uint32_t i = 0; i < width; i++) total[i] = sum[i];
        } else {
            float m = npu_maxf(all->m, chunk->m), a = npu_expf(all->m - m), b = npu_expf(chunk->m - m);
            HVX_Vector as = hvx_f32_splat(a), bs = hvx_f32_splat(b);
            *all = (htp_attn_state){m, __builtin_fmaf(chunk->l, b, all->l * a)};
            for (uint32_t i = 0; i < width; i++) total[i] = hvx_f32_fma(sum[i], bs, hvx_f32_mul(total[i], as));
        }
    }
    *chunk = (htp_attn_state){-NPU_F32_INF, 0};
    for (uint32_t i = 0; i < width; i++) sum[i] = Q6_V_vzero();
}

/* One block into all states of a query row. */
static void attend_row(attn_thread *t, uint32_t r, uint32_t key, const uint8_t *mask, together *x) {
    const attn *a = t->a;
    const npu_tensor *q = &a->o->src[0];
    uint32_t group = a->k->group, window = a->o->op->params.attn.window, row = t->first_row + r;
    uint32_t n = (uint32_t)span(a, row)[1], low = window && n > window ? n - window : 0;
    uint32_t first = low > key ? low - key : 0, end = n - key < BLOCK ? n - key : BLOCK;
    for (uint32_t g = 0; g < group; g++) {
        uint32_t i = r * group + g, head = t->kv * group + g;
        if (key % CHUNK == 0) merge(t, &t->states[i], t->sums + i * a->v_width, t->totals + i * a->v_width);
        if (key >= n || key + BLOCK <= low) continue;
        if (x->n == QUERIES || (x->n && (x->first != first || x->end != end))) step(t, x);
        x->first = first;
        x->end = end;
        x->q[x->n] = (const float *)(a->o->src_data[0] + row * q->nb[2] + head * q->nb[1]);
        x->mask[x->n] = mask;
        x->slope[x->n] = a->slopes[head];
        x->state[x->n++] = i;
    }
}

static void attend(void *job, uint64_t block, uint32_t slot) {
    attn_thread *t = job;
    const npu_kernel_attn *k = t->a->k;
    const uint8_t *raw = t->raw + slot * k->slot_bytes, *masks = raw + BLOCK * (k->k_row_bytes + k->v_row_bytes);
    together x = {.n = 0};
    prepare(t, raw);
    for (uint32_t r = 0; r < t->n_rows; r++)
        attend_row(t, r, (uint32_t)block * BLOCK, k->mask_row_bytes ? masks + r * k->mask_row_bytes : NULL, &x);
    step(t, &x);
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
        htp_attn_state *all = &st->total;
        int empty = all->m == -NPU_F32_INF;
        if (a->o->src_data[5] && !empty) {
            float sink = ((const float *)a->o->src_data[5])[t->kv * group + i % group];
            float m = npu_maxf(all->m, sink), c = npu_expf(all->m - m);
            all->l = __builtin_fmaf(all->l, c, npu_expf(sink - m));
            for (uint32_t e = 0; e < width; e++) total[e] = hvx_f32_mul(total[e], hvx_f32_splat(c));
        }
        HVX_Vector inverse = hvx_f32_splat(1.0f / all->l);
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
        t->states[i] = (state){{-NPU_F32_INF, 0}, {-NPU_F32_INF, 0}};
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
