/* The executor with a gemv-class device: products go through gemv or lm_head in chunks of rows, alone or fused; the
 * rest runs on the host. The device here multiplies as the host does, so the bytes must be the host's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plan/plan.h"
#include "runtime/executor.h"
#include "support/tiny_pair.h"
#include "target/gemv_helper.h"

enum { MAX_ROWS = 2, PREFILL_ROWS = 5, MOST_CALLS = 64 };

typedef struct call {
    unsigned role, layer;
    uint32_t M, N;
    int64_t wkey;
} call;

typedef struct fake {
    npu_target base;
    npu_target *inner;
    call calls[MOST_CALLS];
    unsigned n_calls, n_heads;
    npu_status answer;
    npu_target_phases phases;
    const npu_weight_source *source; /* of lm_head */
} fake;

static npu_status fake_gemv(npu_target *target, const npu_gemv_args *args, float *out, npu_error *err) {
    fake *f = (fake *)target;
    if (f->n_calls < MOST_CALLS) f->calls[f->n_calls++] = (call){args->role, args->layer, args->M, args->N, args->wkey};
    f->phases.pack_ns += 1;
    f->phases.quant_ns += 10;
    f->phases.launch_ns += 100;
    f->phases.wait_ns += 1000;
    f->phases.readback_ns += 10000;
    f->phases.dequant_ns += 100000;
    f->phases.retries += 2;
    if (f->answer != NPU_OK) return npu_fail(err, f->answer, "fake.gemv", "as asked");
    return npu_gemv_by_submit(f->inner, args, out, err);
}

/* The head's weights as the callback would give them. */
static npu_status head_tiles(void *user, unsigned layer, unsigned role, uint8_t *out, uint64_t out_bytes,
                             npu_error *err) {
    const tiny_graph *t = user;
    float *to = (float *)(void *)out;
    const float *head = NULL;
    (void)layer, (void)role, (void)out_bytes, (void)err;
    for (uint32_t i = 0; i < t->g.n_ops; i++)
        if (t->g.ops[i].role == NPU_ROLE_HEAD && t->g.ops[i].code == NPU_OP_MUL_MAT)
            head = t->file + t->g.tensors[t->g.ops[i].src[1]].offset / sizeof(float);
    for (int n = 0; n < TINY_VOCAB; n++)
        for (int k = 0; k < TINY_EMBD; k++) to[k * TINY_VOCAB + n] = head[n * TINY_EMBD + k];
    return NPU_OK;
}

static npu_status fake_lm_head(npu_target *target, uint32_t M, const float *h, float *logits, npu_error *err) {
    fake *f = (fake *)target;
    npu_gemv_args args = {.M = M,
                          .K = TINY_EMBD,
                          .N = TINY_VOCAB,
                          .x = h,
                          .wkey = -1,
                          .tiles = head_tiles,
                          .tiles_user = f->source->context};
    f->n_heads++;
    return npu_gemv_by_submit(f->inner, &args, logits, err);
}

static void fake_phases(const npu_target *target, npu_target_phases *out) {
    *out = ((const fake *)target)->phases;
}

static const npu_target_ops fake_ops = {
    .name = "fake", .gemv = fake_gemv, .lm_head = fake_lm_head, .phases = fake_phases};

typedef struct fixture {
    tiny_pair pair;
    fake device;
    bool on_device[64];
    npu_plan plan;
    npu_plan_entry entries[64];
    npu_plan_design designs[16];
} fixture;

static void build(fixture *f) {
    *f = (fixture){.device.base = {.ops = &fake_ops}};
    f->device.base.caps = (npu_caps){.max_rows = MAX_ROWS, .prefill_rows = PREFILL_ROWS};
    tiny_pair_build(&f->pair, 1);
    f->device.inner = f->pair.inner;
    f->device.source = &f->pair.graphs[0].source;
    for (uint32_t i = 0; i < f->pair.graphs[0].g.n_ops; i++)
        f->on_device[i] = f->pair.graphs[0].g.ops[i].code == NPU_OP_MUL_MAT;
}

