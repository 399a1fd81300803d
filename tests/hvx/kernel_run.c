/* htp/hvx against scalar C: every helper of hvx_f32.h on edge and random values, every kernel of
 * hvx_dot.h on odd and even numbers of tiles with guard zones. hvx_kernels.py compiles it for the PC and for Hexagon
 * (run by qemu-hexagon). Prints the first failure of a kind and exits with 1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "htp/hvx/hvx_dot.h"
#include "htp/hvx/hvx_math.h"

typedef union {
    HVX_Vector v;
    float f[32];
    uint32_t u[32];
    int32_t w[32];
    uint16_t h[64];
    uint8_t b[128];
} lanes;

static uint64_t rng = 0x5eed0d07;
static int failures;

static uint32_t next(void) {
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (uint32_t)(rng >> 24);
}

/* NaN is a class. */
static int same(float a, float b) {
    return npu_float_bits(a) == npu_float_bits(b) || (a != a && b != b);
}

static void expect(const char *what, float got, float want, int where) {
    if (same(got, want) || failures++ > 20) return;
    printf("%s: lane %d: got %08x, want %08x\n", what, where, npu_float_bits(got), npu_float_bits(want));
}

/* |scale| is what the real build's error is measured by. */
static void expect_near(const char *what, float got, float want, double scale, int where) {
#ifdef HTP_BUILD_REAL
    if (fabs((double)got - want) <= 2e-6 * scale) return;
#else
    (void)scale;
#endif
    expect(what, got, want, where);
}

static void check_integers(void) {
    lanes a, b, r;
    for (int i = 0; i < 32; i++) {
        a.w[i] = (int32_t)next() >> (8 + next() % 24);
        b.f[i] = (float)((int32_t)next() >> (next() & 31)) * 0x1p-10f;
        if (next() & 1) b.f[i] = rintf(b.f[i] * 2) / 2; /* ties */
    }
    r.v = hvx_f32_from_i32(a.v);
    for (int i = 0; i < 32; i++) expect("hvx_f32_from_i32", r.f[i], (float)a.w[i], i);
    r.v = hvx_f32_to_i32(b.v);
    for (int i = 0; i < 32; i++) expect("hvx_f32_to_i32", (float)r.w[i], (float)(int32_t)rintf(b.f[i]), i);
}

static void check_exp(void) {
    static const float edges[] = {0,     -0.0f,  NPU_EXP_MIN, NPU_EXP_MAX, 89,    -88,
                                  1e30f, -1e30f, 88.7f,       -87.3f,      88.4f, 1e-20f};
    lanes a, r;
    for (int i = 0; i < 32; i++)
        a.f[i] = next() & 7 ? (float)(int32_t)(next() << 8) * 0x1p-31f * (next() & 1 ? 100 : 2) : edges[next() % 12];
    r.v = hvx_f32_exp(a.v);
    for (int i = 0; i < 32; i++) {
        float size = npu_expf(a.f[i]);
        expect_near("hvx_f32_exp", r.f[i], size, size < NPU_F32_INF ? size : 0, i);
    }
}

#ifdef HTP_BUILD_REAL
static void check_real(void) {
    lanes a, b, r;
    for (int i = 0; i < 32; i++) a.f[i] = (float)(int32_t)next() * 0x1p-20f, b.f[i] = (float)(next() | 1) * 0x1p-24f;
    r.v = hvx_f32_div(a.v, b.v);
    for (int i = 0; i < 32; i++) expect_near("hvx_f32_div", r.f[i], a.f[i] / b.f[i], fabsf(a.f[i] / b.f[i]), i);
    r.v = hvx_f32_fma(a.v, b.v, b.v);
    for (int i = 0; i < 32; i++)
        expect_near("hvx_f32_fma", r.f[i], fmaf(a.f[i], b.f[i], b.f[i]), fabsf(a.f[i] * b.f[i]) + b.f[i], i);
}
#endif

