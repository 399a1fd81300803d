/* Distributions against analytic probabilities (chi-square, fixed seeds), order and determinism, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "sample/rng.h"
#include "npu/sampler.h"

enum { N = 8, DRAWS = 20000 };

static const float logits[N] = {1.0f, 2.0f, 0.5f, -1.0f, 2.0f, 0.0f, -3.0f, 1.5f};

static npu_sampler *create(npu_sampler_params p, uint32_t n) {
    npu_sampler *s;
    npu_error err = {0};
    assert_int_equal(npu_sampler_create(&p, n, &s, &err), NPU_OK);
    return s;
}

static int32_t sample(npu_sampler *s, const float *values) {
    int32_t id = -1;
    npu_error err = {0};
    assert_int_equal(npu_sampler_sample(s, values, NULL, &id, &err), NPU_OK);
    return id;
}

/* Draws and compares with the expected probabilities (0: must not occur). 99.99 % quantile for 7 degrees of
 * freedom: 29.9. */
static void check_distribution(npu_sampler_params p, const double *expected) {
    uint32_t counts[N] = {0};
    npu_sampler *s = create(p, N);
    for (int i = 0; i < DRAWS; i++) counts[sample(s, logits)]++;
    double chi = 0;
    for (int i = 0; i < N; i++) {
        double e = expected[i] * DRAWS;
        if (e == 0)
            assert_int_equal(counts[i], 0);
        else
            chi += (counts[i] - e) * (counts[i] - e) / e;
    }
    if (chi > 29.9) fail_msg("chi-square %g (seed %llu)", chi, (unsigned long long)p.seed);
    npu_sampler_free(s);
}

/* Probabilities of the tokens in |kept| (a bit each) at a temperature. */
static void softmax(double temperature, unsigned kept, double *p) {
    double sum = 0;
    for (int i = 0; i < N; i++) sum += p[i] = kept >> i & 1 ? exp((double)logits[i] / temperature) : 0;
    for (int i = 0; i < N; i++) p[i] /= sum;
}

static void temperature_gives_the_softmax(void **state) {
    (void)state;
    double p[N];
    static const float temperatures[] = {1.0f, 0.5f, 2.0f};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        softmax((double)temperatures[seed - 1], 0xFF, p);
        check_distribution((npu_sampler_params){.temperature = temperatures[seed - 1], .seed = seed}, p);
    }
}

static void cuts_keep_the_right_tokens(void **state) {
    (void)state;
    double p[N];
    /* In order: 1 and 4 (2.0), 7 (1.5), 0 (1.0), 2 (0.5), 5 (0.0), 3, 6. */
    softmax(1, 1u << 1 | 1u << 4 | 1u << 7, p);
    check_distribution((npu_sampler_params){.temperature = 1, .top_k = 3, .seed = 11}, p);
    softmax(1, 1u << 1, p); /* of equal ones the smaller id */
    check_distribution((npu_sampler_params){.temperature = 1, .top_k = 1, .seed = 12}, p);
    /* exp: 7.39 7.39 4.48 2.72 1.65 1 0.37 0.05, sum 25.04: three reach 0.769, four 0.877 */
    softmax(1, 1u << 1 | 1u << 4 | 1u << 7, p);
    check_distribution((npu_sampler_params){.temperature = 1, .top_p = 0.76f, .seed = 13}, p);
    softmax(1, 1u << 1 | 1u << 4 | 1u << 7 | 1u << 0, p);
    check_distribution((npu_sampler_params){.temperature = 1, .top_p = 0.78f, .seed = 14}, p);
    /* at least 0.3 of the best: exp(-1) = 0.368 passes, exp(-1.5) = 0.223 does not */
    check_distribution((npu_sampler_params){.temperature = 1, .min_p = 0.3f, .seed = 15}, p);
    /* Cut first, temperature after: the temperature does not change what is kept. */
    softmax(2, 1u << 1 | 1u << 4 | 1u << 7 | 1u << 0, p);
    check_distribution((npu_sampler_params){.temperature = 2, .min_p = 0.3f, .seed = 16}, p);
    /* The other way round it does: exp(-1.5 / 2) = 0.47, exp(-2 / 2) = 0.368, exp(-3 / 2) = 0.22. */
    softmax(2, 1u << 1 | 1u << 4 | 1u << 7 | 1u << 0 | 1u << 2 | 1u << 5, p);
    check_distribution((npu_sampler_params){.temperature = 2, .min_p = 0.3f, .order = "temp,min-p", .seed = 17}, p);
    /* A step that is not named is off. */
    softmax(1, 0xFF, p);
    check_distribution((npu_sampler_params){.temperature = 1, .min_p = 0.3f, .top_k = 1, .order = "temp", .seed = 18},
                       p);
}

