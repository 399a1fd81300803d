/* Several emulated devices as one target, below the executor: buffers that come and go between batches, batches that
 * are not kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "npu/npu.h"
#include "target/hexagon/hexagon_internal.h"
#include "target/hexagon/hexagon_session_internal.h"
#include "wire/format.h"

enum { K = 256, ROWS = 4, ROW_BYTES = K * 4, BYTES = ROWS * ROW_BYTES };

static npu_target *open_set(const char *split) {
    static const char *const two[] = {"cdsps=2", NULL};
    npu_target_params params = {.driver = "sim", .devices = "0:0,1:0", .split = split, .emu = two};
    npu_target *t;
    npu_error err = {0};
    if (npu_target_hexagon.open(&params, NULL, NULL, &t, &err) != NPU_OK) fail_msg("%s", err.text);
    npu_hex_target *set = (npu_hex_target *)t; /* as a plan would say it: a layer on each */
    assert_non_null(set->layer_device = calloc(2, 1));
    set->n_layers = 2;
    set->layer_device[1] = 1;
    return t;
}

static npu_buffer *alloc(npu_target *t, uint64_t bytes, npu_buffer_use use) {
    npu_buffer *b;
    npu_error err = {0};
    if (npu_target_hexagon.buffer_alloc(t, bytes, use, &b, &err) != NPU_OK) fail_msg("%s", err.text);
    return b;
}

static npu_tensor tensor(uint16_t buffer, uint64_t offset) {
    return (npu_tensor){.ne = {K, ROWS, 1, 1},
                        .nb = {4, ROW_BYTES, BYTES, BYTES},
                        .type = NPU_TYPE_F32,
                        .buffer = buffer,
                        .offset = offset};
}

/* y = norm(x) in |compute| at |offset|; z = rows of y that are asked for. By rows y lies in memory of each device's
 * own; by layers it passes to what is done once a step, since y is
 * written over at the end. All of x is |value|. |image_id| 0: not kept. */
static npu_status try_norm_and_take(npu_target *t, npu_buffer *io, npu_buffer *compute, uint64_t offset, float value,
                                    uint64_t image_id, npu_error *err) {
    npu_buffer *buffers[] = {io, compute};
    npu_tensor tensors[] = {tensor(0, 0), tensor(1, offset), tensor(0, BYTES), {.offset = 2 * BYTES}};
    npu_weight_ref weights[4] = {{0}};
    npu_op ops[3];
    npu_event event;
    memset(ops, 0, sizeof ops);
    for (int i = 0; i < 3; i++) {
        memset(ops[i].src, 0xFF, sizeof ops[i].src);
        memset(ops[i].dst, 0xFF, sizeof ops[i].dst);
        ops[i].layer = i > 0;
    }
    for (int i = 0; i < 2; i++) tensors[i].rows_of = NPU_ROWS_STEP, tensors[i].rows_dim = 1;
    tensors[2].rows_of = NPU_ROWS_OUT, tensors[2].rows_dim = 1;
    tensors[3].type = NPU_TYPE_I32;
    tensors[3].rows_of = NPU_ROWS_OUT;
    for (int i = 0; i < 4; i++) tensors[3].ne[i] = i ? 1 : ROWS, tensors[3].nb[i] = i ? ROWS * 4 : 4;
    ops[0].code = NPU_OP_L2_NORM, ops[0].params.eps.eps = 1e-6f, ops[0].src[0] = 0, ops[0].dst[0] = 1;
    ops[1].code = NPU_OP_GET_ROWS, ops[1].src[0] = 1, ops[1].src[1] = 3, ops[1].dst[0] = 2;
    ops[2] = ops[0], ops[2].layer = 1;
    for (int i = 0; i < K * ROWS; i++) ((float *)(void *)io->data)[i] = value;
    for (int i = 0; i < ROWS; i++) ((int32_t *)(void *)(io->data + 2 * BYTES))[i] = ROWS - 1 - i;
    memset(io->data + BYTES, 0, BYTES);
    npu_batch batch = {.tensors = tensors, .ops = ops, .buffers = buffers, .n_tensors = 4, .n_ops = 3};
    batch.image_id = image_id;
    batch.n_buffers = 2, batch.weights = weights;
    batch.step.rows[NPU_ROWS_STEP] = batch.step.rows[NPU_ROWS_OUT] = ROWS;
    NPU_TRY(npu_target_hexagon.submit(t, &batch, &event, err));
    NPU_TRY(npu_target_hexagon.wait(t, event, err));
    for (int i = 0; i < K * ROWS; i++) {
        float z = ((const float *)(const void *)(io->data + BYTES))[i], want = value > 0 ? 0.0625f : -0.0625f;
        if (z < want - 1e-5f || z > want + 1e-5f) fail_msg("value %d is %g, not %g", i, (double)z, (double)want);
    }
    return NPU_OK;
}

static void norm_and_take(npu_target *t, npu_buffer *io, npu_buffer *compute, uint64_t offset, float value) {
    npu_error err = {0};
    if (try_norm_and_take(t, io, compute, offset, value, 0, &err) != NPU_OK) fail_msg("%s", err.text);
}

/* A buffer that is freed takes along what each device had beside it: the next one may get its address, and is larger.
 */