/* A design for all products of an op, or for each. */
static void plan_op(fixture *f, uint32_t i, bool fused) {
    const npu_graph *g = &f->pair.graphs[0].g;
    const npu_op *op = &g->ops[i];
    npu_plan_entry *e = &f->entries[i];
    unsigned n = 0;
    *e = (npu_plan_entry){.layer = op->layer, .role = op->role, .code = op->code};
    if (op->code != NPU_OP_MUL_MAT) return;
    while (n < NPU_OP_DSTS && op->dst[n] != NPU_NO_TENSOR) n++;
    for (unsigned first = 0; first < n; first += fused ? n : 1) {
        npu_plan_design *d = &f->designs[f->plan.n_designs];
        *d = (npu_plan_design){.first = (uint16_t)first, .n_splits = (uint16_t)(fused ? n : 1)};
        d->role = n > 1 && !fused ? g->weights[op->src[1 + first]].role : op->role;
        d->real_k = g->tensors[op->src[0]].ne[0];
        for (unsigned k = first; k < first + d->n_splits; k++) d->real_n += g->tensors[op->dst[k]].ne[0];
        e->designs[e->n_designs++] = (uint16_t)f->plan.n_designs++;
    }
}

static npu_status bind(fixture *f, bool device, bool fused, npu_error *err) {
    npu_executor_params params = {.host = f->pair.host,
                                  .device = device ? &f->device.base : NULL,
                                  .plan = &f->plan,
                                  .files = &f->pair.file,
                                  .n_files = 1};
    npu_executor_graph graphs[2];
    f->plan = (npu_plan){.entries = f->entries, .designs = f->designs, .n_entries = f->pair.graphs[0].g.n_ops};
    for (uint32_t i = 0; i < f->plan.n_entries; i++) plan_op(f, i, fused);
    for (int i = 0; i < 2; i++) graphs[i] = (npu_executor_graph){&f->pair.graphs[i].g, f->on_device};
    return npu_executor_create(&params, graphs, 2, &f->pair.x, err);
}

static void same_bytes(bool fused, bool lm_head) {
    float want[TINY_VOCAB], got[TINY_VOCAB];
    npu_error err = {0};
    fixture f;
    build(&f);
    assert_int_equal(bind(&f, false, false, &err), NPU_OK);
    tiny_pair_run(&f.pair, 12, 15, want);
    npu_executor_free(f.pair.x);
    f.device.base.caps.lm_head = lm_head;
    if (bind(&f, true, fused, &err) != NPU_OK) fail_msg("%s", err.text);
    tiny_pair_run(&f.pair, 12, 15, got);
    assert_memory_equal(want, got, sizeof want);
    assert_int_equal(f.device.n_heads, lm_head ? 4 : 0);
    npu_counters c = {0};
    npu_executor_count(f.pair.x, &c);
    assert_int_equal(c.ops_device, 4 * 5); /* steps, products */
    assert_int_equal(c.ops_host, c.ops_fallback);
    assert_int_equal(c.ops_host + c.ops_device, 4 * f.pair.graphs[0].g.n_ops);
    assert_int_equal(c.syncs, 0);
    /* The first product of the prompt: 12 rows as 5 + 5 + 2, fused or one weight after the other. */
    static const uint32_t rows[] = {5, 5, 2};
    for (unsigned i = 0; i < 3; i++) {
        const call *got_call = &f.device.calls[i];
        assert_int_equal(got_call->M, rows[i]);
        assert_int_equal(got_call->role, 0);
        assert_int_equal(got_call->N, fused ? 3 * TINY_EMBD : TINY_EMBD);
        assert_int_equal(got_call->wkey, fused ? NPU_ROLE_QKV : NPU_ROLE_Q);
    }
    assert_int_equal(f.device.calls[3].role, 1);
    assert_int_equal(f.device.calls[3].wkey, fused ? NPU_ROLE_O : NPU_ROLE_K);
    tiny_pair_free(&f.pair);
}

static void products_one_by_one(void **state) {
    (void)state;
    same_bytes(false, false);
}

static void products_fused(void **state) {
    (void)state;
    same_bytes(true, false);
}

static void head_through_lm_head(void **state) {
    (void)state;
    same_bytes(true, true);
}

/* A request fails with what the device said; the next one is asked of it again and gives the same bytes. */
static void failures_end_a_request(void **state) {
    (void)state;
    static const npu_status answers[] = {NPU_TIMEOUT, NPU_DEVICE_LOST, NPU_DEVICE_SHORT, NPU_UNSUPPORTED};
    float want[TINY_VOCAB], got[TINY_VOCAB];
    npu_error err = {0};
    fixture f;
    build(&f);
    assert_int_equal(bind(&f, true, true, &err), NPU_OK);
    tiny_pair_run(&f.pair, 12, 15, want);
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        f.device.answer = answers[i];
        assert_int_equal(tiny_pair_step(&f.pair, 0, 12, &err), answers[i]);
        assert_string_equal(err.code, "fake.gemv");
        f.device.answer = NPU_OK;
        tiny_pair_run(&f.pair, 12, 15, got);
        assert_memory_equal(want, got, sizeof want);
    }
    tiny_pair_free(&f.pair);
}

