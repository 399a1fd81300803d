/* The number contract: vector sets against the plain one on odd sizes with guards, special values, rounding at every
 * half; padding reads nothing behind a row; the rotation is its own inverse and cancels in a product; speed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/cpu.h"
#include "base/random.h"
#include "target/xdna/xdna_numerics.h"

enum { MOST = 1100, GUARD = 64 };

static uint64_t seed = 20;

static uint32_t rnd(void) {
    return (uint32_t)(npu_random_next(&seed) >> 33);
}

static float rnd_float(void) {
    return ((float)(rnd() & 0xFFFFFF) - 8388608.0f) / 1048576.0f;
}

/* Row and code buffers with guards: NaN after the values, a pattern around the codes. */
static float row[MOST + GUARD];
static int8_t codes[GUARD + MOST + GUARD], want[MOST];

static bool here(const npu_xdna_math *m) {
    return (npu_cpu_features() & m->features) == m->features;
}

static void check(const npu_xdna_math *m, uint32_t n) {
    const npu_xdna_math *plain = npu_xdna_math_at(0);
    float scale = plain->quantise(row, n, want);
    for (int i = 0; i < GUARD; i++) row[n + (unsigned)i] = NAN;
    memset(codes, 0x55, sizeof codes);
    float got = m->quantise(row, n, codes + GUARD);
    if (memcmp(&scale, &got, sizeof got) != 0 && !(isnan(scale) && isnan(got)))
        fail_msg("%s, %u values: scale %a, not %a", m->name, n, (double)got, (double)scale);
    for (uint32_t i = 0; i < n; i++)
        if (codes[GUARD + i] != want[i])
            fail_msg("%s, %u values: code %u of %a is %d, not %d", m->name, n, i, (double)row[i], codes[GUARD + i],
                     want[i]);
    for (uint32_t i = 0; i < GUARD; i++)
        if (codes[i] != 0x55 || codes[GUARD + n + i] != 0x55) fail_msg("%s, %u values: guard %u", m->name, n, i);
}

static void sets_agree(void **state) {
    (void)state;
    static const float special[] = {INFINITY, -INFINITY, NAN, 0x1p-100f, 0x1p-101f, 0x1p-149f, 3.4e38f, -0.0f};
    for (unsigned s = 1; npu_xdna_math_at(s); s++) {
        const npu_xdna_math *m = npu_xdna_math_at(s);
        if (!here(m)) continue;
        for (uint32_t n = 1; n < 200; n++) {
            for (uint32_t i = 0; i < n; i++) row[i] = rnd_float();
            check(m, n);
        }
        for (unsigned k = 0; k < sizeof special / sizeof special[0]; k++)
            for (uint32_t n = 1; n < 100; n += 7)
                for (int alone = 0; alone < 2; alone++) {
                    for (uint32_t i = 0; i < n; i++) row[i] = alone ? 0 : rnd_float();
                    row[rnd() % n] = special[k];
                    check(m, n);
                }
    }
}

/* With 127 as the largest value the scale is 1: codes are the values, rounded half away from zero. */
static void rounding(void **state) {
    (void)state;
    for (unsigned s = 0; npu_xdna_math_at(s); s++) {
        const npu_xdna_math *m = npu_xdna_math_at(s);
        if (!here(m)) continue;
        for (int sign = -1; sign <= 1; sign += 2) {
            uint32_t n = 0;
            row[n++] = 127;
            for (int k = 0; k < 127; k++) {
                float half = (float)k + 0.5f;
                row[n++] = (float)sign * half;
                row[n++] = (float)sign * nextafterf(half, 0);
                row[n++] = (float)sign * nextafterf(half, 1000);
                row[n++] = (float)sign * (float)k;
            }
            check(m, n);
            assert_true(m->quantise(row, n, codes) == 1);
            for (uint32_t i = 1; i < n; i++) {
                float away = floorf(fabsf(row[i]) + (fabsf(row[i]) - floorf(fabsf(row[i])) >= 0.5f ? 1 : 0));
                assert_int_equal(codes[i], sign * (int)away);
            }
        }
    }
}

static void dequantise(void **state) {
    (void)state;
    static int32_t sums[MOST];
    static float scales[MOST], expect[MOST], y[MOST + GUARD];
    for (int i = 0; i < MOST; i++) {
        sums[i] = (int32_t)(rnd() << 1) >> (rnd() % 24);
        scales[i] = rnd() % 50 ? fabsf(rnd_float()) : NAN;
    }
    for (unsigned s = 1; npu_xdna_math_at(s); s++) {
        if (!here(npu_xdna_math_at(s))) continue;
        for (uint32_t n = 1; n < 150; n += 3) {
            npu_xdna_math_at(0)->dequantise(sums, n, 0.37f, scales, expect);
            memset(y, 0x55, sizeof y);
            npu_xdna_math_at(s)->dequantise(sums, n, 0.37f, scales, y);
            for (uint32_t i = 0; i < n; i++)
                assert_true((isnan(y[i]) && isnan(expect[i])) || !memcmp(&y[i], &expect[i], sizeof y[i]));
            for (int i = 0; i < GUARD; i++) assert_int_equal(((uint8_t *)y)[n * sizeof *y + (unsigned)i], 0x55);
        }
    }
}

