/* Ops of the NPU program against the host's reference, through both targets' vtables: the same batch, the same bytes.
 * Odd sizes, step row counts below the largest, offsets and gaps; the bytes around a result must stay. */
#include "two_targets.h"

static void rms_norm(void **state) {
    (void)state;
    static const uint32_t k[] = {1, 31, 32, 33, 64, 576, 1000};
    for (unsigned i = 0; i < 7; i++)
        for (uint32_t rows = 1; rows < 12; rows += 5) {
            begin(i * 100 + rows, NPU_OP_RMS_NORM);
            f.op.params.eps.eps = 1e-5f;
            f.op.src[0] = add(NPU_TYPE_F32, k[i], rows, 1, i % 2 * 12);
            if (i % 3) f.op.src[1] = add(NPU_TYPE_F32, k[i], 1, 1, 0);
            f.op.dst[0] = add(NPU_TYPE_F32, k[i], rows, 1, i % 2 * 8);
            rows_step(f.op.src[0], 1), rows_step(f.op.dst[0], 1);
            f.step.rows[NPU_ROWS_STEP] = rows > 1 ? rows - 1 : 1;
            run(NPU_OK);
        }
}

static void elementwise(void **state) {
    (void)state;
    static const uint16_t codes[] = {NPU_OP_ADD,   NPU_OP_SUB, NPU_OP_MUL, NPU_OP_DIV,
                                     NPU_OP_SCALE, NPU_OP_GLU, NPU_OP_CPY};
    for (unsigned i = 0; i < 7; i++)
        for (uint32_t k = 5; k < 20000; k = k * 3 + 7) {
            begin(i * 77 + k, codes[i]);
            uint8_t from = NPU_TYPE_F32, to = NPU_TYPE_F32;
            if (codes[i] == NPU_OP_SCALE) f.op.params.scale.scale = 0.3f, f.op.params.scale.bias = k % 2 ? 1.5f : 0;
            if (codes[i] == NPU_OP_CPY)
                from = k % 2 ? NPU_TYPE_F16 : NPU_TYPE_F32, to = k % 3 ? NPU_TYPE_F16 : NPU_TYPE_F32;
            f.op.src[0] = add(from, k, 3, 2, 4);
            if (i < 4) f.op.src[1] = add(NPU_TYPE_F32, k, k % 2 ? 1 : 3, k % 4 == 1 ? 2 : 1, 0);
            if (codes[i] == NPU_OP_GLU) f.op.src[1] = add(NPU_TYPE_F32, k, 3, 2, 8);
            f.op.dst[0] = add(to, k, 3, 2, 4);
            run(NPU_OK);
        }
    begin(3, NPU_OP_GLU);
    f.op.src[0] = add(NPU_TYPE_F32, 130, 3, 1, 0);
    f.op.dst[0] = add(NPU_TYPE_F32, 65, 3, 1, 0);
    run(NPU_OK);
}

static void list(uint16_t t, uint32_t n, uint32_t limit) {
    for (uint32_t i = 0; i < n; i++)
        ((int32_t *)(void *)(arenas[0]->data + f.tensors[t].offset))[i] = (int32_t)((i * 7 + 3) % limit);
}

static void rows(void **state) {
    (void)state;
    const npu_format *format;
    for (unsigned i = 0; (format = npu_format_at(i)); i++)
        for (uint32_t times = 1; times < 24; times = times * 2 + 1) {
            uint32_t k = format->block_values == 1    ? times * 27
                         : format->block_values == 32 ? times * 32
                                                      : times / 3 * 256;
            if (!k) continue;
            begin(i * 31 + k, NPU_OP_GET_ROWS);
            int plain = format->flags & NPU_FORMAT_FLOAT;
            f.op.src[0] =
                plain && times % 2 ? add((uint8_t)format->type, k, 70, 1, 4) : add_weight((uint8_t)format->type, k, 70);
            f.op.src[1] = add(NPU_TYPE_I32, 9, 1, 1, 0);
            list(f.op.src[1], 9, 70);
            f.op.dst[0] = add(NPU_TYPE_F32, k, 9, 1, 4);
            rows_step(f.op.src[1], 0), rows_step(f.op.dst[0], 1);
            f.step.rows[NPU_ROWS_STEP] = 8;
            run(NPU_OK);
            ((int32_t *)(void *)(arenas[0]->data + f.tensors[f.op.src[1]].offset))[5] = 70;
            run(NPU_RANGE);
        }
    for (unsigned i = 0; i < 2; i++) {
        begin(i + 5, NPU_OP_SET_ROWS);
        f.op.src[0] = add(NPU_TYPE_F32, 77, 6, 1, 0);
        f.op.src[1] = add(NPU_TYPE_I32, 6, 1, 1, 0);
        list(f.op.src[1], 6, 11);
        f.op.dst[0] = add(i ? NPU_TYPE_F16 : NPU_TYPE_F32, 77, 11, 1, i ? 2 : 4);
        run(NPU_OK);
        ((int32_t *)(void *)(arenas[0]->data + f.tensors[f.op.src[1]].offset))[5] = -1;
        run(NPU_RANGE);
    }
}

