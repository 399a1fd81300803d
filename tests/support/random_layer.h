/* A layer of a model as the graphs have it, of random shapes: attention and feed-forward in ops of a batch. */
#ifndef NPU_TESTS_RANDOM_LAYER_H
#define NPU_TESTS_RANDOM_LAYER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "target/target.h"
#include "wire/format.h"
#include "wire/op_check.h"

enum { TENSORS = 64, OPS = 16, LINE = 128 }; /* |LINE|: tensors begin them */
enum { WEIGHTS, STATE, COMPUTE, INPUT };     /* buffers */

static uint64_t seed = 20261130;

static uint32_t below(uint32_t n) {
    return npu_random_below(&seed, n);
}

typedef struct layer {
    npu_tensor tensors[TENSORS];
    npu_op ops[OPS];
    npu_batch batch;
    uint64_t used[4];
    uint32_t rows;
} layer;

static uint16_t tensor(layer *l, int buffer, uint8_t type, uint32_t ne0, uint32_t ne1, uint32_t ne2) {
    npu_tensor *t = &l->tensors[l->batch.n_tensors];
    *t = (npu_tensor){.type = type, .buffer = (uint16_t)buffer, .offset = l->used[buffer], .ne = {ne0, ne1, ne2, 1}};
    uint32_t values, unit = npu_tensor_unit(t, &values);
    t->nb[0] = unit;
    t->nb[1] = (uint64_t)ne0 / values * unit;
    t->nb[2] = t->nb[1] * ne1;
    t->nb[3] = t->nb[2] * ne2;
    if (buffer == WEIGHTS) t->flags = NPU_TENSOR_WEIGHT;
    l->used[buffer] = (l->used[buffer] + t->nb[3] + LINE - 1) / LINE * LINE;
    assert_true(l->batch.n_tensors < TENSORS);
    return (uint16_t)l->batch.n_tensors++;
}

/* The same bytes as heads or as rows. */
static uint16_t view(layer *l, uint16_t of, uint32_t ne0, uint32_t ne1, uint32_t ne2) {
    npu_tensor t = l->tensors[of];
    uint16_t v = tensor(l, t.buffer, t.type, ne0, ne1, ne2);
    l->used[t.buffer] = l->tensors[v].offset;
    l->tensors[v].offset = t.offset;
    l->tensors[v].flags = t.flags;
    return v;
}

static uint16_t stepped(layer *l, uint16_t t) {
    l->tensors[t].rows_of = NPU_ROWS_STEP;
    l->tensors[t].rows_dim = l->tensors[t].ne[2] > 1 ? 2 : 1;
    return t;
}

static uint16_t result(layer *l, uint32_t ne0, uint32_t ne1, uint32_t ne2) {
    uint16_t t = stepped(l, tensor(l, COMPUTE, NPU_TYPE_F32, ne0, ne1, ne2));
    return t;
}

static npu_op *op(layer *l, unsigned code, uint16_t dst, uint16_t a, uint16_t b) {
    npu_op *o = &l->ops[l->batch.n_ops++];
    memset(o, 0, sizeof *o);
    memset(o->src, 0xFF, sizeof o->src);
    memset(o->dst, 0xFF, sizeof o->dst);
    o->code = (uint16_t)code;
    o->dst[0] = dst, o->src[0] = a, o->src[1] = b;
    return o;
}

static uint16_t product(layer *l, uint16_t x, uint8_t type, uint32_t n) {
    uint16_t y = result(l, n, l->rows, 1);
    op(l, NPU_OP_MUL_MAT, y, x, tensor(l, WEIGHTS, type, l->tensors[x].ne[0], n, 1));
    return y;
}

static void second(layer *l, uint16_t x, uint8_t type, unsigned at, uint32_t n, uint16_t *y) {
    npu_op *o = &l->ops[l->batch.n_ops - 1];
    *y = result(l, n, l->rows, 1);
    o->dst[at] = *y;
    o->src[1 + at] = tensor(l, WEIGHTS, type, l->tensors[x].ne[0], n, 1);
}