static void buffers_come_and_go(void **state) {
    static const char *const splits[] = {"row", "layer"};
    (void)state;
    for (int s = 0; s < 2; s++) {
        npu_target *t = open_set(splits[s]);
        npu_buffer *io = alloc(t, 4 * BYTES, NPU_BUFFER_IO);
        for (uint64_t i = 1; i < 12; i++) {
            npu_buffer *compute = alloc(t, i * 4 * BYTES, NPU_BUFFER_COMPUTE);
            norm_and_take(t, io, compute, (i * 4 - 1) * BYTES, i % 2 ? 1.0f : -1.0f);
            npu_target_hexagon.buffer_free(t, compute);
        }
        npu_target_hexagon.buffer_free(t, io);
        npu_target_hexagon.close(t);
    }
}

/* What passes between the devices of batches that are not kept is one buffer, not one a batch. */
static void batches_leave_nothing(void **state) {
    static const char *const splits[] = {"row", "layer"};
    (void)state;
    for (int s = 0; s < 2; s++) {
        npu_target_counters before, after;
        npu_target *t = open_set(splits[s]);
        npu_buffer *io = alloc(t, 4 * BYTES, NPU_BUFFER_IO), *compute = alloc(t, 4 * BYTES, NPU_BUFFER_COMPUTE);
        norm_and_take(t, io, compute, 0, 1);
        npu_target_hexagon.count(t, &before);
        for (int i = 0; i < 20; i++) norm_and_take(t, io, compute, 0, i % 2 ? 1.0f : -1.0f);
        npu_target_hexagon.count(t, &after);
        assert_int_equal(after.allocations, before.allocations);
        npu_target_hexagon.buffer_free(t, io);
        npu_target_hexagon.buffer_free(t, compute);
        npu_target_hexagon.close(t);
    }
}

static void *(*alloc2)(int heap, uint32_t flags, size_t bytes);
static unsigned allocations_left;

static void *alloc_some(int heap, uint32_t flags, size_t bytes) {
    if (!allocations_left) return NULL;
    allocations_left--;
    return alloc2(heap, flags, bytes);
}

static unsigned n_buffers(const npu_target *t) {
    unsigned n = 0;
    for (const npu_hex_buffer *b = ((const npu_hex_target *)t)->session->buffers; b; b = b->next) n++;
    return n;
}

/* A kept batch that memory does not suffice for gives back what it had got, and works when there is more. */
static void kept_batches_fail(void **state) {
    npu_error err = {0};
    npu_target *t = open_set("layer");
    npu_buffer *io = alloc(t, 4 * BYTES, NPU_BUFFER_IO), *compute = alloc(t, 4 * BYTES, NPU_BUFFER_COMPUTE);
    unsigned before = n_buffers(t), most = 0;
    npu_hex_driver *driver = &((npu_hex_target *)t)->driver;
    (void)state;
    alloc2 = driver->rpcmem_alloc2;
    driver->rpcmem_alloc2 = alloc_some;
    for (;; most++) {
        allocations_left = most;
        npu_status status = try_norm_and_take(t, io, compute, 0, 1, 1, &err);
        if (status == NPU_OK) break;
        assert_int_equal(status, NPU_NO_MEMORY);
        assert_int_equal(n_buffers(t), before);
    }
    assert_true(most >= 2); /* what passes between the devices, and images */
    npu_target_hexagon.buffer_free(t, io);
    npu_target_hexagon.buffer_free(t, compute);
    npu_target_hexagon.close(t);
}

/* With more devices than key-value heads, heads have copies on several: a sequence that the host copies must be copied
 * in each of them. */
static void copied_sequences(void **state) {
    static const char *const two[] = {"cdsps=2", NULL};
    const char *shared = getenv("NPU_SHARED");
    char path[512];
    npu_model *model;
    npu_context *context;
    npu_error err = {0};
    npu_row rows[20], last = {.token = 5, .logits = true};
    (void)state;
    snprintf(path, sizeof path, "%s/refs/a/llama-tied-q4_1/model.gguf", shared ? shared : ".");
    if (access(path, R_OK)) skip();
    npu_context_params params = {.ctx = 64, .n_seq = 2, .npu_target = "hexagon", .driver = "sim", .emu = two};
    params.npu_devices = "0:0,0:1,1:0,1:1";
    params.split = "tensor";
    if (npu_model_open(path, NULL, &model, &err) != NPU_OK) fail_msg("%s", err.text);
    if (npu_context_open(model, &params, &context, &err) != NPU_OK) fail_msg("%s", err.text);
    for (int i = 0; i < 20; i++) rows[i] = (npu_row){.token = 3 + 7 * i % 90};
    if (npu_decode(context, rows, 20, &err) != NPU_OK) fail_msg("%s", err.text);
    if (npu_seq_copy(context, 0, 1, 20, &err) != NPU_OK) fail_msg("%s", err.text);
    if (npu_decode(context, &last, 1, &err) != NPU_OK) fail_msg("%s", err.text);
    float want[64];
    memcpy(want, npu_logits(context, 0), sizeof want);
    last.seq = 1;
    if (npu_decode(context, &last, 1, &err) != NPU_OK) fail_msg("%s", err.text);
    assert_memory_equal(want, npu_logits(context, 0), sizeof want);
    npu_context_close(context);
    npu_model_close(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(buffers_come_and_go), cmocka_unit_test(batches_leave_nothing),
                                       cmocka_unit_test(kept_batches_fail), cmocka_unit_test(copied_sequences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
