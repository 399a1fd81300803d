/* Error bounds and special values of wire/math.h and wire/math64.h against libm in the next wider type. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "wire/math.h"
#include "wire/math64.h"

/* Units in the last place of binary32 at |want|, for normal results. */
static double ulps(float got, double want) {
    int exponent;
    frexp(want, &exponent);
    if (exponent < -125) exponent = -125;
    return fabs((double)got - want) / ldexp(1.0, exponent - 24);
}

typedef struct worst {
    double error;
    float at;
} worst;

static void note(worst *w, float x, float got, double want) {
    double e = ulps(got, want);
    if (e > w->error) *w = (worst){e, x};
}

/* Every |step|-th float from |from| to |to|, both of one sign. */
static worst sweep(float (*f)(float), double (*g)(double), float from, float to, uint32_t step) {
    worst w = {0};
    uint32_t a = npu_float_bits(from), b = npu_float_bits(to);
    for (uint64_t bits = a; bits <= b; bits += step) {
        float x = npu_bits_float((uint32_t)bits);
        note(&w, x, f(x), g((double)x));
    }
    return w;
}

static void check(const char *name, worst w, double bound) {
    print_message("%-12s %.3f ulp at %a\n", name, w.error, (double)w.at);
    assert_true(w.error <= bound);
}

enum { STEP = 997 };

static void errors_are_bounded(void **state) {
    (void)state;
    check("exp+", sweep(npu_expf, exp, 0x1p-30f, NPU_EXP_MAX, STEP), 1.0);
    check("exp-", sweep(npu_expf, exp, -0x1p-30f, NPU_EXP_MIN, STEP), 1.0);
    check("log", sweep(npu_logf, log, 0x1p-149f, 0x1.fffffep127f, STEP), 0.9);
    check("log near 1", sweep(npu_logf, log, 0.6f, 1.6f, 61), 0.9);
    check("sin", sweep(npu_sinf, sin, 0x1p-30f, 0x1p18f, STEP), 1.6);
    check("cos", sweep(npu_cosf, cos, 0x1p-30f, 0x1p18f, STEP), 1.6);
    check("sin large", sweep(npu_sinf, sin, 0x1p16f, 0x1p18f, 17), 1.6);
    check("tanh", sweep(npu_tanhf, tanh, 0x1p-100f, 20.0f, STEP), 1.3);
    check("tanh-", sweep(npu_tanhf, tanh, -0x1p-4f, -20.0f, 61), 1.3);
    check("erf", sweep(npu_erff, erf, 0x1p-100f, 6.0f, STEP), 1.1);
    check("erf-", sweep(npu_erff, erf, -0x1p-4f, -6.0f, 61), 1.1);
}

static void trig_has_a_bound_up_to_its_end(void **state) {
    (void)state;
    double most = 0;
    for (float a = 0x1p18f; a < NPU_TRIG_MAX; a += 0.5f) {
        most = fmax(most, fabs((double)npu_sinf(a) - sin((double)a)));
        most = fmax(most, fabs((double)npu_cosf(a) - cos((double)a)));
    }
    print_message("sin, cos to 2^21: %.3g\n", most);
    assert_true(most < 0x1p-23);
    assert_true(isnan(npu_sinf(NPU_TRIG_MAX)) && isnan(npu_cosf(-NPU_TRIG_MAX)));
    assert_true(isnan(npu_sinf(INFINITY)) && isnan(npu_cosf(NAN)));
}

