/* The ends of every parameter's range, ties and windows: the probabilities that a sampler draws with, against the same
 * worked out here from the definition. No draws but for mirostat, whose candidates are gone after it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "sample/steps.h"

enum { N = 6 };

/* 1 and 3 are equal and the best; 4 is the worst. */
static const float logits[N] = {0.5f, 2.0f, -1.0f, 2.0f, -4.0f, 1.0f};
enum { ALL = 0x3F, TIED = 1u << 1 | 1u << 3 };

static npu_sampler *create(npu_sampler_params p) {
    npu_sampler *s;
    npu_error err = {0};
    assert_int_equal(npu_sampler_create(&p, N, &s, &err), NPU_OK);
    return s;
}

static int32_t draw(npu_sampler *s, const float *values) {
    int32_t id = -1;
    npu_error err = {0};
    assert_int_equal(npu_sampler_sample(s, values, NULL, &id, &err), NPU_OK);
    assert_in_range(id, 0, N - 1);
    return id;
}

/* The probabilities of the next draw are |expected|: nothing is left of what must be 0. */
static void draws_with(npu_sampler *s, const float *values, const double *expected) {
    double got[N] = {0}, sum = 0;
    draw(s, values);
    for (size_t i = 0; i < s->n; i++) sum += s->list[i].p;
    for (size_t i = 0; i < s->n; i++) got[s->list[i].id] += s->list[i].p / sum;
    for (int i = 0; i < N; i++)
        if (expected[i] == 0 ? got[i] != 0 : fabs(got[i] - expected[i]) > 1e-6)
            fail_msg("token %d: probability %.9g, not %.9g", i, got[i], expected[i]);
}

/* Softmax of the tokens in |kept|, a bit each. */
static void softmax(const float *values, double temperature, unsigned kept, double *p) {
    double sum = 0;
    for (int i = 0; i < N; i++) sum += p[i] = kept >> i & 1 ? exp(((double)values[i] - 2) / temperature) : 0;
    for (int i = 0; i < N; i++) p[i] /= sum;
}

static void keeps(npu_sampler_params params, const float *values, unsigned kept) {
    double p[N];
    params.temperature = 1;
    npu_sampler *s = create(params);
    softmax(values, 1, kept, p);
    draws_with(s, values, p);
    npu_sampler_free(s);
}

static void top_k_of_none_one_and_more_than_there_are(void **state) {
    (void)state;
    keeps((npu_sampler_params){.top_k = 0}, logits, ALL);
    keeps((npu_sampler_params){.top_k = 1}, logits, 1u << 1);
    keeps((npu_sampler_params){.top_k = 2}, logits, TIED);
    keeps((npu_sampler_params){.top_k = N - 1}, logits, ALL & ~(1u << 4));
    keeps((npu_sampler_params){.top_k = N}, logits, ALL);
    keeps((npu_sampler_params){.top_k = N + 1}, logits, ALL);
    keeps((npu_sampler_params){.top_k = UINT32_MAX}, logits, ALL);
}

static void top_p_of_nothing_all_and_exact_sums(void **state) {
    (void)state;
    static const float halves[N] = {0, 0, 0, 0, -1000, -1000};
    keeps((npu_sampler_params){.top_p = 0}, logits, ALL);
    keeps((npu_sampler_params){.top_p = 1}, logits, ALL);
    keeps((npu_sampler_params){.top_p = 1e-30f}, logits, 1u << 1);
    keeps((npu_sampler_params){.top_p = 1 - FLT_EPSILON / 2}, logits, ALL);
    keeps((npu_sampler_params){.top_p = 0.25f}, halves, 1);
    keeps((npu_sampler_params){.top_p = 0.5f}, halves, 3);
    keeps((npu_sampler_params){.top_p = 0.500001f}, halves, 7);
}

static void min_p_of_nothing_all_and_the_border(void **state) {
    (void)state;
    float border = (float)exp(-1.0); /* token 5 is e^-1 of the best */
    keeps((npu_sampler_params){.min_p = 0}, logits, ALL);
    keeps((npu_sampler_params){.min_p = FLT_MIN}, logits, ALL);
    keeps((npu_sampler_params){.min_p = nextafterf(border, 0)}, logits, TIED | 1u << 5);
    keeps((npu_sampler_params){.min_p = nextafterf(border, 1)}, logits, TIED);
    keeps((npu_sampler_params){.min_p = 1}, logits, TIED);
}

