/* htp/hvx against scalar C: every helper of hvx_f32.h on edge and random values, every kernel of
 * hvx_dot.h on odd and even numbers of tiles with guard zones. hvx_kernels.py compiles it for the PC and for Hexagon
 * (run by qemu-hexagon). Prints the first failure of a kind and exits with 1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "htp/hvx/hvx_attn.h"
#include "htp/hvx/hvx_dot.h"
#include "htp/hvx/hvx_act.h"
#include "htp/hvx/hvx_math.h"
#include "htp/hvx/hvx_quantise.h"
#include "quant/quant.h"
#include "target/hexagon/hexagon_repack.h"

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
    return (uint32_t)(npu_random_next(&rng) >> 32);
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
    if (fabs((double)got - want) <= 2e-6 * scale + 0x1p-125) return; /* no subnormals there */
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

enum { TILES = 24, K = 32 * TILES, COLUMNS = 4, GUARD = 128 };

/* Random weights of one row tile in the format of a file and as the kernels want them, and activations. */
static struct {
    uint8_t raw[32][TILES * 40], image[32 * K * 2] __attribute__((aligned(128)));
    int8_t x[COLUMNS][K] __attribute__((aligned(8)));
    htp_act_block blocks[COLUMNS][TILES];
} data;
static lanes y[COLUMNS + 2];

static uint16_t random_half(void) {
    return npu_float_to_half((float)(int32_t)(next() % 2001 - 1000) * 1e-4f);
}

static void fill_blocks(const npu_format *f) {
    const npu_quant *q = npu_quant_of(f->type);
    for (int r = 0; r < 32; r++)
        for (uint32_t b = 0; b < K / f->block_values; b++) {
            uint8_t *p = data.raw[r] + b * f->block_bytes;
            uint16_t d = random_half(), m = random_half();
            for (uint32_t i = 0; i < f->block_bytes; i++) p[i] = (uint8_t)next();
            if (q->d_at >= 0) memcpy(p + q->d_at, &d, 2);
            if (q->m_at >= 0) memcpy(p + q->m_at, &m, 2);
            if (q->d_at < 0) p[0] = (uint8_t)(next() & 15 ? 110 + next() % 20 : next() % 3); /* MXFP4's exponent */
        }
}

static void fill(const npu_image_format *image, int tiles) {
    const npu_format *f = npu_format_of(image->type);
    fill_blocks(f);
    memset(data.image, 0x7e, sizeof data.image);
    npu_hex_repack(NULL, image, data.raw[0], sizeof data.raw[0], 32 * (uint32_t)tiles, 32, 0, 1, data.image);
    for (int c = 0; c < COLUMNS; c++)
        for (int t = 0; t < tiles; t++) {
            int half[2] = {0};
            for (int k = 0; k < 32; k++) {
                int q = (int)(next() & 3 ? next() % 255 : next() % 2 * 254) - 127;
                half[k / 16] += data.x[c][32 * t + k] = (int8_t)q;
            }
            float d = (float)next() * 0x1p-40f;
            data.blocks[c][t] = (htp_act_block){d, d * (float)(half[0] + half[1]), half[0] + half[1], (int16_t)half[0],
                                                (int16_t)half[1]};
        }
}

/* docs/numerics.md, section 5. */
static float reference(const npu_format *f, int r, int c, int tiles) {
    float acc = 0;
    for (int t = 0; t < tiles; t++) {
        const htp_act_block *a = &data.blocks[c][t];
        int sum[2] = {0}, sixteen = f->group_values == 16;
        npu_block b;
        npu_quant_of(f->type)->block(data.raw[r], (size_t)t, &b);
        for (int k = 0; k < 32; k++) sum[k / 16] += b.q[k] * data.x[c][32 * t + k];
        float scale = sixteen ? b.d : b.d * (float)b.sub[0], p = scale * a->d;
        acc = fmaf(p, (float)(sixteen ? b.sub[0] * sum[0] + b.sub[1] * sum[1] : sum[0] + sum[1]), acc);
        if (!(f->flags & NPU_FORMAT_MIN)) continue;
        if (sixteen)
            acc = fmaf(b.m * a->d, (float)(b.min[0] * a->low + b.min[1] * a->high), acc);
        else
            acc = fmaf(b.m * (float)b.min[0], a->s, acc);
    }
    return acc;
}