static void special_values(void **state) {
    (void)state;
    assert_true(npu_expf(0.0f) == 1 && npu_expf(-0.0f) == 1);
    assert_int_equal(npu_float_bits(npu_expf(-INFINITY)), 0);
    assert_int_equal(npu_float_bits(npu_expf(nextafterf(NPU_EXP_MIN, -INFINITY))), 0);
    assert_true(npu_expf(NPU_EXP_MIN) >= 0x1p-126f);
    assert_true(isfinite(npu_expf(NPU_EXP_MAX)) && isinf(npu_expf(nextafterf(NPU_EXP_MAX, INFINITY))));
    assert_true(isinf(npu_expf(INFINITY)) && isnan(npu_expf(NAN)));
    assert_true(npu_logf(1.0f) == 0 && npu_logf(0.0f) == -INFINITY && npu_logf(-0.0f) == -INFINITY);
    assert_true(isnan(npu_logf(-1.0f)) && isnan(npu_logf(NAN)) && isnan(npu_logf(-INFINITY)));
    assert_true(npu_logf(INFINITY) == INFINITY);
    assert_int_equal(npu_float_bits(npu_sinf(0.0f)), 0);
    assert_true(npu_cosf(0.0f) == 1);
    assert_int_equal(npu_float_bits(npu_tanhf(-0.0f)), 0x80000000u);
    assert_int_equal(npu_float_bits(npu_erff(-0.0f)), 0x80000000u);
    assert_true(npu_tanhf(INFINITY) == 1 && npu_tanhf(-INFINITY) == -1 && isnan(npu_tanhf(NAN)));
    assert_true(npu_erff(INFINITY) == 1 && npu_erff(-INFINITY) == -1 && isnan(npu_erff(NAN)));
    assert_true(npu_erff(NPU_ERF_ONE) == 1 && npu_tanhf(0x1p-149f) == 0x1p-149f);
    assert_true(isnan(npu_maxf(NAN, 1)) && isnan(npu_maxf(1, NAN)) && npu_maxf(1, 2) == 2 && npu_maxf(2, 1) == 2);
}

/* Where the formulas change over (|x| = the splits, exponent borders) the results must not step back. */
static void monotonic_at_the_seams(void **state) {
    (void)state;
    const struct {
        float (*f)(float);
        float at;
    } seams[] = {{npu_tanhf, NPU_TANH_SPLIT}, {npu_erff, NPU_ERF_SPLIT}, {npu_erff, NPU_ERF_ONE},
                 {npu_expf, NPU_EXP_MIN},     {npu_expf, NPU_EXP_MAX},   {npu_logf, 0x1.6a09e6p-1f},
                 {npu_logf, 0x1.6a09e6p0f},   {npu_logf, 0x1p-126f},     {npu_expf, 0.0f}};
    for (size_t i = 0; i < sizeof seams / sizeof seams[0]; i++) {
        float below = seams[i].at - fabsf(seams[i].at) * 1e-6f, above = seams[i].at + fabsf(seams[i].at) * 1e-6f;
        assert_true(seams[i].f(below) <= seams[i].f(seams[i].at));
        assert_true(seams[i].f(seams[i].at) <= seams[i].f(above));
    }
}

static long double relative(double got, long double want) {
    return fabsl((long double)got - want) / fabsl(want);
}

static void double_precision(void **state) {
    (void)state;
    long double e = 0, l = 0, p = 0;
    srand(1);
    for (int i = 0; i < 200000; i++) {
        double u = rand() / (RAND_MAX + 1.0), v = rand() / (RAND_MAX + 1.0);
        double x = (u - 0.5) * 1400, y = ldexp(1 + v, (int)(u * 2000) - 1000), z = 0.5 + v;
        e = fmaxl(e, relative(npu_exp64(x), expl(x)));
        l = fmaxl(l, relative(npu_log64(y), logl(y)));
        if (z != 1) l = fmaxl(l, relative(npu_log64(z), logl(z)));
        double base = 1 + v * 1e7, power = (u - 0.5) * 4;
        p = fmaxl(p, relative(npu_pow64(base, power), powl(base, power)));
    }
    print_message("f64: exp %.3Lg log %.3Lg pow %.3Lg (relative)\n", e, l, p);
    assert_true(e < 3e-16L && l < 3e-16L && p < 3e-16L);
    assert_true(npu_exp64(0) == 1 && npu_exp64(-INFINITY) == 0 && npu_exp64(INFINITY) == INFINITY);
    assert_true(npu_log64(1) == 0 && npu_log64(0) == -INFINITY && npu_log64(INFINITY) == INFINITY);
    assert_true(isnan(npu_exp64(NAN)) && isnan(npu_log64(NAN)) && isnan(npu_log64(-1)) && isnan(npu_pow64(-2, 0.5)));
    assert_true(npu_pow64(10, 0) == 1 && npu_pow64(0, 2) == 0 && npu_pow64(0, -1) == INFINITY);
    assert_true(npu_pow64(2, 10) == 1024 && npu_pow64(10000, 1) == 10000 && npu_pow64(10000, -0.5) == 0.01);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_bounded), cmocka_unit_test(trig_has_a_bound_up_to_its_end),
        cmocka_unit_test(special_values),     cmocka_unit_test(monotonic_at_the_seams),
        cmocka_unit_test(double_precision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
