/* The references themselves against the plain mathematics in double precision, for what the reference logits of whole
 * models do not reach: masks, sinks, ALiBi, windows, soft-caps, orders and layouts. One op at a time through the host
 * target at level "ref"; tensors are dense and lie one after the other in one buffer. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "quant/quant.h"
#include "target/host/host.h"
#include "wire/format.h"
#include "wire/op_check.h"

enum { BYTES = 1 << 20 };

typedef struct bench {
    npu_target *target;
    npu_buffer *buffer;
    npu_tensor tensors[8];
    uint32_t n;
    uint64_t used;
    npu_op op;
    uint32_t random;
} bench;

static void start(bench *b, uint32_t code, npu_mode mode) {
    npu_error err = {0};
    npu_target_params params = {.cpu_level = "ref", .n_threads = 2, .mode = mode};
    *b = (bench){.op.code = (uint16_t)code, .random = 12345};
    memset(b->op.src, 0xFF, sizeof b->op.src);
    memset(b->op.dst, 0xFF, sizeof b->op.dst);
    assert_int_equal(npu_target_host.open(&params, NULL, NULL, &b->target, &err), NPU_OK);
    assert_int_equal(npu_target_host.buffer_alloc(b->target, BYTES, NPU_BUFFER_COMPUTE, &b->buffer, &err), NPU_OK);
}

static void end(bench *b) {
    npu_target_host.buffer_free(b->target, b->buffer);
    npu_target_host.close(b->target);
}

static float noise(bench *b) {
    b->random = b->random * 1664525u + 1013904223u;
    return (float)(int32_t)b->random / 2147483648.0f * 2;
}

/* A tensor of numbers between -2 and 2 (F32 only). */
static float *add(bench *b, uint16_t *slot, uint32_t type, uint32_t ne0, uint32_t ne1, uint32_t ne2) {
    npu_tensor *t = &b->tensors[b->n];
    uint32_t values;
    *t = (npu_tensor){.offset = b->used, .ne = {ne0, ne1, ne2, 1}, .type = (uint8_t)type};
    t->nb[0] = npu_tensor_unit(t, &values);
    t->nb[1] = t->nb[0] * (ne0 / values);
    t->nb[2] = t->nb[1] * ne1;
    t->nb[3] = t->nb[2] * ne2;
    *slot = (uint16_t)b->n++;
    b->used += (t->nb[3] + 127) & ~127ull;
    assert_true(b->used <= BYTES);
    float *data = (float *)(void *)(b->buffer->data + t->offset);
    for (uint64_t i = 0; type == NPU_TYPE_F32 && i < (uint64_t)ne0 * ne1 * ne2; i++) data[i] = noise(b);
    return data;
}

static void run(bench *b) {
    npu_error err = {0};
    npu_event event;
    npu_batch batch = {
        .tensors = b->tensors, .ops = &b->op, .buffers = &b->buffer, .n_tensors = b->n, .n_ops = 1, .n_buffers = 1};
    npu_status status = b->target->ops->submit(b->target, &batch, &event, &err);
    if (status != NPU_OK) fail_msg("%s", err.text);
}

static void near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance)) fail_msg("%.9g instead of %.9g", got, want);
}

