/* Ops on weights in several buffers: 4000 random products and row look-ups, whole or of a device of a set, are done in
 * pieces that together are the op: every row once, where its buffer has it, and next to it its bias and its result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "target/hexagon/hexagon_large.h"
#include "wire/format.h"
#include "wire/image.h"
#include "wire/op_check.h"

enum { CASES = 4000, PARTS = 40, OPERANDS = NPU_OP_SRCS + NPU_OP_DSTS };

static uint64_t seed = 20261130;

static uint32_t below(uint32_t n) {
    return npu_random_below(&seed, n);
}

/* A weight with a chain of buffers, and the view of it that an op has. */
typedef struct weight {
    npu_hex_buffer parts[PARTS];
    uint64_t unit_bytes;
    uint32_t unit, rows, part_rows, first, count; /* rows of the whole, of a part, of the view */
    npu_tensor t;
} weight;

static void make_weight(weight *w, npu_hex_operand *out) {
    static const uint8_t types[] = {NPU_TYPE_Q4_0, NPU_TYPE_Q8_0, NPU_TYPE_Q6_K, NPU_TYPE_F16, NPU_TYPE_F32};
    uint32_t values;
    w->t = (npu_tensor){.type = types[below(5)], .flags = NPU_TENSOR_WEIGHT};
    npu_tensor *t = &w->t;
    t->ne[0] = 256 * (1 + below(3)), t->ne[1] = 1 + below(700), t->ne[2] = t->ne[3] = 1;
    t->nb[0] = npu_tensor_unit(t, &values);
    t->nb[1] = t->ne[0] / values * t->nb[0];
    npu_hex_weight_layout(t);
    bool tiles = t->layout == NPU_LAYOUT_TILES;
    w->unit = tiles ? NPU_TILE_ROWS : 1;
    w->unit_bytes = tiles ? npu_image_row_tile_bytes(npu_image_format_of(t->type), t->ne[0]) : t->nb[1];
    w->rows = t->ne[1];
    uint64_t tile = tiles ? w->unit_bytes : 32 * t->nb[1], most = tile * (1 + below(6)) + below((uint32_t)tile);
    w->part_rows = npu_hex_part_rows(t, most);
    assert_true(w->part_rows && w->part_rows <= w->rows && (w->part_rows % 32 == 0 || w->part_rows == w->rows));
    memset(w->parts, 0, sizeof w->parts);
    for (uint32_t i = 0; w->part_rows < w->rows && i < PARTS; i++) {
        if (i * w->part_rows >= w->rows) break;
        w->parts[i].bytes = (uint64_t)(w->part_rows + w->unit - 1) / w->unit * w->unit_bytes;
        assert_true(w->parts[i].bytes <= most);
        if (i) w->parts[i - 1].more = &w->parts[i];
        w->parts[0].part_bytes = w->parts[0].bytes;
    }
    w->first = below(2) ? 0 : below((w->rows + 31) / 32) * 32;
    w->count = below(2) ? w->rows - w->first : 1 + below(w->rows - w->first);
    t->ne[1] = w->count;
    t->offset = w->first / w->unit * w->unit_bytes;
    *out = (npu_hex_operand){*t, w->parts};
}

/* Marks the rows of a piece as done. */
static void take(const weight *w, const npu_hex_operand *piece, uint32_t row, uint8_t *done) {
    uint32_t part = (w->first + row) / w->part_rows;
    assert_ptr_equal(piece->buffer, &w->parts[w->part_rows < w->rows ? part : 0]);
    uint32_t in_part = w->first + row - part * w->part_rows, n = piece->tensor.ne[1];
    assert_true(n && row + n <= w->count && in_part + n <= w->part_rows && in_part % w->unit == 0);
    assert_int_equal(piece->tensor.offset, in_part / w->unit * w->unit_bytes);
    for (uint32_t i = 0; i < n; i++) assert_int_equal(done[row + i]++, 0);
}

static void all_taken(const weight *w, const uint8_t *done) {
    for (uint32_t i = 0; i < w->count; i++) assert_int_equal(done[i], 1);
}

