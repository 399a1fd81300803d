/* FLASH_ATTN (docs/numerics.md, section 7). A task is one KV head and a few neighbouring query rows; rows whose spans
 * start at the same cell share each block of 32 keys and values that DMA brings. Lanes are keys for the scores and
 * values' elements for the sums, so no result depends on the split.
 */
#include "htp/hvx/hvx_math.h"
#include "htp/memory.h"
#include "htp/op.h"

#include "wire/format.h"

enum { BLOCK = 32, CHUNK = 1024 };

typedef struct state {
    float m, l;   /* of the chunk */
    float tm, tl; /* of all chunks before */
} state;

typedef struct attn {
    htp_op *o;
    const npu_kernel_attn *k;
    const int32_t *spans; /* [rows][2], a private copy: the host can change its own at any time */
    uint32_t d, dv, rows, tasks;
} attn;

typedef struct attn_thread {
    const attn *a;
    htp_dma *dma;
    uint8_t *raw;              /* slots: keys, values */
    HVX_Vector *keys;          /* [d] vectors of 32 keys */
    HVX_Vector *values, *rows; /* [32][dv] */
    HVX_Vector *sums, *totals; /* [states][dv] */
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
    uint8_t *to = t->raw + slot * (a->k->k_slot_bytes + a->k->v_slot_bytes);
    uint32_t most = 0;
    for (uint32_t r = 0; r < t->n_rows; r++) {
        uint32_t n = (uint32_t)span(a, t->first_row + r)[1];
        most = n > most ? n : most;
    }
    uint32_t left = most - (uint32_t)block * BLOCK, n = left < BLOCK ? left : BLOCK;
    for (unsigned i = 1; i <= 2; i++) {
        const npu_tensor *s = &a->o->src[i];
        uint32_t bytes = s->ne[0] * (uint32_t)s->nb[0];
        const uint8_t *from = a->o->src_data[i] + t->kv * s->nb[1] + (t->first_cell + block * BLOCK) * s->nb[2];
        htp_dma_push_2d(t->dma, to, from, bytes, n, bytes, s->nb[2]);
        to += a->k->k_slot_bytes;
    }
    return 2;
}

/* |n| values of a raw block to f32, in order. */
static void widen(const uint8_t *raw, uint8_t type, uint32_t n, HVX_Vector *y) {
    const HVX_Vector *x = (const HVX_Vector *)raw;
    if (type == NPU_TYPE_F32) {
        for (uint32_t i = 0; i < n / 32; i++) y[i] = x[i];
        return;
    }
    for (uint32_t i = 0; i < n / 64; i++) {
        HVX_VectorPair w = hvx_f32_from_half(x[i]);
        y[2 * i] = Q6_V_lo_W(w);
        y[2 * i + 1] = Q6_V_hi_W(w);
    }
}

/* Keys to vectors of one element of 32 keys; values, which stay rows, to f32. */
static void prepare(attn_thread *t, const uint8_t *raw) {
    const attn *a = t->a;
    uint32_t width = a->d / 32;
    widen(raw, a->o->src[1].type, BLOCK * a->d, t->rows);
    for (uint32_t piece = 0; piece < width; piece++) {
        HVX_Vector square[32];
        for (uint32_t j = 0; j < BLOCK; j++) square[j] = t->rows[j * width + piece];
        hvx_transpose_32x32(square, t->keys + piece * 32);
    }
    widen(raw + a->k->k_slot_bytes, a->o->src[2].type, BLOCK * a->dv, t->values);
}

/* Scores of the 32 keys of a block for one query row and head. */
static HVX_Vector score(const attn_thread *t, const float *q) {
    const npu_params_attn *p = &t->a->o->op->params.attn;
    HVX_Vector s = Q6_V_vzero();
    for (uint32_t i = 0; i < t->a->d; i++) s = hvx_f32_fma(hvx_f32_splat(q[i]), t->keys[i], s);
    s = hvx_f32_mul(s, hvx_f32_splat(p->scale));
    if (p->softcap != 0) {
        float lanes[32] __attribute__((aligned(128)));
        *(HVX_Vector *)lanes = s;
        for (int j = 0; j < BLOCK; j++) lanes[j] = p->softcap * npu_tanhf(lanes[j] / p->softcap);
        s = *(const HVX_Vector *)lanes;
    }
    return s;
}

