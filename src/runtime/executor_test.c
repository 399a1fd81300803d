/* The executor with the host alone and with a made-up device that has its own copy of every buffer: what is not synced
 * is not there, so any missing sync changes the result. Also: counters, cancelling, a lost device, no allocation in a
 * step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "runtime/executor.h"
#include "support/tiny_pair.h"

/* ----- counting allocations: this program's malloc stands before the C library's ----- */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define COUNTS_ALLOCATIONS 1
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
static unsigned long n_allocations;

void *malloc(size_t n) {
    n_allocations++;
    return __libc_malloc(n);
}
void *calloc(size_t n, size_t size) {
    n_allocations++;
    return __libc_calloc(n, size);
}
void *realloc(void *p, size_t n) {
    n_allocations++;
    return __libc_realloc(p, n);
}
#endif

/* ----- the made-up device: computes with a host target of its own, on shadows of the buffers ----- */
typedef struct fake {
    npu_target base;
    npu_target *inner;
    npu_buffer shadows[8];
    npu_buffer *table[8];
    npu_status answer; /* of wait */
} fake;

static npu_status fake_alloc(npu_target *target, uint64_t bytes, npu_buffer_use use, npu_buffer **out, npu_error *err) {
    npu_buffer *b = calloc(1, sizeof *b);
    (void)err;
    *b = (npu_buffer){.owner = target, .data = calloc(1, bytes), .bytes = bytes, .use = use, .impl = calloc(1, bytes)};
    if (use != NPU_BUFFER_STATE) memset(b->impl, 0xFF, bytes);
    *out = b;
    return NPU_OK;
}

static void fake_free(npu_target *target, npu_buffer *b) {
    (void)target;
    free(b->data);
    free(b->impl);
    free(b);
}

static npu_status fake_sync(npu_target *target, npu_buffer *b, uint64_t offset, uint64_t bytes, npu_sync_dir dir,
                            npu_error *err) {
    uint8_t *host = b->data + offset, *device = (uint8_t *)b->impl + offset;
    (void)target, (void)err;
    memcpy(dir == NPU_SYNC_TO_DEVICE ? device : host, dir == NPU_SYNC_TO_DEVICE ? host : device, bytes);
    return NPU_OK;
}

static npu_status fake_submit(npu_target *target, const npu_batch *batch, npu_event *event, npu_error *err) {
    fake *f = (fake *)target;
    npu_batch mine = *batch;
    for (uint32_t i = 0; i < batch->n_buffers; i++) {
        f->table[i] = batch->buffers[i];
        if (!f->table[i] || f->table[i]->owner != target) continue;
        f->shadows[i] = *f->table[i];
        f->shadows[i].owner = f->inner;
        f->shadows[i].data = f->table[i]->impl;
        f->table[i] = &f->shadows[i];
    }
    mine.buffers = f->table;
    return f->inner->ops->submit(f->inner, &mine, event, err);
}

static npu_status fake_wait(npu_target *target, npu_event event, npu_error *err) {
    fake *f = (fake *)target;
    (void)event;
    return f->answer == NPU_OK ? NPU_OK : npu_fail(err, f->answer, "fake.wait", "as asked");
}

static const npu_target_ops fake_ops = {.name = "fake",
                                        .buffer_alloc = fake_alloc,
                                        .buffer_free = fake_free,
                                        .buffer_sync = fake_sync,
                                        .submit = fake_submit,
                                        .wait = fake_wait};

/* ----- a bound executor ----- */
typedef struct fixture {
    tiny_pair pair;
    fake device;
    bool cancel;
} fixture;

static bool is_cancelled(void *user) {
    return *(bool *)user;
}

static npu_status open_fixture(fixture *f, const bool *on_device, npu_error *err) {
    *f = (fixture){.device.base.ops = &fake_ops};
    tiny_pair_build(&f->pair, 2);
    f->device.inner = f->pair.inner;
    npu_executor_params params = {.host = f->pair.host,
                                  .device = on_device ? &f->device.base : NULL,
                                  .files = &f->pair.file,
                                  .n_files = 1,
                                  .cancelled = is_cancelled,
                                  .cancelled_user = &f->cancel};
    npu_executor_graph graphs[] = {{&f->pair.graphs[0].g, on_device}, {&f->pair.graphs[1].g, on_device}};
    return npu_executor_create(&params, graphs, 2, &f->pair.x, err);
}