static void typical_keeps_expected_surprise(void **state) {
    (void)state;
    double all[N], p[N], entropy = 0, off[N];
    softmax(1, 0xFF, all);
    for (int i = 0; i < N; i++) entropy -= all[i] * log(all[i]);
    for (int i = 0; i < N; i++) off[i] = fabs(-log(all[i]) - entropy);
    unsigned kept = 0;
    for (double sum = 0; sum < 0.5;) {
        int best = -1;
        for (int i = 0; i < N; i++)
            if (!(kept >> i & 1) && (best < 0 || off[i] < off[best])) best = i;
        kept |= 1u << best;
        sum += all[best];
    }
    softmax(1, kept, p);
    check_distribution((npu_sampler_params){.temperature = 1, .typical_p = 0.5f, .seed = 21}, p);
}

static void greedy_takes_the_best_after_bias_and_penalties(void **state) {
    (void)state;
    npu_sampler *s = create((npu_sampler_params){0}, N);
    assert_int_equal(sample(s, logits), 1);
    npu_sampler_free(s);
    static const npu_logit_bias bias[] = {{1, -INFINITY}, {6, 5.5f}};
    s = create((npu_sampler_params){.bias = bias, .n_bias = 2}, N);
    assert_int_equal(sample(s, logits), 6);
    npu_sampler_free(s);

    s = create((npu_sampler_params){.repeat_penalty = 2, .penalty_window = 2}, N);
    npu_sampler_accept(s, 1);
    assert_int_equal(sample(s, logits), 4);
    npu_sampler_accept(s, 4);
    assert_int_equal(sample(s, logits), 7); /* 2 / 2 < 1.5 */
    npu_sampler_accept(s, 7);               /* 1 leaves the window */
    assert_int_equal(sample(s, logits), 1);
    npu_sampler_reset(s, 0);
    assert_int_equal(sample(s, logits), 1);
    npu_sampler_free(s);

    s = create((npu_sampler_params){.frequency_penalty = 0.3f, .presence_penalty = 0.1f}, N);
    npu_sampler_accept(s, 1);
    npu_sampler_accept(s, 4);
    npu_sampler_accept(s, 4);
    assert_int_equal(sample(s, logits), 1); /* 1.6, against 1.3 and 1.5 */
    npu_sampler_accept(s, 1);
    assert_int_equal(sample(s, logits), 7);
    npu_sampler_free(s);
}

static void mirostat_reaches_its_surprise(void **state) {
    (void)state;
    enum { V = 1000 };
    static float flat[V];
    for (int i = 0; i < V; i++) flat[i] = (float)(-log(i + 1.0));
    double sum = 0, bits = 0;
    for (int i = 0; i < V; i++) sum += exp((double)flat[i]);
    npu_sampler *s = create((npu_sampler_params){.temperature = 1, .mirostat_tau = 3, .seed = 5}, V);
    for (int i = 0; i < 2000; i++) bits += -log2(exp((double)flat[sample(s, flat)]) / sum);
    /* The surprise that is steered is that within the kept tokens, which is a little smaller than within all. */
    assert_true(bits / 2000 > 2.5 && bits / 2000 < 4.5);
    npu_sampler_free(s);
}

static void same_seed_same_tokens(void **state) {
    (void)state;
    enum { V = 5000 };
    static float wide[V];
    npu_rng rng;
    npu_rng_seed(&rng, 99);
    for (int i = 0; i < V; i++) wide[i] = (float)(npu_rng_unit(&rng) * 8 - 4);
    npu_sampler_params p = {
        .temperature = 0.8f, .top_k = 400, .top_p = 0.95f, .min_p = 0.02f, .repeat_penalty = 1.1f, .seed = 7};
    npu_sampler *a = create(p, V), *b = create(p, V);
    for (int i = 0; i < 200; i++) {
        int32_t id = sample(a, wide);
        assert_int_equal(sample(b, wide), id);
        npu_sampler_accept(a, id);
        npu_sampler_accept(b, id);
    }
    npu_sampler_reset(a, 1);
    npu_sampler_reset(b, 2);
    int differ = 0;
    for (int i = 0; i < 50; i++) differ += sample(a, wide) != sample(b, wide);
    assert_true(differ > 10);
    npu_sampler_free(a);
    npu_sampler_free(b);
}

/* The generator's numbers are part of what a seed means. */
static void random_numbers_stay_the_same(void **state) {
    (void)state;
    npu_rng r;
    npu_rng_seed(&r, 0);
    assert_true(npu_rng_next(&r) == 0x99EC5F36CB75F2B4u);
    assert_true(npu_rng_next(&r) == 0xBF6E1F784956452Au);
}