static void product(unsigned w, uint8_t type, uint32_t k, uint32_t n, uint32_t m) {
    f.op.src[1 + w] = add_weight(type, k, n);
    if (w == 1) f.op.src[5 + w] = add(NPU_TYPE_F32, n, 1, 1, 0);
    f.op.dst[w] = add(NPU_TYPE_F32, n, m, 1, 4);
    rows_step(f.op.dst[w], 1);
}

static void mul_mat(void **state) {
    (void)state;
    const npu_format *format;
    for (unsigned i = 0; (format = npu_format_at(i)); i++)
        for (uint32_t times = 1; times < 12; times = times * 3 + 1)
            for (uint32_t m = 1; m < 40; m = m * 3 + 1) {
                uint32_t k = format->block_values == 1 ? times * 77 : format->block_values * times;
                static const uint32_t n[4] = {33, 7, 200, 0};
                begin(i * 1000 + k + m, NPU_OP_MUL_MAT);
                f.op.src[0] = add(NPU_TYPE_F32, k, m, 1, 16);
                for (unsigned w = 0; w < (times > 1 ? 3u : 1u); w++) product(w, (uint8_t)format->type, k, n[w], m);
                rows_step(f.op.src[0], 1);
                f.step.rows[NPU_ROWS_STEP] = m > 3 ? m - 2 : m;
                run(NPU_OK);
            }
}

/* Weights of several kinds over one activation; rows so long that a unit has few; values that are not numbers. */
static void mul_mat_mixed(void **state) {
    (void)state;
    static const uint8_t types[4] = {NPU_TYPE_F16, NPU_TYPE_Q4_K, NPU_TYPE_F32, NPU_TYPE_Q6_K};
    for (uint32_t m = 1; m < 10; m += 4) {
        uint32_t k = m == 5 ? 16384 : 1280;
        begin(m, NPU_OP_MUL_MAT);
        f.op.src[0] = add(NPU_TYPE_F32, k, m, 1, 0);
        for (unsigned w = 0; w < 4; w++) product(w, types[w], k, 37 + 3 * w, m);
        rows_step(f.op.src[0], 1);
        f.step.rows[NPU_ROWS_STEP] = m;
        run(NPU_OK);
        if (m > 1) continue;
        float *x = (float *)(void *)(arenas[0]->data + f.tensors[f.op.src[0]].offset);
        for (uint32_t i = 0; i < k; i++) x[i] = i / 32 % 2 ? 0 : x[i] * 1e-33f;
        run(NPU_OK);
    }
}

/* Rows of the result so far apart that old chips' DMA can't count it, and more of them than it has descriptors. */
static void mul_mat_far_rows(void **state) {
    (void)state;
    for (uint32_t m = 3; m < 150; m += 97) {
        begin(m, NPU_OP_MUL_MAT);
        f.op.src[0] = add(NPU_TYPE_F32, 64, m, 1, 0);
        f.op.src[1] = add_weight(NPU_TYPE_Q4_0, 64, 300);
        f.op.dst[0] = add(NPU_TYPE_F32, 300, m, 1, 66000);
        run(NPU_OK);
    }
}

/* Matrices of x by matrices of a weight of plain numbers, which serve several of them. */
static void mul_mat_batched(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        uint8_t type = i % 2 ? NPU_TYPE_F16 : NPU_TYPE_F32;
        uint32_t k = 40 + 33 * i, n = 5 + 17 * i, m = 1 + 2 * i;
        begin(i + 50, NPU_OP_MUL_MAT);
        f.op.src[0] = add(NPU_TYPE_F32, k, m, 6, 8);
        f.op.src[1] = add(type, k, n, i % 3 == 0 ? 6 : i % 3 == 1 ? 2 : 1, 4);
        f.op.dst[0] = add(NPU_TYPE_F32, n, m, 6, 12);
        run(NPU_OK);
    }
}