/* Attention and feed-forward as the graphs have them; sizes of every kind, also those that fit nowhere. */
static void make(layer *l) {
    static npu_buffer buffers[4] = {
        {.use = NPU_BUFFER_WEIGHTS}, {.use = NPU_BUFFER_STATE}, {.use = NPU_BUFFER_COMPUTE}, {.use = NPU_BUFFER_IO}};
    static npu_buffer *list[4] = {&buffers[0], &buffers[1], &buffers[2], &buffers[3]};
    static const uint8_t types[] = {NPU_TYPE_Q4_0, NPU_TYPE_Q4_K, NPU_TYPE_F32, NPU_TYPE_Q6_K};
    static const uint8_t caches[] = {NPU_TYPE_F16, NPU_TYPE_F32, NPU_TYPE_Q8_0};
    static const uint32_t widths[] = {16, 24, 32, 64, 80, 128};
    uint8_t type = types[below(4)], cache = caches[below(3)];
    uint32_t block = npu_format_of(type)->block_values, n_kv = 1 + below(6), n_q = n_kv * (1 + below(4));
    uint32_t d = widths[below(6)], dv = below(4) ? d : widths[below(6)], cells = 8;
    if (cache == NPU_TYPE_Q8_0) d = (d + 31) / 32 * 32, dv = (dv + 31) / 32 * 32;
    while (n_q * dv % block) n_q += n_kv;
    uint32_t n_embd = block * (1 + below(4)), n_ff = block * (1 + below(6));
    memset(l, 0, sizeof *l);
    l->rows = 1 + below(3);
    l->batch = (npu_batch){.tensors = l->tensors, .ops = l->ops, .buffers = list, .n_buffers = 4};
    uint16_t x = result(l, n_embd, l->rows, 1), w = tensor(l, WEIGHTS, NPU_TYPE_F32, n_embd, 1, 1), k, v;
    op(l, NPU_OP_RMS_NORM, x, tensor(l, INPUT, NPU_TYPE_F32, n_embd, l->rows, 1), w);
    stepped(l, l->ops[0].src[0]);
    uint16_t norm = result(l, n_embd, l->rows, 1);
    op(l, NPU_OP_RMS_NORM, norm, x, w);
    uint16_t q = product(l, norm, type, n_q * d);
    second(l, norm, type, 1, n_kv * d, &k);
    second(l, norm, type, 2, n_kv * dv, &v);
    uint16_t cell = stepped(l, tensor(l, INPUT, NPU_TYPE_I32, l->rows, 1, 1)), ks, vs;
    l->tensors[cell].rows_dim = 0;
    uint16_t spans = stepped(l, tensor(l, INPUT, NPU_TYPE_I32, 2, l->rows, 1));
    op(l, NPU_OP_SET_ROWS, ks = tensor(l, STATE, cache, n_kv * d, cells, 1), k, cell);
    op(l, NPU_OP_SET_ROWS, vs = tensor(l, STATE, cache, n_kv * dv, cells, 1), v, cell);
    uint16_t y = stepped(l, tensor(l, COMPUTE, NPU_TYPE_F32, dv, n_q, l->rows));
    l->tensors[y].rows_dim = 2;
    uint16_t heads = stepped(l, view(l, q, d, n_q, l->rows));
    l->tensors[heads].rows_dim = 2;
    npu_op *attn = op(l, NPU_OP_FLASH_ATTN, y, heads, view(l, ks, d, n_kv, cells));
    attn->src[2] = view(l, vs, dv, n_kv, cells), attn->src[3] = spans;
    attn->params.attn.scale = 0.1f;
    uint16_t o = product(l, stepped(l, view(l, y, n_q * dv, l->rows, 1)), type, n_embd);
    uint16_t sum = result(l, n_embd, l->rows, 1), last = result(l, n_embd, l->rows, 1), up;
    op(l, NPU_OP_ADD, sum, o, x);
    op(l, NPU_OP_RMS_NORM, norm, sum, w);
    uint16_t gate = product(l, norm, type, n_ff);
    second(l, norm, type, 1, n_ff, &up);
    uint16_t act = result(l, n_ff, l->rows, 1);
    op(l, NPU_OP_GLU, act, gate, up);
    op(l, NPU_OP_ADD, last, product(l, act, type, n_embd), sum);
    uint16_t next = result(l, n_embd, l->rows, 1); /* something behind, over the results that are not to stay */
    op(l, NPU_OP_RMS_NORM, next, last, w);
    l->tensors[next].offset = l->tensors[l->ops[l->batch.n_ops - 2].src[0]].offset;
    for (uint32_t i = 0; i < l->batch.n_ops; i++) {
        const char *why = npu_op_check(&l->ops[i], l->tensors, l->batch.n_tensors);
        if (why) fail_msg("op %u: %s", i, why);
    }
}

#endif
