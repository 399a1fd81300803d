/* Contexts through the public interface, on a one-layer llama of random F32 weights: all or nothing, sequences that are
 * cut and copied, the end of the context, cancelling, weights that are not numbers, parameters out of range.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "api/memory.h"
#include "base/status.h"
#include "npu/npu.h"
#include "support/gguf_build.h"

enum { EMBD = 32, KV = 16, FF = 48, VOCAB = 50, CTX = 24, N_TENSORS = 12, U32 = 4, F32 = 6, STRING = 8 };

static const struct {
    const char *name;
    uint32_t ne0, ne1;
} tensors[N_TENSORS] = {
    {"token_embd.weight", EMBD, VOCAB},  {"output.weight", EMBD, VOCAB},           {"output_norm.weight", EMBD, 1},
    {"blk.0.attn_norm.weight", EMBD, 1}, {"blk.0.attn_q.weight", EMBD, EMBD},      {"blk.0.attn_k.weight", EMBD, KV},
    {"blk.0.attn_v.weight", EMBD, KV},   {"blk.0.attn_output.weight", EMBD, EMBD}, {"blk.0.ffn_norm.weight", EMBD, 1},
    {"blk.0.ffn_gate.weight", EMBD, FF}, {"blk.0.ffn_up.weight", EMBD, FF},        {"blk.0.ffn_down.weight", FF, EMBD},
};

static void key_u32(gguf_build *b, const char *key, uint32_t value) {
    gb_key(b, key, U32);
    gb_u32(b, value);
}

/* Value |broken| of the output matrix, when not negative, is NaN. */
static void build(gguf_build *b, int broken) {
    float eps = 1e-5f;
    gb_header(b, N_TENSORS, 8);
    gb_key(b, "general.architecture", STRING);
    gb_str(b, "llama");
    key_u32(b, "llama.block_count", 1);
    key_u32(b, "llama.context_length", 100);
    key_u32(b, "llama.embedding_length", EMBD);
    key_u32(b, "llama.feed_forward_length", FF);
    key_u32(b, "llama.attention.head_count", 4);
    key_u32(b, "llama.attention.head_count_kv", 2);
    gb_key(b, "llama.attention.layer_norm_rms_epsilon", F32);
    gb_bytes(b, &eps, 4);
    uint64_t offset = 0;
    for (int i = 0; i < N_TENSORS; i++) {
        gb_tensor(b, tensors[i].name, tensors[i].ne0, tensors[i].ne1, 0, offset);
        offset += (uint64_t)(tensors[i].ne0 * tensors[i].ne1 + 7) / 8 * 32;
    }
    uint32_t seed = 1;
    for (int i = 0; i < N_TENSORS; i++) {
        gb_align(b, 32);
        for (uint32_t k = 0; k < tensors[i].ne0 * tensors[i].ne1; k++) {
            seed = seed * 1664525u + 1013904223u;
            float value = ((float)(seed >> 8) / (float)(1 << 24) - 0.5f) * (tensors[i].ne1 == 1 ? 4 : 0.6f);
            if (i == 1 && (int)k == broken) value = NAN;
            gb_bytes(b, &value, 4);
        }
    }
    gb_align(b, 32);
}

static npu_model *open_model(int broken) {
    char path[] = "/tmp/npu-context-XXXXXX";
    int fd = mkstemp(path);
    gguf_build b = {0};
    build(&b, broken);
    assert_true(fd >= 0 && write(fd, b.data, b.size) == (ssize_t)b.size);
    close(fd);
    gb_free(&b);
    npu_model *model;
    npu_error err = {0};
    npu_model_params params = {.no_tokenizer = true};
    if (npu_model_open(path, &params, &model, &err) != NPU_OK) fail_msg("%s", err.text);
    unlink(path); /* the mapping stays */
    return model;
}

typedef struct fixture {
    npu_model *model;
    npu_context *context;
    unsigned cancel_after; /* calls; 0 = never */
} fixture;

static bool cancelled(void *user) {
    fixture *f = user;
    return f->cancel_after && !--f->cancel_after;
}

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    npu_error err = {0};
    if (!f) return -1;
    f->model = open_model(-1);
    npu_context_params params = {
        .ctx = CTX, .n_seq = 3, .prefill_rows = 4, .threads = 1, .cancelled = cancelled, .cancelled_user = f};
    if (npu_context_open(f->model, &params, &f->context, &err) != NPU_OK) fail_msg("%s", err.text);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    npu_context_close(f->context);
    npu_model_close(f->model);
    free(f);
    return 0;
}

