/* Hostile images: a good batch with words of its image changed must be answered, never make the NPU program step
 * outside its mappings (guard pages, sanitizers), and leave the session good for the next batch. Loopback: driver and
 * NPU program in one process. Requests and other calls: hexagon_hostile_rpc.c; ops of every kind:
 * hexagon_hostile_ops.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "hexagon/hostile_races.h"
#include "target/hexagon/hexagon_rpc.h"
#include "target/hexagon/hexagon_session.h"
#include "wire/check.h"
#include "wire/format.h"
#include "wire/image.h"

enum { ARENA = 1 << 20, TENSORS = 24, OPS = 7, IMAGE = sizeof(npu_wire_image) + 2 * 16 + TENSORS * 64 + OPS * 232 };

static npu_hex_driver driver;
static npu_hex_session *session;
static npu_hex_buffer *arena, *weights, *images;
static npu_tensor tensors[TENSORS];
static npu_op ops[OPS];
static uint32_t n_tensors, n_ops;
static uint64_t used;
static uint64_t seed = 20261129;

static uint32_t rnd(void) {
    return (uint32_t)(npu_random_next(&seed) >> 33);
}

static uint16_t add(uint8_t type, uint32_t ne0, uint32_t ne1, uint32_t ne2, uint8_t rows_dim, uint8_t rows) {
    uint32_t bytes = type == NPU_TYPE_F16 ? 2 : 4;
    npu_tensor *t = &tensors[n_tensors];
    *t = (npu_tensor){.offset = used, .ne = {ne0, ne1, ne2, 1}, .type = type, .rows_dim = rows_dim, .rows_of = rows};
    t->nb[0] = bytes, t->nb[1] = (uint64_t)ne0 * bytes, t->nb[2] = t->nb[1] * ne1, t->nb[3] = t->nb[2] * ne2;
    used = (used + t->nb[3] + 255) & ~255ull;
    return (uint16_t)n_tensors++;
}

static npu_op *op(uint16_t code, uint16_t dst, uint16_t a, uint16_t b) {
    npu_op *o = &ops[n_ops++];
    memset(o->src, 0xFF, sizeof o->src);
    memset(o->dst, 0xFF, sizeof o->dst);
    o->code = code;
    o->src[0] = a, o->src[1] = b, o->dst[0] = dst;
    return o;
}

/* A little of everything over four rows. */
static void make(void) {
    enum { K = 64, N = 96, M = 4, STEP = NPU_ROWS_STEP };
    uint16_t ids = add(NPU_TYPE_I32, M, 1, 1, 0, STEP), x = add(NPU_TYPE_F32, K, M, 1, 1, STEP);
    uint16_t norm = add(NPU_TYPE_F32, K, M, 1, 1, STEP), y = add(NPU_TYPE_F32, N, M, 1, 1, STEP);
    uint16_t table = (uint16_t)n_tensors++;
    tensors[table] = (npu_tensor){
        .ne = {K, N, 1, 1}, .buffer = 1, .type = NPU_TYPE_Q4_1, .layout = NPU_LAYOUT_TILES, .flags = NPU_TENSOR_WEIGHT};
    uint16_t state = add(NPU_TYPE_F16, K, 32, 1, 0, 0), spans = add(NPU_TYPE_I32, 2, M, 1, 1, STEP);
    uint16_t q = add(NPU_TYPE_F32, 32, 4, M, 2, STEP), kv = add(NPU_TYPE_F16, 32, 2, 32, 0, 0),
             att = add(NPU_TYPE_F32, 32, 4, M, 2, STEP);
    uint16_t turned = add(NPU_TYPE_F32, 32, 4, M, 2, STEP), freqs = add(NPU_TYPE_F32, 16, 1, 1, 0, 0);
    uint16_t pairs = add(NPU_TYPE_F32, 32, M, 1, 1, STEP);
    tensors[kv].offset = tensors[state].offset;
    op(NPU_OP_GET_ROWS, x, table, ids);
    op(NPU_OP_RMS_NORM, norm, x, NPU_NO_TENSOR)->params.eps.eps = 1e-5f;
    op(NPU_OP_MUL_MAT, y, norm, table);
    op(NPU_OP_SET_ROWS, state, x, ids);
    op(NPU_OP_ROPE_TABLE, pairs, ids, freqs)->params.rope_table.scale = 1;
    op(NPU_OP_ROPE, turned, q, pairs);
    npu_op *a = op(NPU_OP_FLASH_ATTN, att, turned, kv);
    a->src[2] = kv, a->src[3] = spans;
    a->params.attn.scale = 1;
    for (uint32_t i = 0; i < n_ops; i++)
        assert_null(npu_opplan_make(&ops[i], tensors, npu_hex_session_hw(session), ops[i].kernel));
    for (int i = 0; i < M; i++) {
        ((int32_t *)(void *)(arena->data + tensors[ids].offset))[i] = 3 * i;
        ((int32_t *)(void *)(arena->data + tensors[spans].offset))[2 * i] = 1;
        ((int32_t *)(void *)(arena->data + tensors[spans].offset))[2 * i + 1] = 5 + i;
    }
}