/* Pad and read have one owner: a NaN right behind the row's own values changes nothing. */
static void padding(void **state) {
    (void)state;
    static float scratch[MOST];
    static int8_t other[MOST];
    static const uint32_t blocks[] = {0, 16, 64};
    for (unsigned s = 0; npu_xdna_math_at(s); s++) {
        const npu_xdna_math *m = npu_xdna_math_at(s);
        if (!here(m)) continue;
        for (unsigned b = 0; b < 3; b++)
            for (uint32_t real = 1; real <= 192; real += 5) {
                for (uint32_t i = 0; i < real; i++) row[i] = rnd_float();
                for (uint32_t i = real; i < 192; i++) row[i] = 0;
                float scale = npu_xdna_quantise(m, row, 192, 192, blocks[b], scratch, other);
                for (uint32_t i = real; i < MOST + GUARD; i++) row[i] = NAN;
                memset(codes, 0x55, sizeof codes);
                assert_true(npu_xdna_quantise(m, row, real, 192, blocks[b], scratch, codes) == scale);
                assert_memory_equal(codes, other, 192);
                assert_int_equal(codes[192], 0x55);
            }
    }
}

static void rotation_is_its_own_inverse(void **state) {
    (void)state;
    static float x[1024], y[1024];
    for (uint32_t block = 2; block <= 1024; block *= 2) {
        for (int i = 0; i < 1024; i++) x[i] = y[i] = rnd_float();
        npu_xdna_rotate(y, 1024, block);
        npu_xdna_rotate(y, 1024, block);
        for (int i = 0; i < 1024; i++) assert_true(fabsf(x[i] - y[i]) < 1e-5f);
    }
    float first[4] = {1, 2, 3, 5}, rotated[4] = {5.5f, -1.5f, -2.5f, 0.5f}; /* Sylvester's order */
    npu_xdna_rotate(first, 4, 4);
    assert_memory_equal(first, rotated, sizeof first);
    assert_true(npu_xdna_block_fits(0, 100) && npu_xdna_block_fits(32, 96) && npu_xdna_block_fits(4096, 8192));
    assert_false(npu_xdna_block_fits(24, 96) || npu_xdna_block_fits(64, 96) || npu_xdna_block_fits(8192, 8192));
}

/* The product of a row and a column from their codes, each rotated or not. */
static double product(const float *x, const float *w, uint32_t n, uint32_t block_x, uint32_t block_w) {
    static float scratch[512];
    static int8_t cx[512], cw[512];
    const npu_xdna_math *m = npu_xdna_math_for(npu_cpu_features());
    float sx = npu_xdna_quantise(m, x, n, 512, block_x, scratch, cx);
    float sw = npu_xdna_quantise(m, w, n, 512, block_w, scratch, cw);
    int32_t sum = 0;
    for (int i = 0; i < 512; i++) sum += cx[i] * cw[i];
    return (double)((float)sum * (sx * sw));
}

/* The fold cancels: rotated on both sides a product is the same but for quantisation, and nearer where a row has a few
 * large values; rotated on one side it is another product. */
static void rotation_cancels_in_a_product(void **state) {
    (void)state;
    static float x[500], w[500];
    double worse = 0, plain = 0, folded = 0, size = 0;
    for (int k = 0; k < 200; k++) {
        double exact = 0;
        for (int i = 0; i < 500; i++) {
            x[i] = rnd_float() * (rnd() % 100 ? 1 : 40);
            w[i] = rnd_float();
            exact += (double)x[i] * (double)w[i];
        }
        size += exact * exact;
        plain += pow(product(x, w, 500, 0, 0) - exact, 2);
        folded += pow(product(x, w, 500, 64, 64) - exact, 2);
        worse += pow(product(x, w, 500, 64, 0) - exact, 2);
    }
    assert_true(folded < plain && plain < size * 1e-2);
    assert_true(worse > size * 0.5);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* f32 input that one core quantises, rows of a usual length, the best of many tries. */
static void speed(void **state) {
    (void)state;
    enum { N = 4096, ROWS = 64, TRIES = 60 };
    float *x = malloc(sizeof(float) * N * ROWS);
    int8_t *out = malloc((size_t)N * ROWS);
    assert_true(x && out);
    const npu_xdna_math *m = npu_xdna_math_for(npu_cpu_features());
    for (int i = 0; i < N * ROWS; i++) x[i] = rnd_float();
    double best = 1e9;
    for (int t = 0; t < TRIES; t++) {
        double start = seconds();
        for (int r = 0; r < ROWS; r++) m->quantise(x + r * N, N, out + r * N);
        double took = seconds() - start;
        if (took < best) best = took;
    }
    double rate = sizeof(float) * N * ROWS / best * 1e-9;
    print_message("quantiser %s: %.1f GB/s of f32 input\n", m->name, rate);
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__) && \
    !defined(NPU_SIMDE)
    if (m->features) assert_true(rate >= 5);
#endif
    free(x);
    free(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_agree),
        cmocka_unit_test(rounding),
        cmocka_unit_test(dequantise),
        cmocka_unit_test(padding),
        cmocka_unit_test(rotation_is_its_own_inverse),
        cmocka_unit_test(rotation_cancels_in_a_product),
        cmocka_unit_test(speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