/* Any split that keeps a layer's state on one side gives the host's own result. */
static void any_split_gives_the_same_bytes(void **state) {
    (void)state;
    float want[TINY_VOCAB], got[TINY_VOCAB];
    npu_error err = {0};
    fixture f;
    assert_int_equal(open_fixture(&f, NULL, &err), NPU_OK);
    tiny_pair_run(&f.pair, 9, 14, want);
    tiny_pair_free(&f.pair);
    srand(5);
    for (int seed = 0; seed < 40; seed++) {
        bool on_device[64], kv = rand() & 1;
        tiny_graph t = {0};
        assert_true(tiny_build(&t, 2));
        for (uint32_t i = 0; i < t.g.n_ops; i++) {
            bool state_op = t.g.ops[i].code == NPU_OP_SET_ROWS || t.g.ops[i].code == NPU_OP_FLASH_ATTN;
            on_device[i] = state_op ? kv : seed < 2 ? seed : rand() & 1;
        }
        tiny_free(&t);
        if (open_fixture(&f, on_device, &err) != NPU_OK) fail_msg("%s", err.text);
        tiny_pair_run(&f.pair, 9, 14, got);
        if (memcmp(want, got, sizeof want) != 0) fail_msg("split %d gives other bytes", seed);
        npu_counters c = {0};
        npu_executor_count(f.pair.x, &c);
        assert_int_equal(c.ops_host, c.ops_fallback);
        assert_int_equal(c.ops_host + c.ops_device, 6 * f.pair.graphs[0].g.n_ops);
        assert_int_equal(c.steps, 6);
        assert_int_equal(c.rows, 14);
        tiny_pair_free(&f.pair);
    }
}

static void state_of_a_layer_is_not_split(void **state) {
    (void)state;
    bool on_device[64] = {false};
    npu_error err = {0};
    tiny_graph t = {0};
    assert_true(tiny_build(&t, 2));
    for (uint32_t i = 0; i < t.g.n_ops; i++) on_device[i] = t.g.ops[i].code == NPU_OP_FLASH_ATTN;
    tiny_free(&t);
    fixture f;
    assert_int_equal(open_fixture(&f, on_device, &err), NPU_REFUSED);
    assert_string_equal(err.code, "executor.state");
    assert_null(f.pair.x);
    tiny_pair_free(&f.pair);
}

static void cancelled_and_lost(void **state) {
    (void)state;
    bool on_device[64];
    npu_error err = {0};
    fixture f;
    memset(on_device, true, sizeof on_device);
    assert_int_equal(open_fixture(&f, on_device, &err), NPU_OK);
    f.cancel = true;
    assert_int_equal(tiny_pair_step(&f.pair, 0, 3, &err), NPU_CANCELLED);
    f.cancel = false;
    assert_int_equal(tiny_pair_step(&f.pair, 0, 3, &err), NPU_OK);
    f.device.answer = NPU_TIMEOUT;
    assert_int_equal(tiny_pair_step(&f.pair, 3, 1, &err), NPU_TIMEOUT);
    f.device.answer = NPU_OK;
    assert_int_equal(tiny_pair_step(&f.pair, 3, 1, &err),
                     NPU_TIMEOUT); /* its buffers may still be written to: never again */
    tiny_pair_free(&f.pair);
}

static void count_ops(void *user, const npu_profile_entry *entry) {
    *(unsigned *)user += entry->ops;
}

static void a_step_allocates_nothing(void **state) {
    (void)state;
    npu_error err = {0};
    fixture f;
    assert_int_equal(open_fixture(&f, NULL, &err), NPU_OK);
    float logits[TINY_VOCAB];
    unsigned profiled = 0;
    tiny_pair_run(&f.pair, 9, 14, logits);
    npu_executor_profile(f.pair.x, count_ops, &profiled);
    tiny_pair_run(&f.pair, 9, 14, logits);
    assert_int_equal(profiled, 6 * f.pair.graphs[0].g.n_ops);
#ifdef COUNTS_ALLOCATIONS
    unsigned long before = n_allocations;
    tiny_pair_run(&f.pair, 9, 14, logits);
    npu_executor_profile(f.pair.x, NULL, NULL);
    tiny_pair_run(&f.pair, 9, 14, logits);
    assert_int_equal(n_allocations, before);
#endif
    tiny_pair_free(&f.pair);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_split_gives_the_same_bytes),
        cmocka_unit_test(state_of_a_layer_is_not_split),
        cmocka_unit_test(cancelled_and_lost),
        cmocka_unit_test(a_step_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
