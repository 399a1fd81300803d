/* Op descriptors as an enemy would send them: sound cases of every op (src/conform), each changed in a few random
 * places. The checks must answer, never read outside the tables they are given, and what they let through must be safe
 * to run: the host runs it in buffers of exactly the size the tensors claim, an op plan stays inside the hardware it
 * was made for. Worth most under AddressSanitizer. Everything follows from the number of the case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/hostile_case.h"
#include "target/host/host.h"
#include "wire/check.h"
#include "wire/format.h"
#include "wire/op_check.h"

enum { CASES = 6000, MAX_RUN_BYTES = 1 << 20, BUFFER_BYTES = 1 << 24 };

static const npu_hw hw = {.arch = 73,
                          .threads = 4,
                          .vtcm_bytes = 8 << 20,
                          .window_bytes = 3ull << 30,
                          .max_buffer_bytes = 1 << 30,
                          .line_bytes = 128};

/* The tensors in memory of just their size, so that reading past the table is seen. */
static npu_tensor *table_of(const npu_case *c) {
    npu_tensor *t = malloc(c->n_tensors * sizeof *t);
    assert_non_null(t);
    memcpy(t, c->tensors, c->n_tensors * sizeof *t);
    return t;
}

/* --- the NPU's side --- */

static void check_plan(const uint32_t *kernel, uint32_t i) {
    npu_kernel_head head;
    memcpy(&head, kernel, sizeof head);
    if (!head.kernel || !head.threads || head.threads > hw.threads || head.depth < 2 || head.depth > 16 ||
        (uint64_t)head.vtcm_thread_bytes * head.threads > hw.vtcm_bytes ||
        (uint64_t)head.scratch_thread_bytes * head.threads + head.scratch_shared_bytes > NPU_SCRATCH_BYTES)
        fail_msg("case %u: a plan outside of the hardware", i);
}

/* The image of one op over one buffer. */
static void check_image(const npu_case *c, const uint32_t *kernel, bool planned, uint32_t i) {
    uint32_t tensors_at = sizeof(npu_wire_image) + sizeof(npu_wire_buffer);
    uint32_t ops_at = tensors_at + c->n_tensors * (uint32_t)sizeof(npu_tensor), bytes = ops_at + sizeof(npu_op);
    uint8_t *image = malloc(bytes);
    assert_non_null(image);
    npu_wire_image head = {.magic = NPU_WIRE_MAGIC,
                           .version = NPU_WIRE_VERSION,
                           .header_bytes = sizeof head,
                           .total_bytes = bytes,
                           .n_buffers = 1,
                           .n_tensors = c->n_tensors,
                           .n_ops = 1,
                           .buffers_at = sizeof head,
                           .tensors_at = tensors_at,
                           .ops_at = ops_at,
                           .buffer_bytes = sizeof(npu_wire_buffer),
                           .tensor_bytes = sizeof(npu_tensor),
                           .op_bytes = sizeof(npu_op)};
    npu_wire_buffer buffer = {.fd = 3, .bytes = BUFFER_BYTES};
    memcpy(image, &head, sizeof head);
    memcpy(image + sizeof head, &buffer, sizeof buffer);
    npu_tensor *t = (npu_tensor *)(image + tensors_at);
    memcpy(t, c->tensors, c->n_tensors * sizeof *t);
    for (uint32_t k = 0; k < c->n_tensors; k++) t[k].buffer = 0;
    npu_op op = c->op;
    if (planned) memcpy(op.kernel, kernel, sizeof op.kernel);
    memcpy(image + ops_at, &op, sizeof op);
    uint32_t max_rows[NPU_ROWS_COUNT];
    npu_wire_fault fault = {0};
    if (npu_wire_check_image(image, bytes, &hw, max_rows, &fault)) {
        if (!planned) fail_msg("case %u: an image with an op that has no plan", i);
    } else {
        assert_non_null(fault.text);
    }
    free(image);
}

static void plans_and_images(void **state) {
    (void)state;
    uint32_t planned = 0;
    for (uint32_t i = 0; i < CASES; i++) {
        npu_case c = hostile_case(i, i % 4);
        make_images(&c);
        npu_tensor *t = table_of(&c);
        uint32_t kernel[NPU_OP_KERNEL_WORDS];
        const char *why_not = npu_opplan_make(&c.op, t, &hw, kernel);
        if (!why_not) {
            planned++;
            check_plan(kernel, i);
        }
        check_image(&c, kernel, !why_not, i);
        free(t);
    }
    assert_in_range(planned, CASES / 20, CASES);
}