static void norms(void **state) {
    (void)state;
    enum { K = 77, ROWS = 3 };
    const uint32_t codes[] = {NPU_OP_RMS_NORM, NPU_OP_NORM, NPU_OP_L2_NORM};
    for (int i = 0; i < 6; i++) {
        bench b;
        start(&b, codes[i / 2], i % 2 ? NPU_MODE_EXACT : NPU_MODE_DEFAULT);
        b.op.params.eps.eps = 1e-3f;
        const float *x = add(&b, &b.op.src[0], NPU_TYPE_F32, K, ROWS, 1), *w = NULL, *bias = NULL;
        if (b.op.code != NPU_OP_L2_NORM) w = add(&b, &b.op.src[1], NPU_TYPE_F32, K, 1, 1);
        if (b.op.code == NPU_OP_NORM) bias = add(&b, &b.op.src[2], NPU_TYPE_F32, K, 1, 1);
        const float *y = add(&b, &b.op.dst[0], NPU_TYPE_F32, K, ROWS, 1);
        run(&b);
        for (int r = 0; r < ROWS; r++, x += K, y += K) {
            double mean = 0, ss = 0;
            for (int k = 0; k < K && b.op.code == NPU_OP_NORM; k++) mean += (double)x[k] / K;
            for (int k = 0; k < K; k++) ss += ((double)x[k] - mean) * ((double)x[k] - mean);
            double f = b.op.code == NPU_OP_L2_NORM ? 1 / sqrt(ss) : 1 / sqrt(ss / K + (double)1e-3f);
            for (int k = 0; k < K; k++) {
                double want = ((double)x[k] - mean) * f * (w ? (double)w[k] : 1) + (bias ? (double)bias[k] : 0);
                near((double)y[k], want, 2e-6);
            }
        }
        end(&b);
    }
}

/* 6 heads are not a power of two: slopes 2^-2, 2^-4, 2^-6, 2^-8, then 2^-1, 2^-3 for a bias of 8. */
static const double slopes[] = {0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125};

static void soft_max_with_everything(void **state) {
    (void)state;
    enum { K = 45, R = 3, H = 6 };
    bench b;
    start(&b, NPU_OP_SOFT_MAX, NPU_MODE_DEFAULT);
    b.op.params.softmax = (npu_params_softmax){0.7f, 8};
    const float *x = add(&b, &b.op.src[0], NPU_TYPE_F32, K, R, H);
    float *mask = add(&b, &b.op.src[1], NPU_TYPE_F32, K, R, 1);
    const float *sinks = add(&b, &b.op.src[2], NPU_TYPE_F32, H, 1, 1);
    const float *y = add(&b, &b.op.dst[0], NPU_TYPE_F32, K, R, H);
    mask[5] = mask[K + 44] = -INFINITY;
    run(&b);
    for (int h = 0; h < H; h++) {
        for (int r = 0; r < R; r++) {
            const float *row = x + (h * R + r) * K, *out = y + (h * R + r) * K;
            double sum = exp((double)sinks[h]), v[K];
            for (int k = 0; k < K; k++) {
                v[k] = exp((double)row[k] * (double)0.7f + slopes[h] * (double)mask[r * K + k]);
                sum += v[k];
            }
            for (int k = 0; k < K; k++) near((double)out[k], v[k] / sum, 1e-6);
        }
    }
    end(&b);
}

static void attention(int window, float cap, int with_mask, int with_sinks) {
    enum { D = 20, DV = 12, HEADS = 6, KV = 3, CELLS = 1200, M = 3 };
    const int32_t all_spans[M][2] = {{7, 1100}, {0, 33}, {1199, 1}};
    bench b;
    start(&b, NPU_OP_FLASH_ATTN, NPU_MODE_EXACT);
    b.op.params.attn = (npu_params_attn){.scale = 0.3f, .softcap = cap, .window = (uint32_t)window};
    const float *q = add(&b, &b.op.src[0], NPU_TYPE_F32, D, HEADS, M);
    const float *k = add(&b, &b.op.src[1], NPU_TYPE_F32, D, KV, CELLS);
    const float *v = add(&b, &b.op.src[2], NPU_TYPE_F32, DV, KV, CELLS), *mask = NULL, *sinks = NULL;
    memcpy(add(&b, &b.op.src[3], NPU_TYPE_I32, 2, M, 1), all_spans, sizeof all_spans);
    if (with_mask) {
        mask = add(&b, &b.op.src[4], NPU_TYPE_F32, CELLS, M, 1);
        b.op.params.attn.max_bias = 8;
    }
    if (with_sinks) sinks = add(&b, &b.op.src[5], NPU_TYPE_F32, HEADS, 1, 1);
    const float *y = add(&b, &b.op.dst[0], NPU_TYPE_F32, DV, HEADS, M);
    run(&b);
    for (int m = 0; m < M; m++) {
        for (int h = 0; h < HEADS; h++) {
            int n = all_spans[m][1], lo = window && n > window ? n - window : 0;
            double sum = sinks ? exp((double)sinks[h]) : 0, want[DV] = {0};
            for (int j = lo; j < n; j++) {
                int cell = (all_spans[m][0] + j) * KV + h / (HEADS / KV);
                double s = 0;
                for (int i = 0; i < D; i++) s += (double)q[(m * HEADS + h) * D + i] * (double)k[cell * D + i];
                s *= (double)0.3f;
                if (cap != 0) s = (double)cap * tanh(s / (double)cap);
                if (mask) s += slopes[h] * (double)mask[m * CELLS + j];
                sum += exp(s);
                for (int i = 0; i < DV; i++) want[i] += exp(s) * (double)v[cell * DV + i];
            }
            for (int i = 0; i < DV; i++) near((double)y[(m * HEADS + h) * DV + i], want[i] / sum, 1e-5);
        }
    }
    end(&b);
}

