/* The host target through its vtable: batches, row counts, bad operands, gemv; and the reference's integer view of
 * weight blocks against src/quant. How right the ops are is conform's matter (src/conform). */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "quant/quant.h"
#include "target/host/host.h"

static npu_target *open_host(unsigned n_threads, npu_mode mode) {
    npu_target *target;
    npu_error err = {0};
    npu_target_params params = {.n_threads = n_threads, .mode = mode};
    assert_int_equal(npu_target_host.open(&params, NULL, NULL, &target, &err), NPU_OK);
    return target;
}

static npu_tensor dense(uint32_t ne0, uint32_t ne1, uint8_t type, uint64_t offset) {
    uint64_t row = ne0 * 4ull;
    return (npu_tensor){.offset = offset, .nb = {4, row, row * ne1, row * ne1}, .ne = {ne0, ne1, 1, 1}, .type = type};
}

/* get_rows of a 3 x 4 table, then doubled by an add: ids at 256, rows at 512, sums at 1024. */
typedef struct fixture {
    npu_tensor tensors[4];
    npu_op ops[2];
    npu_buffer *buffer;
    npu_batch batch;
} fixture;

static void make(fixture *f, npu_target *target) {
    npu_error err = {0};
    *f = (fixture){.tensors = {dense(4, 3, NPU_TYPE_F32, 0), dense(2, 1, NPU_TYPE_I32, 256),
                               dense(4, 2, NPU_TYPE_F32, 512), dense(4, 2, NPU_TYPE_F32, 1024)}};
    f->tensors[1].rows_of = f->tensors[2].rows_of = f->tensors[3].rows_of = NPU_ROWS_STEP;
    f->tensors[2].rows_dim = f->tensors[3].rows_dim = 1;
    memset(f->ops[0].src, 0xFF, sizeof f->ops[0].src);
    memset(f->ops[0].dst, 0xFF, sizeof f->ops[0].dst);
    f->ops[0].code = NPU_OP_GET_ROWS;
    f->ops[1] = f->ops[0];
    f->ops[0].src[0] = 0, f->ops[0].src[1] = 1, f->ops[0].dst[0] = 2;
    f->ops[1].code = NPU_OP_ADD;
    f->ops[1].src[0] = f->ops[1].src[1] = 2, f->ops[1].dst[0] = 3;
    assert_int_equal(target->ops->buffer_alloc(target, 2048, NPU_BUFFER_COMPUTE, &f->buffer, &err), NPU_OK);
    for (int i = 0; i < 12; i++) ((float *)(void *)f->buffer->data)[i] = (float)i;
    int32_t ids[2] = {2, 0};
    memcpy(f->buffer->data + 256, ids, sizeof ids);
    f->batch = (npu_batch){.image_id = 1,
                           .tensors = f->tensors,
                           .ops = f->ops,
                           .buffers = &f->buffer,
                           .step = {.rows = {0, 2, 0}},
                           .n_tensors = 4,
                           .n_ops = 2,
                           .n_buffers = 1};
}

static void every_value_is_looked_at(void **state) {
    (void)state;
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    float values[37];
    for (unsigned threads = 1; threads <= 3; threads++) {
        npu_target *target = open_host(threads, NPU_MODE_DEFAULT);
        for (uint32_t n = 0; n <= 37; n++) {
            for (uint32_t i = 0; i < n; i++) values[i] = i % 2 ? -FLT_MAX : i % 3 ? FLT_TRUE_MIN : 0;
            for (int alone = 0; alone < 2; alone++) {
                assert_true(npu_host_finite(target, alone, values, n));
                for (uint32_t i = 0; i < n; i++) {
                    float before = values[i];
                    values[i] = bad[(i + n) % 4];
                    assert_false(npu_host_finite(target, alone, values, n));
                    values[i] = before;
                }
            }
        }
        target->ops->close(target);
    }
}

