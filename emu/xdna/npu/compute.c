// What the kernels compute. Matrices without tiles are multiplied as if a micro-tile were one row of them.
#include "matmul.h"

#include <string.h>

// Plain row-major matrices: slow, and used by tests and real designs' shapes only.
static void matmul_rows(const npu_xdna_layout *l, const int8_t *a, const int8_t *b, int32_t *c, uint32_t rows) {
    for (uint32_t m = 0; m < rows; m++) {
        int32_t *row = c + npu_xdna_c_at(l, m, 0);
        memset(row, 0, l->n * sizeof *row);
        for (uint32_t k = 0; k < l->k; k++) {
            int32_t x = a[npu_xdna_a_at(l, m, k)];
            const int8_t *from = b + npu_xdna_b_at(l, k, 0);
            for (uint32_t n = 0; x && n < l->n; n++) row[n] += x * from[n];
        }
    }
}

static emu_matmul_fn *best(void) {
#ifdef EMU_XDNA_AVX2
    if (__builtin_cpu_supports("avx2")) return emu_matmul_avx2;
#endif
    return emu_matmul_base;
}

void emu_matmul(const npu_xdna_layout *l, const struct emu_operands *o, uint32_t rows) {
    emu_matmul_fn *run = l->tiled ? best() : matmul_rows;
    run(l, (const int8_t *)o->a, (const int8_t *)o->b, (int32_t *)(void *)o->c, rows < l->m ? rows : l->m);
}

static float bf16(const uint8_t *at) {
    uint32_t bits = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 24;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Row |r| of a tile: its eight groups of 32 columns, added to |sum| in order.
static float gemv_tile(const uint8_t *tile, uint32_t r, const float *x, float sum) {
    for (uint32_t g = 0; g < 8; g++) {
        const uint8_t *codes = tile + 1024 + (r / 16 * 8 + g) * 256 + r % 16 / 2;
        float products = 0, plain = 0;
        for (uint32_t j = 0; j < 32; j++) {
            uint32_t code = codes[8 * j] >> r % 2 * 4 & 15u;
            products += (float)code * x[g * 32 + j];
            plain += x[g * 32 + j];
        }
        sum += bf16(tile + 2 * (g * 32 + r)) * products + bf16(tile + 512 + 2 * (g * 32 + r)) * plain;
    }
    return sum;
}

void emu_gemv_q4_1(const npu_xdna_layout *l, const struct emu_operands *o, uint32_t rows) {
    const float *x = (const float *)(const void *)o->a;
    float *y = (float *)(void *)o->c;
    for (uint32_t m = 0; m < rows && m < l->m; m++) {
        for (uint32_t n = 0; n < l->n; n++) {
            float sum = 0;
            for (uint32_t k = 0; k < l->k; k += 256)
                sum = gemv_tile(o->b + ((uint64_t)(n / 32) * (l->k / 256) + k / 256) * 5120, n % 32,
                                x + (uint64_t)m * l->k + k, sum);
            y[(uint64_t)m * l->n + n] = sum;
        }
    }
}