static void rope(void **state) {
    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        uint32_t d = i < 4 ? 64 : 96, p = i % 3 ? d / 2 : d / 4;
        begin(i + 900, NPU_OP_ROPE_TABLE);
        f.op.params.rope_table.scale = 1.1f;
        f.op.src[0] = add(NPU_TYPE_I32, 5, 1, 1, 0);
        list(f.op.src[0], 5, 4000);
        f.op.src[1] = add(NPU_TYPE_F32, p, 1, 1, 0);
        f.op.dst[0] = add(NPU_TYPE_F32, 2 * p, 5, 1, 8);
        run(NPU_OK);
        begin(i + 700, NPU_OP_ROPE);
        f.op.params.rope.mode = i % 2;
        f.op.src[0] = add(NPU_TYPE_F32, d, 3, 5, 8);
        f.op.src[1] = add(NPU_TYPE_F32, 2 * p, 5, 1, 0);
        f.op.dst[0] = i % 4 == 3 ? f.op.src[0] : add(NPU_TYPE_F32, d, 3, 5, 0);
        run(NPU_OK);
    }
}

static void flash_attn(void **state) {
    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        uint32_t d = i % 2 ? 64 : 96, heads = i % 3 ? 6 : 4, kv = i % 3 ? 3 : 1, cells = i > 7 ? 2500 : 150,
                 m = i > 7 ? 3 : 1 + i * 2;
        uint8_t type = i % 4 ? NPU_TYPE_F16 : NPU_TYPE_F32;
        begin(i + 300, NPU_OP_FLASH_ATTN);
        f.op.params.attn =
            (npu_params_attn){.scale = 0.125f, .softcap = i == 3 ? 20.0f : 0, .window = i % 5 == 4 ? 40 : 0};
        f.op.src[0] = add(NPU_TYPE_F32, d, heads, m, 0);
        f.op.src[1] = add(type, d, kv, cells, 0);
        f.op.src[2] = add(type, i == 6 ? 32 : d, kv, cells, 0);
        f.op.src[3] = add(NPU_TYPE_I32, 2, m, 1, 0);
        if (i % 3 == 1) f.op.src[5] = add(NPU_TYPE_F32, heads, 1, 1, 0);
        f.op.dst[0] = add(NPU_TYPE_F32, i == 6 ? 32 : d, heads, m, 0);
        int32_t *spans = (int32_t *)(void *)(arenas[0]->data + f.tensors[f.op.src[3]].offset);
        for (uint32_t r = 0; r < m; r++) {
            spans[2 * r] = r % 4 == 3 ? 7 : 2;
            spans[2 * r + 1] = (int32_t)(cells - 20 - m + r);
            if (i == 5 && r == 2) spans[2 * r + 1] = 1;
        }
        run(NPU_OK);
        spans[1] = (int32_t)cells;
        run(NPU_RANGE);
    }
}

/* Lists that begin in the middle of a line and end in the next; sinks; slopes of many heads; rows that repeat. */
static void lines(void **state) {
    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        begin(i + 70, NPU_OP_GET_ROWS);
        f.op.src[0] = add(NPU_TYPE_F32, 40, 70, 1, 0);
        f.used += 100;
        f.op.src[1] = add(NPU_TYPE_I32, 9, 1, 1, 0);
        list(f.op.src[1], 9, 60 + i);
        f.op.dst[0] = add(NPU_TYPE_F32, 40, 9, 1, 4);
        run(NPU_OK);
        begin(i + 80, NPU_OP_SOFT_MAX);
        f.op.params.softmax = (npu_params_softmax){.scale = 0.3f, .max_bias = i % 2 ? 8.0f : 0};
        f.op.src[0] = add(NPU_TYPE_F32, 45 + i, 6, 12, 4);
        f.op.src[1] = add(i < 3 ? NPU_TYPE_F16 : NPU_TYPE_F32, 45 + i, 6, 1, i < 3 ? 2 : 0);
        f.op.src[2] = add(NPU_TYPE_F32, 12, 1, 1, 0);
        f.op.dst[0] = add(NPU_TYPE_F32, 45 + i, 6, 12, 0);
        run(NPU_OK);
        begin(i + 90, NPU_OP_FLASH_ATTN);
        f.op.params.attn = (npu_params_attn){.scale = 0.125f, .max_bias = 8.0f};
        f.op.src[0] = add(NPU_TYPE_F32, 64, 24, 3 + i, 0);
        f.op.src[1] = add(NPU_TYPE_F16, 64, 4, 90, 0);
        f.op.src[2] = add(NPU_TYPE_F16, 64, 4, 90, 0);
        f.op.src[3] = add(NPU_TYPE_I32, 2, 3 + i, 1, 0);
        f.op.src[4] = add(NPU_TYPE_F32, 90, 3 + i, 1, 0);
        f.op.dst[0] = add(NPU_TYPE_F32, 64, 24, 3 + i, 0);
        for (uint32_t r = 0; r < 3 + i; r++) {
            int32_t *span = (int32_t *)(void *)(arenas[0]->data + f.tensors[f.op.src[3]].offset) + (size_t)2 * r;
            span[0] = 0;
            span[1] = (int32_t)(80 + r);
        }
        run(NPU_OK);
        begin(i + 95, NPU_OP_ADD);
        f.op.src[0] = add(NPU_TYPE_F32, 35, 50, 1, 0);
        f.op.src[1] = add(NPU_TYPE_F32, 5 + 30 * (i % 2), 50, 1, 0);
        f.op.src[1] = i % 2 ? f.op.src[1] : add(NPU_TYPE_F32, 7, 1, 1, 0);
        f.op.dst[0] = add(NPU_TYPE_F32, 35, 50, 1, 0);
        run(NPU_OK);
    }
}

