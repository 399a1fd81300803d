/* Hostile calls of the NPU program's interface (wire/rpc.h): requests with words changed, messages of every length,
 * methods, counts and lengths that do not belong together, START and MUNMAP with fields changed. Every call gets a
 * result, no argument is read or written past its length (sanitizers: each lies in memory of just its size), and the
 * session that runs beside is still good at the end. Loopback: driver and NPU program in one process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "target/hexagon/hexagon_rpc.h"
#include "target/hexagon/hexagon_session.h"
#include "wire/format.h"

enum { ARENA = 1 << 16, VALUES = 64, ROWS = 2, IMAGE = 4096, MOST_ARGS = 3 * 256, CALLS = 20000, FULL_TIMES = 20 };

static npu_hex_driver driver;
static npu_hex_session *session;
static npu_hex_buffer *arena, *image;
static remote_handle64 handle; /* of |session| */
static uint32_t image_bytes;
static uint64_t seed = 20261201;

static uint32_t rnd(void) {
    return (uint32_t)(npu_random_next(&seed) >> 33);
}

static uint32_t calls(void) {
    const char *full = getenv("NPU_FULL");
    return CALLS * (full && *full == '1' ? FULL_TIMES : 1);
}

static int (*real_invoke)(remote_handle64, uint32_t, remote_arg *);
static int invoke(remote_handle64 h, uint32_t scalars, remote_arg *args) {
    handle = h;
    return real_invoke(h, scalars, args);
}

static uint64_t value(void) {
    static const uint64_t values[] = {0,          1,       2,          63,          64,         65,
                                      127,        128,     255,        4096,        65535,      65536,
                                      1 << 20,    1 << 30, 0x7FFFFFFF, 0x80000000,  0xFFFFFFFF, 1ull << 32,
                                      1ull << 63, ~0ull,   ~0ull - 7,  ~0ull - 4095};
    return rnd() % 4 ? values[rnd() % (sizeof values / sizeof *values)] : (uint64_t)rnd() << 32 | rnd();
}

/* One to three words of any width. */
static void change(void *message, uint32_t bytes) {
    for (uint32_t n = 1 + rnd() % 3; n; n--) {
        uint32_t width = 1u << rnd() % 4;
        uint64_t v = value();
        if (width <= bytes) memcpy((uint8_t *)message + rnd() % (bytes / width) * width, &v, width);
    }
}

/* Memory of just |n| bytes at the start of which |message| lies, as far as it goes. */
static void *exactly(const void *message, uint32_t bytes, size_t n) {
    uint8_t *p = malloc(n);
    assert_non_null(p);
    for (size_t i = 0; i < n; i++) p[i] = i < bytes ? ((const uint8_t *)message)[i] : (uint8_t)rnd();
    return p;
}

/* --- requests --- */

static npu_wire_request good_request(void) {
    return (npu_wire_request){.magic = NPU_WIRE_MAGIC,
                              .version = NPU_WIRE_VERSION,
                              .kind = NPU_WIRE_BATCH,
                              .sequence = 9,
                              .image_fd = image->fd,
                              .image_bytes = image_bytes,
                              .step.rows = {[NPU_ROWS_STEP] = ROWS},
                              .image_buffer_bytes = image->bytes};
}

static npu_wire_response batch(const npu_wire_request *r, size_t bytes) {
    npu_wire_response *out = malloc(sizeof *out), answer;
    void *in = exactly(r, sizeof *r, bytes);
    assert_non_null(out);
    remote_arg args[2] = {{.buf = {in, bytes}}, {.buf = {out, sizeof *out}}};
    memset(out, 0xEE, sizeof *out);
    int result = real_invoke(handle, REMOTE_SCALARS_MAKE(NPU_RPC_BATCH, 1, 1), args);
    if (bytes < sizeof *r) { /* the skel's own check: no structure, no answer */
        assert_int_not_equal(result, 0);
        memset(out, 0, sizeof *out);
    } else {
        assert_int_equal(result, 0);
        assert_int_equal(out->magic, NPU_WIRE_MAGIC);
        assert_true(out->sequence == r->sequence && out->kind == r->kind);
    }
    answer = *out;
    free(in);
    free(out);
    return answer;
}

