/* Attention of the rows of one sequence on every variant of this machine against the reference, bit by bit (NaN as a
 * class), where random numbers seldom lead: blocks of keys whose scores are all -Inf and whose values are NaN, which
 * nothing may touch, scores that are +Inf and NaN, sequences that end and windows that begin anywhere in a block, rows
 * and heads that fill no group, few rows and many, several chunks, keys and values of any type that a cache has, one
 * thread and three. A span lies between other cells, rows between gaps: what is there is NaN and may be neither used
 * nor written. The variants of fast mode, whose bits are their own, are compared by distance, with finite numbers.
 *
 * Usage: optest_attn [seed]
 */
#include "base/cpu.h"
#include "quant/quant.h"
#include "support/optest.h"
#include "target/host/host_op.h"
#include "wire/format.h"
#include "wire/math.h"

enum {
    BLOCK = 32,
    CASES = 80,
    THREADS = 3,
    FIRST_MAX = 5,
    GAP = 32,
    NOT_A_NUMBER = 0xFF /* every byte, in any type */
};

static const uint32_t cache_types[] = {NPU_TYPE_F32, NPU_TYPE_F16, NPU_TYPE_BF16, NPU_TYPE_Q8_0};

/* Normalised mean squared error of fast mode's results: some 1e-5 by the 8 bits of BF16. */
static const double fast_error = 3e-5;

typedef struct sizes {
    uint32_t type[3]; /* of keys [1] and of values [2] */
    uint32_t d, kv_heads, heads, rows, keys, window, first;
} sizes;

static sizes random_sizes(void) {
    static const uint32_t dims[] = {8, 24, 33, 40, 32, 64, 96, 128}, whole_blocks = 4;
    sizes s = {.kv_heads = 1 + optest_random() % 3, .first = optest_random() % (FIRST_MAX + 1)};
    for (int i = 1; i <= 2; i++) s.type[i] = cache_types[optest_random() % 4];
    if (optest_random() % 2) s.type[2] = s.type[1]; /* as in a model */
    s.d = dims[s.type[1] == NPU_TYPE_Q8_0 || s.type[2] == NPU_TYPE_Q8_0 ? whole_blocks + optest_random() % 4
                                                                        : optest_random() % 8];
    s.rows = 1 + optest_random() % (optest_random() % 2 ? 3 : 90);
    s.heads = s.kv_heads * (1 + optest_random() % 4);
    s.keys = s.rows + optest_random() % (optest_random() % 3 ? 300 : 2200);
    if (optest_random() % 3 == 0) s.window = 1 + optest_random() % s.keys;
    return s;
}

/* Without numbers; rows have |gap| bytes behind them, and so have those of all |ne1|. */
static npu_host_operand operand(uint32_t type, uint32_t ne0, uint32_t ne1, uint32_t ne2, uint32_t gap) {
    const npu_format *f = npu_format_of(type);
    uint64_t unit = f ? f->block_bytes : sizeof(int32_t), row = (f ? npu_format_row_bytes(f, ne0) : ne0 * unit) + gap;
    npu_host_operand o = {.t = {.type = (uint8_t)type, .ne = {ne0, ne1, ne2, 1}, .nb = {unit, row, row * ne1 + gap}}};
    o.t.nb[3] = o.t.nb[2] * ne2;
    o.data = optest_memory(o.t.nb[3], NOT_A_NUMBER);
    return o;
}

static uint8_t *row_of(const npu_host_operand *o, uint64_t i1, uint64_t i2) {
    return o->data + i1 * o->t.nb[1] + i2 * o->t.nb[2];
}

/* The first number of a key alone decides where a score is infinite: that of queries is so large that the key's need
 * not be infinite, which it cannot be in blocks of codes. */
static void random_queries(const sizes *s, const npu_host_operand *q, bool strange) {
    for (uint64_t i = 0; i < (uint64_t)s->rows * s->heads; i++) {
        float *to = (float *)(void *)row_of(q, i % s->heads, i / s->heads);
        for (uint32_t k = 0; k < s->d; k++) to[k] = k || !strange ? optest_float() : 0x1p110f;
    }
}