static void attention_with_everything(void **state) {
    (void)state;
    attention(0, 0, 0, 0);
    attention(50, 0, 0, 1);
    attention(1090, 5, 1, 0);
    attention(0, 2, 1, 1);
}

/* Default mode stays near the product of the dequantised weights: an error of the size that int8 activations make. */
static void products(void **state) {
    (void)state;
    enum { K = 512, N = 9, M = 2 };
    const npu_format *f;
    for (uint32_t i = 0; (f = npu_format_at(i)); i++) {
        for (int mode = NPU_MODE_DEFAULT; mode <= NPU_MODE_EXACT; mode++) {
            bench b;
            start(&b, NPU_OP_MUL_MAT, (npu_mode)mode);
            const float *x = add(&b, &b.op.src[0], NPU_TYPE_F32, K, M, 1);
            uint8_t *w = (uint8_t *)add(&b, &b.op.src[1], f->type, K, N, 1);
            const float *bias = add(&b, &b.op.src[5], NPU_TYPE_F32, N, 1, 1);
            const float *y = add(&b, &b.op.dst[0], NPU_TYPE_F32, N, M, 1);
            /* Bytes whose scales are small normal halves wherever they lie: 0x28..0x2F in both halves of a word. */
            for (uint64_t j = 0; f->type != NPU_TYPE_F32 && j < b.tensors[1].nb[2]; j++)
                w[j] = (uint8_t)(0x28 + (uint32_t)(noise(&b) * 2 + 4) % 8);
            run(&b);
            double error = 0, power = 0;
            for (int m = 0; m < M; m++) {
                for (int n = 0; n < N; n++) {
                    float row[K];
                    double want = (double)bias[n];
                    npu_quant_of(f->type)->dequant(w + (uint64_t)n * b.tensors[1].nb[1], row, K);
                    for (int k = 0; k < K; k++) want += (double)row[k] * (double)x[m * K + k];
                    error += pow((double)y[m * N + n] - want, 2);
                    power += want * want;
                }
            }
            double limit = mode == NPU_MODE_EXACT || f->flags & NPU_FORMAT_FLOAT ? 1e-11 : 1e-3;
            if (!(error <= limit * power)) fail_msg("%s, mode %d: %g of %g", f->name, mode, error, power);
            end(&b);
        }
    }
}

static void orders(void **state) {
    (void)state;
    bench b;
    start(&b, NPU_OP_ARGSORT, NPU_MODE_DEFAULT);
    const float values[8] = {1, NAN, 3, -INFINITY, 1, -0.0f, 0, INFINITY};
    memcpy(add(&b, &b.op.src[0], NPU_TYPE_F32, 8, 1, 1), values, sizeof values);
    const int32_t *y = (const int32_t *)add(&b, &b.op.dst[0], NPU_TYPE_I32, 8, 1, 1);
    const int32_t up[8] = {3, 5, 6, 0, 4, 2, 7, 1}, down[8] = {7, 2, 0, 4, 5, 6, 3, 1};
    run(&b);
    assert_memory_equal(y, up, sizeof up);
    b.op.params.sort.descending = 1;
    run(&b);
    assert_memory_equal(y, down, sizeof down);
    end(&b);
}

