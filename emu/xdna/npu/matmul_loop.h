// The loop of the int8 product, compiled once for each instruction set: C = A * B in the kernel's layout, int32, exact.
// The includer names the function by EMU_MATMUL. A row of A that is all zero gives a row of zeros without work: that is
// what most rows of a decode step are.
#include "device.h"

#include <string.h>

// acc[t] += a[s] * b[s][t]. With constant |s| and |t| the compiler makes vectors of it.
static inline void row_block(int32_t *restrict acc, const int8_t *restrict a, const int8_t *restrict b, uint32_t s,
                             uint32_t t) {
    for (uint32_t k = 0; k < s; k++) {
        int32_t x = a[k];
        for (uint32_t j = 0; j < t; j++) acc[j] += x * b[k * t + j];
    }
}

static bool any_in_row(const npu_xdna_layout *l, const int8_t *a, uint32_t m) {
    for (uint32_t k = 0; k < l->k; k += l->s) {
        const int8_t *at = a + npu_xdna_a_at(l, m, k);
        for (uint32_t i = 0; i < l->s; i++)
            if (at[i]) return true;
    }
    return false;
}

// One micro-tile row of |t| values: row m, columns n to n + t.
static void row_tile(const npu_xdna_layout *l, const int8_t *a, const int8_t *b, uint32_t m, uint32_t n, int32_t *acc) {
    for (uint32_t k = 0; k < l->k; k += l->s) {
        const int8_t *at = a + npu_xdna_a_at(l, m, k), *bt = b + npu_xdna_b_at(l, k, n);
        if (l->s == 8 && l->t == 8)
            row_block(acc, at, bt, 8, 8);
        else
            row_block(acc, at, bt, l->s, l->t);
    }
}

void EMU_MATMUL(const npu_xdna_layout *l, const int8_t *a, const int8_t *b, int32_t *c, uint32_t rows) {
    bool live[NPU_XDNA_MAX_M];
    for (uint32_t m = 0; m < rows; m++) live[m] = any_in_row(l, a, m);
    for (uint32_t n = 0; n < l->n; n += l->t) {
        for (uint32_t m = 0; m < rows; m++) {
            int32_t acc[64] = {0};
            if (live[m]) row_tile(l, a, b, m, n, acc);
            memcpy(c + npu_xdna_c_at(l, m, n), acc, l->t * sizeof *acc);
        }
    }
}
