/* htp/hvx/hvx_convert.h against src/quant, every type both ways: odd widths, edges, guards behind what may be written.
 * kernel_check.py compiles it as math_run.c. Prints the first failures and exits with 1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "htp/hvx/hvx_convert.h"
#include "htp/hvx/hvx_f32.h"
#include "wire/math.h"
#include "quant/quant.h"

enum { MOST = 40 * 32, MARK = 0xa5, BLOCK_BYTES = 34 };

static union {
    HVX_Vector v;
    float f[MOST + 64];
    uint32_t u[MOST + 64];
    uint8_t b[4 * MOST + 256];
} x, y;
static float want_values[MOST];
static uint8_t want_bytes[4 * MOST];
static uint64_t rng = 0x5eed0d08;
static int failures;

static uint32_t next(void) {
    return (uint32_t)(npu_random_next(&rng) >> 32);
}

static void fail(const char *what, uint32_t type, uint32_t n, uint32_t at, double got, double want) {
    if (failures++ < 20) printf("%s, type %u, %u values: %u: got %.9g, want %.9g\n", what, type, n, at, got, want);
}

/* A block of one kind: any size, nothing, subnormals, halves that are ties, infinities and NaNs. */
static void fill_block(uint32_t *u, int is_half) {
    uint32_t kind = next() % 12;
    float size = kind == 0 ? 0 : kind == 1 ? 0x1p-140f : kind == 2 ? 0x1p-128f : ldexpf(1, (int)(next() % 24) - 16);
    for (int i = 0; i < 32; i++) u[i] = npu_float_bits((float)(int32_t)(next() << 8) * 0x1p-31f * size);
    for (int i = 0; kind == 3 && i < 32; i++) u[i] = npu_float_bits((float)(int32_t)(next() % 253) / 2 - 63);
    if (kind == 3) u[next() % 32] = npu_float_bits(127);
    if (kind == 4) u[next() % 32] = 0x7f800000;
    if (kind == 5) u[next() % 32] = 0xffc00000;
    for (int i = 0; is_half && i < 32; i++)
        u[i] = npu_float_bits(npu_half_to_float(npu_float_to_half(npu_bits_float(u[i]))));
}

static int near(float got, float want, float scale) {
    if (npu_float_bits(got) == npu_float_bits(want) || (got != got && want != want)) return 1;
#ifdef HTP_BUILD_REAL
    /* Neither NaN nor infinity comes through qf32, nor a subnormal. */
    return !(fabsf(want) < NPU_F32_INF) || fabsf(got - want) <= 2e-6f * scale + 0x1p-125f;
#else
    (void)scale;
    return 0;
#endif
}

/* Bytes of a result; the real build may round a code or a half's last bit otherwise. */
static int same_bytes(uint32_t type, uint32_t at) {
    if (y.b[at] == want_bytes[at]) return 1;
#ifdef HTP_BUILD_REAL
    uint32_t unit = type == NPU_TYPE_Q8_0 ? at - at % BLOCK_BYTES : at & ~1u;
    int in_scale = type != NPU_TYPE_Q8_0 || at - unit < 2;
    float want = npu_half_to_float((uint16_t)(want_bytes[unit] | want_bytes[unit + 1] << 8));
    float got = npu_half_to_float((uint16_t)(y.b[unit] | y.b[unit + 1] << 8));
    if (!(fabsf(want) < NPU_F32_INF)) return 1;
    if (in_scale) return fabsf(got - want) <= 1e-3f * fabsf(want) + 0x1p-14f;
    return fabsf(want) < 0x1p-14f || abs((int8_t)y.b[at] - (int8_t)want_bytes[at]) <= 1;
#else
    (void)type;
    return 0;
#endif
}

static void check(uint32_t type, uint32_t n) {
    uint32_t bytes = hvx_convert_bytes(type, n), whole = (n + 31) / 32, slack = type == NPU_TYPE_Q8_0 ? 94 : 0;
    uint32_t end = type == NPU_TYPE_Q8_0 ? bytes + slack : (bytes + 127) / 128 * 128;
    for (uint32_t b = 0; b < whole; b++) fill_block(x.u + 32 * b, type == NPU_TYPE_F16);
    memset(y.b, MARK, sizeof y.b);
    if (npu_quant_row(type, x.f, want_bytes, n) != NPU_OK) abort();
    hvx_convert_from_f32(type, &x.v, y.b, n);
    for (uint32_t i = 0; i < bytes; i++)
        if (!same_bytes(type, i)) fail("from f32", type, n, i, y.b[i], want_bytes[i]);
    for (uint32_t i = end; i < end + 64; i++)
        if (y.b[i] != MARK) fail("from f32: behind the end", type, n, i, y.b[i], MARK);
    memcpy(x.b, want_bytes, bytes);
    memset(y.b, MARK, sizeof y.b);
    if (npu_quant_dequant_row(type, want_bytes, want_values, n) != NPU_OK) abort();
    hvx_convert_to_f32(type, x.b, &y.v, n);
    for (uint32_t i = 0; i < n; i++)
        if (!near(y.f[i], want_values[i], fabsf(want_values[i]))) fail("to f32", type, n, i, y.f[i], want_values[i]);
    for (uint32_t i = whole * 128; i < whole * 128 + 64; i++)
        if (y.b[i] != MARK) fail("to f32: behind the end", type, n, i, y.b[i], MARK);
}

int main(int argc, char **argv) {
    static const uint32_t types[] = {NPU_TYPE_F32, NPU_TYPE_F16, NPU_TYPE_BF16, NPU_TYPE_Q8_0};
    int rounds = argc > 1 ? atoi(argv[1]) : 400;
    for (int i = 0; i < rounds; i++) {
        uint32_t type = types[next() % 4], n = 1 + next() % (next() % 4 ? 300 : MOST);
        check(type, type == NPU_TYPE_Q8_0 ? (n + 31) / 32 * 32 : n);
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