/* The tokens whose surprise is nearest to the entropy, until they make up |mass|; of equal ones the smaller id. */
static unsigned typical(const float *values, double mass) {
    double p[N], entropy = 0, sum = 0;
    unsigned kept = 0;
    softmax(values, 1, ALL, p);
    for (int i = 0; i < N; i++) entropy -= p[i] > 0 ? p[i] * log(p[i]) : 0;
    while (sum < mass && kept != ALL) {
        int best = -1;
        for (int i = 0; i < N; i++)
            if (!(kept >> i & 1) && (best < 0 || fabs(-log(p[i]) - entropy) < fabs(-log(p[best]) - entropy) - 1e-12))
                best = i;
        kept |= 1u << best;
        sum += p[best];
    }
    return kept;
}

static void typical_from_little_to_all(void **state) {
    (void)state;
    static const float masses[] = {1e-9f, 0.2f, 0.5f, 0.8f, 0.9f, 0.99f};
    static const float equal[N] = {0, 0, 0, 0, 0, 0};
    keeps((npu_sampler_params){.typical_p = 0}, logits, ALL);
    keeps((npu_sampler_params){.typical_p = 1}, logits, ALL);
    for (size_t i = 0; i < sizeof masses / sizeof masses[0]; i++)
        keeps((npu_sampler_params){.typical_p = masses[i]}, logits, typical(logits, (double)masses[i]));
    keeps((npu_sampler_params){.typical_p = 0.4f}, equal, 7);
}

static void temperatures_from_tiny_to_huge(void **state) {
    (void)state;
    static const float temperatures[] = {FLT_TRUE_MIN, 1e-30f, 0.05f, 100, 1e4f};
    for (size_t i = 0; i < sizeof temperatures / sizeof temperatures[0]; i++) {
        double p[N];
        softmax(logits, (double)temperatures[i], ALL, p);
        npu_sampler *s = create((npu_sampler_params){.temperature = temperatures[i]});
        draws_with(s, logits, p);
        npu_sampler_free(s);
    }
    npu_sampler *s = create((npu_sampler_params){.temperature = 0, .top_k = 3, .min_p = 0.1f, .seed = 9});
    for (int i = 0; i < 20; i++) assert_int_equal(draw(s, logits), 1); /* of the tied ones the smaller id */
    npu_sampler_free(s);
}

/* Which tokens the window of the last |window| holds, and what that takes from their logits. */
static void penalties_forget_what_leaves_the_window(void **state) {
    (void)state;
    static const int32_t said[] = {1, 2, 1, 5, 1, 4, 4, 0, 3, 1, 2};
    for (uint32_t window = 1; window <= 12; window++) {
        npu_sampler_params params = {.temperature = 1,
                                     .repeat_penalty = 1.5f,
                                     .frequency_penalty = 0.25f,
                                     .presence_penalty = -0.5f,
                                     .penalty_window = window};
        npu_sampler *s = create(params);
        for (size_t n = 0; n < sizeof said / sizeof said[0]; n++) {
            float values[N];
            double p[N];
            npu_sampler_accept(s, said[n]);
            for (int id = 0; id < N; id++) {
                float count = 0;
                for (size_t i = n + 1 > window ? n + 1 - window : 0; i <= n; i++) count += said[i] == id;
                values[id] = logits[id];
                if (count == 0) continue;
                values[id] = values[id] > 0 ? values[id] / 1.5f : values[id] * 1.5f;
                values[id] -= count * 0.25f - 0.5f;
            }
            softmax(values, 1, ALL, p);
            draws_with(s, logits, p);
        }
        npu_sampler_accept(s, -1); /* no tokens: not counted */
        npu_sampler_accept(s, N);
        npu_sampler_free(s);
    }
}

static void bias_bans_and_adds(void **state) {
    (void)state;
    static const npu_logit_bias ban[] = {{1, -INFINITY}, {0, 0.75f}, {4, 1}, {4, 2}};
    static const float biased[N] = {1.25f, 0, -1.0f, 2.0f, -1.0f, 1.0f};
    double p[N];
    npu_sampler *s = create((npu_sampler_params){.temperature = 1, .bias = ban, .n_bias = 4});
    softmax(biased, 1, ALL & ~(1u << 1), p);
    draws_with(s, logits, p);
    npu_sampler_free(s);
    npu_logit_bias all[N];
    for (int i = 0; i < N; i++) all[i] = (npu_logit_bias){i, -INFINITY};
    for (int greedy = 0; greedy < 2; greedy++) {
        npu_sampler_params params = {.temperature = greedy ? 0.0f : 1.0f, .bias = all, .n_bias = N - 1};
        s = create(params);
        assert_int_equal(draw(s, logits), N - 1);
        npu_sampler_free(s);
        params.n_bias = N;
        s = create(params);
        npu_error err = {0};
        int32_t id;
        assert_int_equal(npu_sampler_sample(s, logits, NULL, &id, &err), NPU_INVALID);
        assert_string_equal(err.code, "sample.no_token");
        npu_sampler_free(s);
    }
}