static void is_good(void) {
    npu_wire_request r = good_request();
    assert_int_equal(batch(&r, sizeof r).code, NPU_WIRE_OK);
}

static void changed_requests(void **state) {
    (void)state;
    uint32_t refused = 0;
    for (uint32_t i = 0; i < calls(); i++) {
        npu_wire_request r = good_request();
        if (i % 3 == 0) r.image_id = 1 + rnd() % 40;
        change(&r, sizeof r);
        refused += batch(&r, i % 10 ? sizeof r : rnd() % 200).code != NPU_WIRE_OK;
        if (i % 500 == 0) is_good();
    }
    printf("%u changed requests, %u refused\n", calls(), refused);
    assert_true(refused > calls() / 4 && refused < calls());
    is_good();
}

/* --- calls --- */

/* A call with any method, any numbers of arguments of any length. Close is not called: it ends the handle. */
static void any_call(void) {
    static remote_arg args[MOST_ARGS];
    static const uint16_t lengths[] = {0, 1, 7, 8, 31, 32, 47, 48, 63, 64, 65, 200};
    uint32_t method = rnd() % 32, in = rnd() % 4 ? rnd() % 3 : rnd() % 256, out = rnd() % 4 ? rnd() % 3 : rnd() % 256;
    uint32_t handles = rnd() % 4 ? 0 : rnd() % 16;
    if (method == NPU_RPC_CLOSE) return;
    npu_wire_request r = good_request();
    for (uint32_t i = 0; i < in + out; i++) {
        size_t n = lengths[rnd() % (sizeof lengths / sizeof *lengths)];
        args[i].buf = (remote_buf){n ? exactly(&r, sizeof r, n) : NULL, n};
    }
    for (uint32_t i = in + out; i < in + out + 2 * handles; i++) args[i].h64 = 0;
    int result = real_invoke(handle, REMOTE_SCALARS_MAKEX(0, method, in, out, handles & 15, handles & 15), args);
    if (method > NPU_RPC_BATCH) assert_int_not_equal(result, 0);
    for (uint32_t i = 0; i < in + out; i++) free(args[i].buf.pv);
    if (method == NPU_RPC_STOP && !result) { /* the next calls need a session */
        npu_rpc_start start = {.magic = NPU_WIRE_MAGIC,
                               .version = NPU_WIRE_VERSION,
                               .window_bytes = npu_hex_session_hw(session)->window_bytes,
                               .threads = npu_hex_session_hw(session)->threads,
                               .vtcm_bytes = npu_hex_session_hw(session)->vtcm_bytes,
                               .trace_fd = -1,
                               .arch = npu_hex_session_hw(session)->arch,
                               .max_buffer_bytes = NPU_HEX_MAX_BUFFER};
        assert_int_equal(npu_hex_rpc(&driver, handle, NPU_RPC_START, &start, sizeof start, NULL, 0), 0);
    }
}

static void calls_that_do_not_fit(void **state) {
    (void)state;
    for (uint32_t i = 0; i < calls(); i++) {
        any_call();
        if (i % 500 == 0) is_good();
    }
    is_good();
}

/* A second handle that is started with changed fields: refused, or a session that answers; stopped and closed in any
 * case. */