static void random_row(const npu_host_operand *o, uint64_t kv_head, uint64_t cell, float first, bool fixed) {
    float values[128];
    for (uint32_t i = 0; i < o->t.ne[0]; i++) values[i] = optest_float();
    if (fixed) values[0] = first;
    npu_quant_of(o->t.type)->quant(values, row_of(o, kv_head, cell), o->t.ne[0]);
}

/* Keys and values of the span, with |strange| some blocks; what is beside it stays NaN. */
static void random_cells(const sizes *s, const npu_host_operand *k, const npu_host_operand *v, bool strange) {
    enum { USUAL = 13 };
    for (uint32_t block = 0; block < s->keys; block += BLOCK) {
        uint32_t kind = strange ? optest_random() % 40 : USUAL,
                 last = block + BLOCK < s->keys ? block + BLOCK : s->keys;
        float odd = kind == 12 ? NPU_F32_NAN : kind == 11 ? 0x1p20f : -0x1p20f;
        for (uint32_t j = block; j < last; j++) {
            for (uint32_t h = 0; h < s->kv_heads; h++) {
                bool here = kind < 11 || (kind < USUAL && j == last - 1 && h == s->kv_heads - 1);
                random_row(k, h, s->first + j, here ? odd : 0, strange);
                random_row(v, h, s->first + j, NPU_F32_NAN, here);
            }
        }
    }
}

typedef struct job {
    const npu_host_variant *variant;
    npu_host_call call;
    npu_status status[THREADS];
} job;

static void run_thread(void *context, unsigned ith, unsigned nth) {
    job *j = context;
    npu_host_call call = j->call;
    npu_error err;
    call.ith = ith;
    call.nth = nth;
    j->status[ith] = j->variant->run(&call, &err);
}

/* Results between guards and gaps, all of which must stay. */
static npu_host_operand run(const npu_host_variant *v, npu_host_call call, npu_pool *pool) {
    const npu_tensor *q = &call.src[0].t;
    npu_host_operand y = operand(NPU_TYPE_F32, q->ne[0], q->ne[1], q->ne[2], GAP);
    free(y.data);
    y.data = optest_guarded(y.t.nb[3], OPTEST_POISON);
    npu_tensor tensors[5];
    for (int i = 0; i < 4; i++) tensors[i] = call.src[i].t;
    tensors[4] = y.t;
    call.dst[0] = y;
    call.pool = pool;
    call.scratch_bytes = v->scratch ? v->scratch(call.op, tensors, call.mode, npu_pool_threads(pool)) : 0;
    call.scratch = optest_guarded(call.scratch_bytes, NOT_A_NUMBER);
    job j = {.variant = v, .call = call};
    npu_pool_run(pool, run_thread, &j);
    for (unsigned i = 0; i < npu_pool_threads(pool); i++) optest_check(j.status[i] == NPU_OK, "%s refuses", v->name);
    optest_check(optest_guards_hold(call.scratch, call.scratch_bytes), "%s: writes beside its scratch", v->name);
    optest_check(optest_guards_hold(y.data, y.t.nb[3]), "%s: writes beside its results", v->name);
    optest_free(call.scratch);
    return y;
}

/* What was written between rows, and with |numbers| what is not the same in them. */
static uint64_t differences(const npu_host_operand *good, const npu_host_operand *y, bool numbers) {
    uint64_t n = 0, words = good->t.nb[1] / sizeof(float);
    for (uint64_t i = 0; i < good->t.nb[3] / sizeof(float); i++) {
        float a, b;
        memcpy(&a, good->data + i * sizeof a, sizeof a);
        memcpy(&b, y->data + i * sizeof b, sizeof b);
        bool number = i % (good->t.nb[2] / sizeof(float)) % words < good->t.ne[0];
        n += npu_float_bits(a) != npu_float_bits(b) && !(number && (!numbers || (a != a && b != b)));
    }
    return n;
}