/* One draw from a fresh state, many times: mu is 2 tau, more surprising tokens are cut, and mu moves by the rule. */
static void mirostat_cuts_and_learns_by_its_rule(void **state) {
    (void)state;
    enum { DRAWS = 10000 };
    static const float taus[] = {0.01f, 0.6f, 1.0f, 1.5f, 100};
    double all[N], p[N], chi;
    softmax(logits, 1, ALL, all);
    for (size_t t = 0; t < sizeof taus / sizeof taus[0]; t++) {
        unsigned counts[N] = {0}, kept = 0;
        for (int i = 0; i < N; i++) kept |= (unsigned)(-log2(all[i]) <= 2 * (double)taus[t]) << i;
        softmax(logits, 1, kept ? kept : 1u << 1, p);
        npu_sampler *s = create((npu_sampler_params){.temperature = 1, .mirostat_tau = taus[t], .mirostat_eta = 0.5f});
        for (uint64_t seed = 0; seed < DRAWS; seed++) {
            npu_sampler_reset(s, seed);
            int32_t id = draw(s, logits);
            counts[id]++;
            double mu = 2 * (double)taus[t] - 0.5 * (-log2(p[id]) - (double)taus[t]);
            if (fabs(s->mu - mu) > 1e-6) fail_msg("tau %g: mu %g, not %g", (double)taus[t], s->mu, mu);
        }
        chi = 0;
        for (int i = 0; i < N; i++) {
            if (p[i] == 0) assert_int_equal(counts[i], 0);
            if (p[i] > 0) chi += (counts[i] - p[i] * DRAWS) * (counts[i] - p[i] * DRAWS) / (p[i] * DRAWS);
        }
        assert_true(chi < 25.8); /* the 99.99 % quantile for 5 degrees of freedom */
        npu_sampler_free(s);
    }
}

/* An error is as if nothing had been asked: the same numbers follow. */
static void bad_logits_leave_the_state_alone(void **state) {
    (void)state;
    static const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    npu_sampler_params params = {.temperature = 1, .repeat_penalty = 1.2f, .mirostat_tau = 2, .seed = 77};
    npu_sampler *a = create(params), *b = create(params);
    for (int i = 0; i < 64; i++) {
        float values[N];
        npu_error err = {0};
        int32_t id = -7;
        memcpy(values, logits, sizeof values);
        values[i % N] = bad[i % 4];
        assert_int_equal(npu_sampler_sample(a, values, NULL, &id, &err), NPU_INVALID);
        assert_string_equal(err.code, "sample.not_finite");
        assert_int_equal(id, -7);
        assert_int_equal(id = draw(a, logits), draw(b, logits));
        npu_sampler_accept(a, id);
        npu_sampler_accept(b, id);
    }
    npu_sampler_free(a);
    npu_sampler_free(b);
}

/* What a seed means is the same on every machine and after a reset: these ids were drawn once. */
static void a_seed_means_the_same_everywhere(void **state) {
    (void)state;
    static const struct {
        npu_sampler_params p;
        const char *ids;
    } rows[] = {
        {{.temperature = 1, .seed = 1}, "33333113530003351311333131353215"},
        {{.temperature = 0.7f, .top_k = 5, .top_p = 0.95f, .min_p = 0.01f, .repeat_penalty = 1.1f, .seed = 42},
         "13350335333131353533113313133133"},
        {{.temperature = 3, .typical_p = 0.9f, .frequency_penalty = 0.5f, .seed = UINT64_MAX},
         "30353510531133121513053230152020"},
        {{.temperature = 2, .mirostat_tau = 2, .seed = 3}, "51312035103303115031133531301332"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        npu_sampler *s = create(rows[r].p);
        for (int again = 0; again < 2; again++) {
            char ids[33] = {0};
            for (int i = 0; i < 32; i++) {
                int32_t id = draw(s, logits);
                ids[i] = (char)('0' + id);
                npu_sampler_accept(s, id);
            }
            assert_string_equal(ids, rows[r].ids);
            npu_sampler_reset(s, rows[r].p.seed);
        }
        npu_sampler_free(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(top_k_of_none_one_and_more_than_there_are),
        cmocka_unit_test(top_p_of_nothing_all_and_exact_sums),
        cmocka_unit_test(min_p_of_nothing_all_and_the_border),
        cmocka_unit_test(typical_from_little_to_all),
        cmocka_unit_test(temperatures_from_tiny_to_huge),
        cmocka_unit_test(penalties_forget_what_leaves_the_window),
        cmocka_unit_test(bias_bans_and_adds),
        cmocka_unit_test(mirostat_cuts_and_learns_by_its_rule),
        cmocka_unit_test(bad_logits_leave_the_state_alone),
        cmocka_unit_test(a_seed_means_the_same_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