static void changed_starts(void **state) {
    (void)state;
    const npu_hw *hw = npu_hex_session_hw(session);
    remote_handle64 mine = handle;
    uint32_t started = 0, n = calls() / 10;
    for (uint32_t i = 0; i < n; i++) {
        npu_rpc_start start = {.magic = NPU_WIRE_MAGIC,
                               .version = NPU_WIRE_VERSION,
                               .window_bytes = hw->window_bytes,
                               .threads = hw->threads,
                               .vtcm_bytes = hw->vtcm_bytes,
                               .trace_fd = -1,
                               .arch = hw->arch,
                               .max_buffer_bytes = NPU_HEX_MAX_BUFFER};
        assert_int_equal(driver.remote_handle64_open("file:///second", &handle), 0);
        change(&start, sizeof start);
        int result = npu_hex_rpc(&driver, handle, NPU_RPC_START, &start, sizeof start, NULL, 0);
        if (!result) {
            npu_wire_request r = good_request();
            started++;
            if (rnd() % 2) change(&r, sizeof r);
            batch(&r, sizeof r);
            assert_int_not_equal(npu_hex_rpc(&driver, handle, NPU_RPC_START, &start, sizeof start, NULL, 0), 0);
            npu_rpc_munmap drop = {.fd = rnd() % 2 ? arena->fd : (int32_t)value()};
            assert_int_equal(npu_hex_rpc(&driver, handle, NPU_RPC_MUNMAP, &drop, sizeof drop, NULL, 0), 0);
            batch(&r, sizeof r);
        }
        assert_int_equal(driver.remote_handle64_close(handle), 0);
    }
    handle = mine;
    printf("%u changed starts, %u refused\n", n, n - started);
    assert_true(started > n / 50 && started < n * 9 / 10);
    is_good();
}

/* --- */

static void write_image(void) {
    npu_tensor t[2] = {{.ne = {VALUES, ROWS, 1, 1},
                        .nb = {4, VALUES * 4, VALUES * ROWS * 4, VALUES * ROWS * 4},
                        .type = NPU_TYPE_F32,
                        .rows_dim = 1,
                        .rows_of = NPU_ROWS_STEP}};
    npu_op op;
    memset(&op, 0, sizeof op);
    memset(op.src, 0xFF, sizeof op.src);
    memset(op.dst, 0xFF, sizeof op.dst);
    t[1] = t[0];
    t[1].offset = 4096;
    op.code = NPU_OP_ADD;
    op.src[0] = op.src[1] = 0, op.dst[0] = 1;
    assert_null(npu_opplan_make(&op, t, npu_hex_session_hw(session), op.kernel));
    npu_wire_buffer b = {arena->fd, NPU_WIRE_BUFFER_PINNED, arena->bytes};
    npu_wire_image h = {.magic = NPU_WIRE_MAGIC, .version = NPU_WIRE_VERSION, .header_bytes = sizeof h};
    h.n_buffers = 1, h.n_tensors = 2, h.n_ops = 1;
    h.buffer_bytes = sizeof b, h.tensor_bytes = sizeof t[0], h.op_bytes = sizeof op;
    h.buffers_at = sizeof h, h.tensors_at = h.buffers_at + sizeof b, h.ops_at = h.tensors_at + sizeof t;
    h.total_bytes = image_bytes = h.ops_at + (uint32_t)sizeof op;
    memcpy(image->data, &h, sizeof h);
    memcpy(image->data + h.buffers_at, &b, sizeof b);
    memcpy(image->data + h.tensors_at, t, sizeof t);
    memcpy(image->data + h.ops_at, &op, sizeof op);
}

static int setup(void **state) {
    (void)state;
    npu_error err = {0};
    npu_target_params params = {.driver = "sim"};
    if (npu_hex_driver_open(&params, NULL, &driver, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    real_invoke = driver.remote_handle64_invoke;
    driver.remote_handle64_invoke = invoke;
    if (npu_hex_session_open(&driver, &params, &session, &err) ||
        npu_hex_buffer_alloc(session, ARENA, true, &arena, &err) ||
        npu_hex_buffer_alloc(session, IMAGE, true, &image, &err))
        return -1;
    driver.remote_handle64_invoke = real_invoke;
    write_image();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    npu_hex_session_close(session);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(changed_requests), cmocka_unit_test(calls_that_do_not_fit),
                                       cmocka_unit_test(changed_starts)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
