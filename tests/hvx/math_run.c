/* htp/hvx's arithmetic and functions on vectors of floats against scalar C, on edge and random values. */
#include "checks.h"
#include "htp/hvx/hvx_act.h"
#include "htp/hvx/hvx_math.h"

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
/* x / (1 + exp(-(linear x + cubic x^3))) */
static float act(double x, double linear, double cubic) {
    return (float)(x / (1 + exp(-(linear * x + cubic * x * x * x))));
}

/* Up to 2^31 |scale|. */
static void check_real_act(float scale) {
    lanes a, r;
    for (int i = 0; i < 32; i++) a.f[i] = (float)(int32_t)next() * scale;
    r.v = hvx_f32_silu(a.v);
    for (int i = 0; i < 32; i++) expect_near("silu", r.f[i], act(a.f[i], 1, 0), fabs(act(a.f[i], 1, 0)) + 1e-28, i);
    r.v = hvx_f32_gelu(a.v);
    for (int i = 0; i < 32; i++) {
        float want = act(a.f[i], 2 * 0.79788456, 2 * 0.79788456 * 0.044715);
        /* what multiplies the exponent's error */
        expect_near("gelu", r.f[i], want, fabs(want) * (1 + fabs((double)a.f[i] * a.f[i] * a.f[i])) + 1e-28, i);
    }
    r.v = hvx_f32_sigmoid(a.v);
    for (int i = 0; i < 32; i++) {
        float want = (float)(1 / (1 + exp(-(double)a.f[i])));
        expect_near("sigmoid", r.f[i], want, want, i);
    }
    r.v = hvx_f32_tanh(a.v);
    for (int i = 0; i < 32; i++) expect_near("tanh", r.f[i], (float)tanh(a.f[i]), fabs(tanh(a.f[i])), i);
}

/* NaN stays, and ends of the range do what the limit does. */
static void check_real_special(void) {
    static const float in[] = {NPU_F32_NAN, NPU_F32_INF, -NPU_F32_INF, 1e30f, -1e5f, 0, -0.0f, 0x1p-120f};
    static const float silu[] = {NPU_F32_NAN, NPU_F32_INF, -NPU_F32_INF, 1e30f, 0, 0, 0, 0x1p-121f};
    static const float sigmoid[] = {NPU_F32_NAN, 1, 0, 1, 0, 0.5f, 0.5f, 0.5f};
    static const float tanh[] = {NPU_F32_NAN, 1, -1, 1, -1, 0, 0, 0x1p-120f};
    for (int i = 0; i < 8; i++) {
        HVX_Vector v = hvx_f32_splat(in[i]);
        double size = in[i] == -1e5f ? 1e-24 : fabs(silu[i]);
        expect_near("silu of special", hvx_f32_first(hvx_f32_silu(v)), silu[i], size, i);
        expect_near("gelu of special", hvx_f32_first(hvx_f32_gelu(v)), silu[i], size, i);
        expect_near("sigmoid of special", hvx_f32_first(hvx_f32_sigmoid(v)), sigmoid[i], sigmoid[i] + 1e-31, i);
        expect_near("tanh of special", hvx_f32_first(hvx_f32_tanh(v)), tanh[i], fabsf(tanh[i]), i);
    }
}

static void check_real(void) {
    lanes a, b, r;
    for (int i = 0; i < 32; i++) a.f[i] = (float)(int32_t)next() * 0x1p-20f, b.f[i] = (float)(next() | 1) * 0x1p-24f;
    r.v = hvx_f32_div(a.v, b.v);
    for (int i = 0; i < 32; i++) expect_near("hvx_f32_div", r.f[i], a.f[i] / b.f[i], fabsf(a.f[i] / b.f[i]), i);
    check_real_act(0x1p-27f);
    check_real_act(0x1.5p-25f);
    check_real_special();
    for (int i = 0; i < 32; i++) a.f[i] = (float)(int32_t)next() * 0x1p-20f, b.f[i] = (float)(next() | 1) * 0x1p-24f;
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

int main(int argc, char **argv) {
    int rounds = rounds_of(argc, argv);
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
    }
    return told();
}
