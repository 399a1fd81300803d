/* Two targets side by side, the host and the NPU program, and one op on both: tensors put into an arena, the batch run,
 * every byte of the two arenas compared. For hexagon_ops.c. */
#ifndef TWO_TARGETS_H
#define TWO_TARGETS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "quant/quant.h"
#include "target/target.h"
#include "wire/half.h"

extern const npu_target_ops npu_target_hexagon;

enum { ARENA = 16 << 20, MOST = 40 };

static npu_target *targets[2]; /* host, hexagon */
static npu_buffer *arenas[2];

typedef struct fixture {
    npu_tensor tensors[MOST];
    npu_weight_ref weights[MOST];
    npu_op op;
    uint32_t n;
    uint64_t used;
    uint64_t seed;
    npu_step step;
} fixture;

static fixture f;

static uint32_t rnd(void) {
    return (uint32_t)(npu_random_next(&f.seed) >> 33);
}

static float rnd_float(void) {
    float x = ((float)(rnd() & 0xFFFF) - 32768.0f) / 8192.0f;
    return rnd() % 37 == 0 ? x * 50 : x;
}

static void begin(uint64_t seed, uint16_t code) {
    memset(&f, 0, sizeof f);
    f.seed = seed;
    f.op.code = code;
    memset(f.op.src, 0xFF, sizeof f.op.src);
    memset(f.op.dst, 0xFF, sizeof f.op.dst);
    f.used = 256;
    memset(arenas[0]->data, 0xA5, 1 << 20);
}

/* A tensor with rows |gap| bytes apart from dense, filled with random values. */
static uint16_t add(uint8_t type, uint32_t ne0, uint32_t ne1, uint32_t ne2, uint32_t gap) {
    const npu_format *format = npu_format_of(type);
    uint32_t block = format ? format->block_bytes : 4, values = format ? format->block_values : 1;
    npu_tensor *t = &f.tensors[f.n];
    uint64_t row = (uint64_t)ne0 / values * block + gap;
    *t = (npu_tensor){
        .offset = f.used, .nb = {block, row, row * ne1, row * ne1 * ne2}, .ne = {ne0, ne1, ne2, 1}, .type = type};
    uint8_t *p = arenas[0]->data + f.used;
    for (uint64_t i = 0; i < row * ne1 * ne2; i++) p[i] = (uint8_t)rnd();
    for (uint64_t r = 0; r < (uint64_t)ne1 * ne2; r++)
        for (uint32_t b = 0; b < ne0 / values; b++) {
            uint8_t *at = p + r * row + (uint64_t)b * block;
            float x = rnd_float();
            const npu_quant *quant = npu_quant_of(type);
            uint16_t d = npu_float_to_half(x / 64), m = npu_float_to_half(x);
            if (format && values == 1) quant->quant(&x, at, 1);
            if (format && quant->d_at >= 0) memcpy(at + quant->d_at, &d, 2);
            if (format && quant->m_at >= 0) memcpy(at + quant->m_at, &m, 2);
            if (type == NPU_TYPE_MXFP4) at[0] = (uint8_t)(116 + rnd() % 9);
        }
    f.used = (f.used + row * ne1 * ne2 + 64 + 255) & ~255ull;
    assert_true(f.used + 4096 < ARENA && f.n < MOST);
    return (uint16_t)f.n++;
}

static void rows_step(uint16_t t, uint8_t dim) {
    f.tensors[t].rows_of = NPU_ROWS_STEP;
    f.tensors[t].rows_dim = dim;
}

static npu_status weight_get(void *context, unsigned layer, npu_role role, npu_weight_part part, npu_weight *out,
                             npu_error *err) {
    (void)context;
    for (uint32_t i = 0; i < f.n; i++) {
        const npu_tensor *t = &f.tensors[i];
        if (!(t->flags & NPU_TENSOR_WEIGHT) || f.weights[i].layer != layer || f.weights[i].role != role || part)
            continue;
        *out = (npu_weight){
            .name = "w", .data = arenas[0]->data + t->offset, .bytes = t->nb[1] * t->ne[1], .type = t->type};
        memcpy(out->ne, t->ne, sizeof out->ne);
        memcpy(out->nb, t->nb, sizeof out->nb);
        return NPU_OK;
    }
    return npu_fail(err, NPU_NOT_FOUND, "test", "none");
}

static unsigned next_layer = 1;

static uint16_t add_weight(uint8_t type, uint32_t k, uint32_t n) {
    uint16_t t = add(type, k, n, 1, 0);
    f.tensors[t].flags = NPU_TENSOR_WEIGHT;
    f.weights[t].layer = (uint16_t)next_layer;
    f.weights[t].role = (uint16_t)(1 + t % 20);
    return t;
}

/* Runs on both, expects |want| from both; compares all bytes after success. */
static void run(npu_status want) {
    npu_error err = {0};
    uint64_t bytes = f.used + 4096; /* with a guard behind the last tensor */
    memcpy(arenas[1]->data, arenas[0]->data, bytes);
    npu_weight_source source = {NULL, weight_get};
    if (npu_target_hexagon.load_block(targets[1], next_layer, 1, &source, &err) != NPU_OK) fail_msg("%s", err.text);
    next_layer++;
    for (int t = 0; t < 2; t++) {
        npu_batch batch = {.tensors = f.tensors,
                           .ops = &f.op,
                           .buffers = &arenas[t],
                           .step = f.step,
                           .n_tensors = f.n,
                           .n_ops = 1,
                           .n_buffers = 1,
                           .weights = f.weights};
        npu_event event;
        npu_status status = targets[t]->ops->submit(targets[t], &batch, &event, &err);
        if (status == NPU_OK) status = targets[t]->ops->wait(targets[t], event, &err);
        if (status != want) fail_msg("%s: status %s, %s", targets[t]->ops->name, npu_status_name(status), err.text);
    }
    if (want != NPU_OK) return;
    if (!memcmp(arenas[0]->data, arenas[1]->data, bytes)) return;
    for (uint64_t i = 0; i < bytes; i++)
        if (arenas[0]->data[i] != arenas[1]->data[i]) {
            uint32_t t = 0;
            while (t + 1 < f.n && f.tensors[t + 1].offset <= i) t++;
            fail_msg("byte %llu (tensor %u, byte %llu of it) differs: %02x %02x", (unsigned long long)i, t,
                     (unsigned long long)(i - f.tensors[t].offset), arenas[0]->data[i], arenas[1]->data[i]);
        }
}

/* |emu|: settings of the emulated device, or NULL. */
static int open_targets(const char *const *emu) {
    npu_error err = {0};
    const char *driver = getenv("NPU_HEX_DRIVER");
    npu_target_params host = {.n_threads = 1, .cpu_level = "ref"};
    npu_target_params hex = {.driver = driver ? driver : "sim", .emu = emu};
    if (npu_target_host.open(&host, NULL, NULL, &targets[0], &err) ||
        npu_target_hexagon.open(&hex, NULL, NULL, &targets[1], &err)) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    for (int t = 0; t < 2; t++)
        if (targets[t]->ops->buffer_alloc(targets[t], ARENA, NPU_BUFFER_COMPUTE, &arenas[t], &err)) return -1;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int t = 0; t < 2; t++) {
        targets[t]->ops->buffer_free(targets[t], arenas[t]);
        targets[t]->ops->close(targets[t]);
    }
    return 0;
}

#endif
