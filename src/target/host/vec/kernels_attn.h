/* FLASH_ATTN on vectors. A template as kernels_map.h; the contract is numerics.md §7, the reference
 * ref/ref_flash_attn.c, the work on a block of keys kernels_attn_block.h.
 *
 * A tile is up to TILE (query row, head) pairs that read one KV head; in decode, where no KV head has more than a few
 * rows, it has many heads, which lie side by side. Threads share all rows evenly (kernels_attn_share.h). Where there
 * are few, each chunk of 1024 keys is taken alone, and the partial results are merged afterwards in the order of the
 * contract. A level may leave calls with few rows (FEW_TAKES) to a lower one (FEW_FN).
 */
#include "target/host/vec/kernels_attn_block.h"

/* Partial results that are kept at most, and their floats besides the accumulator: m, l, and to a whole line. */
enum { PARTS = 4096, PART_HEAD = 16, MANY_TILES = 8 };

static uint64_t attn_thread_bytes(uint32_t d, uint32_t dv) {
    uint64_t keys = (uint64_t)STEP * attn_round(d), values = (uint64_t)STEP * attn_panels(dv);
    uint64_t turned = (uint64_t)2 * BLOCK * attn_round(d), acc = (uint64_t)2 * TILE * attn_round(dv);
    uint64_t p = (uint64_t)TILE * STEP, queries = (uint64_t)TILE * attn_round(d), all = keys + turned + values;
    return npu_host_round(sizeof(attn_tile)) + npu_host_round((all + acc + p + queries) * sizeof(float));
}

static uint32_t attn_chunks(uint32_t keys) {
    return keys / CHUNK + (keys % CHUNK != 0);
}

uint64_t VEC_FN(flash_attn_scratch)(const npu_op *op, const npu_tensor *tensors, npu_mode mode, unsigned nth) {
    (void)mode;
    const npu_tensor *q = &tensors[op->src[0]];
    uint32_t dv = tensors[op->src[2]].ne[0], chunks = attn_chunks(tensors[op->src[1]].ne[2]);
    uint64_t rows = (uint64_t)q->ne[1] * q->ne[2], parts = rows >= PARTS ? PARTS : rows * chunks;
    if (parts > PARTS) parts = PARTS;
    if (chunks < 2 || nth < 2) parts = 0;
    uint64_t bytes = nth * attn_thread_bytes(q->ne[0], dv) + parts * (attn_round(dv) + PART_HEAD) * sizeof(float);
#ifdef FEW_FN
    uint64_t few_bytes = FEW_FN(flash_attn_scratch)(op, tensors, mode, nth);
    if (few_bytes > bytes) bytes = few_bytes;
#endif
    return bytes;
}

/* How the rows are cut; the same on all threads. */
typedef struct attn_work {
    const npu_host_call *call;
    uint32_t group, tile; /* heads of a KV head; query rows in a tile */
    uint32_t chunks;      /* of the longest span */
    bool few;             /* rows of any KV head in any run */
    bool split;           /* by chunks */
    float *parts;
} attn_work;

/* Consecutive query rows m .. last - 1 with the same first cell, at most a tile, and what they see together. */
typedef struct attn_run {
    uint32_t m, last, lo, end;
} attn_run;

static const int32_t *span_of(const npu_host_call *call, uint32_t m) {
    return (const int32_t *)npu_host_at(&call->src[3], m, 0, 0);
}

static uint32_t first_visible(const npu_host_call *call, uint32_t n) {
    uint32_t window = call->op->params.attn.window;
    return window && n > window ? n - window : 0;
}

static attn_run next_run(const attn_work *w, uint32_t m) {
    attn_run r = {.m = m, .last = m, .lo = UINT32_MAX};
    int32_t first = span_of(w->call, m)[0];
    for (; r.last < w->call->src[0].t.ne[2] && r.last - m < w->tile; r.last++) {
        const int32_t *span = span_of(w->call, r.last);
        uint32_t n = (uint32_t)span[1], lo = first_visible(w->call, n);
        if (span[0] != first) break;
        if (n > r.end) r.end = n;
        if (lo < r.lo) r.lo = lo;
    }
    return r;
}

