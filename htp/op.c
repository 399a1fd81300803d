/* The op table, and the pipeline that most ops are made of. */
#include "htp/op.h"

#include "htp/memory.h"
#include "wire/guard.h"

static htp_op_fn *const ops[NPU_OP_CODE_LIMIT] = {
#define NPU_OP(NAME, code, name, in_min, in_max, out, params, family, nmse, text) [code] = htp_##family,
#include "wire/npu_ops.def"
};

htp_op_fn *htp_op_find(uint32_t code) {
    return code < NPU_OP_CODE_LIMIT ? ops[code] : 0;
}

void htp_op_refresh(const htp_op *o, const void *address, uint64_t bytes) {
    htp_trace *trace = htp_trace_of(&o->session->tracer, 0);
    uint64_t begin = HTP_TRACED(trace) ? htp_trace_time() : 0;
    htp_memory_refresh(address, bytes);
    o->session->cache_bytes += bytes;
    if (HTP_TRACED(trace)) htp_trace_add(trace, NPU_TRACE_L2FLUSH, begin, (uint32_t)bytes);
}

void htp_op_fail(htp_op *o, uint32_t code, uint32_t index) {
    uint32_t ok = NPU_WIRE_OK;
    if (__atomic_compare_exchange_n(&o->code, &ok, code, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) o->index = index;
}

/* Pops a unit's transfers. The engine takes them one by one: a span starts when the one before had arrived. */
static inline void land(const htp_pipe *p, htp_trace *trace, npu_trace_kind kind, uint32_t n, uint64_t pushed,
                        uint32_t unit, uint64_t *before) {
    if (!n || n == HTP_NO_UNIT) return;
    while (n--) htp_dma_pop(p->dma);
    if (!HTP_TRACED(trace)) return;
    uint64_t now = htp_trace_time();
    htp_trace_span(trace, kind, pushed > *before ? pushed : *before, now, unit);
    *before = now;
}

static inline uint32_t take_off(htp_trace *trace, uint32_t n, uint64_t *pushed) {
    if (HTP_TRACED(trace)) *pushed = htp_trace_time();
    return n;
}

/* Written once, compiled twice, so that a loop without trace has nothing of it. */
__attribute__((always_inline)) static inline void pipe_run(const htp_pipe *p, htp_trace *trace) {
    uint32_t loads[16], stores[16];                          /* transfers in flight, by slot */
    uint64_t loaded[16] = {0}, stored[16] = {0}, before = 0; /* when they were pushed; only while tracing */
    uint64_t loading = p->first;
    for (; loading < p->end && loading < p->first + p->depth; loading++) {
        uint32_t slot = (uint32_t)(loading - p->first);
        loads[slot] = take_off(trace, p->load(p->job, loading, slot), &loaded[slot]);
        stores[slot] = 0;
    }
    uint32_t slot = 0;
    for (uint64_t unit = p->first; unit < p->end; unit++) {
        if (NPU_GUARD(PIPE_STORES_POPPED))
            land(p, trace, NPU_TRACE_DMA_OUT, stores[slot], stored[slot], (uint32_t)unit - p->depth, &before);
        if (NPU_GUARD(PIPE_LOADS_POPPED))
            land(p, trace, NPU_TRACE_DMA_IN, loads[slot], loaded[slot], (uint32_t)unit, &before);
        stores[slot] = 0;
        if (loads[slot] != HTP_NO_UNIT) {
            uint64_t begin = HTP_TRACED(trace) ? htp_trace_time() : 0;
            p->compute(p->job, unit, slot);
            if (HTP_TRACED(trace)) htp_trace_add(trace, NPU_TRACE_HVX_COMP, begin, (uint32_t)unit);
            stores[slot] = take_off(trace, p->store(p->job, unit, slot), &stored[slot]);
        }
        loads[slot] = 0;
        if (loading < p->end) loads[slot] = take_off(trace, p->load(p->job, loading++, slot), &loaded[slot]);
        if (++slot == p->depth) slot = 0;
    }
    /* What is left are stores, oldest first. */
    uint32_t left = (uint32_t)(p->end - p->first < p->depth ? p->end - p->first : p->depth);
    for (uint32_t i = 0; NPU_GUARD(PIPE_DRAINED) && i < p->depth; i++) {
        if (slot < p->end - p->first)
            land(p, trace, NPU_TRACE_DMA_OUT, stores[slot], stored[slot], (uint32_t)p->end - left--, &before);
        if (++slot == p->depth) slot = 0;
    }
}

void htp_pipe_run(const htp_pipe *p) {
    if (HTP_TRACED(p->dma->trace))
        pipe_run(p, p->dma->trace);
    else
        pipe_run(p, 0);
}

uint64_t htp_unit_offset(const npu_tensor *t, const htp_unit *u, uint32_t value_bytes) {
    uint64_t at = (uint64_t)(u->i[0] < t->ne[0] ? u->i[0] : u->i[0] % t->ne[0]) * value_bytes;
    for (unsigned d = 1; d < NPU_MAX_DIMS; d++)
        if (t->ne[d] > 1) at += u->i[d] % t->ne[d] * t->nb[d];
    return at;
}

typedef struct rows_thread {
    const htp_rows *r;
    htp_dma *dma;
    uint8_t *vtcm, *work;
    uint32_t slot_bytes;
} rows_thread;

static htp_unit unit_at(const htp_rows *r, uint64_t unit) {
    const npu_tensor *dst = &r->o->dst[0];
    uint32_t piece = (uint32_t)(unit % r->k->units);
    htp_unit u = {.row = unit / r->k->units};
    u.i[0] = piece * r->k->columns;
    u.i[1] = (uint32_t)(u.row % dst->ne[1]);
    u.i[2] = (uint32_t)(u.row / dst->ne[1] % dst->ne[2]);
    u.i[3] = (uint32_t)(u.row / dst->ne[1] / dst->ne[2]);
    u.values = r->row_values - u.i[0] < r->k->columns ? r->row_values - u.i[0] : r->k->columns;
    return u;
}

static uint8_t *slot_in(const rows_thread *t, uint32_t slot, unsigned i) {
    uint8_t *at = t->vtcm + slot * t->slot_bytes;
    for (unsigned before = 0; before < i; before++) at += t->r->k->in_bytes[before];
    return at;
}

static uint8_t *slot_out(const rows_thread *t, uint32_t slot) {
    return slot_in(t, slot, NPU_ROWS_IN);
}

static uint32_t rows_load(void *job, uint64_t unit, uint32_t slot) {
    rows_thread *t = job;
    const htp_rows *r = t->r;
    htp_unit u = unit_at(r, unit);
    uint8_t *in[NPU_ROWS_IN] = {slot_in(t, slot, 0), slot_in(t, slot, 1), slot_in(t, slot, 2)};
    if (r->load) return r->load(r, &u, t->dma, in);
    uint32_t n = 0;
    for (unsigned i = 0; i < NPU_ROWS_IN; i++) {
        if (!r->in_value_bytes[i]) continue;
        const npu_tensor *src = &r->o->src[r->src[i]];
        const uint8_t *from = r->o->src_data[r->src[i]] + r->src_shift[i];
        uint32_t values = u.values < src->ne[0] ? u.values : src->ne[0];
        htp_dma_push(t->dma, in[i], from + htp_unit_offset(src, &u, r->in_value_bytes[i]),
                     values * r->in_value_bytes[i]);
        n++;
    }
    return n;
}

static void rows_compute(void *job, uint64_t unit, uint32_t slot) {
    rows_thread *t = job;
    htp_unit u = unit_at(t->r, unit);
    const uint8_t *in[NPU_ROWS_IN] = {slot_in(t, slot, 0), slot_in(t, slot, 1), slot_in(t, slot, 2)};
    t->r->compute(t->r, &u, in, slot_out(t, slot), t->work);
}

static uint32_t rows_store(void *job, uint64_t unit, uint32_t slot) {
    rows_thread *t = job;
    const htp_rows *r = t->r;
    htp_unit u = unit_at(r, unit);
    if (r->store) return r->store(r, &u, t->dma, slot_out(t, slot));
    htp_dma_push(t->dma, r->o->dst_data[0] + htp_unit_offset(&r->o->dst[0], &u, r->out_value_bytes), slot_out(t, slot),
                 u.values * r->out_value_bytes);
    return 1;
}

static void rows_work(void *job, unsigned thread) {
    const htp_rows *r = job;
    uint64_t units = r->rows * r->k->units, threads = r->k->head.threads;
    rows_thread t = {.r = r, .dma = &r->o->session->dma[thread], .vtcm = htp_op_vtcm(r->o, thread)};
    t.slot_bytes = r->k->out_bytes;
    for (unsigned i = 0; i < NPU_ROWS_IN; i++) t.slot_bytes += r->k->in_bytes[i];
    t.work = r->work_in_scratch ? htp_op_scratch(r->o, thread) : t.vtcm + r->k->head.depth * t.slot_bytes;
    uint64_t each = NPU_GUARD_CEIL(ROUND_THREAD_UNITS, units, threads), first = thread * each;
    htp_pipe pipe = {.dma = t.dma, .job = &t, .depth = r->k->head.depth, .first = first};
    pipe.end = first + each < units ? first + each : units;
    pipe.load = rows_load, pipe.compute = rows_compute, pipe.store = rows_store;
    if (first < pipe.end) htp_pipe_run(&pipe);
}

void htp_rows_run(const htp_rows *r) {
    htp_pool_run(&r->o->session->pool, rows_work, (void *)r, r->k->head.threads);
}

int htp_row_id(const htp_rows *r, const htp_unit *u, uint32_t limit, uint32_t code, uint32_t *id) {
    *id = ((const volatile uint32_t *)r->o->src_data[1])[u->row];
    if (*id < limit) return 1;
    htp_op_fail(r->o, code, (uint32_t)u->row);
    return 0;
}

htp_rows htp_rows_f32(htp_op *o, unsigned sources) {
    htp_rows r = {.o = o, .k = o->kernel, .rows = npu_tensor_rows(&o->dst[0]), .row_values = o->dst[0].ne[0]};
    for (unsigned i = 0; i < sources; i++) {
        r.in_value_bytes[i] = o->src_data[i] ? 4 : 0;
        r.src[i] = (uint8_t)i;
    }
    r.out_value_bytes = 4;
    return r;
}
