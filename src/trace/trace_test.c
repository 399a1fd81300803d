/* A trace that can't be written says why, whatever happened to errno since; a file of its name is left alone until it
 * is started, and holds what came before; texts beyond its table. What traces hold: tests/hexagon_trace.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <cmocka.h>

#include "trace/intern.h"
#include "trace/trace.h"

/* |n| spans are in the file's buffer or beyond it. */
static void a_full_disk(uint32_t n) {
    npu_trace *t;
    npu_error err = {0};
    uint64_t spans, dropped;
    assert_int_equal(npu_trace_create("/dev/full", &t, &err), NPU_OK);
    assert_int_equal(npu_trace_start(t, &err), NPU_OK);
    uint32_t track = npu_trace_track(t, npu_trace_group(t, "group"), "track");
    for (uint32_t i = 0; i < n; i++) {
        npu_trace_begin(t, track, "name", "category", NULL, 0);
        npu_trace_end(t, track);
        errno = EDOM;
    }
    assert_int_equal(npu_trace_end_file(t, &spans, &dropped, &err), NPU_IO);
    assert_string_equal(err.code, "trace.write");
    if (!strstr(err.text, strerror(ENOSPC))) fail_msg("%u spans: %s", n, err.text);
    assert_int_equal(spans, n);
    npu_trace_free(t);
}

static void the_reason_is_that_of_the_write(void **state) {
    (void)state;
    for (uint32_t n = 0; n < 400; n++) a_full_disk(n);
}

static int64_t size_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : -1;
}

static void nothing_is_opened_before_the_start(void **state) {
    (void)state;
    npu_trace *t;
    npu_error err = {0};
    uint64_t spans, dropped;
    char path[] = "/tmp/npu-trace-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "older", 5) == 5 && close(fd) == 0);
    assert_int_equal(npu_trace_create(path, &t, &err), NPU_OK);
    npu_trace_track(t, npu_trace_group(t, "a group"), "a track");
    assert_int_equal(npu_trace_end_file(t, &spans, &dropped, &err), NPU_OK);
    npu_trace_free(t);
    assert_int_equal(size_of(path), 5);

    assert_int_equal(npu_trace_create(path, &t, &err), NPU_OK);
    for (int i = 0; i < 1000; i++) npu_trace_track(t, npu_trace_group(t, "a group"), "a track");
    assert_int_equal(size_of(path), 5);
    assert_int_equal(npu_trace_start(t, &err), NPU_OK);
    assert_int_equal(npu_trace_start(t, &err), NPU_OK);
    assert_int_equal(npu_trace_end_file(t, &spans, &dropped, &err), NPU_OK);
    assert_true(size_of(path) > 3000);
    npu_trace_free(t);
    unlink(path);
    assert_int_equal(npu_trace_create("/no/such/folder/x", &t, &err), NPU_OK);
    assert_int_equal(npu_trace_start(t, &err), NPU_IO);
    assert_string_equal(err.code, "trace.open");
    npu_trace_free(t);
}

/* A name that is too long for the system is refused by it, not cut to one that is not. */
static void a_long_name_is_not_cut(void **state) {
    (void)state;
    npu_trace *t;
    npu_error err = {0};
    char folder[] = "/tmp/npu-trace-XXXXXX", path[5000], cut[4096];
    assert_non_null(mkdtemp(folder));
    int n = snprintf(path, sizeof path, "%s/", folder);
    while (n < 4094) path[n++] = '/';
    memset(path + n, 'x', 200);
    path[n + 200] = 0;
    memcpy(cut, path, 4095);
    cut[4095] = 0;
    assert_int_equal(npu_trace_create(path, &t, &err), NPU_OK);
    assert_int_equal(npu_trace_start(t, &err), NPU_IO);
    assert_string_equal(err.code, "trace.open");
    npu_trace_free(t);
    assert_int_equal(size_of(cut), -1);
    assert_int_equal(rmdir(folder), 0);
}

