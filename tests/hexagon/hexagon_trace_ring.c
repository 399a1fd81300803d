/* The NPU program's trace rings come around their end: what a batch wrote has left the cache when it is published, on
 * both sides of the end. The cache is one copy of the buffer, the host's memory another; a cleaned line goes from one
 * to the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "htp/platform/machine.h"
#include "htp/trace.h"

enum { BYTES = NPU_TRACE_LEAST_BYTES };

static uint8_t cache[BYTES] __attribute__((aligned(128))), memory[BYTES] __attribute__((aligned(128)));

uint64_t HAP_perf_get_qtimer_count(void) {
    return 1;
}
uint32_t npu_emu_line(void) {
    return 128;
}
void npu_emu_dccleaninva(const void *address) {
    uintptr_t at = ((uintptr_t)address & ~(uintptr_t)127) - (uintptr_t)cache;
    assert_true(at < BYTES);
    memcpy(memory + at, cache + at, 128);
}
void *npu_emu_low_alloc(uint32_t bytes, uint32_t align) {
    (void)bytes, (void)align;
    return NULL;
}
void npu_emu_low_free(void *pointer) {
    (void)pointer;
}

static void comes_around(void **state) {
    (void)state;
    static htp_tracer tracer;
    uint32_t capacity = npu_trace_capacity(BYTES, 1), step = capacity / 3 + 5;
    htp_tracer_start(&tracer, cache, BYTES, 1);
    htp_trace *t = htp_trace_of(&tracer, 0);
    for (uint32_t batch = 0; batch < 7; batch++) {
        for (uint32_t i = 0; i < step; i++) htp_trace_span(t, NPU_TRACE_WORK, batch * 1000 + i, batch * 2000 + i, i);
        htp_tracer_publish(&tracer);
        assert_int_equal(npu_trace_ring_of(memory, 0)->written, (batch + 1) * step);
        for (uint32_t n = batch * step; n < (batch + 1) * step; n++) {
            const npu_trace_event *e = npu_trace_events_of(memory, 0, capacity) + n % capacity;
            assert_int_equal(e->begin, batch * 1000 + n - batch * step);
            assert_int_equal(e->amount, n - batch * step);
        }
        t->ring->read = t->written; /* the host's answer */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(comes_around)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