static void a_batch_runs_and_keeps_to_its_rows(void **state) {
    (void)state;
    for (unsigned n = 1; n <= 3; n++) {
        npu_target *target = open_host(n, NPU_MODE_DEFAULT);
        fixture f;
        npu_event event;
        npu_error err = {0};
        make(&f, target);
        float *y = (float *)(void *)(f.buffer->data + 1024);
        f.batch.step.rows[NPU_ROWS_STEP] = 1;
        assert_int_equal(target->ops->submit(target, &f.batch, &event, &err), NPU_OK);
        assert_int_equal(target->ops->wait(target, event, &err), NPU_OK);
        assert_true(y[0] == 16 && y[3] == 22 && y[4] == 0);
        f.batch.step.rows[NPU_ROWS_STEP] = 2;
        assert_int_equal(target->ops->submit(target, &f.batch, &event, &err), NPU_OK);
        assert_true(y[0] == 16 && y[4] == 0 && y[7] == 6);
        f.batch.step.rows[NPU_ROWS_STEP] = 3;
        assert_int_equal(target->ops->submit(target, &f.batch, &event, &err), NPU_RANGE);
        target->ops->buffer_free(target, f.buffer);
        target->ops->close(target);
    }
}

static void bad_batches_are_refused(void **state) {
    (void)state;
    npu_target *target = open_host(3, NPU_MODE_DEFAULT);
    fixture f;
    npu_event event;
    npu_error err = {0};
    make(&f, target);
    int32_t *ids = (int32_t *)(void *)(f.buffer->data + 256);
    ids[1] = 3; /* past the table: every thread sees it, all leave together */
    assert_int_equal(target->ops->submit(target, &f.batch, &event, &err), NPU_RANGE);
    assert_string_equal(err.code, "op.row_id");
    ids[1] = -1;
    assert_int_equal(target->ops->submit(target, &f.batch, &event, &err), NPU_RANGE);
    ids[1] = 0;
    f.batch.image_id = 2;
    f.tensors[3].offset = 2048 - 16;
    assert_int_equal(target->ops->submit(target, &f.batch, &event, &err), NPU_INVALID);
    assert_string_equal(err.code, "host.bad_op");
    f.tensors[3].offset = UINT64_MAX - 15;
    assert_int_equal(target->ops->submit(target, &f.batch, &event, &err), NPU_INVALID);
    f.tensors[3].offset = 1024;
    f.tensors[3].ne[0] = 5;
    assert_int_equal(target->ops->submit(target, &f.batch, &event, &err), NPU_INVALID);
    f.tensors[3].ne[0] = 4;
    f.tensors[3].buffer = 1;
    assert_int_equal(target->ops->submit(target, &f.batch, &event, &err), NPU_INVALID);
    f.tensors[3].buffer = 0;
    f.ops[1].src[1] = 99;
    assert_int_equal(target->ops->submit(target, &f.batch, &event, &err), NPU_INVALID);
    f.ops[1].src[1] = 2;
    assert_int_equal(target->ops->submit(target, &f.batch, &event, &err), NPU_OK);
    assert_int_equal(target->ops->wait(target, (npu_event){1, 1}, &err), NPU_INVALID);
    target->ops->buffer_free(target, f.buffer);
    target->ops->close(target);
}

static void gemv_is_a_product(void **state) {
    (void)state;
    npu_target *target = open_host(2, NPU_MODE_DEFAULT);
    enum { M = 3, K = 5, N = 7 };
    float x[M * K], w[K * N], y[M * N];
    npu_error err = {0};
    for (int i = 0; i < M * K; i++) x[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++) w[i] = (float)(i % 5 - 2);
    npu_gemv_args args = {.M = M, .K = K, .N = N, .x = x, .weights = w, .wkey = -1};
    assert_int_equal(target->ops->gemv(target, &args, y, &err), NPU_OK);
    for (int m = 0; m < M; m++) {
        for (int n = 0; n < N; n++) {
            float want = 0;
            for (int k = 0; k < K; k++) want += x[m * K + k] * w[k * N + n];
            assert_true(y[m * N + n] == want);
        }
    }
    args.K = 0;
    assert_int_equal(target->ops->gemv(target, &args, y, &err), NPU_INVALID);
    target->ops->close(target);
}