/* Squares of the differences of the numbers by squares of the good ones. */
static double error_of(const npu_host_operand *good, const npu_host_operand *y) {
    double wrong = 0, right = 0;
    for (uint64_t i = 0; i < (uint64_t)good->t.ne[1] * good->t.ne[2]; i++) {
        const float *a = (const float *)(void *)row_of(good, i % good->t.ne[1], i / good->t.ne[1]);
        const float *b = (const float *)(void *)row_of(y, i % good->t.ne[1], i / good->t.ne[1]);
        for (uint32_t k = 0; k < good->t.ne[0]; k++) {
            wrong += ((double)b[k] - a[k]) * ((double)b[k] - a[k]);
            right += (double)a[k] * a[k];
        }
    }
    return wrong / right;
}

static void check_variant(const npu_host_variant *v, npu_host_call call, const sizes *s, const npu_host_operand *good,
                          npu_pool *pool) {
    npu_host_operand y = run(v, call, pool);
    bool near = call.mode == NPU_MODE_FAST && s->rows >= NPU_HOST_FAST_ROWS;
    uint64_t n = differences(good, &y, !near);
    double error = near ? error_of(good, &y) : 0;
    optest_check(n == 0 && error <= fast_error,
                 "%s, %u threads: %s, %s, d %u, %u/%u heads, %u rows, %u keys, window %u: %llu differ, error %g",
                 v->name, npu_pool_threads(pool), npu_format_name(s->type[1]), npu_format_name(s->type[2]), s->d,
                 s->heads, s->kv_heads, s->rows, s->keys, s->window, (unsigned long long)n, error);
    optest_free(y.data);
}

/* Of |mode| those variants that take nothing in the other: default mode's give fast mode what they give default. */
static void one_case(npu_pool *const *pools, npu_mode mode) {
    sizes s = random_sizes();
    const bool strange = mode == NPU_MODE_DEFAULT;
    npu_op op = {.code = NPU_OP_FLASH_ATTN, .params.attn = {.scale = 0.3f, .window = s.window}};
    memset(op.src, 0xFF, sizeof op.src);
    memset(op.dst, 0xFF, sizeof op.dst);
    for (uint16_t i = 0; i < 4; i++) op.src[i] = i;
    op.dst[0] = 4;
    npu_host_call call = {.op = &op, .mode = mode};
    call.src[0] = operand(NPU_TYPE_F32, s.d, s.heads, s.rows, GAP);
    for (int i = 1; i <= 2; i++)
        call.src[i] = operand(s.type[i], s.d, s.kv_heads, s.first + s.keys + 1, optest_random() % 2 ? GAP : 0);
    call.src[3] = operand(NPU_TYPE_I32, 2, s.rows, 1, 0);
    random_queries(&s, &call.src[0], strange);
    random_cells(&s, &call.src[1], &call.src[2], strange);
    for (uint32_t m = 0; m < s.rows; m++)
        memcpy(row_of(&call.src[3], m, 0), (int32_t[]){(int32_t)s.first, (int32_t)(s.keys - s.rows + 1 + m)}, 8);
    const npu_host_variant *ref = npu_host_variants(NPU_OP_FLASH_ATTN);
    while (ref->name && ref->features) ref++;
    npu_host_operand good = run(ref, call, pools[0]);
    for (const npu_host_variant *v = npu_host_variants(NPU_OP_FLASH_ATTN); v->name; v++) {
        bool of_default = !v->takes || v->takes(&op, NULL, NPU_MODE_DEFAULT);
        if ((v->features & npu_cpu_features()) != v->features || of_default != (mode == NPU_MODE_DEFAULT)) continue;
        for (int p = 0; p < 2; p++) check_variant(v, call, &s, &good, pools[p]);
    }
    optest_free(good.data);
    for (int i = 0; i < 4; i++) free(call.src[i].data);
}

static void all(void) {
    npu_pool *pools[2] = {0};
    npu_error err;
    if (optest_check(npu_pool_create(1, &pools[0], &err) == NPU_OK, "no thread") &&
        optest_check(npu_pool_create(THREADS, &pools[1], &err) == NPU_OK, "no threads"))
        for (int i = 0; i < CASES; i++) {
            one_case(pools, NPU_MODE_DEFAULT);
            one_case(pools, NPU_MODE_FAST);
        }
    for (int i = 0; i < 2; i++)
        if (pools[i]) npu_pool_destroy(pools[i]);
}

int main(int argc, char **argv) {
    return optest_run(argc, argv, all);
}