static void products(void **state) {
    (void)state;
    for (int c = 0; c < CASES; c++) {
        static weight w[4];
        uint8_t done[4][800] = {{0}};
        npu_hex_operand at[OPERANDS + 1] = {{.buffer = NULL}};
        npu_op op = {.code = NPU_OP_MUL_MAT};
        npu_hex_program p = {.operands = at, .n_operands = OPERANDS};
        uint32_t n = 1 + below(4), bias[4];
        memset(op.src, 0xFF, sizeof op.src);
        memset(op.dst, 0xFF, sizeof op.dst);
        op.src[0] = 0;
        for (uint32_t i = 0; i < n; i++) {
            make_weight(&w[i], &at[1 + i]);
            bias[i] = below(2);
            at[5 + i].tensor = (npu_tensor){.offset = 1000 + i, .nb = {4}, .ne = {w[i].count, 1, 1, 1}};
            at[NPU_OP_SRCS + i].tensor = (npu_tensor){.offset = i << 20, .nb = {4}, .ne = {w[i].count, 3, 1, 1}};
            op.src[1 + i] = (uint16_t)(1 + i), op.dst[i] = (uint16_t)(NPU_OP_SRCS + i);
            if (bias[i]) op.src[5 + i] = (uint16_t)(5 + i);
        }
        uint32_t pieces = npu_hex_pieces(&p, &op);
        for (uint32_t k = 0; k < pieces; k++) {
            npu_op piece = op;
            npu_hex_operand here[OPERANDS];
            memcpy(here, at, sizeof here);
            npu_hex_piece(&piece, here, k);
            const npu_tensor *y = &here[NPU_OP_SRCS].tensor;
            uint32_t i = (uint32_t)(y->offset >> 20), row = (uint32_t)(y->offset - (i << 20)) / 4;
            assert_true(i < n && piece.src[0] == 0 && piece.src[2] == NPU_NO_TENSOR && piece.dst[1] == NPU_NO_TENSOR);
            assert_true(y->ne[0] == here[1].tensor.ne[1] && y->ne[1] == 3 &&
                        (piece.src[5] != NPU_NO_TENSOR) == bias[i]);
            if (bias[i]) assert_true(here[5].tensor.offset == 1000 + i + 4 * row && here[5].tensor.ne[0] == y->ne[0]);
            take(&w[i], &here[1], row, done[i]);
        }
        for (uint32_t i = 0; i < n && pieces; i++) all_taken(&w[i], done[i]);
    }
}

static void look_ups(void **state) {
    uint32_t in_pieces = 0;
    (void)state;
    for (int c = 0; c < CASES; c++) {
        static weight w;
        uint8_t done[800] = {0};
        npu_hex_operand at[OPERANDS] = {{.buffer = NULL}};
        npu_op op = {.code = NPU_OP_GET_ROWS};
        npu_hex_program p = {.operands = at, .n_operands = OPERANDS};
        memset(op.src, 0xFF, sizeof op.src);
        memset(op.dst, 0xFF, sizeof op.dst);
        make_weight(&w, &at[0]);
        op.src[0] = 0, op.src[1] = 1, op.dst[0] = NPU_OP_SRCS;
        uint32_t pieces = npu_hex_pieces(&p, &op);
        in_pieces += pieces > 1;
        assert_int_equal(pieces > 0, w.part_rows < w.rows);
        for (uint32_t k = 0; k < pieces; k++) {
            npu_op piece = op;
            npu_hex_operand here[OPERANDS];
            memcpy(here, at, sizeof here);
            npu_hex_piece(&piece, here, k);
            assert_true(piece.src[1] == 1 && piece.dst[0] == NPU_OP_SRCS && piece.params.rows.all == w.count);
            take(&w, &here[0], piece.params.rows.first, done);
        }
        if (pieces) all_taken(&w, done);
    }
    assert_in_range(in_pieces, CASES / 4, CASES);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(products), cmocka_unit_test(look_ups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