#ifndef HTP_BUILD_REAL
static uint32_t random_float(void) {
    static const uint32_t edges[] = {0,          0x80000000, 1,          0x807fffff, 0x00800000, 0x3f800000,
                                     0xbf800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
                                     0x34000000, 0x4b000001, 0x477fefff, 0x477ff000, 0x387fe000, 0x387fdfff,
                                     0x33000000, 0x33000001, 0x38800000};
    uint32_t kind = next() & 7, r = next();
    if (kind == 0) return edges[r % (sizeof edges / sizeof edges[0])];
    if (kind < 3) return r;
    return (r & 0x807fffff) | (100 + next() % 50) << 23;
}

/* Without a comparison of floats, of which the compiler makes an instruction that forgets NaN. */
static int is_nan(float x) {
    return (npu_float_bits(x) & 0x7fffffff) > 0x7f800000;
}
static int32_t order(float x) {
    uint32_t bits = npu_float_bits(x);
    return bits & 0x80000000 ? -(int32_t)(bits & 0x7fffffff) : (int32_t)bits;
}
static float bigger(float a, float b) {
    return is_nan(a) || (!is_nan(b) && order(a) > order(b)) ? a : b;
}
static float smaller(float a, float b) {
    return is_nan(a) || (!is_nan(b) && order(a) < order(b)) ? a : b;
}

/* What the formulas of wire/math.h promise for NaN and infinity, asked of scalars and of vectors alike. */
static void check_special(void) {
    static const uint32_t in[4] = {0x7fc00000, 0xffc00001, 0x7f800000, 0xff800000};
    static const uint32_t want[][4] = {
        {1, 1, 0x7f800000, 0}, {1, 1, 0x3f800000, 0xbf800000}, {1, 1, 0x3f800000, 0xbf800000}, {1, 1, 0x7f800000, 1}};
    static const char *const names[] = {"exp of special", "tanh of special", "erf of special", "log of special"};
    for (int i = 0; i < 4; i++) {
        float x = npu_bits_float(in[i]);
        HVX_Vector v = hvx_f32_splat(x);
        float got[][2] = {{npu_expf(x), hvx_f32_first(hvx_f32_exp(v))},
                          {npu_tanhf(x), hvx_f32_first(hvx_f32_tanh(v))},
                          {npu_erff(x), hvx_f32_first(hvx_f32_erf(v))},
                          {npu_logf(x), hvx_f32_first(hvx_f32_log(v))}};
        for (int f = 0; f < 4; f++)
            for (int k = 0; k < 2; k++) {
                uint32_t bits = npu_float_bits(got[f][k]);
                if (want[f][i] == 1 ? is_nan(got[f][k]) : bits == want[f][i]) continue;
                expect(names[f], got[f][k], want[f][i] == 1 ? NPU_F32_NAN : npu_bits_float(want[f][i]), i * 10 + k);
            }
        for (int j = 0; j < 32; j++) {
            float y = npu_bits_float((uint32_t)j * 0x07654321);
            expect("npu_maxf", npu_maxf(x, y), bigger(x, y), j);
            expect("npu_maxf", npu_maxf(y, x), bigger(y, x), j);
        }
    }
}