static void files_are_not_written(void **state) {
    (void)state;
    npu_target *target = open_host(1, NPU_MODE_DEFAULT);
    static const uint8_t file[2048];
    fixture f;
    npu_event event;
    npu_error err = {0};
    npu_buffer *wrapped;
    make(&f, target);
    assert_int_equal(npu_host_buffer_wrap(file, sizeof file, NPU_BUFFER_WEIGHTS, &wrapped, &err), NPU_OK);
    npu_buffer *buffers[] = {f.buffer, wrapped};
    f.batch.buffers = buffers;
    f.batch.n_buffers = 2;
    f.tensors[0].buffer = 1;
    assert_int_equal(target->ops->submit(target, &f.batch, &event, &err), NPU_OK);
    f.tensors[3].buffer = 1;
    f.batch.image_id = 2;
    assert_int_equal(target->ops->submit(target, &f.batch, &event, &err), NPU_INVALID);
    target->ops->buffer_free(target, wrapped);
    target->ops->buffer_free(target, f.buffer);
    target->ops->close(target);
}

/* A Q8_0 weight of 20 rows of 32 ones, d = |d|, times 32 ones: once in a file, once in a buffer that may be written. */
static float product(npu_target *target, npu_buffer *weights, uint64_t image) {
    npu_tensor tensors[] = {dense(32, 1, NPU_TYPE_F32, 0),
                            {.nb = {34, 34, 680, 680}, .ne = {32, 20, 1, 1}},
                            dense(20, 1, NPU_TYPE_F32, 256)};
    npu_op op = {.code = NPU_OP_MUL_MAT};
    npu_buffer *own, *buffers[2];
    npu_event event;
    npu_error err = {0};
    tensors[1].type = NPU_TYPE_Q8_0;
    tensors[1].flags = NPU_TENSOR_WEIGHT;
    tensors[1].buffer = 1;
    memset(op.src, 0xFF, sizeof op.src);
    memset(op.dst, 0xFF, sizeof op.dst);
    op.src[0] = 0, op.src[1] = 1, op.dst[0] = 2;
    assert_int_equal(target->ops->buffer_alloc(target, 2048, NPU_BUFFER_COMPUTE, &own, &err), NPU_OK);
    for (int i = 0; i < 32; i++) ((float *)(void *)own->data)[i] = 1;
    buffers[0] = own, buffers[1] = weights;
    npu_batch batch = {.image_id = image, .tensors = tensors, .ops = &op, .buffers = buffers};
    batch.n_tensors = 3, batch.n_ops = 1, batch.n_buffers = 2;
    assert_int_equal(target->ops->submit(target, &batch, &event, &err), NPU_OK);
    const float *y = (const float *)(const void *)(own->data + 256);
    for (int i = 1; i < 20; i++) assert_true(y[i] == y[0]);
    float first = y[0];
    target->ops->buffer_free(target, own);
    return first;
}

static void fill(uint8_t *weights, uint16_t d) {
    memset(weights, 1, 680);
    for (int i = 0; i < 20; i++) memcpy(weights + 34 * i, &d, 2);
}

static void weights_are_packed_once(void **state) {
    (void)state;
    npu_target *target = open_host(2, NPU_MODE_DEFAULT);
    const npu_host *host = (const npu_host *)target;
    static uint8_t file[680];
    npu_buffer *wrapped, *own;
    npu_error err = {0};
    const npu_host_variant *best = npu_host_variants(NPU_OP_MUL_MAT);
    while (best[1].name && !(best[1].features & ~host->features)) best++;
    fill(file, 0x3C00);
    assert_int_equal(npu_host_buffer_wrap(file, sizeof file, NPU_BUFFER_WEIGHTS, &wrapped, &err), NPU_OK);
    assert_true(product(target, wrapped, 1) == 32);
    const void *copies = host->copies;
    assert_int_equal(copies != NULL, best->packing != NULL);
    assert_true(product(target, wrapped, 2) == 32);
    assert_ptr_equal(host->copies, copies);
    /* Another file in the same place. */
    target->ops->buffer_free(target, wrapped);
    assert_null(host->copies);
    assert_null(host->arenas);
    fill(file, 0x4000);
    assert_int_equal(npu_host_buffer_wrap(file, sizeof file, NPU_BUFFER_WEIGHTS, &wrapped, &err), NPU_OK);
    assert_true(product(target, wrapped, 3) == 64);
    target->ops->buffer_free(target, wrapped);
    /* Weights that may be written stay where they are. */
    assert_int_equal(target->ops->buffer_alloc(target, 680, NPU_BUFFER_WEIGHTS, &own, &err), NPU_OK);
    fill(own->data, 0x3C00);
    assert_true(product(target, own, 4) == 32);
    fill(own->data, 0x4000);
    assert_true(product(target, own, 4) == 64);
    assert_null(host->copies);
    target->ops->buffer_free(target, own);
    target->ops->close(target);
}