static void layouts(void **state) {
    (void)state;
    bench b;
    start(&b, NPU_OP_CPY, NPU_MODE_DEFAULT);
    const float *x = add(&b, &b.op.src[0], NPU_TYPE_F32, 3, 5, 1);
    const float *y = add(&b, &b.op.dst[0], NPU_TYPE_F32, 3, 5, 1);
    b.tensors[0].nb[0] = 20; /* the transpose of a 5 x 3 matrix */
    b.tensors[0].nb[1] = 4;
    run(&b);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 5; j++) assert_true(y[j * 3 + i] == x[i * 5 + j]);
    end(&b);
    start(&b, NPU_OP_CONCAT, NPU_MODE_DEFAULT);
    x = add(&b, &b.op.src[0], NPU_TYPE_F32, 3, 2, 1);
    const float *z = add(&b, &b.op.src[1], NPU_TYPE_F32, 2, 2, 1);
    y = add(&b, &b.op.dst[0], NPU_TYPE_F32, 5, 2, 1);
    run(&b);
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < 5; i++) assert_true(y[r * 5 + i] == (i < 3 ? x[r * 3 + i] : z[r * 2 + i - 3]));
    end(&b);
    start(&b, NPU_OP_REPEAT, NPU_MODE_DEFAULT);
    x = add(&b, &b.op.src[0], NPU_TYPE_F32, 3, 2, 1);
    y = add(&b, &b.op.dst[0], NPU_TYPE_F32, 6, 2, 2);
    run(&b);
    for (int r = 0; r < 4; r++)
        for (int i = 0; i < 6; i++) assert_true(y[r * 6 + i] == x[r % 2 * 3 + i % 3]);
    end(&b);
}

static double activation(int kind, double g) {
    switch (kind) {
    case NPU_GLU_SILU:
        return g / (1 + exp(-g));
    case NPU_GLU_GELU:
        return 0.5 * g * (1 + tanh(sqrt(2 / 3.14159265358979) * (g + 0.044715 * g * g * g)));
    case NPU_GLU_GELU_ERF:
        return 0.5 * g * (1 + erf(g / sqrt(2)));
    case NPU_GLU_GELU_QUICK:
        return g / (1 + exp(-1.702 * g));
    case NPU_GLU_RELU:
        return g > 0 ? g : 0;
    default:
        return fmin(g, 1.5) / (1 + exp(-1.702 * fmin(g, 1.5)));
    }
}

static void gates(void **state) {
    (void)state;
    enum { K = 50 };
    for (int kind = NPU_GLU_SILU; kind <= NPU_GLU_OAI; kind++) {
        for (int swapped = 0; swapped <= 1; swapped++) {
            bench b;
            start(&b, NPU_OP_GLU, NPU_MODE_DEFAULT);
            b.op.params.glu = (npu_params_glu){kind, swapped, 1.702f, 1.5f};
            const float *x = add(&b, &b.op.src[0], NPU_TYPE_F32, 2 * K, 1, 1);
            const float *y = add(&b, &b.op.dst[0], NPU_TYPE_F32, K, 1, 1);
            run(&b);
            for (int i = 0; i < K; i++) {
                double g = (double)x[swapped ? K + i : i], u = (double)x[swapped ? i : K + i];
                if (kind == NPU_GLU_OAI) u = fmax(-1.5, fmin(1.5, u)) + 1;
                near((double)y[i], activation(kind, g) * u, 2e-6);
            }
            end(&b);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms),
        cmocka_unit_test(soft_max_with_everything),
        cmocka_unit_test(attention_with_everything),
        cmocka_unit_test(products),
        cmocka_unit_test(orders),
        cmocka_unit_test(layouts),
        cmocka_unit_test(gates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