static void check_arithmetic(void) {
    lanes a, b, c, r;
    for (int i = 0; i < 32; i++) a.u[i] = random_float(), b.u[i] = random_float(), c.u[i] = random_float();
    if (next() & 1)
        for (int i = 0; i < 32; i++) c.f[i] = -a.f[i] * b.f[i]; /* cancellation shows a fused product */
#define CHECK(name, args, ...) \
    r.v = name args;           \
    for (int i = 0; i < 32; i++) expect(#name, r.f[i], __VA_ARGS__, i)
    CHECK(hvx_f32_add, (a.v, b.v), a.f[i] + b.f[i]);
    CHECK(hvx_f32_sub, (a.v, b.v), a.f[i] - b.f[i]);
    CHECK(hvx_f32_mul, (a.v, b.v), a.f[i] * b.f[i]);
    CHECK(hvx_f32_div, (a.v, b.v), a.f[i] / b.f[i]);
    CHECK(hvx_f32_fma, (a.v, b.v, c.v), fmaf(a.f[i], b.f[i], c.f[i]));
    CHECK(hvx_f32_max, (a.v, b.v), bigger(a.f[i], b.f[i]));
    CHECK(hvx_f32_min, (a.v, b.v), smaller(a.f[i], b.f[i]));
    CHECK(hvx_f32_abs, (a.v), npu_bits_float(a.u[i] & 0x7fffffff));
    CHECK(hvx_f32_splat, (a.f[3]), a.f[3]);
    float fold[32], top[32];
    for (int i = 0; i < 32; i++) fold[i] = top[i] = a.f[i];
    for (int h = 16; h; h /= 2)
        for (int j = 0; j < h; j++) fold[j] = fold[j] + fold[j + h], top[j] = bigger(top[j], top[j + h]);
    expect("hvx_f32_sum", hvx_f32_sum(a.v), fold[0], 0);
    expect("hvx_f32_largest", hvx_f32_largest(a.v), top[0], 0);
#undef CHECK
}

/* Vector functions are their scalar formulas. */
static void check_functions(void) {
    lanes a, r;
    for (int i = 0; i < 32; i++)
        a.u[i] = next() & 1 ? random_float() : (next() & 0x80ffffff) | (100 + next() % 36) << 23;
#define CHECK(name, ...) \
    r.v = name(a.v);     \
    for (int i = 0; i < 32; i++) expect(#name, r.f[i], __VA_ARGS__, i)
    CHECK(hvx_f32_exp, npu_expf(a.f[i]));
    CHECK(hvx_f32_log, npu_logf(a.f[i]));
    CHECK(hvx_f32_tanh, npu_tanhf(a.f[i]));
    CHECK(hvx_f32_erf, npu_erff(a.f[i]));
#undef CHECK
}

static void check_halves(void) {
    lanes h, lo, hi, back;
    for (int i = 0; i < 64; i++) h.h[i] = (uint16_t)(next() & 3 ? next() : next() % 3 * 0x3ff);
    HVX_VectorPair wide = hvx_f32_from_half(h.v);
    lo.v = Q6_V_lo_W(wide), hi.v = Q6_V_hi_W(wide);
    for (int i = 0; i < 64; i++)
        expect("hvx_f32_from_half", i < 32 ? lo.f[i] : hi.f[i - 32], npu_half_to_float(h.h[i]), i);
    wide = hvx_f32_widen(h.v);
    lo.v = Q6_V_lo_W(wide), hi.v = Q6_V_hi_W(wide);
    for (int i = 0; i < 64; i++)
        expect("hvx_f32_widen", i & 1 ? hi.f[i / 2] : lo.f[i / 2], npu_half_to_float(h.h[i]), i);
    for (int i = 0; i < 32; i++) lo.u[i] = random_float(), hi.u[i] = random_float();
    back.v = hvx_f32_to_half(Q6_W_vcombine_VV(hi.v, lo.v));
    for (int i = 0; i < 64; i++) {
        float want = npu_half_to_float(npu_float_to_half(i < 32 ? lo.f[i] : hi.f[i - 32]));
        expect("hvx_f32_to_half", npu_half_to_float(back.h[i]), want, i);
    }
}
#endif

enum { TILES = 7, K = 32 * TILES, COLUMNS = 4, GUARD = 128 };
static const struct {
    const char *name;
    int bits, offset, has_min;
} formats[HTP_DOT_FORMATS] = {{"q4_0", 4, 8, 0}, {"q4_1", 4, 0, 1}, {"q8_0", 8, 128, 0}};

/* Random weights and activations of one row tile, as the format has them and as the kernel wants them. */
static struct {
    uint8_t code[32][K];
    uint16_t scale[32][TILES], min[32][TILES];
    int8_t x[COLUMNS][K] __attribute__((aligned(8)));
    htp_act_block blocks[COLUMNS][TILES];
} data;
static lanes codes[2 * 4 * TILES + 1], scales[(TILES + 1) / 2], minima[(TILES + 1) / 2], y[COLUMNS + 2];

static uint16_t random_half(void) {
    return npu_float_to_half((float)(int32_t)(next() % 2001 - 1000) * 1e-4f);
}

static void fill(int f, int tiles) {
    for (int r = 0; r < 32; r++) {
        for (int k = 0; k < 32 * tiles; k++) data.code[r][k] = (uint8_t)(next() & ((1 << formats[f].bits) - 1));
        for (int t = 0; t < tiles; t++) data.scale[r][t] = random_half(), data.min[r][t] = random_half();
    }
    for (int c = 0; c < COLUMNS; c++)
        for (int t = 0; t < tiles; t++) {
            int sum = 0;
            for (int k = 32 * t; k < 32 * t + 32; k++)
                sum += data.x[c][k] = (int8_t)((int)(next() & 3 ? next() % 255 : next() % 2 * 254) - 127);
            data.blocks[c][t] = (htp_act_block){sum, (float)next() * 0x1p-40f};
        }
    memset(codes, 0, sizeof codes);
    for (int i = 0; i < (TILES + 1) / 2 * 64; i++) scales[i / 64].h[i % 64] = minima[i / 64].h[i % 64] = 0x7e00;
    for (int r = 0; r < 32; r++) {
        for (int k = 0; k < 32 * tiles; k++) {
            int per = formats[f].bits == 4 ? 8 : 4, in = k % per;
            codes[k / per].b[4 * r + in % 4] |= (uint8_t)(data.code[r][k] << (in < 4 ? 0 : 4));
        }
        for (int t = 0; t < tiles; t++)
            scales[t / 2].h[2 * r + t % 2] = data.scale[r][t], minima[t / 2].h[2 * r + t % 2] = data.min[r][t];
    }
}

static float reference(int f, int r, int c, int tiles) {
    float acc = 0;
    for (int t = 0; t < tiles; t++) {
        int sum = 0;
        for (int k = 32 * t; k < 32 * t + 32; k++) sum += (data.code[r][k] - formats[f].offset) * data.x[c][k];
        float d = data.blocks[c][t].d, p = npu_half_to_float(data.scale[r][t]) * d;
        acc = fmaf(p, (float)sum, acc);
        if (formats[f].has_min) acc = fmaf(npu_half_to_float(data.min[r][t]), d * (float)data.blocks[c][t].sum, acc);
    }
    return acc;
}

static void check_dot(int f, int tiles) {
    static const int columns[] = {1, 2, 4};
    htp_act_row rows[COLUMNS];
    fill(f, tiles);
    for (int c = 0; c < COLUMNS; c++) rows[c] = (htp_act_row){data.x[c], data.blocks[c]};
    for (int n = 0; n < 3; n++) {
        memset(y, 0xa5, sizeof y);
        htp_dot[f][n](&codes[0].v, &scales[0].v, &minima[0].v, rows, (uint32_t)tiles, &y[1].v);
        for (int c = 0; c < columns[n]; c++) {
            double scale = 0;
            for (int r = 0; r < 32; r++) scale = fmax(scale, fabsf(reference(f, r, c, tiles)));
            for (int r = 0; r < 32; r++)
                expect_near(formats[f].name, y[1 + c].f[r], reference(f, r, c, tiles), scale, r);
        }
        for (int i = 0; i < COLUMNS + 2; i++)
            if ((i < 1 || i > columns[n]) && y[i].u[7] != 0xa5a5a5a5) printf("wrote vector %d\n", i), failures++;
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 400;
    for (int i = 0; i < rounds; i++) {
#ifdef HTP_BUILD_REAL
        check_real();
#else
        check_arithmetic();
        check_special();
        check_functions();
        check_halves();
#endif
        check_integers();
        check_exp();
        if (i % 4 == 0)
            for (int f = 0; f < HTP_DOT_FORMATS; f++) check_dot(f, 1 + i / 4 % TILES);
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