/* Rows 17 and 3 of a table that is a weight too, in one batch, the rows first. What the file holds later is not looked
 * at, so it need not be in memory. */
static void rows_of_packed_weights_are_read_there(void **state) {
    (void)state;
    npu_target *target = open_host(3, NPU_MODE_DEFAULT);
    static uint8_t file[680];
    npu_tensor tensors[] = {dense(32, 1, NPU_TYPE_F32, 0),
                            {.nb = {34, 34, 680, 680}, .ne = {32, 20, 1, 1}},
                            dense(20, 1, NPU_TYPE_F32, 256),
                            dense(2, 1, NPU_TYPE_I32, 512),
                            dense(32, 2, NPU_TYPE_F32, 1024)};
    npu_op ops[2];
    npu_buffer *buffers[2];
    npu_event event;
    npu_error err = {0};
    const int32_t ids[2] = {17, 3};
    for (int i = 0; i < 680; i++) file[i] = i % 34 < 2 ? (uint8_t)(i % 34 * 0x3C) : (uint8_t)(i % 97);
    tensors[1].type = NPU_TYPE_Q8_0, tensors[1].flags = NPU_TENSOR_WEIGHT, tensors[1].buffer = 1;
    ops[0] = ops[1] = (npu_op){.code = NPU_OP_GET_ROWS};
    for (int i = 0; i < 2; i++)
        memset(ops[i].src, 0xFF, sizeof ops[i].src), memset(ops[i].dst, 0xFF, sizeof ops[i].dst);
    ops[0].src[0] = 1, ops[0].src[1] = 3, ops[0].dst[0] = 4;
    ops[1].code = NPU_OP_MUL_MAT, ops[1].src[0] = 0, ops[1].src[1] = 1, ops[1].dst[0] = 2;
    assert_int_equal(target->ops->buffer_alloc(target, 2048, NPU_BUFFER_COMPUTE, &buffers[0], &err), NPU_OK);
    assert_int_equal(npu_host_buffer_wrap(file, sizeof file, NPU_BUFFER_WEIGHTS, &buffers[1], &err), NPU_OK);
    memcpy(buffers[0]->data + 512, ids, sizeof ids);
    npu_batch batch = {.image_id = 1, .tensors = tensors, .ops = ops, .buffers = buffers};
    batch.n_tensors = 5, batch.n_ops = 2, batch.n_buffers = 2;
    for (int again = 0; again < 2; again++) {
        const float *y = (const float *)(const void *)(buffers[0]->data + 1024);
        memset(buffers[0]->data + 1024, 0xFF, 256);
        assert_int_equal(target->ops->submit(target, &batch, &event, &err), NPU_OK);
        for (int i = 0; i < 64; i++) assert_true(y[i] == (float)((34 * ids[i / 32] + 2 + i % 32) % 97));
        if (((const npu_host *)target)->copies) memset(file, 0, sizeof file);
    }
    target->ops->buffer_free(target, buffers[1]);
    target->ops->buffer_free(target, buffers[0]);
    target->ops->close(target);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_is_looked_at),
        cmocka_unit_test(a_batch_runs_and_keeps_to_its_rows),
        cmocka_unit_test(bad_batches_are_refused),
        cmocka_unit_test(gemv_is_a_product),
        cmocka_unit_test(files_are_not_written),
        cmocka_unit_test(weights_are_packed_once),
        cmocka_unit_test(rows_of_packed_weights_are_read_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
