/* Changed ops of every kind through the whole NPU program: cases of tests/support/hostile_case.h, each tensor at the
 * end of a buffer of its own, with a plan made for what they became, a foreign plan, or a changed one. Every message is
 * answered, nothing steps outside its mapping (guard pages, sanitizers), and the session stays good. Loopback: driver
 * and NPU program in one process. The full tier runs twenty times as many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hexagon/hostile_races.h"
#include "support/hostile_case.h"
#include "target/hexagon/hexagon_session.h"
#include "wire/format.h"
#include "wire/op_check.h"

enum { CASES = 20000, FULL_TIMES = 20, BUFFER = 256 << 10, IMAGE = 16 << 10 };

static npu_hex_driver driver;
static npu_hex_session *session;
static npu_hex_buffer *buffers[NPU_CASE_TENSORS], *image;

/* Ids, cells and spans mostly in range; everything else is random bytes, some of them zero. */
static void fill(npu_case *c, const npu_tensor *t, uint8_t *data, uint64_t bytes) {
    static const int32_t odd[] = {-1, INT32_MIN, INT32_MAX, 1 << 20, 255};
    for (uint64_t i = 0; i + 4 <= bytes; i += 4) {
        uint64_t r = npu_case_random(c);
        int32_t v = (int32_t)(r >> 32);
        if (t->type == NPU_TYPE_I32) v = r % 64 ? (int32_t)(r >> 32 & 7) : odd[r >> 32 & 3];
        if (r % 5 == 0) v = 0;
        memcpy(data + i, &v, 4);
    }
}

/* Tensors that are sound end where their buffer does, as near as their layout lets them. */
static void place(npu_case *c) {
    for (uint32_t i = 0; i < c->n_tensors; i++) {
        npu_tensor *t = &c->tensors[i];
        t->buffer = (uint16_t)(npu_case_below(c, 50) ? i : npu_case_random(c));
        uint64_t bytes = npu_tensor_check(t) ? 0 : npu_tensor_extent(t);
        if (t->layout == NPU_LAYOUT_TILES && npu_image_format_of(t->type) && t->ne[0] <= NPU_IMAGE_MAX_K)
            bytes = npu_image_bytes(npu_image_format_of(t->type), t->ne[0], t->ne[1]);
        if (!bytes || bytes > BUFFER || !npu_case_below(c, 20)) continue;
        t->offset = BUFFER - bytes;
        while (npu_wire_check_tensor(t, BUFFER) && t->offset % 128) t->offset--;
        fill(c, t, buffers[i]->data + t->offset, BUFFER - t->offset);
    }
}

static uint32_t write_image(const npu_case *c, const npu_op *op) {
    npu_wire_buffer list[NPU_CASE_TENSORS];
    for (uint32_t i = 0; i < c->n_tensors; i++)
        list[i] = (npu_wire_buffer){buffers[i]->fd, i % 2 ? NPU_WIRE_BUFFER_PINNED : 0, BUFFER};
    npu_wire_image h = {.magic = NPU_WIRE_MAGIC,
                        .version = NPU_WIRE_VERSION,
                        .header_bytes = sizeof h,
                        .n_buffers = c->n_tensors,
                        .n_tensors = c->n_tensors,
                        .n_ops = 1,
                        .buffer_bytes = sizeof list[0],
                        .tensor_bytes = sizeof c->tensors[0],
                        .op_bytes = sizeof *op};
    h.buffers_at = sizeof h;
    h.tensors_at = h.buffers_at + h.n_buffers * h.buffer_bytes;
    h.ops_at = h.tensors_at + h.n_tensors * h.tensor_bytes;
    h.total_bytes = h.ops_at + h.op_bytes;
    assert_true(h.total_bytes <= IMAGE);
    memcpy(image->data, &h, sizeof h);
    memcpy(image->data + h.buffers_at, list, h.n_buffers * h.buffer_bytes);
    memcpy(image->data + h.tensors_at, c->tensors, h.n_tensors * h.tensor_bytes);
    memcpy(image->data + h.ops_at, op, sizeof *op);
    return h.total_bytes;
}

static npu_status run(const npu_case *c, const npu_op *op, uint32_t rows) {
    npu_error err = {0};
    npu_hex_request request = {.image = image,
                               .bytes = write_image(c, op),
                               .n_ops = 1,
                               .step.rows = {[NPU_ROWS_STEP] = rows, [NPU_ROWS_OUT] = rows}};
    uint64_t sequence;
    if (npu_hex_submit(session, &request, &sequence, &err)) fail_msg("%s", err.text);
    npu_status status = npu_hex_wait(session, sequence, &err);
    if (status == NPU_DEVICE_LOST || status == NPU_TIMEOUT) fail_msg("%s", err.text);
    return status;
}

static void changed_ops(void **state) {
    (void)state;
    static uint32_t foreign[NPU_OP_KERNEL_WORDS];
    const char *full = getenv("NPU_FULL");
    uint32_t cases = CASES * (full && *full == '1' ? FULL_TIMES : 1), sound = 0, ran = 0, refused = 0;
    for (uint32_t i = 0; i < cases; i++) {
        npu_case c = hostile_case(i, i % 4);
        make_images(&c);
        place(&c);
        npu_op op = c.op;
        uint32_t rows = c.rows ? npu_case_below(&c, c.rows + 2) : 1;
        const char *why = npu_opplan_make(&op, c.tensors, npu_hex_session_hw(session), op.kernel);
        if (why) memcpy(op.kernel, foreign, sizeof foreign);
        npu_status status = run(&c, &op, rows);
        if (why && status == NPU_OK) fail_msg("case %u (op 0x%x) ran, but: %s", i, op.code, why);
        sound += !why && i % 4 == 0;
        ran += status == NPU_OK;
        if (why) continue;
        memcpy(foreign, op.kernel, sizeof foreign);
        op.kernel[npu_case_below(&c, NPU_OP_KERNEL_WORDS)] += 1 + npu_case_below(&c, 3) * 127;
        if (run(&c, &op, rows) == NPU_OK) fail_msg("case %u ran with a plan that is not its own", i);
        refused++;
    }
    printf("%u cases: %u ran, %u of them unchanged; %u changed plans refused\n", cases, ran, sound, refused);
    assert_true(sound > cases / 20 && ran > sound && refused > sound);
}

static int setup(void **state) {
    (void)state;
    npu_error err = {0};
    npu_target_params params = {.driver = "sim"};
    if (npu_hex_driver_open(&params, NULL, &driver, &err) || npu_hex_session_open(&driver, &params, &session, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    for (unsigned i = 0; i < NPU_CASE_TENSORS; i++)
        if (npu_hex_buffer_alloc(session, BUFFER, true, &buffers[i], &err)) return -1;
    return npu_hex_buffer_alloc(session, IMAGE, true, &image, &err) ? -1 : 0;
}

static int teardown(void **state) {
    (void)state;
    npu_hex_session_close(session);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(changed_ops)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