/* Decodes tokens first, first + 3, … and keeps the last logits. */
static npu_status feed(fixture *f, uint32_t seq, int32_t first, uint32_t n, float logits[VOCAB], npu_error *err) {
    npu_row rows[CTX + 4];
    for (uint32_t i = 0; i < n; i++) rows[i] = (npu_row){(first + 3 * (int32_t)i) % VOCAB, seq, i + 1 == n};
    NPU_TRY(npu_decode(f->context, rows, n, err));
    memcpy(logits, npu_logits(f->context, 0), VOCAB * sizeof *logits);
    return NPU_OK;
}

static void same(const float *a, const float *b) {
    assert_memory_equal(a, b, VOCAB * sizeof *a);
}

static void sequences_are_cut_copied_and_forgotten(void **state) {
    fixture *f = *state;
    npu_error err = {0};
    float want[VOCAB], got[VOCAB], other[VOCAB];
    assert_int_equal(feed(f, 0, 1, 9, want, &err), NPU_OK);
    assert_int_equal(feed(f, 1, 20, 7, other, &err), NPU_OK);
    assert_int_equal(npu_seq_length(f->context, 0), 9);
    assert_int_equal(npu_seq_copy(f->context, 0, 2, 4, &err), NPU_OK); /* tokens 1, 4, 7, 10 */
    assert_int_equal(npu_seq_length(f->context, 2), 4);
    assert_int_equal(feed(f, 2, 13, 5, got, &err), NPU_OK);
    same(want, got);
    assert_int_equal(npu_seq_truncate(f->context, 0, 6, &err), NPU_OK);
    assert_int_equal(feed(f, 0, 19, 3, got, &err), NPU_OK);
    same(want, got);
    assert_int_equal(npu_context_reset(f->context, &err), NPU_OK);
    assert_null(npu_logits(f->context, 0));
    assert_int_equal(feed(f, 1, 1, 9, got, &err), NPU_OK);
    same(want, got);
    assert_int_equal(npu_seq_copy(f->context, 1, 0, 10, &err), NPU_INVALID);
    assert_int_equal(npu_seq_truncate(f->context, 3, 0, &err), NPU_INVALID);
}

static void a_failed_batch_leaves_no_trace(void **state) {
    fixture *f = *state;
    npu_error err = {0};
    float want[VOCAB], got[VOCAB];
    assert_int_equal(feed(f, 0, 1, 6, got, &err), NPU_OK);
    assert_int_equal(feed(f, 0, 19, 5, want, &err), NPU_OK);
    assert_int_equal(npu_seq_truncate(f->context, 0, 6, &err), NPU_OK);
    f->cancel_after = 3; /* the second of two steps */
    assert_int_equal(feed(f, 0, 40, 7, got, &err), NPU_CANCELLED);
    f->cancel_after = 0;
    npu_row bad[] = {{3, 0, true}, {VOCAB, 0, true}};
    assert_int_equal(npu_decode(f->context, bad, 2, &err), NPU_INVALID);
    assert_string_equal(err.code, "decode.token");
    bad[1] = (npu_row){1, 3, true};
    assert_int_equal(npu_decode(f->context, bad, 2, &err), NPU_INVALID);
    assert_string_equal(err.code, "decode.seq");
    assert_int_equal(npu_seq_length(f->context, 0), 6);
    assert_int_equal(feed(f, 0, 19, 5, got, &err), NPU_OK);
    same(want, got);
}

static void the_context_ends(void **state) {
    fixture *f = *state;
    npu_error err = {0};
    float logits[VOCAB];
    assert_int_equal(feed(f, 1, 1, CTX + 2, logits, &err), NPU_REFUSED);
    assert_string_equal(err.code, "decode.ctx_full");
    assert_non_null(strstr(err.text, "26"));
    assert_non_null(strstr(err.text, "24"));
    assert_int_equal(npu_seq_length(f->context, 1), 0);
    assert_int_equal(feed(f, 1, 1, CTX, logits, &err), NPU_OK);
    assert_int_equal(feed(f, 1, 1, 1, logits, &err), NPU_REFUSED);
    assert_int_equal(feed(f, 2, 1, 1, logits, &err), NPU_OK);
}

static npu_status stop_at_two(void *user, uint32_t row, const float *logits, uint32_t n_vocab, npu_error *err) {
    (void)logits, (void)n_vocab;
    *(uint32_t *)user = row;
    return row == 2 ? npu_fail(err, NPU_IO, "test.stop", "enough") : NPU_OK;
}

