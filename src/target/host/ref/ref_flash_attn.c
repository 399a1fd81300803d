/* FLASH_ATTN (numerics.md §7): one query row of one head at a time, the threads share them.
 *
 * Per thread the scratch holds the running and the chunk's accumulator (Dv floats each) and a converted key or value.
 */
#include "quant/quant.h"
#include "target/host/ref/ref.h"

enum { CHUNK = 1024, BLOCK = 32 };

/* A partial result: maximum, sum, unscaled accumulator. */
typedef struct partial {
    float m, l;
    float *acc;
} partial;

typedef struct row_state {
    const npu_host_call *call;
    const float *q;
    float *converted;
    const uint8_t *mask_row;
    float slope;
    uint64_t kv_head, first; /* first cell of the span */
    uint32_t n, lo;          /* keys; first visible one */
} row_state;

static uint64_t thread_bytes(uint32_t d, uint32_t dv) {
    return 2 * npu_host_round(dv * sizeof(float)) + npu_host_round((d > dv ? d : dv) * sizeof(float));
}

uint64_t npu_host_flash_attn_scratch_ref(const npu_op *op, const npu_tensor *tensors, npu_mode mode, unsigned nth) {
    (void)mode;
    return nth * thread_bytes(tensors[op->src[0]].ne[0], tensors[op->src[2]].ne[0]);
}

/* Key or value j of the span as floats. */
static const float *cell(const row_state *s, const npu_host_operand *o, uint32_t j) {
    npu_quant_of(o->t.type)->dequant(npu_host_at(o, s->kv_head, s->first + j, 0), s->converted, o->t.ne[0]);
    return s->converted;
}

static float score(const row_state *s, uint32_t j) {
    const npu_params_attn *params = &s->call->op->params.attn;
    const float *k = cell(s, &s->call->src[1], j);
    float sum = 0;
    for (uint32_t i = 0; i < s->call->src[0].t.ne[0]; i++) sum = npu_fmaf(s->q[i], k[i], sum);
    sum = sum * params->scale;
    if (params->softcap != 0) sum = params->softcap * npu_tanhf(sum / params->softcap);
    if (s->mask_row) sum = sum + s->slope * npu_ref_mask(&s->call->src[4], s->mask_row, j);
    return sum;
}

static void take_block(const row_state *s, uint32_t block, partial *c) {
    const npu_host_operand *v = &s->call->src[2];
    uint32_t from = block > s->lo ? block : s->lo, to = s->n - block > BLOCK ? block + BLOCK : s->n;
    float scores[BLOCK], p[BLOCK] = {0}, top = -NPU_F32_INF;
    for (uint32_t j = from; j < to; j++) {
        scores[j - block] = score(s, j);
        top = npu_maxf(top, scores[j - block]);
    }
    float m_new = npu_maxf(c->m, top);
    if (m_new == -NPU_F32_INF) return;
    float keep = npu_expf(c->m - m_new);
    for (uint32_t j = from; j < to; j++) p[j - block] = npu_expf(scores[j - block] - m_new);
    c->l = npu_fmaf(c->l, keep, npu_ref_sum32(p, BLOCK));
    for (uint32_t i = 0; i < v->t.ne[0]; i++) c->acc[i] = c->acc[i] * keep;
    for (uint32_t j = from; j < to; j++) {
        const float *value = cell(s, v, j);
        for (uint32_t i = 0; i < v->t.ne[0]; i++) c->acc[i] = npu_fmaf(p[j - block], value[i], c->acc[i]);
    }
    c->m = m_new;
}

/* |into| (empty when its m is -Inf) and the next chunk. */
static void merge(partial *into, const partial *next, uint32_t n) {
    if (next->m == -NPU_F32_INF) return;
    if (into->m == -NPU_F32_INF) {
        into->m = next->m;
        into->l = next->l;
        for (uint32_t i = 0; i < n; i++) into->acc[i] = next->acc[i];
        return;
    }
    float m = npu_maxf(into->m, next->m), a = npu_expf(into->m - m), b = npu_expf(next->m - m);
    into->l = npu_fmaf(next->l, b, into->l * a);
    for (uint32_t i = 0; i < n; i++) into->acc[i] = npu_fmaf(next->acc[i], b, into->acc[i] * a);
    into->m = m;
}

