/* The rings of the NPU program's trace: one that nobody reads fills up and counts what it loses, and goes on when it is
 * read; one that an enemy writes to makes neither side step outside. Loopback: driver and NPU program in one process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/random.h"
#include "target/hexagon/hexagon_rpc.h"
#include "target/hexagon/hexagon_trace.h"
#include "wire/format.h"
#include "wire/trace.h"

enum { ARENA = 1 << 16, VALUES = 64, ROWS = 40, IMAGE = 4096 };

static npu_hex_driver driver;
static npu_hex_session *session;
static npu_hex_buffer *arena, *image, *ring;
static npu_tensor tensors[2];
static npu_op op;
static npu_buffer *no_buffers[1];
static char path[] = "/tmp/npu-trace-XXXXXX";
static npu_trace *trace;
static uint64_t seed = 20261202;

static uint32_t rnd(void) {
    return (uint32_t)(npu_random_next(&seed) >> 33);
}

static uint32_t write_image(void) {
    npu_tensor *t = tensors;
    t[0] = (npu_tensor){.ne = {VALUES, ROWS, 1, 1},
                        .nb = {4, VALUES * 4, VALUES * ROWS * 4, VALUES * ROWS * 4},
                        .type = NPU_TYPE_F32,
                        .rows_dim = 1,
                        .rows_of = NPU_ROWS_STEP};
    t[1] = t[0];
    t[1].offset = ARENA / 2;
    memset(&op, 0, sizeof op);
    memset(op.src, 0xFF, sizeof op.src);
    memset(op.dst, 0xFF, sizeof op.dst);
    op.code = NPU_OP_ADD;
    op.src[0] = op.src[1] = 0, op.dst[0] = 1;
    assert_null(npu_opplan_make(&op, t, npu_hex_session_hw(session), op.kernel));
    npu_wire_buffer b = {arena->fd, NPU_WIRE_BUFFER_PINNED, arena->bytes};
    npu_wire_image h = {.magic = NPU_WIRE_MAGIC, .version = NPU_WIRE_VERSION, .header_bytes = sizeof h};
    h.n_buffers = 1, h.n_tensors = 2, h.n_ops = 1;
    h.buffer_bytes = sizeof b, h.tensor_bytes = sizeof t[0], h.op_bytes = sizeof op;
    h.buffers_at = sizeof h, h.tensors_at = h.buffers_at + sizeof b, h.ops_at = h.tensors_at + sizeof tensors;
    h.total_bytes = h.ops_at + (uint32_t)sizeof op;
    memcpy(image->data, &h, sizeof h);
    memcpy(image->data + h.buffers_at, &b, sizeof b);
    memcpy(image->data + h.tensors_at, t, sizeof tensors);
    memcpy(image->data + h.ops_at, &op, sizeof op);
    return h.total_bytes;
}

static uint64_t run(uint32_t bytes) {
    npu_error err = {0};
    npu_hex_request r = {.image = image, .bytes = bytes, .n_ops = 1, .step.rows = {[NPU_ROWS_STEP] = ROWS}};
    uint64_t sequence;
    if (npu_hex_submit(session, &r, &sequence, &err) || npu_hex_wait(session, sequence, &err)) fail_msg("%s", err.text);
    return sequence;
}

/* Nobody reads: written stops at the capacity, what comes later is counted. */
static void a_full_ring_counts(void **state) {
    (void)state;
    uint32_t bytes = write_image(), threads = npu_hex_session_hw(session)->threads;
    uint32_t capacity = npu_trace_capacity((uint32_t)ring->bytes, threads), before[NPU_MAX_THREADS];
    npu_trace_ring *main_ring = npu_trace_ring_of(ring->data, 0);
    run(bytes);
    uint32_t each = main_ring->written;
    assert_true(each > 10 && !main_ring->dropped);
    while (!main_ring->dropped) run(bytes);
    run(bytes);
    for (uint32_t i = 0; i < threads; i++) {
        const npu_trace_ring *r = npu_trace_ring_of(ring->data, i);
        assert_true(r->written <= capacity && (i || r->written == capacity));
        before[i] = r->written + r->dropped;
        npu_trace_ring_of(ring->data, i)->read = r->written;
    }
    run(bytes);
    for (uint32_t i = 0; i < threads; i++) {
        const npu_trace_ring *r = npu_trace_ring_of(ring->data, i);
        assert_true(r->written + r->dropped > before[i] && (i || r->written > capacity));
        npu_trace_ring_of(ring->data, i)->read = r->written;
    }
}

static void scribble(uint32_t capacity, uint32_t threads) {
    static const uint32_t values[] = {0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
    for (uint32_t n = rnd() % 40; n; n--) {
        uint32_t *words = (uint32_t *)(void *)ring->data, thread = rnd() % threads;
        if (rnd() % 4) words = (uint32_t *)npu_trace_events_of(ring->data, thread, capacity);
        uint32_t most = rnd() % 2 ? 600 : capacity * (uint32_t)sizeof(npu_trace_event) / 4;
        words[rnd() % most] = rnd() % 2 ? values[rnd() % 5] : rnd();
    }
}

/* Numbers and events that change between the NPU's writing and the host's reading, and before the NPU reads. */
static void a_ring_is_not_believed(void **state) {
    (void)state;
    npu_hex_tracer *tracer;
    npu_error err = {0};
    uint32_t bytes = write_image(), threads = npu_hex_session_hw(session)->threads;
    uint32_t capacity = npu_trace_capacity((uint32_t)ring->bytes, threads);
    npu_batch batch = {.tensors = tensors, .ops = &op, .buffers = no_buffers, .n_tensors = 2, .n_ops = 1};
    batch.step.rows[NPU_ROWS_STEP] = ROWS;
    assert_int_equal(npu_hex_tracer_create(trace, session, "loopback", &tracer, &err), NPU_OK);
    for (int i = 0; i < 3000; i++) {
        npu_hex_tracer_sent(tracer, run(bytes), &batch, 0, 1);
        if (i > 100) scribble(capacity, threads);
        npu_hex_tracer_collect(tracer);
        if (i > 100) scribble(capacity, threads);
    }
    npu_hex_tracer_free(tracer);
    uint64_t spans, dropped;
    assert_int_equal(npu_trace_end_file(trace, &spans, &dropped, &err), NPU_OK);
    printf("%llu spans, %llu dropped\n", (unsigned long long)spans, (unsigned long long)dropped);
    assert_true(spans > 100 * ROWS && dropped);
}

static int setup(void **state) {
    (void)state;
    npu_error err = {0};
    int fd = mkstemp(path);
    if (fd < 0 || close(fd) || npu_trace_create(path, &trace, &err) || npu_trace_start(trace, &err)) return -1;
    npu_target_params params = {.driver = "sim", .trace = trace};
    if (npu_hex_driver_open(&params, NULL, &driver, &err) || npu_hex_session_open(&driver, &params, &session, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    if (npu_hex_buffer_alloc(session, ARENA, true, &arena, &err) ||
        npu_hex_buffer_alloc(session, IMAGE, true, &image, &err))
        return -1;
    ring = (npu_hex_buffer *)(uintptr_t)npu_hex_session_ring(session);
    return ring ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    npu_hex_session_close(session);
    npu_trace_free(trace);
    return unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_full_ring_counts), cmocka_unit_test(a_ring_is_not_believed)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