/* A table index past the end is seen before anything is read there. */
static void indices_out_of_range(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 500; i++) {
        npu_case c = hostile_case(i, false);
        npu_tensor *t = table_of(&c);
        uint32_t at = npu_case_below(&c, NPU_OP_SRCS + NPU_OP_DSTS);
        uint16_t index = (uint16_t)(c.n_tensors + npu_case_below(&c, NPU_NO_TENSOR - c.n_tensors));
        *(at < NPU_OP_SRCS ? &c.op.src[at] : &c.op.dst[at - NPU_OP_SRCS]) = index;
        assert_non_null(npu_op_check(&c.op, t, c.n_tensors));
        check_image(&c, NULL, false, i);
        free(t);
    }
}

/* --- the host --- */

/* Runs what the check let through; errors are fine. */
static void run_on_host(npu_target *target, npu_case *c, uint64_t id) {
    npu_buffer *buffers[NPU_CASE_TENSORS] = {0};
    npu_weight_ref weights[NPU_CASE_TENSORS] = {{0}};
    npu_error err;
    npu_event event;
    for (uint32_t i = 0; i < c->n_tensors; i++) {
        const npu_tensor *t = &c->tensors[i];
        uint64_t bytes = npu_tensor_check(t) ? 64 : t->offset + npu_tensor_extent(t);
        assert_int_equal(target->ops->buffer_alloc(target, bytes, NPU_BUFFER_COMPUTE, &buffers[i], &err), NPU_OK);
        for (uint64_t k = 0; k < bytes; k++)
            buffers[i]->data[k] = (uint8_t)(npu_case_below(c, 3) ? 0 : npu_case_random(c));
    }
    npu_batch batch = {.image_id = id,
                       .tensors = c->tensors,
                       .ops = &c->op,
                       .buffers = buffers,
                       .n_tensors = c->n_tensors,
                       .n_ops = 1,
                       .n_buffers = c->n_tensors,
                       .weights = weights};
    for (uint32_t rows = c->rows, more = 1; more; rows /= 2) {
        more = rows;
        batch.step.rows[NPU_ROWS_STEP] = batch.step.rows[NPU_ROWS_OUT] = rows;
        if (target->ops->submit(target, &batch, &event, &err) == NPU_OK)
            assert_int_equal(target->ops->wait(target, event, &err), NPU_OK);
    }
    for (uint32_t i = 0; i < c->n_tensors; i++) target->ops->buffer_free(target, buffers[i]);
}

static void host_runs_what_is_let_through(void **state) {
    (void)state;
    npu_target *target;
    npu_error err;
    npu_target_params params = {.n_threads = 1};
    assert_int_equal(npu_target_host.open(&params, NULL, NULL, &target, &err), NPU_OK);
    uint32_t ran = 0;
    for (uint32_t i = 0; i < CASES; i++) {
        npu_case c = hostile_case(i, i % 4);
        npu_tensor *table = table_of(&c);
        const char *why = npu_op_check(&c.op, table, c.n_tensors);
        free(table);
        uint64_t bytes = 0, values = 0;
        for (uint32_t k = 0; k < c.n_tensors && !why; k++) {
            const npu_tensor *t = &c.tensors[k];
            if (npu_tensor_check(t)) continue;
            bytes += t->offset + npu_tensor_extent(t);
            values += t->ne[0] * npu_tensor_rows(t);
        }
        if (why || bytes > MAX_RUN_BYTES || values > MAX_RUN_BYTES) continue;
        if (!c.rows) c.rows = 1;
        run_on_host(target, &c, i + 1);
        ran++;
    }
    npu_target_host.close(target);
    assert_in_range(ran, CASES / 5, CASES);
}

/* Dimensions whose product is 1 modulo 2^64 and strides of 0: no vector. */
static void counts_do_not_wrap(void **state) {
    (void)state;
    npu_tensor t = {.type = NPU_TYPE_F32, .nb = {4}, .ne = {1, 1u << 31, 1u << 31, 4}};
    assert_non_null(npu_tensor_check(&t));
    t = (npu_tensor){.type = NPU_TYPE_F32, .nb = {4}, .ne = {UINT32_MAX, UINT32_MAX, 1, 1}};
    assert_non_null(npu_tensor_check(&t));
    t = (npu_tensor){.type = NPU_TYPE_F32, .nb = {4}, .ne = {1 << 20, 1 << 20, 1, 1}};
    assert_null(npu_tensor_check(&t));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_and_images),
        cmocka_unit_test(indices_out_of_range),
        cmocka_unit_test(host_runs_what_is_let_through),
        cmocka_unit_test(counts_do_not_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
