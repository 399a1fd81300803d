/* Products of weights that are floats with several activation rows (numerics.md, section 4), on every instruction set:
 * tiles of weight rows by activation rows, whose sums stay in registers. An output has 32 lanes, more than registers
 * hold for several, so a tile takes SLICE of them at a time, and rows lie in *slices*: first those values of each 32
 * that belong to the first SLICE lanes, of all rows, then the next. Each pass so reads what it needs from end to end.
 * Included by a matmul_<isa>.c after the vectors, |sum_lanes| and |sum_four|.
 */
#ifndef NPU_MATMUL_DOT_H
#define NPU_MATMUL_DOT_H

#include "target/host/matmul/matmul_float.h"

enum {
    SLICE = DOT_VECTORS * LANES,
    DOT_ROWS = 4,
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

/* Adds |count| products a lane to those of slice |s|, or to 0 if they are the first: weight rows at |w|, activation
 * rows at |x|, |row| values apart. */
NPU_INLINE void dot_tile(const float *w, const float *x, uint64_t row, uint32_t count, int rows, int columns, int s,
                         int first, dot_lanes *lanes) {
    vf acc[DOT_COLUMNS][DOT_ROWS][DOT_VECTORS];
    NPU_UNROLL
    for (int i = 0; i < columns * rows * DOT_VECTORS; i++) {
        int v = i % DOT_VECTORS, r = i / DOT_VECTORS % rows, c = i / DOT_VECTORS / rows;
        acc[c][r][v] = first ? v_zerof() : v_as_float(v_load(&lanes[c][r][s * SLICE + v * LANES]));
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

/* The same with any number of columns. */
NPU_INLINE void dot_columns(const float *w, const float *x, uint64_t row, uint32_t count, int rows, uint32_t columns,
                            int s, int first, dot_lanes *lanes) {
    uint32_t c = 0;
    for (; c + DOT_COLUMNS <= columns; c += DOT_COLUMNS)
        dot_tile(w, x + c * row, row, count, rows, DOT_COLUMNS, s, first, lanes + c);
    for (; DOT_COLUMNS > 3 && c + 3 <= columns; c += 3)
        dot_tile(w, x + c * row, row, count, rows, 3, s, first, lanes + c);
    if (c + 2 == columns) dot_tile(w, x + c * row, row, count, rows, 2, s, first, lanes + c);
    if (c + 1 == columns) dot_tile(w, x + c * row, row, count, rows, 1, s, first, lanes + c);
}

/* |rows| weight rows from |n| on with activation row |m|: what is left of them behind the full 32 lanes, their sums,
 * the bias. */
NPU_INLINE void end_dots(const npu_mm_dot *dot, uint32_t n, int rows, uint32_t m, dot_lanes lanes) {
    const uint32_t left = dot->k % 32;
    const float *w = dot->w_rest + (uint64_t)n * 32, *x = dot->x_rows[m] + dot->k - left;
    float *y = dot->y[m] + dot->first + n;
    for (int r = 0; r < rows && left; r++, w += 32)
        for (uint32_t i = 0; i < left; i++) lanes[r][i] = __builtin_fmaf(w[i], x[i], lanes[r][i]);
    int r = 0;
    for (; r + 4 <= rows; r += 4) sum_four(lanes + r, y + r);
    for (; r < rows; r++) y[r] = sum_lanes(lanes[r]);
    if (!dot->bias) return;
    for (r = 0; r < rows; r++) y[r] += dot->bias[dot->first + n + (uint32_t)r];
}

/* |rows| weight rows from |n| on with |columns| activation rows from |m| on. */
NPU_INLINE void dot_block(const npu_mm_dot *dot, uint32_t n, int rows, uint32_t m, uint32_t columns) {
    const uint64_t row = dot->k / 32 * SLICE;
    dot_lanes lanes[DOT_BLOCK];
    if (!row) memset(lanes, 0, columns * sizeof *lanes); /* less than 32 values: the rest alone */
    for (uint32_t k = 0; k < row; k += DOT_CHUNK) {
        const uint32_t count = row - k < DOT_CHUNK ? (uint32_t)(row - k) : DOT_CHUNK;
        for (int s = 0; s < 32 / SLICE; s++) {
            const float *w = dot->w + (uint64_t)s * dot->w_slice + n * row + k;
            const float *x = dot->x + (uint64_t)s * dot->x_slice + m * row + k;
            dot_columns(w, x, row, count, rows, columns, s, k == 0, lanes);
        }
    }
    for (uint32_t c = 0; c < columns; c++) end_dots(dot, n, rows, m + c, lanes[c]);
}

static void dot_rows(const npu_mm_dot *dot) {
    for (uint32_t m = 0; m < dot->rows; m += DOT_BLOCK) {
        uint32_t n = 0, columns = dot->rows - m < DOT_BLOCK ? dot->rows - m : DOT_BLOCK;
        for (; n + DOT_ROWS <= dot->n_rows; n += DOT_ROWS) dot_block(dot, n, DOT_ROWS, m, columns);
        for (; n < dot->n_rows; n++) dot_block(dot, n, 1, m, columns);
    }
}

#endif