static void check_dot(unsigned i, int tiles) {
    static const int columns[] = {1, 2, 4};
    const npu_image_format *image = NULL;
    for (uint32_t type = 0; !image || npu_image_index(image) != i; type++)
        if (npu_image_format_of(type)) image = npu_image_format_of(type);
    const npu_format *f = npu_format_of(image->type);
    tiles *= f->block_values / 32;
    if (tiles > TILES) return;
    htp_act_row rows[COLUMNS];
    htp_planes planes;
    fill(image, tiles);
    for (unsigned p = 0; p < NPU_IMAGE_PLANES; p++)
        planes[p] = (const HVX_Vector *)(data.image + npu_image_plane_at(image, p, 32 * (uint32_t)tiles));
    for (int c = 0; c < COLUMNS; c++) rows[c] = (htp_act_row){data.x[c], data.blocks[c]};
    for (int n = 0; n < 3; n++) {
        memset(y, 0xa5, sizeof y);
        htp_dot[i][n](planes, rows, (uint32_t)tiles, &y[1].v);
        for (int c = 0; c < columns[n]; c++) {
            double scale = 0;
            for (int r = 0; r < 32; r++) scale = fmax(scale, fabsf(reference(f, r, c, tiles)));
            for (int r = 0; r < 32; r++) expect_near(f->name, y[1 + c].f[r], reference(f, r, c, tiles), scale, r);
        }
        for (int v = 0; v < COLUMNS + 2; v++)
            if ((v < 1 || v > columns[n]) && y[v].u[7] != 0xa5a5a5a5) printf("wrote vector %d\n", v), failures++;
    }
}

/* Rows of x to codes and records, against the rule; blocks of nothing, of infinities and NaNs among them. */
static void check_quantise(uint32_t blocks) {
    enum { MOST = 70 };
    static lanes x[MOST], codes[MOST / 4 + 2];
    static htp_act_block records[96 + 1] __attribute__((aligned(128)));
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t kind = next() % 12;
        for (int i = 0; i < 32; i++) x[b].f[i] = (float)(int32_t)(next() << 8) * (kind ? 0x1p-31f : 0x1p-140f);
        if (kind < 4) x[b].u[next() % 32] = kind == 1 ? 0xff800000 : kind == 2 ? 0x7fc00000 : 0x0d7fffff;
    }
    memset(codes, 0xa5, sizeof codes);
    records[(blocks + 31) / 32 * 32].sum = 77;
    htp_quantise(&x[0].v, blocks, &codes[0].v, records);
    if (codes[(blocks + 3) / 4].u[0] != 0xa5a5a5a5 || records[(blocks + 31) / 32 * 32].sum != 77)
        printf("htp_quantise wrote behind the end\n"), failures++;
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t most = 0;
        int half[2] = {0};
        for (int i = 0; i < 32; i++) most = (x[b].u[i] & 0x7fffffff) > most ? x[b].u[i] & 0x7fffffff : most;
        float a = npu_bits_float(most), d = a / 127.0f, inverse = 127.0f / a;
        if (most < 0x0d800000) d = inverse = 0;
        if (most >= 0x7f800000) d = NPU_F32_NAN, inverse = 0;
        for (int i = 0; i < 32; i++) {
            int got = (int8_t)codes[b / 4].b[b % 4 * 32 + i], want = inverse == 0 ? 0 : (int)rintf(x[b].f[i] * inverse);
            half[i / 16] += got;
#ifdef HTP_BUILD_REAL
            if (got - want == 1 || want - got == 1) want = got;
#endif
            expect("htp_quantise code", (float)got, (float)want, i);
        }
        expect_near("htp_quantise d", records[b].d, d, d, (int)b);
        expect_near("htp_quantise s", records[b].s, d * (float)(half[0] + half[1]), d * 4064, (int)b);
        if (records[b].sum != half[0] + half[1] || records[b].low != half[0] || records[b].high != half[1])
            printf("htp_quantise: sums of block %u\n", b), failures++;
    }
}

enum { ATTN_D = 100, ATTN_VECTORS = 128, ATTN_Q8_0_BYTES = 34 };

static struct {
    uint8_t raw[32 * 4 * ATTN_VECTORS + 128] __attribute__((aligned(128)));
    lanes rows[32 * ATTN_VECTORS / 32], keys[ATTN_VECTORS + 1];
    float of[32][ATTN_VECTORS]; /* of a key and an element */
} attn;