/* A file that is not whole is not there: a disk takes only so much. */
static void a_part_is_removed(void **state) {
    (void)state;
    npu_trace *t;
    npu_error err = {0};
    uint64_t spans, dropped;
    char path[] = "/tmp/npu-trace-XXXXXX";
    struct rlimit before, small;
    int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0 && !getrlimit(RLIMIT_FSIZE, &before));
    small = (struct rlimit){1024, before.rlim_max};
    assert_int_equal(npu_trace_create(path, &t, &err), NPU_OK);
    for (int i = 0; i < 1000; i++) npu_trace_track(t, npu_trace_group(t, "a group"), "a track");
    signal(SIGXFSZ, SIG_IGN);
    assert_true(!setrlimit(RLIMIT_FSIZE, &small));
    assert_int_equal(npu_trace_start(t, &err), NPU_OK);
    assert_int_equal(npu_trace_end_file(t, &spans, &dropped, &err), NPU_IO);
    assert_true(!setrlimit(RLIMIT_FSIZE, &before));
    assert_string_equal(err.code, "trace.write");
    assert_int_equal(size_of(path), -1);
    npu_trace_free(t);
}

static void on_alarm(int number) {
    (void)number;
}

static void a_wait_for_a_reader_can_be_ended(void **state) {
    (void)state;
    npu_trace *t;
    npu_error err = {0};
    char folder[] = "/tmp/npu-trace-XXXXXX", path[64];
    struct sigaction action = {.sa_handler = on_alarm};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_true(!mkfifo(path, 0600) && !sigaction(SIGALRM, &action, NULL));
    assert_int_equal(npu_trace_create(path, &t, &err), NPU_OK);
    const struct itimerval again = {{0, 50000}, {0, 50000}}, never = {0}; /* the first may come before the wait */
    setitimer(ITIMER_REAL, &again, NULL);
    assert_int_equal(npu_trace_start(t, &err), NPU_CANCELLED);
    setitimer(ITIMER_REAL, &never, NULL);
    assert_string_equal(err.code, "trace.open");
    npu_trace_free(t);
    unlink(path);
    rmdir(folder);
}

static void texts_have_numbers(void **state) {
    (void)state;
    npu_intern *table = calloc(1, sizeof *table);
    assert_non_null(table);
    char text[NPU_INTERN_TEXT + 8];
    bool is_new;
    for (uint32_t i = 0; i < NPU_INTERN_MOST; i++) {
        snprintf(text, sizeof text, "text %u", i / 2);
        assert_int_equal(npu_intern_number(table, i % 2, text, &is_new), i + 1);
        assert_true(is_new);
    }
    for (uint32_t i = NPU_INTERN_MOST; i-- > 0;) {
        snprintf(text, sizeof text, "text %u", i / 2);
        assert_int_equal(npu_intern_number(table, i % 2, text, &is_new), i + 1);
        assert_false(is_new);
    }
    free(table);
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    assert_int_equal(npu_intern_length(text), NPU_INTERN_TEXT);
    memcpy(text + NPU_INTERN_TEXT - 1, "\xC3\xA9", 2); /* a character across the end */
    assert_int_equal(npu_intern_length(text), NPU_INTERN_TEXT - 1);
    assert_int_equal(npu_intern_length(""), 0);
}

/* Of the longest texts fewer fit than of numbers; what is in the table stays as it is. */
static void long_texts_fit_or_not(void **state) {
    (void)state;
    npu_intern *table = calloc(1, sizeof *table);
    char text[NPU_INTERN_TEXT + 1];
    bool is_new;
    uint32_t n = 0;
    assert_non_null(table);
    for (; npu_intern_fits(table, 1); n++) {
        snprintf(text, sizeof text, "%0*u", NPU_INTERN_TEXT, n);
        assert_int_equal(npu_intern_number(table, 1, text, &is_new), n + 1);
    }
    assert_int_equal(n, NPU_INTERN_ROOM / NPU_INTERN_TEXT);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%0*u", NPU_INTERN_TEXT, i);
        assert_int_equal(npu_intern_number(table, 1, text, &is_new), i + 1);
        assert_false(is_new);
    }
    assert_true(sizeof *table < 64 << 10); /* every track has one */
    free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_reason_is_that_of_the_write),
                                       cmocka_unit_test(nothing_is_opened_before_the_start),
                                       cmocka_unit_test(a_long_name_is_not_cut),
                                       cmocka_unit_test(a_part_is_removed),
                                       cmocka_unit_test(a_wait_for_a_reader_can_be_ended),
                                       cmocka_unit_test(texts_have_numbers),
                                       cmocka_unit_test(long_texts_fit_or_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