static void large_lists_are_cut_as_sorting_would(void **state) {
    (void)state;
    enum { V = 30000 };
    static float many[V];
    npu_rng rng;
    npu_rng_seed(&rng, 4);
    for (int i = 0; i < V; i++) many[i] = (float)(npu_rng_next(&rng) % 1000); /* many equal ones */
    npu_sampler *s = create((npu_sampler_params){.temperature = 1e4f, .top_k = 100, .seed = 1}, V);
    for (int i = 0; i < 300; i++) {
        int32_t id = sample(s, many);
        uint32_t before = 0;
        for (int j = 0; j < V; j++) before += many[j] > many[id] || (many[j] == many[id] && j < id);
        assert_true(before < 100);
    }
    npu_sampler_free(s);
    for (int i = 0; i < V; i++) many[i] = 1; /* all equal: no quadratic time */
    s = create((npu_sampler_params){.temperature = 1, .top_p = 0.5f, .seed = 1}, V);
    for (int i = 0; i < 20; i++) assert_true(sample(s, many) <= V / 2);
    npu_sampler_free(s);
}

static void masks_forbid(void **state) {
    (void)state;
    npu_sampler *s = create((npu_sampler_params){.temperature = 1, .seed = 3}, N);
    npu_error err = {0};
    int32_t id;
    uint64_t allowed = 1u << 6;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(npu_sampler_sample(s, logits, &allowed, &id, &err), NPU_OK);
        assert_int_equal(id, 6);
    }
    allowed = 0;
    assert_int_equal(npu_sampler_sample(s, logits, &allowed, &id, &err), NPU_INVALID);
    assert_string_equal(err.code, "sample.no_token");
    npu_sampler_free(s);
}

static void bad_logits_are_errors(void **state) {
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        float values[N];
        memcpy(values, logits, sizeof values);
        values[5] = bad[i];
        for (int greedy = 0; greedy < 2; greedy++) {
            npu_sampler *s = create((npu_sampler_params){.temperature = greedy ? 0.0f : 1.0f}, N);
            npu_error err = {0};
            int32_t id;
            assert_int_equal(npu_sampler_sample(s, values, NULL, &id, &err), NPU_INVALID);
            assert_string_equal(err.code, "sample.not_finite");
            assert_non_null(strstr(err.text, "token 5"));
            npu_sampler_free(s);
        }
    }
}

static void extreme_values_stay_finite(void **state) {
    (void)state;
    static const float wild[N] = {3e38f, -3e38f, 0, 1e38f, -1e38f, 1, 2, 3};
    static const npu_logit_bias bias[] = {{0, 3e38f}, {1, -3e38f}};
    npu_sampler_params p = {.temperature = 1e-30f,
                            .top_p = 0.9f,
                            .typical_p = 0.9f,
                            .repeat_penalty = 1e4f,
                            .bias = bias,
                            .n_bias = 2,
                            .order = "penalties,temp,typical,top-p"};
    npu_sampler *s = create(p, N);
    for (int i = 0; i < N; i++) npu_sampler_accept(s, i);
    for (int i = 0; i < 10; i++) assert_in_range(sample(s, wild), 0, N - 1);
    npu_sampler_free(s);
}

static void bad_parameters_are_named(void **state) {
    (void)state;
    static const npu_logit_bias bias = {N, 1};
    const struct {
        npu_sampler_params p;
        const char *code, *names;
    } rows[] = {
        {{.temperature = -1}, "sample.param", "temperature"},
        {{.temperature = NAN}, "sample.param", "temperature"},
        {{.top_p = 1.5f}, "sample.param", "top_p"},
        {{.order = "temp,warm"}, "sample.order", "warm"},
        {{.order = "temp,temp"}, "sample.order", "twice"},
        {{.order = ""}, "sample.order", "step"},
        {{.bias = &bias, .n_bias = 1}, "sample.bias", "token 8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        npu_sampler *s;
        npu_error err = {0};
        assert_int_equal(npu_sampler_create(&rows[i].p, N, &s, &err), NPU_INVALID);
        assert_null(s);
        assert_string_equal(err.code, rows[i].code);
        assert_non_null(strstr(err.text, rows[i].names));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(temperature_gives_the_softmax),
        cmocka_unit_test(cuts_keep_the_right_tokens),
        cmocka_unit_test(typical_keeps_expected_surprise),
        cmocka_unit_test(greedy_takes_the_best_after_bias_and_penalties),
        cmocka_unit_test(mirostat_reaches_its_surprise),
        cmocka_unit_test(same_seed_same_tokens),
        cmocka_unit_test(random_numbers_stay_the_same),
        cmocka_unit_test(large_lists_are_cut_as_sorting_would),
        cmocka_unit_test(masks_forbid),
        cmocka_unit_test(bad_logits_are_errors),
        cmocka_unit_test(extreme_values_stay_finite),
        cmocka_unit_test(bad_parameters_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