/* Keys of one type, with their values as they should come out. Returns the stride. */
static uint32_t fill_keys(uint32_t type, uint32_t d) {
    uint32_t bytes = type == NPU_TYPE_Q8_0 ? d / 32 * ATTN_Q8_0_BYTES : type == NPU_TYPE_F32 ? 4 * d : 2 * d;
    uint32_t stride = (bytes + 127) / 128 * 128;
    for (uint32_t j = 0; j < 32; j++) {
        uint8_t *row = attn.raw + j * stride;
        for (uint32_t i = 0; i < d; i++) {
            float x = npu_half_to_float((uint16_t)(next() & 0xbfff)), scale = npu_half_to_float(0x2f01);
            uint16_t half = npu_float_to_half(x), top = (uint16_t)(npu_float_bits(x) >> 16);
            int8_t code = (int8_t)next();
            uint8_t *block = row + i / 32 * ATTN_Q8_0_BYTES;
            if (type == NPU_TYPE_F32) memcpy(row + 4 * i, &x, 4);
            if (type == NPU_TYPE_F16) memcpy(row + 2 * i, &half, 2);
            if (type == NPU_TYPE_BF16) memcpy(row + 2 * i, &top, 2), x = npu_bits_float((uint32_t)top << 16);
            if (type == NPU_TYPE_Q8_0) block[0] = 0x01, block[1] = 0x2f, block[2 + i % 32] = (uint8_t)code;
            attn.of[j][i] = type == NPU_TYPE_Q8_0 ? scale * (float)code : x;
        }
    }
    return stride;
}

static void check_keys(uint32_t type, uint32_t d) {
    uint32_t stride = fill_keys(type, d), width = (d + 31) / 32;
    attn.keys[32 * width].u[5] = 0xa5a5a5a5;
    htp_attn_keys(type, attn.raw, stride, d, &attn.rows[0].v, &attn.keys[0].v);
    for (uint32_t i = 0; i < d; i++)
        for (int j = 0; j < 32; j++)
            expect_near("htp_attn_keys", attn.keys[i].f[j], attn.of[j][i], fabsf(attn.of[j][i]), j);
    if (attn.keys[32 * width].u[5] != 0xa5a5a5a5) printf("htp_attn_keys wrote behind the end\n"), failures++;
}

/* The block's sums over lanes in the order of docs/numerics.md, section 3. */
static float folded(const float *x) {
    float t[32];
    memcpy(t, x, sizeof t);
    for (int h = 16; h; h /= 2)
        for (int j = 0; j < h; j++) t[j] += t[j + h];
    return t[0];
}

static float score_of(int r, int j) {
    return (float)((r * 7 + j * 5) % 32) * 0.25f - 6.0f + (float)r;
}

static void check_softmax(uint32_t queries, uint32_t first, uint32_t end) {
    htp_attn_state state[HTP_ATTN_QUERIES], *at[HTP_ATTN_QUERIES] = {0}, was[HTP_ATTN_QUERIES];
    static lanes scores[HTP_ATTN_QUERIES], p[HTP_ATTN_QUERIES];
    float c[HTP_ATTN_QUERIES];
    for (uint32_t r = 0; r < queries; r++) {
        int nothing = next() % 4 == 0;
        for (int j = 0; j < 32; j++) scores[r].f[j] = nothing ? -NPU_F32_INF : score_of((int)(r + next() % 4), j);
        was[r] = state[r] = next() & 1 ? (htp_attn_state){-NPU_F32_INF, 0} : (htp_attn_state){score_of(1, 9), 2.5f};
        at[r] = &state[r];
    }
    htp_attn_softmax(queries, &scores[0].v, first, end, at, &p[0].v, c);
    for (uint32_t r = 0; r < queries; r++) {
        float m = was[r].m, want[32];
        for (uint32_t j = first; j < end; j++) m = npu_maxf(m, scores[r].f[j]);
        expect("htp_attn_softmax m", state[r].m, m, (int)r);
        if (m == -NPU_F32_INF) {
            expect("htp_attn_softmax l of nothing", state[r].l, was[r].l, (int)r);
            continue;
        }
        for (uint32_t j = 0; j < 32; j++) want[j] = j >= first && j < end ? npu_expf(scores[r].f[j] - m) : 0;
        for (int j = 0; j < 32; j++) expect_near("htp_attn_softmax p", p[r].f[j], want[j], 1, j);
        float worth = npu_expf(was[r].m - m), l = fmaf(was[r].l, worth, folded(want));
        expect_near("htp_attn_softmax c", c[r], worth, 1, (int)r);
        expect_near("htp_attn_softmax l", state[r].l, l, l, (int)r);
    }
}