static void logits_come_for_the_rows_that_asked(void **state) {
    fixture *f = *state;
    npu_error err = {0};
    float one[VOCAB], last[VOCAB];
    npu_row rows[] = {{1, 0, true}, {4, 0, false}, {7, 0, true}, {10, 0, false}, {13, 0, true}};
    assert_int_equal(feed(f, 1, 1, 1, one, &err), NPU_OK);
    assert_int_equal(feed(f, 1, 4, 4, last, &err), NPU_OK);
    assert_int_equal(npu_decode(f->context, rows, 5, &err), NPU_OK); /* two steps of 4 and 1 rows */
    same(npu_logits(f->context, 0), one);
    same(npu_logits(f->context, 2), last);
    assert_null(npu_logits(f->context, 3));
    uint32_t seen = 0;
    assert_int_equal(npu_decode_each(f->context, rows, 5, stop_at_two, &seen, &err), NPU_IO);
    assert_int_equal(seen, 2);
    assert_int_equal(npu_seq_length(f->context, 0), 5);
}

typedef struct told {
    uint32_t done[8], n, calls;
} told;

static void tell(void *user, uint32_t done, uint32_t n) {
    told *t = user;
    if (t->calls < 8) t->done[t->calls] = done;
    t->n = n;
    t->calls++;
}

static void steps_are_told(void **state) {
    fixture *f = *state;
    npu_error err = {0};
    float logits[VOCAB];
    told t = {.n = 0};
    npu_context_decode_progress(f->context, tell, &t);
    assert_int_equal(feed(f, 0, 1, 10, logits, &err), NPU_OK); /* steps of 4, 4 and 2 rows */
    assert_int_equal(t.calls, 4);
    assert_int_equal(t.n, 10);
    assert_memory_equal(t.done, ((uint32_t[]){0, 4, 8, 10}), 4 * sizeof(uint32_t));
    assert_int_equal(feed(f, 0, 1, 1, logits, &err), NPU_OK);
    assert_int_equal(t.calls, 4); /* nothing of a single row */
    npu_context_decode_progress(f->context, NULL, NULL);
    assert_int_equal(feed(f, 0, 1, 5, logits, &err), NPU_OK);
    assert_int_equal(t.calls, 4);
}

static void weights_that_are_no_numbers_are_named(void **state) {
    (void)state;
    npu_error err = {0};
    npu_model *model = open_model(5 * EMBD + 3);
    npu_context *context;
    npu_context_params params = {.ctx = 8, .threads = 1};
    assert_int_equal(npu_context_open(model, &params, &context, &err), NPU_OK);
    npu_row row = {1, 0, true};
    assert_int_equal(npu_decode(context, &row, 1, &err), NPU_INVALID);
    assert_string_equal(err.code, "decode.not_finite");
    npu_context_close(context);
    npu_model_close(model);
}

static void refused(npu_model *model, npu_context_params params, npu_status status, const char *code) {
    npu_context *context;
    npu_error err = {0};
    assert_int_equal(npu_context_open(model, &params, &context, &err), status);
    assert_null(context);
    assert_string_equal(err.code, code);
}

static void parameters_are_checked(void **state) {
    fixture *f = *state;
    refused(f->model, (npu_context_params){.kv = "q4_0"}, NPU_INVALID, "context.kv");
    refused(f->model, (npu_context_params){.kv = "q8_0"}, NPU_REFUSED, "context.kv_type"); /* heads of 8 values */
    refused(f->model, (npu_context_params){.ctx = 1u << 31}, NPU_INVALID, "context.too_large");
    refused(f->model, (npu_context_params){.ctx = 1 << 20, .n_seq = 1 << 16}, NPU_INVALID, "context.too_large");
    refused(f->model, (npu_context_params){.n_seq = 1 << 20}, NPU_INVALID, "context.n_seq");
    refused(f->model, (npu_context_params){.prefill_rows = 1 << 20}, NPU_INVALID, "context.prefill_rows");
    refused(f->model, (npu_context_params){.mode = (npu_mode)7}, NPU_INVALID, "context.mode");
    static const double no_times[] = {INFINITY, -INFINITY, NAN, -1, 1000001, 1e300};
    for (size_t i = 0; i < sizeof no_times / sizeof no_times[0]; i++)
        refused(f->model, (npu_context_params){.timeout_s = no_times[i]}, NPU_INVALID, "context.timeout");
    refused(f->model, (npu_context_params){.threads = NPU_THREADS_MAX + 1}, NPU_INVALID, "pool.threads");
    refused(f->model, (npu_context_params){.cpu_level = "sse9"}, NPU_INVALID, "cpu.level_unknown");
    refused(f->model, (npu_context_params){.npu_target = "no-such"}, NPU_REFUSED, "target.unknown");
    refused(f->model, (npu_context_params){.plan_path = "/no/such/plan"}, NPU_IO, "plan.open");
    npu_memory need;
    npu_error err = {0};
    npu_context_params params = {.ctx = 64, .n_seq = 2};
    assert_int_equal(npu_context_estimate(f->model, &params, &need, &err), NPU_OK);
    assert_int_equal(need.state_bytes, 2 * 64 * KV * 2 * 2);
    assert_true(need.weights_bytes > 0 && need.compute_bytes > 0);
}

