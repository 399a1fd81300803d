/* A trace that can't be written says why, whatever happened to errno since. What traces hold: tests/hexagon_trace.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "trace/trace.h"

/* |n| spans are in the file's buffer or beyond it. */
static void a_full_disk(uint32_t n) {
    npu_trace *t;
    npu_error err = {0};
    uint64_t spans, dropped;
    assert_int_equal(npu_trace_open("/dev/full", &t, &err), NPU_OK);
    for (uint32_t i = 0; i < n; i++) {
        npu_trace_begin(t, 1, "name", "category", NULL, 0);
        npu_trace_end(t, 1);
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_reason_is_that_of_the_write)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
