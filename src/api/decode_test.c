/* Decoding through the public interface: all or nothing, sequences that are cut and copied, the end of the context,
 * cancelling, weights that are not numbers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/status.h"
#include "npu/npu.h"
#include "support/tiny_llama.h"

enum { CTX = 24 };

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
    f->model = tiny_llama_open(-1);
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

/* A row that is refused gives back the places of those before it: a full context is left to the next batch. */
static void a_refused_row_takes_no_room(void **state) {
    fixture *f = *state;
    npu_error err = {0};
    float logits[VOCAB];
    npu_row rows[CTX] = {{0}};
    for (int i = 0; i < 2; i++) {
        rows[CTX - 1] = i ? (npu_row){0, 3, false} : (npu_row){VOCAB, 0, false};
        assert_int_equal(npu_decode(f->context, rows, CTX, &err), NPU_INVALID);
    }
    assert_int_equal(feed(f, 0, 1, CTX, logits, &err), NPU_OK);
}

/* Whatever ends it, logits of the calls before are gone after a call. */
static void logits_are_of_the_last_call(void **state) {
    fixture *f = *state;
    npu_error err = {0};
    float logits[VOCAB];
    npu_row rows[CTX] = {{0}};
    uint32_t most = npu_context_max_logits(f->context);
    assert_in_range(most, 1, CTX - 1);
    for (uint32_t i = 0; i <= most; i++) rows[i].logits = true;
    assert_int_equal(feed(f, 0, 1, 1, logits, &err), NPU_OK);
    assert_int_equal(npu_decode(f->context, rows, most + 1, &err), NPU_REFUSED);
    assert_string_equal(err.code, "decode.too_many_logits");
    assert_null(npu_logits(f->context, 0));
    assert_int_equal(feed(f, 0, 1, 1, logits, &err), NPU_OK);
    assert_int_equal(npu_decode(f->context, NULL, 0, &err), NPU_OK);
    assert_null(npu_logits(f->context, 0));
    assert_int_equal(npu_seq_length(f->context, 0), 2);
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

/* A trace begins with the first decoding and ends when asked to. */
static void a_trace_ends_once(void **state) {
    (void)state;
    npu_error err = {0};
    npu_trace_report report = {7, 7};
    char path[] = "/tmp/npu-trace-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0 && unlink(path) == 0);
    npu_model *model = tiny_llama_open(-1);
    npu_context *context;
    npu_context_params params = {.ctx = 8, .threads = 1, .trace_path = path};
    assert_int_equal(npu_context_open(model, &params, &context, &err), NPU_OK);
    assert_int_equal(npu_context_trace_end(context, &report, &err), NPU_OK);
    assert_true(report.spans == 0 && report.dropped == 0 && access(path, F_OK) != 0);
    npu_row row = {1, 0, true};
    assert_int_equal(npu_decode(context, &row, 1, &err), NPU_OK);
    assert_int_equal(npu_context_trace_end(context, &report, &err), NPU_OK);
    uint64_t spans = report.spans;
    assert_true(spans > 0 && access(path, F_OK) == 0);
    assert_int_equal(npu_decode(context, &row, 1, &err), NPU_OK);
    assert_int_equal(npu_context_trace_end(context, &report, &err), NPU_OK);
    assert_int_equal(report.spans, spans);
    npu_context_close(context);
    npu_model_close(model);
    unlink(path);
}

static void weights_that_are_no_numbers_are_named(void **state) {
    (void)state;
    npu_error err = {0};
    npu_model *model = tiny_llama_open(5 * EMBD + 3);
    npu_context *context;
    npu_context_params params = {.ctx = 8, .threads = 1};
    assert_int_equal(npu_context_open(model, &params, &context, &err), NPU_OK);
    npu_row row = {1, 0, true};
    assert_int_equal(npu_decode(context, &row, 1, &err), NPU_INVALID);
    assert_string_equal(err.code, "decode.not_finite");
    npu_context_close(context);
    npu_model_close(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sequences_are_cut_copied_and_forgotten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failed_batch_leaves_no_trace, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refused_row_takes_no_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(logits_are_of_the_last_call, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_context_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(logits_come_for_the_rows_that_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(steps_are_told, set_up, tear_down),
        cmocka_unit_test(a_trace_ends_once),
        cmocka_unit_test(weights_that_are_no_numbers_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
