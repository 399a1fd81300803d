/* htp/hvx/hvx_dot_float.h against docs/numerics.md §3 and §4: every type, odd widths, rows and columns. kernel_check.py
 * compiles it as math_run.c. Prints the first failures and exits with 1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "htp/hvx/hvx_dot_float.h"
#include "htp/hvx/hvx_f32.h"
#include "wire/format.h"

enum { MOST = 200, ROW = 256, COLUMNS = HTP_DOT_FLOAT_COLUMNS };

static float of[32][ROW], x[COLUMNS][ROW] __attribute__((aligned(128)));
static uint8_t weights[32 * 4 * ROW] __attribute__((aligned(128)));
static union {
    HVX_Vector v;
    float f[32];
    uint32_t u[32];
} y[COLUMNS + 1];
static uint64_t rng = 0x5eed0d09;
static int failures;

static uint32_t next(void) {
    return (uint32_t)(npu_random_next(&rng) >> 32);
}

/* A weight as it is stored; returns its value. Behind the row's end there may be anything, so a NaN. */
static float put(uint32_t type, uint8_t *row, uint32_t i, int inside) {
    float w = (float)((int32_t)next() >> 8) * ldexpf(1, -(int)(next() % 24) - 20);
    uint16_t half = npu_float_to_half(w), top = (uint16_t)(npu_float_bits(w) >> 16);
    uint32_t bits = npu_float_bits(w);
    if (!inside) half = 0x7e00, top = 0x7fc0, bits = 0x7fc00000;
    if (type == NPU_TYPE_F32) memcpy(row + 4 * i, &bits, 4);
    if (type == NPU_TYPE_F16) memcpy(row + 2 * i, &half, 2);
    if (type == NPU_TYPE_BF16) memcpy(row + 2 * i, &top, 2);
    return type == NPU_TYPE_F16    ? npu_half_to_float(half)
           : type == NPU_TYPE_BF16 ? npu_bits_float((uint32_t)top << 16)
                                   : w;
}

/* dot32; |size|: of what its terms may lose in the real build. */
static float dot32(const float *w, const float *of_x, uint32_t k, double *size) {
    float lane[32] = {0};
    *size = 0;
    for (uint32_t i = 0; i < k; i++) lane[i % 32] = fmaf(w[i], of_x[i], lane[i % 32]), *size += fabsf(w[i] * of_x[i]);
    for (int h = 16; h; h /= 2)
        for (int j = 0; j < h; j++) lane[j] += lane[j + h];
    return lane[0];
}

static void check(uint32_t type, uint32_t rows, uint32_t columns, uint32_t k) {
    uint32_t stride = (type == NPU_TYPE_F32 ? 4 : 2) * ((k + 63) / 64 * 64);
    const HVX_Vector *at[COLUMNS];
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t i = 0; i < (k + 63) / 64 * 64; i++) of[r][i] = put(type, weights + r * stride, i, i < k);
    for (uint32_t c = 0; c < columns; c++) {
        for (uint32_t i = 0; i < ROW; i++) x[c][i] = i < k ? (float)((int32_t)next() >> 4) * 0x1p-20f : NAN;
        at[c] = (const HVX_Vector *)x[c];
    }
    memset(y, 0xa5, sizeof y);
    htp_dot_float(type, weights, stride, rows, at, columns, k, &y[0].v);
    for (uint32_t c = 0; c < columns; c++)
        for (uint32_t r = 0; r < rows; r++) {
            double size;
            float want = dot32(of[r], x[c], k, &size), got = y[c].f[r];
#ifdef HTP_BUILD_REAL
            if (fabs((double)got - want) <= 2e-6 * size + 0x1p-125) continue;
#endif
            if (npu_float_bits(got) == npu_float_bits(want) || failures++ > 20) continue;
            printf("type %u, %u rows, %u columns, %u values: row %u column %u: got %.9g, want %.9g\n", type, rows,
                   columns, k, r, c, got, want);
        }
    if (y[columns].u[3] != 0xa5a5a5a5 && failures++ < 20) printf("wrote behind column %u\n", columns);
}

int main(int argc, char **argv) {
    static const uint32_t types[] = {NPU_TYPE_F32, NPU_TYPE_F16, NPU_TYPE_BF16};
    int rounds = argc > 1 ? atoi(argv[1]) : 400;
    for (int i = 0; i < rounds; i++) check(types[next() % 3], 1 + next() % 32, 1 + next() % COLUMNS, 1 + next() % MOST);
    printf("%d failures\n", failures);
    return failures != 0;
}