/* Query rows in a tile, of |heads| heads each: evenly, but whole groups of rows where that is possible. */
static uint32_t rows_of_tile(uint32_t rows, uint32_t heads) {
    uint32_t most = heads < TILE ? TILE / heads : 1, tiles = (rows + most - 1) / most,
             even = tiles ? (rows + tiles - 1) / tiles : 1, whole = 1;
    while (whole * heads % GROUP_ROWS) whole++;
    uint32_t up = (even + whole - 1) / whole * whole;
    return up <= most ? up : even > whole ? even / whole * whole : even;
}

static attn_work plan_work(const npu_host_call *call) {
    const npu_tensor *q = &call->src[0].t;
    uint32_t kv_heads = call->src[1].t.ne[1];
    attn_work w = {.call = call, .group = q->ne[1] / kv_heads, .few = true};
    w.tile = rows_of_tile(q->ne[2], w.group);
    uint64_t tiles = 0, rows = (uint64_t)q->ne[1] * q->ne[2];
    for (attn_run r = {0}; r.last < q->ne[2]; tiles += kv_heads) {
        r = next_run(&w, r.last);
        uint32_t chunks = attn_chunks(r.end);
        if (chunks > w.chunks) w.chunks = chunks;
        if ((r.last - r.m) * w.group > FEW) w.few = false;
    }
    w.split = call->nth > 1 && w.chunks > 1 && rows * w.chunks <= PARTS &&
              (w.few || tiles < (uint64_t)MANY_TILES * call->nth);
    w.parts = (float *)(call->scratch + call->nth * attn_thread_bytes(q->ne[0], call->src[2].t.ne[0]));
    return w;
}

static float *part_of(const attn_work *w, uint32_t m, uint32_t h) {
    uint64_t row = (uint64_t)m * w->call->src[0].t.ne[1] + h;
    return w->parts + row * w->chunks * (attn_round(w->call->src[2].t.ne[0]) + PART_HEAD);
}

static attn_row make_row(const attn_work *w, uint32_t m, uint32_t h) {
    const npu_host_call *call = w->call;
    const float *sinks = (const float *)call->src[5].data;
    uint32_t n = (uint32_t)span_of(call, m)[1];
    return (attn_row){.q = (const float *)npu_host_at(&call->src[0], h, m, 0),
                      .y = (float *)npu_host_at(&call->dst[0], h, m, 0),
                      .mask = call->src[4].data ? npu_host_at(&call->src[4], m, 0, 0) : NULL,
                      .sink = sinks ? &sinks[h] : NULL,
                      .slope = npu_ref_alibi_slope(call->op->params.attn.max_bias, h, call->src[0].t.ne[1]),
                      .n = n,
                      .lo = first_visible(call, n),
                      .m_all = -NPU_F32_INF,
                      .part = w->split ? part_of(w, m, h) : NULL};
}

#include "target/host/vec/kernels_attn_merge.h"

static void take_chunk(attn_tile *t, uint32_t chunk, uint32_t lo, uint32_t end) {
    for (uint32_t i = 0; i < t->n_rows; i++) {
        t->m[i] = -NPU_F32_INF;
        t->l[i] = 0;
        for (uint32_t k = 0; k < t->width; k += VW) vf_store(t->rows[i].acc + k, vf_set(0.0f));
    }
    uint32_t step = is_many(t) ? STEP : BLOCK;
    for (uint32_t key = chunk; key < end && key - chunk < CHUNK; key += step) {
        if (key + step <= lo) continue;
        if (is_many(t))
            take_step(t, key, end);
        else
            take_block(t, key, end);
    }
    for (uint32_t i = 0; i < t->n_rows; i++) end_chunk(t, i, chunk);
}