static uint32_t write_image(uint8_t *out) {
    npu_wire_buffer buffers[2] = {{arena->fd, NPU_WIRE_BUFFER_PINNED, arena->bytes}, {weights->fd, 0, weights->bytes}};
    npu_wire_image h = {.magic = NPU_WIRE_MAGIC, .version = NPU_WIRE_VERSION, .header_bytes = sizeof h};
    h.n_buffers = 2, h.n_tensors = n_tensors, h.n_ops = n_ops;
    h.buffer_bytes = sizeof buffers[0], h.tensor_bytes = sizeof(npu_tensor), h.op_bytes = sizeof(npu_op);
    h.buffers_at = sizeof h, h.tensors_at = h.buffers_at + sizeof buffers;
    h.ops_at = h.tensors_at + n_tensors * h.tensor_bytes;
    h.total_bytes = h.ops_at + n_ops * h.op_bytes;
    assert_true(h.total_bytes <= IMAGE);
    memcpy(out, &h, sizeof h);
    memcpy(out + h.buffers_at, buffers, sizeof buffers);
    memcpy(out + h.tensors_at, tensors, n_tensors * sizeof *tensors);
    memcpy(out + h.ops_at, ops, n_ops * sizeof *ops);
    return h.total_bytes;
}

static npu_status send_image(uint32_t bytes, uint64_t id, uint32_t rows) {
    npu_error err = {0};
    npu_step step = {.rows = {0, rows, 0}};
    npu_hex_request request = {
        .image = images, .image_id = id, .bytes = bytes, .n_ops = NPU_WIRE_MAX_OPS, .step = step};
    uint64_t sequence;
    npu_status status = npu_hex_submit(session, &request, &sequence, &err);
    assert_int_equal(status, NPU_OK);
    return npu_hex_wait(session, sequence, &err);
}

static const uint64_t values[] = {
    0,       1,        2,          3,          31,         32,          33,
    0x7F,    0x80,     0xFF,       0x100,      0xFFF,      0x1000,      0xFFFF,
    0x10000, 0xFFFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, 0x7FFFFFFFFFFFFFFF,
    ~0ull};

static void images_with_one_change(void **state) {
    (void)state;
    uint32_t bytes = write_image(images->data), refused = 0, n = 0;
    assert_int_equal(send_image(bytes, 0, 4), NPU_OK);
    for (uint32_t width = 1; width <= 8; width *= 2)
        for (uint32_t at = 0; at + width <= bytes; at += width)
            for (unsigned v = 0; v < 4; v++) {
                write_image(images->data);
                uint64_t value = v < 3 ? values[rnd() % (sizeof values / sizeof values[0])] : rnd();
                memcpy(images->data + at, &value, width);
                refused += send_image(bytes, 0, 1 + rnd() % 4) != NPU_OK;
                n++;
            }
    write_image(images->data);
    assert_int_equal(send_image(bytes, 0, 4), NPU_OK);
    printf("%u changed images, %u refused\n", n, refused);
    assert_true(refused > n / 4);
}

