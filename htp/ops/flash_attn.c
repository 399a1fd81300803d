/* FLASH_ATTN (docs/numerics.md, section 7). A task is one KV head and a few neighbouring query rows; rows whose spans
 * start at the same cell share each block of 32 keys and values that DMA brings. Lanes are keys for the scores and
 * values' elements for the sums, so no result depends on the split.
 */
#include "htp/hvx/f32.h"
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
    uint32_t d, dv, rows, tasks;
} attn;

typedef struct attn_thread {
    const attn *a;
    htp_dma *dma;
    uint8_t *raw;         /* slots: keys, values */
    htp_f32 *keys;        /* [d] vectors of 32 keys */
    htp_f32 *values;      /* [32][dv] */
    float *sums, *totals; /* [states][dv] */
    state *states;        /* in scratch */
    uint32_t kv, first_row, n_rows, first_cell;
    uint32_t from; /* first block */
} attn_thread;

static const int32_t *span(const attn *a, uint32_t row) {
    return (const int32_t *)(a->o->src_data[3] + row * a->o->src[3].nb[1]);
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

static float element(const uint8_t *raw, uint8_t type, uint32_t i) {
    return type == NPU_TYPE_F32 ? ((const float *)raw)[i] : npu_half_to_float(((const uint16_t *)raw)[i]);
}

static void widen(attn_thread *t, const uint8_t *raw) {
    const attn *a = t->a;
    for (uint32_t j = 0; j < BLOCK; j++)
        for (uint32_t i = 0; i < a->d; i++) t->keys[i].f[j] = element(raw, a->o->src[1].type, j * a->d + i);
    raw += a->k->k_slot_bytes;
    float *v = t->values->f;
    for (uint32_t i = 0; i < BLOCK * a->dv; i++) v[i] = element(raw, a->o->src[2].type, i);
}

/* Scores of the 32 keys of a block for one query row and head. */
static htp_f32 score(const attn_thread *t, const float *q) {
    const npu_params_attn *p = &t->a->o->op->params.attn;
    htp_f32 s = htp_f32_splat(0);
    for (uint32_t i = 0; i < t->a->d; i++) s = htp_f32_fma(htp_f32_splat(q[i]), t->keys[i], s);
    s = htp_f32_mul(s, htp_f32_splat(p->scale));
    if (p->softcap != 0)
        for (int j = 0; j < BLOCK; j++) s.f[j] = p->softcap * npu_tanhf(s.f[j] / p->softcap);
    return s;
}

/* One block into one state. Keys lo .. hi - 1 of the block are visible, at least one is. */
static void step(attn_thread *t, state *st, float *sum, const float *q, uint32_t lo, uint32_t hi) {
    uint32_t dv = t->a->dv;
    htp_f32 s = score(t, q);
    float mb = -NPU_F32_INF;
    for (uint32_t j = lo; j < hi; j++) mb = npu_maxf(mb, s.f[j]);
    float m = npu_maxf(st->m, mb);
    if (m == -NPU_F32_INF) return;
    float c = npu_expf(st->m - m);
    htp_f32 p = htp_f32_exp(htp_f32_sub(s, htp_f32_splat(m)));
    for (uint32_t j = 0; j < BLOCK; j++)
        if (j < lo || j >= hi) p.f[j] = 0;
    st->l = __builtin_fmaf(st->l, c, htp_f32_fold(p));
    st->m = m;
    htp_f32 *acc = (htp_f32 *)sum;
    for (uint32_t i = 0; i < dv / 32; i++) {
        htp_f32 x = htp_f32_mul(acc[i], htp_f32_splat(c));
        for (uint32_t j = lo; j < hi; j++) x = htp_f32_fma(htp_f32_splat(p.f[j]), t->values[j * (dv / 32) + i], x);
        acc[i] = x;
    }
}

/* The chunk's state joins the running one and starts anew. */
static void merge(const attn_thread *t, state *st, float *sum, float *total) {
    if (st->m != -NPU_F32_INF) {
        if (st->tm == -NPU_F32_INF) {
            st->tm = st->m, st->tl = st->l;
            for (uint32_t i = 0; i < t->a->dv; i++) total[i] = sum[i];
        } else {
            float m = npu_maxf(st->tm, st->m), a = npu_expf(st->tm - m), b = npu_expf(st->m - m);
            st->tl = __builtin_fmaf(st->l, b, st->tl * a);
            st->tm = m;
            for (uint32_t i = 0; i < t->a->dv; i++) total[i] = __builtin_fmaf(sum[i], b, total[i] * a);
        }
    }
    st->m = -NPU_F32_INF, st->l = 0;
    for (uint32_t i = 0; i < t->a->dv; i++) sum[i] = 0;
}

static void attend(void *job, uint64_t block, uint32_t slot) {
    attn_thread *t = job;
    const attn *a = t->a;
    const npu_tensor *q = &a->o->src[0];
    uint32_t group = a->k->group, window = a->o->op->params.attn.window, key = (uint32_t)block * BLOCK;
    widen(t, t->raw + slot * (a->k->k_slot_bytes + a->k->v_slot_bytes));
    for (uint32_t r = 0; r < t->n_rows; r++) {
        uint32_t row = t->first_row + r, n = (uint32_t)span(a, row)[1], first = window && n > window ? n - window : 0;
        for (uint32_t g = 0; g < group; g++) {
            uint32_t i = r * group + g;
            float *sum = t->sums + (uint64_t)i * a->dv;
            if (key % CHUNK == 0) merge(t, &t->states[i], sum, t->totals + (uint64_t)i * a->dv);
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
    uint32_t group = a->k->group;
    for (uint32_t i = 0; i < t->n_rows * group; i++) {
        state *st = &t->states[i];
        float *total = t->totals + (uint64_t)i * a->dv;
        merge(t, st, t->sums + (uint64_t)i * a->dv, total);
        int empty = st->tm == -NPU_F32_INF;
        if (a->o->src_data[5] && !empty) {
            float sink = ((const float *)a->o->src_data[5])[t->kv * group + i % group];
            float m = npu_maxf(st->tm, sink), c = npu_expf(st->tm - m);
            st->tl = __builtin_fmaf(st->tl, c, npu_expf(sink - m));
            for (uint32_t e = 0; e < a->dv; e++) total[e] = total[e] * c;
        }
        float inverse = 1.0f / st->tl;
        for (uint32_t e = 0; e < a->dv; e++) total[e] = empty ? 0.0f : total[e] * inverse;
    }
    for (uint32_t r = 0; r < t->n_rows; r++)
        htp_dma_push_2d(t->dma, a->o->dst_data[0] + (t->first_row + r) * y->nb[2] + t->kv * group * y->nb[1],
                        t->totals + (uint64_t)r * group * a->dv, a->dv * 4, group, y->nb[1], a->dv * 4);
    for (uint32_t r = 0; r < t->n_rows; r++) htp_dma_pop(t->dma);
}

/* Rows that share their first cell, all heads of one KV head. */
static void run_rows(attn_thread *t) {
    const attn *a = t->a;
    uint32_t window = a->o->op->params.attn.window, lowest = UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < t->n_rows * a->k->group; i++) {
        t->states[i] = (state){-NPU_F32_INF, 0, -NPU_F32_INF, 0};
        for (uint32_t e = 0; e < a->dv; e++) t->sums[(uint64_t)i * a->dv + e] = t->totals[(uint64_t)i * a->dv + e] = 0;
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
    t.keys = (htp_f32 *)(t.raw + k->head.depth * (k->k_slot_bytes + k->v_slot_bytes));
    t.values = t.keys + a->d;
    t.sums = (float *)(t.values + a->dv);
    t.totals = t.sums + (uint64_t)states * a->dv;
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
    for (uint32_t row = 0; row < a.rows; row++) {
        const int32_t *s = span(&a, row);
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