/* Batches that are not kept share a place in shared memory: the second must not reach what the first is read from. */
static void two_at_once(void **state) {
    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        npu_event events[2];
        npu_error err = {0};
        begin(i + 40, NPU_OP_RMS_NORM);
        f.op.src[0] = add(NPU_TYPE_F32, 64, 3, 1, 0);
        uint16_t results[2] = {add(NPU_TYPE_F32, 64, 3, 1, 0), add(NPU_TYPE_F32, 64, 3, 1, 0)};
        memcpy(arenas[1]->data, arenas[0]->data, f.used);
        for (int t = 0; t < 2; t++) {
            for (int k = 0; k < 2; k++) {
                f.op.dst[0] = results[k];
                f.op.params.eps.eps = k ? 0.5f : 0.25f;
                npu_batch batch = {.tensors = f.tensors, .ops = &f.op, .buffers = &arenas[t], .n_tensors = f.n};
                batch.n_ops = batch.n_buffers = 1;
                batch.weights = f.weights;
                if (targets[t]->ops->submit(targets[t], &batch, &events[k], &err) != NPU_OK) fail_msg("%s", err.text);
                if (!t && targets[t]->ops->wait(targets[t], events[k], &err) != NPU_OK) fail_msg("%s", err.text);
            }
            for (int k = 0; t && k < 2; k++)
                if (targets[t]->ops->wait(targets[t], events[k], &err) != NPU_OK) fail_msg("%s", err.text);
        }
        assert_memory_equal(arenas[0]->data, arenas[1]->data, f.used);
    }
}

/* One product through the vtable's gemv: the host's bytes, or a plain word that this device has no such product. */
static void gemv(void **state) {
    (void)state;
    enum { M = 3, K = 64, N = 33 };
    static float x[M * K], w[K * N], y[2][M * N];
    npu_error err = {0};
    f.seed = 11;
    for (int i = 0; i < M * K; i++) x[i] = rnd_float();
    for (int i = 0; i < K * N; i++) w[i] = rnd_float();
    npu_gemv_args args = {.M = M, .K = K, .N = N, .x = x, .weights = w, .wkey = -1};
    assert_int_equal(targets[0]->ops->gemv(targets[0], &args, y[0], &err), NPU_OK);
    npu_status status = targets[1]->ops->gemv(targets[1], &args, y[1], &err);
    if (status == NPU_UNSUPPORTED)
        assert_string_equal(err.code, "hexagon.op");
    else
        assert_memory_equal(y[0], y[1], sizeof y[0]);
}

static int setup(void **state) {
    (void)state;
    return open_targets(NULL);
}

/* The device looks at a request only after 20 ms, so that the next one is sent before, on a busy machine too. */
static int setup_late(void **state) {
    static const char *const emu[] = {"fault=dsp:dspqueue_read@1+=delay:20000", NULL};
    (void)state;
    return open_targets(emu);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rms_norm),
        cmocka_unit_test(elementwise),
        cmocka_unit_test(rows),
        cmocka_unit_test(mul_mat),
        cmocka_unit_test(mul_mat_mixed),
        cmocka_unit_test(mul_mat_batched),
        cmocka_unit_test(mul_mat_far_rows),
        cmocka_unit_test(rope),
        cmocka_unit_test(flash_attn),
        cmocka_unit_test(gemv),
        cmocka_unit_test(lines),
    };
    const struct CMUnitTest late[] = {cmocka_unit_test(two_at_once)};
    return cmocka_run_group_tests(tests, setup, teardown) + cmocka_run_group_tests(late, setup_late, teardown);
}