typedef struct profiled {
    unsigned device, host;
    bool right;
    npu_profile_entry sum;
} profiled;

static void add_profile(void *user, const npu_profile_entry *e) {
    profiled *p = user;
    bool device = !strcmp(e->owner, "fake");
    *(device ? &p->device : &p->host) += e->ops;
    p->right &= e->is_fallback == !device && (device || !(e->pack_ns + e->launch_ns + e->wait_ns + e->retries));
    p->sum.pack_ns += e->pack_ns;
    p->sum.quant_ns += e->quant_ns;
    p->sum.launch_ns += e->launch_ns;
    p->sum.wait_ns += e->wait_ns;
    p->sum.readback_ns += e->readback_ns;
    p->sum.dequant_ns += e->dequant_ns;
    p->sum.retries += e->retries;
}

/* What the target says of its calls reaches the profile by role, whatever it did before profiling began. */
static void phases_reach_the_profile(void **state) {
    (void)state;
    float out[TINY_VOCAB];
    npu_error err = {0};
    fixture f;
    profiled p = {.right = true};
    build(&f);
    assert_int_equal(bind(&f, true, true, &err), NPU_OK);
    tiny_pair_run(&f.pair, 12, 15, out);
    unsigned before = f.device.n_calls;
    npu_executor_profile(f.pair.x, add_profile, &p);
    tiny_pair_run(&f.pair, 12, 15, out);
    uint64_t n = f.device.n_calls - before;
    assert_true(p.right);
    assert_int_equal(p.device, 4 * 5);
    assert_int_equal(p.device + p.host, 4 * f.pair.graphs[0].g.n_ops);
    assert_true(p.sum.pack_ns == n && p.sum.quant_ns == 10 * n && p.sum.launch_ns == 100 * n);
    assert_true(p.sum.wait_ns == 1000 * n && p.sum.readback_ns == 10000 * n && p.sum.dequant_ns == 100000 * n);
    assert_int_equal(p.sum.retries, 2 * n);
    tiny_pair_free(&f.pair);
}

static void only_products_of_weights(void **state) {
    (void)state;
    npu_error err = {0};
    for (uint32_t i = 0;; i++) {
        fixture f;
        build(&f);
        bool end = i == f.pair.graphs[0].g.n_ops, product = !end && f.on_device[i];
        if (!end && !product) {
            f.on_device[i] = true;
            assert_int_equal(bind(&f, true, true, &err), NPU_REFUSED);
            assert_string_equal(err.code, "executor.gemv");
            assert_null(f.pair.x);
        }
        tiny_pair_free(&f.pair);
        if (end) break;
    }
}

/* A design that is not a part of its op, or does not make all of it. */
static void designs_that_do_not_fit(void **state) {
    (void)state;
    static const struct { int first, n, k; } changes[] = {{1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, 1}, {-1, 0, 0}};
    npu_error err = {0};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        fixture f;
        build(&f);
        assert_int_equal(bind(&f, false, true, &err), NPU_OK);
        npu_executor_free(f.pair.x);
        npu_executor_params params = {
            .host = f.pair.host, .device = &f.device.base, .plan = &f.plan, .files = &f.pair.file, .n_files = 1};
        npu_executor_graph graph = {&f.pair.graphs[0].g, f.on_device};
        f.designs[0].first = (uint16_t)(f.designs[0].first + changes[i].first);
        f.designs[0].n_splits = (uint16_t)(f.designs[0].n_splits + changes[i].n);
        f.designs[0].real_k = f.designs[0].real_k + (uint32_t)changes[i].k;
        assert_int_equal(npu_executor_create(&params, &graph, 1, &f.pair.x, &err), NPU_REFUSED);
        assert_string_equal(err.code, "executor.gemv");
        tiny_pair_free(&f.pair);
    }
}

static void a_target_that_does_nothing(void **state) {
    (void)state;
    static const npu_target_ops nothing = {.name = "nothing"};
    npu_error err = {0};
    fixture f;
    build(&f);
    f.device.base.ops = &nothing;
    assert_int_equal(bind(&f, true, true, &err), NPU_REFUSED);
    assert_string_equal(err.code, "executor.target");
    tiny_pair_free(&f.pair);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_one_by_one),      cmocka_unit_test(products_fused),
        cmocka_unit_test(head_through_lm_head),     cmocka_unit_test(failures_end_a_request),
        cmocka_unit_test(only_products_of_weights), cmocka_unit_test(designs_that_do_not_fit),
        cmocka_unit_test(phases_reach_the_profile), cmocka_unit_test(a_target_that_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
