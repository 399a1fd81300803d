/* See tiles.h. Linked into programs whose kernels were built by way of immintrin.h in this folder. */
#include "simde/tiles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64 };

/* As LDTILECFG reads it. */
typedef struct config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} config;

_Static_assert(sizeof(config) == 64, "as the instruction reads it");

static _Thread_local struct {
    config c; /* palette 0: not configured */
    uint8_t data[TILES][ROWS][ROW_BYTES];
} state;

static void fault_unless(int good, const char *why) {
    if (good) return;
    printf("FAIL tiles: #GP or #UD: %s\n", why);
    fflush(stdout);
    abort();
}

/* Whether tile |i| has a shape, of 0 rows and bytes when |used| is 0. */
static int is_shape(const config *c, int i, int used) {
    if (!used) return !c->rows[i] && !c->row_bytes[i];
    return c->rows[i] <= ROWS && c->row_bytes[i] <= ROW_BYTES && !c->rows[i] == !c->row_bytes[i];
}

void simd_tile_loadconfig(const void *from) {
    config c;
    static const uint8_t zero[14];
    memcpy(&c, from, sizeof c);
    fault_unless(c.palette <= 1, "a palette that does not exist");
    if (c.palette) {
        fault_unless(!memcmp(c.reserved, zero, sizeof zero), "reserved bytes of the configuration");
        for (int i = 0; i < 16; i++) fault_unless(is_shape(&c, i, i < TILES), "a shape that a tile cannot have");
    }
    memset(&state, 0, sizeof state);
    if (c.palette) state.c = c;
}

void simd_tile_storeconfig(void *to) {
    memcpy(to, &state.c, sizeof state.c);
}

void simd_tile_release(void) {
    memset(&state, 0, sizeof state);
}

static void need(int tile) {
    fault_unless(state.c.palette != 0, "a tile before LDTILECFG or after TILERELEASE");
    fault_unless(tile >= 0 && tile < TILES && state.c.rows[tile], "a tile without rows");
}

void simd_tile_zero(int tile) {
    need(tile);
    memset(state.data[tile], 0, sizeof state.data[tile]);
}

/* Behind the rows and bytes of its shape a tile is 0. */
void simd_tile_loadd(int tile, const void *base, ptrdiff_t stride) {
    simd_tile_zero(tile);
    for (ptrdiff_t r = 0; r < state.c.rows[tile]; r++)
        memcpy(state.data[tile][r], (const uint8_t *)base + r * stride, state.c.row_bytes[tile]);
}

void simd_tile_stored(int tile, void *base, ptrdiff_t stride) {
    need(tile);
    for (ptrdiff_t r = 0; r < state.c.rows[tile]; r++)
        memcpy((uint8_t *)base + r * stride, state.data[tile][r], state.c.row_bytes[tile]);
}

/* The shapes of sum[m][n] += a[m][k] · b[k][n], whose elements are four bytes. */
static void need_product(int sum, int a, int b) {
    need(sum);
    need(a);
    need(b);
    fault_unless(sum != a && sum != b && a != b, "one tile twice");
    fault_unless(state.c.row_bytes[sum] % 4 == 0 && state.c.row_bytes[a] % 4 == 0 && state.c.row_bytes[b] % 4 == 0,
                 "rows that are not whole elements");
    fault_unless(state.c.rows[sum] == state.c.rows[a], "rows of sum and a differ");
    fault_unless(state.c.row_bytes[sum] == state.c.row_bytes[b], "columns of sum and b differ");
    fault_unless(state.c.row_bytes[a] / 4 == state.c.rows[b], "columns of a and rows of b differ");
}

static int32_t byte_of(uint8_t byte, int has_sign) {
    return has_sign ? (int8_t)byte : byte;
}

void simd_tile_dp_bytes(int sum, int a, int b, int a_signed, int b_signed) {
    need_product(sum, a, b);
    for (int m = 0; m < state.c.rows[sum]; m++) {
        uint32_t row[ROW_BYTES / 4];
        memcpy(row, state.data[sum][m], sizeof row);
        for (int k = 0; k < state.c.rows[b]; k++)
            for (int n = 0; n < state.c.row_bytes[sum] / 4; n++)
                for (int i = 0; i < 4; i++)
                    row[n] += (uint32_t)(byte_of(state.data[a][m][4 * k + i], a_signed) *
                                         byte_of(state.data[b][k][4 * n + i], b_signed));
        memcpy(state.data[sum][m], row, sizeof row);
    }
}

static float flushed(float x) {
    return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

static float widened(uint16_t x) {
    uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return flushed(f);
}

float simd_bf16_fma(uint16_t a, uint16_t b, float sum) {
    return flushed(fmaf(widened(a), widened(b), flushed(sum)));
}

static uint16_t half_of(const uint8_t *row, int i) {
    uint16_t h;
    memcpy(&h, row + 2 * i, sizeof h);
    return h;
}

/* TDPBF16PS: the first and the second products of all pairs have a sum each, which come together at the end. */
void simd_tile_dp_bf16(int sum, int a, int b) {
    need_product(sum, a, b);
    for (int m = 0; m < state.c.rows[sum]; m++) {
        float row[ROW_BYTES / 4];
        memcpy(row, state.data[sum][m], sizeof row);
        for (int n = 0; n < state.c.row_bytes[sum] / 4; n++) {
            float part[2] = {0, 0};
            for (int k = 0; k < state.c.rows[b]; k++)
                for (int i = 0; i < 2; i++)
                    part[i] = simd_bf16_fma(half_of(state.data[a][m], 2 * k + i), half_of(state.data[b][k], 2 * n + i),
                                            part[i]);
            row[n] = flushed(flushed(row[n]) + flushed(part[0] + part[1]));
        }
        memcpy(state.data[sum][m], row, sizeof row);
    }
}