/* Wider nonsense: several changes at once, also to operand values, with the plans made anew so that they are no shield.
 */
static void images_with_many_changes(void **state) {
    (void)state;
    const char *full = getenv("NPU_FULL");
    for (uint32_t i = 0; i < (full && *full == '1' ? 400000u : 20000u); i++) {
        npu_tensor good[TENSORS];
        memcpy(good, tensors, sizeof good);
        for (uint32_t c = 0; c < 1 + rnd() % 3; c++) {
            uint8_t *t = (uint8_t *)&tensors[rnd() % n_tensors];
            uint64_t value = rnd() % 2 ? values[rnd() % (sizeof values / sizeof values[0])] : rnd() % 300;
            uint32_t width = 1u << rnd() % 4;
            memcpy(t + rnd() % (64 / width) * width, &value, width);
        }
        uint32_t word = rnd() % 8;
        ((int32_t *)(void *)arena->data)[rnd() % 4] = word ? (int32_t)(rnd() % 32) : (int32_t)values[rnd() % 22];
        for (uint32_t o = 0; o < n_ops; o++)
            (void)npu_opplan_make(&ops[o], tensors, npu_hex_session_hw(session), ops[o].kernel);
        send_image(write_image(images->data), 0, rnd() % 6);
        memcpy(tensors, good, sizeof good);
    }
    for (uint32_t o = 0; o < n_ops; o++)
        assert_null(npu_opplan_make(&ops[o], tensors, npu_hex_session_hw(session), ops[o].kernel));
    for (int i = 0; i < 4; i++) ((int32_t *)(void *)arena->data)[i] = i;
    int32_t *spans = (int32_t *)(void *)(arena->data + tensors[6].offset);
    for (int i = 0; i < 4; i++) spans[2 * i] = 0, spans[2 * i + 1] = 3;
    assert_int_equal(send_image(write_image(images->data), 7, 4), NPU_OK);
}

/* A message that is refused, by its image or by its step, takes no kept image away: all that the NPU program keeps are
 * still there when the shared bytes are gone. */
static void refused_images_replace_nothing(void **state) {
    (void)state;
    uint32_t bytes = write_image(images->data);
    for (uint64_t id = 100; id < 100 + NPU_WIRE_KEPT_IMAGES; id++) assert_int_equal(send_image(bytes, id, 4), NPU_OK);
    for (uint64_t id = 1000; id < 1040; id++) assert_int_not_equal(send_image(bytes, id, 5), NPU_OK);
    memset(images->data, 0xA5, bytes);
    for (uint64_t id = 2000; id < 2040; id++) assert_int_not_equal(send_image(bytes, id, 4), NPU_OK);
    for (uint64_t id = 100; id < 100 + NPU_WIRE_KEPT_IMAGES; id++) assert_int_equal(send_image(bytes, id, 4), NPU_OK);
    write_image(images->data);
    assert_int_equal(send_image(bytes, 3000, 4), NPU_OK); /* in place of 100 */
    memset(images->data, 0xA5, bytes);
    for (uint64_t id = 101; id < 100 + NPU_WIRE_KEPT_IMAGES; id++) assert_int_equal(send_image(bytes, id, 4), NPU_OK);
    assert_int_equal(send_image(bytes, 3000, 4), NPU_OK);
    assert_int_not_equal(send_image(bytes, 100, 4), NPU_OK);
    write_image(images->data);
}

static int setup(void **state) {
    (void)state;
    npu_error err = {0};
    npu_target_params params = {.driver = "sim"};
    if (npu_hex_driver_open(&params, NULL, &driver, &err) || npu_hex_session_open(&driver, &params, &session, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    if (npu_hex_buffer_alloc(session, ARENA, true, &arena, &err) ||
        npu_hex_buffer_alloc(session, ARENA, false, &weights, &err) ||
        npu_hex_buffer_alloc(session, IMAGE, true, &images, &err))
        return -1;
    make();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    npu_hex_session_close(session);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(refused_images_replace_nothing),
                                       cmocka_unit_test(images_with_one_change),
                                       cmocka_unit_test(images_with_many_changes)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
