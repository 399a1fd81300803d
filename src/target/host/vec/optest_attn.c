/* Attention of the rows of one sequence on every variant of this machine against the reference, bit by bit (NaN as a
 * class), where random numbers seldom lead: blocks of keys whose scores are all -Inf and whose values are NaN, which
 * nothing may touch, scores that are +Inf and NaN, sequences that end and windows that begin anywhere in a block, rows
 * and heads that fill no group, several chunks, one thread and three.
 *
 * Usage: optest_attn [seed]
 */
#include "base/cpu.h"
#include "support/optest.h"
#include "target/host/host_op.h"
#include "wire/format.h"
#include "wire/math.h"

enum { BLOCK = 32, CASES = 60, THREADS = 3 };

typedef struct sizes {
    uint32_t d, kv_heads, heads, rows, keys, window;
} sizes;

static sizes random_sizes(void) {
    static const uint32_t dims[] = {8, 24, 33, 64, 96};
    sizes s = {.d = dims[optest_random() % 5], .kv_heads = 1 + optest_random() % 2, .rows = 1 + optest_random() % 90};
    s.heads = s.kv_heads * (1 + optest_random() % 4);
    s.keys = s.rows + optest_random() % (optest_random() % 3 ? 300 : 2200);
    if (optest_random() % 3 == 0) s.window = 1 + optest_random() % s.keys;
    return s;
}

static npu_host_operand operand(uint32_t type, uint32_t ne0, uint32_t ne1, uint32_t ne2) {
    uint64_t row = (uint64_t)ne0 * 4;
    npu_host_operand o = {
        .t = {.type = (uint8_t)type, .ne = {ne0, ne1, ne2, 1}, .nb = {4, row, row * ne1, row * ne1 * ne2}}};
    o.data = optest_memory(o.t.nb[3], OPTEST_POISON);
    for (uint64_t i = 0; type == NPU_TYPE_F32 && i < o.t.nb[3] / 4; i++) ((float *)(void *)o.data)[i] = optest_float();
    return o;
}

/* The first number of a key alone decides where it is infinite: that of queries is above 0. */
static void make_strange(const sizes *s, const npu_host_operand *q, const npu_host_operand *k,
                         const npu_host_operand *v) {
    for (uint64_t i = 0; i < (uint64_t)s->rows * s->heads; i++) *(float *)(void *)(q->data + i * q->t.nb[1]) = 0.5f;
    for (uint64_t block = 0; block < s->keys; block += BLOCK) {
        uint32_t kind = optest_random() % 40;
        if (kind > 12) continue;
        float odd = kind == 12 ? NPU_F32_NAN : kind == 11 ? NPU_F32_INF : -NPU_F32_INF;
        uint64_t first = block * s->kv_heads, last = (block + BLOCK < s->keys ? block + BLOCK : s->keys) * s->kv_heads;
        if (kind > 10) first = last - 1; /* one key */
        for (uint64_t i = first; i < last; i++) {
            *(float *)(void *)(k->data + i * k->t.nb[1]) = odd;
            *(float *)(void *)(v->data + i * v->t.nb[1]) = NPU_F32_NAN;
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

static npu_host_operand run(const npu_host_variant *v, npu_host_call call, npu_pool *pool) {
    npu_tensor tensors[5];
    for (int i = 0; i < 4; i++) tensors[i] = call.src[i].t;
    call.dst[0] = operand(NPU_TYPE_F32, call.src[0].t.ne[0], call.src[0].t.ne[1], call.src[0].t.ne[2]);
    tensors[4] = call.dst[0].t;
    call.pool = pool;
    call.scratch_bytes = v->scratch ? v->scratch(call.op, tensors, call.mode, npu_pool_threads(pool)) : 0;
    call.scratch = optest_guarded(call.scratch_bytes, 0xFF);
    job j = {.variant = v, .call = call};
    npu_pool_run(pool, run_thread, &j);
    for (unsigned i = 0; i < npu_pool_threads(pool); i++) optest_check(j.status[i] == NPU_OK, "%s refuses", v->name);
    optest_check(optest_guards_hold(call.scratch, call.scratch_bytes), "%s: writes beside its scratch", v->name);
    optest_free(call.scratch);
    return call.dst[0];
}

static uint64_t differences(const npu_host_operand *a, const npu_host_operand *b) {
    const float *x = (const float *)(const void *)a->data, *y = (const float *)(const void *)b->data;
    uint64_t n = 0;
    for (uint64_t i = 0; i < a->t.nb[3] / 4; i++)
        n += npu_float_bits(x[i]) != npu_float_bits(y[i]) && !(x[i] != x[i] && y[i] != y[i]);
    return n;
}

static void one_case(npu_pool *const *pools) {
    sizes s = random_sizes();
    npu_op op = {.code = NPU_OP_FLASH_ATTN, .params.attn = {.scale = 0.3f, .window = s.window}};
    memset(op.src, 0xFF, sizeof op.src);
    memset(op.dst, 0xFF, sizeof op.dst);
    for (uint16_t i = 0; i < 4; i++) op.src[i] = i;
    op.dst[0] = 4;
    npu_host_call call = {.op = &op, .mode = NPU_MODE_DEFAULT};
    call.src[0] = operand(NPU_TYPE_F32, s.d, s.heads, s.rows);
    call.src[1] = operand(NPU_TYPE_F32, s.d, s.kv_heads, s.keys);
    call.src[2] = operand(NPU_TYPE_F32, s.d, s.kv_heads, s.keys);
    call.src[3] = operand(NPU_TYPE_I32, 2, s.rows, 1);
    make_strange(&s, &call.src[0], &call.src[1], &call.src[2]);
    for (uint32_t m = 0; m < s.rows; m++)
        memcpy(call.src[3].data + m * 8, (int32_t[]){0, (int32_t)(s.keys - s.rows + 1 + m)}, 8);
    const npu_host_variant *ref = npu_host_variants(NPU_OP_FLASH_ATTN);
    while (ref->name && ref->features) ref++;
    npu_host_operand good = run(ref, call, pools[0]);
    for (const npu_host_variant *v = npu_host_variants(NPU_OP_FLASH_ATTN); v->name; v++) {
        if ((v->features & npu_cpu_features()) != v->features) continue;
        for (int p = 0; p < 2; p++) {
            npu_host_operand y = run(v, call, pools[p]);
            uint64_t n = differences(&good, &y);
            optest_check(n == 0, "%s, %u threads: d %u, %u/%u heads, %u rows, %u keys, window %u: %llu differ", v->name,
                         npu_pool_threads(pools[p]), s.d, s.heads, s.kv_heads, s.rows, s.keys, s.window,
                         (unsigned long long)n);
            free(y.data);
        }
    }
    free(good.data);
    for (int i = 0; i < 4; i++) free(call.src[i].data);
}

static void all(void) {
    npu_pool *pools[2] = {0};
    npu_error err;
    if (optest_check(npu_pool_create(1, &pools[0], &err) == NPU_OK, "no thread") &&
        optest_check(npu_pool_create(THREADS, &pools[1], &err) == NPU_OK, "no threads"))
        for (int i = 0; i < CASES; i++) one_case(pools);
    for (int i = 0; i < 2; i++)
        if (pools[i]) npu_pool_destroy(pools[i]);
}

int main(int argc, char **argv) {
    return optest_run(argc, argv, all);
}