static void check_attention(uint32_t queries, uint32_t d, uint32_t first, uint32_t end) {
    static lanes values[32 * 3], sums[HTP_ATTN_QUERIES][3], scores[HTP_ATTN_QUERIES + 1];
    static float q[HTP_ATTN_QUERIES][ATTN_D], p[HTP_ATTN_QUERIES][32];
    const float *qs[HTP_ATTN_QUERIES], *ps[HTP_ATTN_QUERIES];
    HVX_Vector *at[HTP_ATTN_QUERIES];
    float c[HTP_ATTN_QUERIES], was[HTP_ATTN_QUERIES][96];
    uint32_t width = 1 + d % 3;
    fill_keys(NPU_TYPE_F32, d);
    for (uint32_t i = 0; i < d; i++)
        for (int j = 0; j < 32; j++) attn.keys[i].f[j] = attn.of[j][i];
    for (uint32_t e = 0; e < 32 * width; e++)
        for (int i = 0; i < 32; i++) values[e].f[i] = (float)((int32_t)next() >> 4) * 0x1p-20f;
    for (uint32_t r = 0; r < queries; r++) {
        for (uint32_t i = 0; i < d; i++) q[r][i] = (float)((int32_t)next() >> 4) * 0x1p-20f;
        for (int j = 0; j < 32; j++) p[r][j] = (float)(next() & 0xffff) * 0x1p-16f;
        for (uint32_t e = 0; e < 32 * width; e++) was[r][e] = sums[r][e / 32].f[e % 32] = (float)(next() & 0xffff);
        c[r] = r & 1 ? 1.0f : 0.375f;
        qs[r] = q[r], ps[r] = p[r], at[r] = &sums[r][0].v;
    }
    scores[queries].u[0] = 0xa5a5a5a5;
    htp_attn_dot(queries, qs, &attn.keys[0].v, d, &scores[0].v);
    if (scores[queries].u[0] != 0xa5a5a5a5) printf("htp_attn_dot wrote behind the end\n"), failures++;
    htp_attn_add(queries, ps, c, first, end, &values[0].v, width, at);
    for (uint32_t r = 0; r < queries; r++) {
        for (int j = 0; j < 32; j++) {
            float s = 0;
            double size = 0;
            for (uint32_t i = 0; i < d; i++)
                s = fmaf(q[r][i], attn.of[j][i], s), size += fabsf(q[r][i] * attn.of[j][i]);
            expect_near("htp_attn_dot", scores[r].f[j], s, size, j);
        }
        for (uint32_t e = 0; e < 32 * width; e++) {
            float s = was[r][e] * c[r];
            double size = s;
            for (uint32_t j = first; j < end; j++) {
                float v = values[j * width + e / 32].f[e % 32];
                s = fmaf(p[r][j], v, s), size += fabsf(p[r][j] * v);
            }
            expect_near("htp_attn_add", sums[r][e / 32].f[e % 32], s, size, (int)e);
        }
    }
}

static void check_attentions(void) {
    static const uint32_t types[] = {NPU_TYPE_F16, NPU_TYPE_BF16, NPU_TYPE_F32, NPU_TYPE_Q8_0};
    uint32_t first = next() % 32, end = first + 1 + next() % (32 - first), queries = 1 + next() % HTP_ATTN_QUERIES;
    uint32_t type = types[next() % 4];
    check_keys(type, type == NPU_TYPE_Q8_0 ? 32 * (1 + next() % 3) : 1 + next() % ATTN_D);
    check_softmax(queries, first, end);
    check_attention(queries, 1 + next() % ATTN_D, first, end);
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
        check_attentions();
        if (i % 4 == 0)
            for (unsigned f = 0; f < NPU_IMAGE_COUNT; f++) check_dot(f, 1 + i / 4 % 7);
        if (i % 4 == 1) check_quantise(1 + next() % 70);
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