static void finish(partial *total, const float *sink, uint32_t n, float *y) {
    if (total->m == -NPU_F32_INF) {
        for (uint32_t i = 0; i < n; i++) y[i] = 0;
        return;
    }
    float keep = 1;
    if (sink) {
        float m = npu_maxf(total->m, *sink);
        keep = npu_expf(total->m - m);
        total->l = npu_fmaf(total->l, keep, npu_expf(*sink - m));
    }
    float r = 1.0f / total->l;
    for (uint32_t i = 0; i < n; i++) y[i] = (total->acc[i] * keep) * r;
}

static void attend(const npu_host_call *call, uint64_t m, uint32_t h, uint8_t *scratch) {
    const npu_host_operand *q = &call->src[0], *k = &call->src[1], *mask = &call->src[4];
    const npu_params_attn *params = &call->op->params.attn;
    uint32_t dv = call->src[2].t.ne[0], heads = q->t.ne[1];
    const int32_t *span = (const int32_t *)npu_host_at(&call->src[3], m, 0, 0);
    uint64_t acc_bytes = npu_host_round(dv * sizeof(float));
    row_state s = {.call = call,
                   .q = (const float *)npu_host_at(q, h, m, 0),
                   .converted = (float *)(scratch + 2 * acc_bytes),
                   .mask_row = mask->data ? npu_host_at(mask, m, 0, 0) : NULL,
                   .slope = npu_ref_alibi_slope(params->max_bias, h, heads),
                   .kv_head = h / (heads / k->t.ne[1]),
                   .first = (uint64_t)span[0],
                   .n = (uint32_t)span[1]};
    if (params->window && s.n > params->window) s.lo = s.n - params->window;
    partial total = {-NPU_F32_INF, 0, (float *)scratch};
    for (uint32_t chunk = s.lo / CHUNK * CHUNK; chunk < s.n; chunk += CHUNK) {
        partial c = {-NPU_F32_INF, 0, (float *)(scratch + acc_bytes)};
        for (uint32_t i = 0; i < dv; i++) c.acc[i] = 0;
        for (uint32_t block = chunk; block < s.n && block - chunk < CHUNK; block += BLOCK) {
            if (block + BLOCK > s.lo) take_block(&s, block, &c);
        }
        merge(&total, &c, dv);
    }
    const float *sinks = (const float *)call->src[5].data;
    finish(&total, sinks ? &sinks[h] : NULL, dv, (float *)npu_host_at(&call->dst[0], h, m, 0));
}

npu_status npu_host_attn_check_spans(const npu_host_call *call, npu_error *err) {
    const npu_host_operand *mask = &call->src[4];
    uint32_t cells = call->src[1].t.ne[2];
    for (uint32_t m = 0; m < call->src[0].t.ne[2]; m++) {
        const int32_t *span = (const int32_t *)npu_host_at(&call->src[3], m, 0, 0);
        if (span[0] < 0 || span[1] < 0 || (uint64_t)span[0] + (uint64_t)span[1] > cells) {
            return npu_fail(err, NPU_RANGE, "op.span", "flash_attn: row %u wants %d cells from %d of a cache of %u", m,
                            span[1], span[0], cells);
        }
        if (mask->data && (uint32_t)span[1] > mask->t.ne[0]) {
            return npu_fail(err, NPU_RANGE, "op.mask", "flash_attn: row %u has %d keys and a mask for %u", m, span[1],
                            mask->t.ne[0]);
        }
    }
    return NPU_OK;
}

npu_status npu_host_flash_attn_ref(const npu_host_call *call, npu_error *err) {
    const npu_tensor *q = &call->src[0].t;
    uint8_t *scratch = call->scratch + call->ith * thread_bytes(q->ne[0], call->src[2].t.ne[0]);
    NPU_TRY(npu_host_attn_check_spans(call, err));
    uint64_t from, to;
    npu_host_split(call, (uint64_t)q->ne[1] * q->ne[2], &from, &to);
    for (uint64_t task = from; task < to; task++) attend(call, task / q->ne[1], (uint32_t)(task % q->ne[1]), scratch);
    return NPU_OK;
}