/* One block into one state. Keys lo .. hi - 1 of the block are visible, at least one is. */
static void step(attn_thread *t, state *st, HVX_Vector *acc, const float *q, uint32_t lo, uint32_t hi) {
    HVX_VectorPred visible = hvx_lanes_between(lo, hi);
    HVX_Vector s = score(t, q);
    float mb = hvx_f32_largest(Q6_V_vmux_QVV(visible, s, hvx_f32_splat(-NPU_F32_INF)));
    float m = npu_maxf(st->m, mb);
    if (m == -NPU_F32_INF) return;
    float c = npu_expf(st->m - m), lanes[32] __attribute__((aligned(128)));
    HVX_Vector p = hvx_f32_exp(hvx_f32_sub(s, hvx_f32_splat(m))), cs = hvx_f32_splat(c);
    p = Q6_V_vmux_QVV(visible, p, Q6_V_vzero());
    st->l = __builtin_fmaf(st->l, c, hvx_f32_sum(p));
    st->m = m;
    *(HVX_Vector *)lanes = p; /* cached memory: read back as scalars */
    uint32_t width = t->a->dv / 32;
    for (uint32_t i = 0; i < width; i++) {
        HVX_Vector x = hvx_f32_mul(acc[i], cs);
        for (uint32_t j = lo; j < hi; j++) x = hvx_f32_fma(hvx_f32_splat(lanes[j]), t->values[j * width + i], x);
        acc[i] = x;
    }
}

/* The chunk's state joins the running one and starts anew. */
static void merge(const attn_thread *t, state *st, HVX_Vector *sum, HVX_Vector *total) {
    uint32_t width = t->a->dv / 32;
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
    prepare(t, t->raw + slot * (a->k->k_slot_bytes + a->k->v_slot_bytes));
    for (uint32_t r = 0; r < t->n_rows; r++) {
        uint32_t row = t->first_row + r, n = (uint32_t)span(a, row)[1], first = window && n > window ? n - window : 0;
        for (uint32_t g = 0; g < group; g++) {
            uint32_t i = r * group + g;
            HVX_Vector *sum = t->sums + i * (a->dv / 32);
            if (key % CHUNK == 0) merge(t, &t->states[i], sum, t->totals + i * (a->dv / 32));
            if (key >= n || key + BLOCK <= first) continue;
            const uint8_t *qs = a->o->src_data[0] + row * q->nb[2] + (t->kv * group + g) * q->nb[1];
            step(t, &t->states[i], sum, (const float *)qs, first > key ? first - key : 0,
                 n - key < BLOCK ? n - key : BLOCK);
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
    uint32_t group = a->k->group, width = a->dv / 32;
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
                        t->totals + r * group * width, a->dv * 4, group, y->nb[1], a->dv * 4);
    for (uint32_t r = 0; r < t->n_rows; r++) htp_dma_pop(t->dma);
}

/* Rows that share their first cell, all heads of one KV head. */
static void run_rows(attn_thread *t) {
    const attn *a = t->a;
    uint32_t window = a->o->op->params.attn.window, lowest = UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < t->n_rows * a->k->group; i++) {
        t->states[i] = (state){-NPU_F32_INF, 0, -NPU_F32_INF, 0};
        for (uint32_t e = 0; e < a->dv / 32; e++)
            t->sums[i * (a->dv / 32) + e] = t->totals[i * (a->dv / 32) + e] = Q6_V_vzero();
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
    t.keys = (HVX_Vector *)(t.raw + k->head.depth * (k->k_slot_bytes + k->v_slot_bytes));
    t.values = t.keys + a->d;
    t.rows = t.values + a->dv;
    t.sums = t.rows + a->d;
    t.totals = t.sums + states * (a->dv / 32);
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

void htp_flash_attn(htp_op *o) {
    attn a = {.o = o, .k = o->kernel, .d = o->src[0].ne[0], .dv = o->src[2].ne[0], .rows = o->src[0].ne[2]};
    htp_memory_refresh(o->src_data[3], (a.rows - 1) * o->src[3].nb[1] + 8);
    int32_t *spans = (int32_t *)o->session->scratch;
    a.spans = spans;
    for (uint32_t row = 0; row < a.rows; row++) {
        int32_t *s = spans + 2 * (uint64_t)row;
        htp_copy(s, o->src_data[3] + row * o->src[3].nb[1], 8);
        if (s[0] < 0 || s[1] < 0 || (uint64_t)s[0] + (uint64_t)s[1] > o->src[1].ne[2]) {
            htp_op_fail(o, NPU_WIRE_BAD_SPAN, row);
            return;
        }
        htp_memory_refresh(o->src_data[0] + row * o->src[0].nb[2], (o->src[0].ne[1] - 1) * o->src[0].nb[1] + a.d * 4);
    }
    if (o->src_data[5]) htp_memory_refresh(o->src_data[5], (uint64_t)o->src[5].ne[0] * 4);
    a.tasks = (a.rows + a.k->rows - 1) / a.k->rows * o->src[1].ne[1];
    htp_pool_run(&o->session->pool, run_tasks, &a, a.k->head.threads);
}