/* What is said of a device is not passed over where none is used, and its name is told. */
static void devices_need_a_target(void **state) {
    fixture *f = *state;
    const char *const emu[] = {"seed=1", NULL}, *const none[] = {NULL};
    const struct {
        npu_context_params params;
        const char *name;
    } rows[] = {{{.driver = "sim"}, "driver "},
                {{.emu = emu}, "emu "},
                {{.npu_devices = "0:0"}, "npu_devices "},
                {{.split = "row"}, "split "}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        npu_memory need;
        npu_error err = {0};
        refused(f->model, rows[i].params, NPU_INVALID, "context.no_target");
        assert_int_equal(npu_context_estimate(f->model, &rows[i].params, &need, &err), NPU_INVALID);
        assert_memory_equal(err.text, rows[i].name, strlen(rows[i].name));
    }
    npu_memory need;
    assert_int_equal(npu_context_estimate(f->model, &(npu_context_params){.emu = none}, &need, NULL), NPU_OK);
}

static void count_lines(void *user, npu_log_level level, const char *text) {
    (void)level;
    *(int *)user += strstr(text, "64 threads for 65 cores") != NULL;
}

/* Cores that stay idle are told, unless so many threads were asked for. */
static void idle_cores_are_told(void **state) {
    (void)state;
    int lines = 0;
    npu_context_params p = {.logger = {count_lines, &lines, NPU_LOG_WARN}};
    npu__api_tell_cores(&p, NPU_THREADS_MAX);
    assert_int_equal(lines, 0);
    npu__api_tell_cores(&p, NPU_THREADS_MAX + 1);
    assert_int_equal(lines, 1);
    p.threads = NPU_THREADS_MAX;
    npu__api_tell_cores(&p, NPU_THREADS_MAX + 1);
    assert_int_equal(lines, 1);
}

/* What a device keeps of the weights in its own layout is part of what a context needs. */
static void copies_of_weights_count(void **state) {
    fixture *f = *state;
    const npu_target_ops *target;
    npu_memory host = {0}, need = {0};
    npu_error err = {0};
    char cache[] = "/tmp/npu-context-XXXXXX", command[64];
    if (npu_target_find("xdna", &target, &err) != NPU_OK) return;
    assert_non_null(mkdtemp(cache));
    npu_context_params params = {.ctx = 64, .npu_target = "xdna", .driver = "emu", .cache_dir = cache};
    assert_int_equal(npu_context_estimate(f->model, &(npu_context_params){.ctx = 64}, &host, &err), NPU_OK);
    if (npu_context_estimate(f->model, &params, &need, &err) != NPU_OK) fail_msg("%s", err.text);
    assert_int_equal(host.device_bytes, 0);
    npu_plan *plan;
    assert_int_equal(npu_api_plan(f->model, &params, NULL, &plan, &err), NPU_OK);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan->n_entries; i++) bytes += plan->entries[i].n_designs ? plan->entries[i].bytes : 0;
    npu_plan_free(plan);
    assert_true(bytes > 0 && need.device_bytes > bytes);
    need.available_bytes = need.state_bytes + need.compute_bytes + need.device_bytes;
    assert_int_equal(npu__api_check_memory(&need, &err), NPU_OK);
    need.available_bytes--;
    assert_int_equal(npu__api_check_memory(&need, &err), NPU_NO_MEMORY);
    snprintf(command, sizeof command, "rm -r %s", cache);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sequences_are_cut_copied_and_forgotten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failed_batch_leaves_no_trace, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_context_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(logits_come_for_the_rows_that_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(steps_are_told, set_up, tear_down),
        cmocka_unit_test(weights_that_are_no_numbers_are_named),
        cmocka_unit_test_setup_teardown(parameters_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(devices_need_a_target, set_up, tear_down),
        cmocka_unit_test(idle_cores_are_told),
        cmocka_unit_test_setup_teardown(copies_of_weights_count, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
