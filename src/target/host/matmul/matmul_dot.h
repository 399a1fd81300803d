/* Products of weights that are floats with several activation rows (numerics.md, section 4), on every instruction set:
 * tiles of weight rows by activation rows, whose sums stay in registers. An output has 32 lanes, more than registers
 * hold for several, so a tile takes SLICE of them at a time, and rows lie in *slices*: first those values of each 32
 * that belong to the first SLICE lanes, of all rows, then the next. Each pass so reads what it needs from end to end.
 * Included by a matmul_<isa>.c after the vectors and |sum_lanes|.
 */
#ifndef NPU_MATMUL_DOT_H
#define NPU_MATMUL_DOT_H

#include "target/host/matmul/matmul_float.h"

enum {
    SLICE = DOT_VECTORS * LANES,
    DOT_ROWS = 4,
    DOT_COLUMNS = 3,
    DOT_BLOCK = 24,  /* activation rows that all weight rows take in turn, from L2 */
    DOT_CHUNK = 768, /* values of a slice of a row: those of a tile fit L1 */
};
_Static_assert(DOT_BLOCK % DOT_COLUMNS == 0, "blocks end with whole tiles");

/* The lanes of DOT_ROWS results. */
typedef float dot_lanes[DOT_ROWS][32];

static void slice_row(const float *row, uint32_t k, float *to, uint64_t slice) {
    for (; k >= 32; k -= 32, to += SLICE)
        for (int s = 0; s < 32; s += SLICE, row += SLICE)
            memcpy(to + (uint64_t)(s / SLICE) * slice, row, SLICE * sizeof *row);
}

/* Adds |count| products a lane to those of slice |s|: weight rows at |w|, activation rows at |x|, |row| values apart.
 */
NPU_INLINE void dot_tile(const float *w, const float *x, uint64_t row, uint32_t count, int rows, int columns, int s,
                         dot_lanes *lanes) {
    vf acc[DOT_COLUMNS][DOT_ROWS][DOT_VECTORS];
    NPU_UNROLL
    for (int i = 0; i < columns * rows * DOT_VECTORS; i++) {
        int v = i % DOT_VECTORS, r = i / DOT_VECTORS % rows, c = i / DOT_VECTORS / rows;
        acc[c][r][v] = v_as_float(v_load(&lanes[c][r][s * SLICE + v * LANES]));
    }
    for (uint32_t k = 0; k < count; k += SLICE) {
        NPU_UNROLL
        for (int v = 0; v < DOT_VECTORS; v++) {
            vf xc[DOT_COLUMNS]; /* and a weight row at a time: with the sums, all registers of AVX2 */
            NPU_UNROLL
            for (int c = 0; c < columns; c++) xc[c] = v_as_float(v_load(x + (uint64_t)c * row + k + v * LANES));
            NPU_UNROLL
            for (int r = 0; r < rows; r++) {
                vf wr = v_as_float(v_load(w + (uint64_t)r * row + k + v * LANES));
                NPU_UNROLL
                for (int c = 0; c < columns; c++) acc[c][r][v] = v_fma(wr, xc[c], acc[c][r][v]);
            }
        }
    }
    NPU_UNROLL
    for (int i = 0; i < columns * rows * DOT_VECTORS; i++) {
        int v = i % DOT_VECTORS, r = i / DOT_VECTORS % rows, c = i / DOT_VECTORS / rows;
        v_store(&lanes[c][r][s * SLICE + v * LANES], v_as_int(acc[c][r][v]));
    }
}

/* What is left of a row behind the full 32 lanes, their sum, the bias. */
NPU_INLINE void end_dot(const npu_mm_dot *dot, uint32_t n, uint32_t m, float *lanes) {
    const uint32_t left = dot->k % 32, at = dot->first + n;
    const float *w = dot->w_rest + (uint64_t)n * 32, *x = dot->x_rows[m] + dot->k - left;
    for (uint32_t i = 0; i < left; i++) lanes[i] = __builtin_fmaf(w[i], x[i], lanes[i]);
    float y = sum_lanes(lanes);
    dot->y[m][at] = dot->bias ? y + dot->bias[at] : y;
}

/* |rows| weight rows from |n| on with |columns| activation rows from |m| on. */
NPU_INLINE void dot_block(const npu_mm_dot *dot, uint32_t n, int rows, uint32_t m, uint32_t columns) {
    const uint64_t row = dot->k / 32 * SLICE;
    dot_lanes lanes[DOT_BLOCK];
    memset(lanes, 0, columns * sizeof *lanes);
    for (uint32_t k = 0; k < row; k += DOT_CHUNK) {
        const uint32_t count = row - k < DOT_CHUNK ? (uint32_t)(row - k) : DOT_CHUNK;
        for (int s = 0; s < 32 / SLICE; s++) {
            const float *w = dot->w + (uint64_t)s * dot->w_slice + n * row + k;
            const float *x = dot->x + (uint64_t)s * dot->x_slice + m * row + k;
            uint32_t c = 0;
            for (; c + 3 <= columns; c += 3) dot_tile(w, x + c * row, row, count, rows, 3, s, lanes + c);
            if (c + 2 == columns) dot_tile(w, x + c * row, row, count, rows, 2, s, lanes + c);
            if (c + 1 == columns) dot_tile(w, x + c * row, row, count, rows, 1, s, lanes + c);
        }
    }
    for (uint32_t c = 0; c < columns; c++)
        for (int r = 0; r < rows; r++) end_dot(dot, n + (uint32_t)r, m + c, lanes[c][r]);
}

static void dot_rows(const npu_mm_dot *dot) {
    for (uint32_t m = 0; m < dot->rows; m += DOT_BLOCK) {
        uint32_t n = 0, columns = dot->rows - m < DOT_BLOCK ? dot->rows - m : DOT_BLOCK;
        for (; n + DOT_ROWS <= dot->n_rows; n += DOT_ROWS) dot_block(dot, n, DOT_ROWS, m, columns);
        for (; n < dot->n_rows; n++) dot_block(dot, n, 1, m, columns);
    }
}

#endif