/* Rows |from| to before |to| of a run, those of the first KV head first, then those of the next. |chunk| is used when
 * chunks are taken one by one. */
static void take_rows(const attn_work *w, attn_tile *t, const attn_run *run, uint32_t from, uint32_t to,
                      uint32_t chunk) {
    uint32_t each = (run->last - run->m) * w->group, end = 0, lo = UINT32_MAX;
    t->kv_head = from / each;
    t->first = (uint64_t)span_of(w->call, run->m)[0];
    t->n_rows = to - from;
    t->few = w->few || t->n_rows <= FEW;
    t->all_from = 0;
    t->all_to = UINT32_MAX;
    for (uint32_t i = from; i < to; i++) {
        attn_row *r = &t->rows[i - from];
        uint32_t kv_head = i / each, of_head = i % each;
        *r = make_row(w, run->m + of_head / w->group, kv_head * w->group + of_head % w->group);
        r->kv_head = kv_head;
        r->acc_all = t->acc + (size_t)(2 * (i - from)) * t->width;
        r->acc = r->acc_all + t->width;
        if (r->n > end) end = r->n;
        if (r->lo < lo) lo = r->lo;
        if (r->n < t->all_to) t->all_to = r->n;
        if (r->lo > t->all_from) t->all_from = r->lo;
    }
    if (is_many(t)) turn_queries(t);
    if (w->split) {
        take_chunk(t, chunk, lo, end);
        return;
    }
    for (chunk = lo / CHUNK * CHUNK; chunk < end; chunk += CHUNK) take_chunk(t, chunk, lo, end);
    for (uint32_t i = 0; i < t->n_rows; i++) finish_row(&t->rows[i], t->dv);
}

#include "target/host/vec/kernels_attn_share.h"

static uint32_t head_bytes(const npu_tensor *t) {
    return (uint32_t)npu_format_row_bytes(npu_format_of(t->type), t->ne[0]);
}

/* What pads rows and blocks must not be slow to compute with. */
static void clear_pads(attn_tile *t, bool few) {
    uint32_t keys = few ? BLOCK : STEP;
    memset(t->keys, 0, keys * attn_round(t->d) * sizeof(float));
    if (!few || t->dv != t->width) memset(t->values, 0, keys * attn_panels(t->dv) * sizeof(float));
}

npu_status VEC_FN(flash_attn)(const npu_host_call *call, npu_error *err) {
    uint32_t d = call->src[0].t.ne[0], dv = call->src[2].t.ne[0];
    NPU_TRY(npu_host_attn_check_spans(call, err));
    attn_work w = plan_work(call);
#ifdef FEW_FN
    if (FEW_TAKES(&w)) return FEW_FN(flash_attn)(call, err);
#endif
    uint8_t *scratch = call->scratch + call->ith * attn_thread_bytes(d, dv);
    attn_tile *t = (attn_tile *)scratch;
    t->call = call;
    t->d = d;
    t->dv = dv;
    for (int i = 1; i <= 2; i++) t->piece[i] = head_bytes(&call->src[i].t);
    t->width = attn_round(dv);
    t->keys = (float *)(scratch + npu_host_round(sizeof *t));
    t->turned = t->keys + (size_t)STEP * attn_round(d);
    t->halves = (uint16_t *)(t->turned + (size_t)BLOCK * attn_round(d));
    t->values = t->turned + (size_t)2 * BLOCK * attn_round(d);
    t->acc = t->values + (size_t)STEP * attn_panels(dv);
    t->p = t->acc + (size_t)2 * TILE * t->width;
    t->queries = t->p + (size_t)TILE * STEP;
    t->then = (attn_lines){0};
    clear_pads(t, w.few);
    uint64_t all = walk(&w, NULL, 0, 0);
    walk(&w, t, all * call->ith / call->nth, all * (call->ith + 1) / call->nth);
    if (w.split) {
        npu_pool_barrier(call->pool);
        merge_parts(&w, t);
    }
    return NPU_OK;
}
