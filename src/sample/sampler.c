#include "npu/sampler.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "sample/steps.h"

/* Steps by the names that an order is written with; |on| says whether the parameters ask for the step. */
static int penalties_on(const npu_sampler_params *p) {
    return (p->repeat_penalty != 0 && p->repeat_penalty != 1) || p->frequency_penalty != 0 || p->presence_penalty != 0;
}
static int top_k_on(const npu_sampler_params *p) {
    return p->top_k != 0 && p->mirostat_tau == 0;
}
static int typical_on(const npu_sampler_params *p) {
    return p->typical_p > 0 && p->typical_p < 1 && p->mirostat_tau == 0;
}
static int top_p_on(const npu_sampler_params *p) {
    return p->top_p > 0 && p->top_p < 1 && p->mirostat_tau == 0;
}
static int min_p_on(const npu_sampler_params *p) {
    return p->min_p > 0 && p->mirostat_tau == 0;
}
static int temp_on(const npu_sampler_params *p) {
    return p->temperature != 1;
}

static const struct {
    const char *name;
    npu__step *step;
    int (*on)(const npu_sampler_params *p);
    int greedy; /* has an effect at temperature 0 */
} step_table[] = {
    {"penalties", npu__step_penalties, penalties_on, 1},
    {"top-k", npu__step_top_k, top_k_on, 0},
    {"typical", npu__step_typical, typical_on, 0},
    {"top-p", npu__step_top_p, top_p_on, 0},
    {"min-p", npu__step_min_p, min_p_on, 0},
    {"temp", npu__step_temp, temp_on, 0},
};
enum { STEP_COUNT = sizeof step_table / sizeof step_table[0] };

static npu_status bad_order(const char *order, const char *at, size_t n, const char *why, npu_error *err) {
    return npu_fail(err, NPU_INVALID, "sample.order", "sampler order \"%.100s\": \"%.*s\" %s (known: %s)", order,
                    (int)(n < 40 ? n : 40), at, why, NPU_SAMPLER_ORDER);
}

static npu_status parse_order(npu_sampler *s, npu_error *err) {
    const char *order = s->p.order ? s->p.order : NPU_SAMPLER_ORDER;
    unsigned seen = 0;
    for (const char *at = order;;) {
        size_t n = strcspn(at, ",");
        int k = 0;
        while (k < STEP_COUNT && !(strlen(step_table[k].name) == n && memcmp(step_table[k].name, at, n) == 0)) k++;
        if (k == STEP_COUNT) return bad_order(order, at, n, "is no step", err);
        if (seen & 1u << k) return bad_order(order, at, n, "is there twice", err);
        seen |= 1u << k;
        if (step_table[k].on(&s->p) && (step_table[k].greedy || s->p.temperature > 0))
            s->steps[s->n_steps++] = step_table[k].step;
        if (!at[n]) break;
        at += n + 1;
    }
    if (s->p.mirostat_tau > 0 && s->p.temperature > 0) s->steps[s->n_steps++] = npu__step_mirostat;
    return NPU_OK;
}

static npu_status check_params(const npu_sampler_params *p, npu_error *err) {
    const struct {
        const char *name;
        float value, low, high;
    } ranges[] = {
        {"temperature", p->temperature, 0, 1e4f},
        {"top_p", p->top_p, 0, 1},
        {"min_p", p->min_p, 0, 1},
        {"typical_p", p->typical_p, 0, 1},
        {"repeat_penalty", p->repeat_penalty, 0, 1e4f},
        {"frequency_penalty", p->frequency_penalty, -1e4f, 1e4f},
        {"presence_penalty", p->presence_penalty, -1e4f, 1e4f},
        {"mirostat_tau", p->mirostat_tau, 0, 1e4f},
        {"mirostat_eta", p->mirostat_eta, 0, 1},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (!(ranges[i].value >= ranges[i].low && ranges[i].value <= ranges[i].high))
            return npu_fail(err, NPU_INVALID, "sample.param", "%s is %g, which is not between %g and %g",
                            ranges[i].name, (double)ranges[i].value, (double)ranges[i].low, (double)ranges[i].high);
    if (p->penalty_window > 1u << 24)
        return npu_fail(err, NPU_INVALID, "sample.param", "penalty_window is %u, which is too large",
                        p->penalty_window);
    return NPU_OK;
}

static npu_status check_bias(const npu_sampler *s, npu_error *err) {
    for (size_t i = 0; i < s->p.n_bias; i++) {
        npu_logit_bias b = s->bias[i];
        if (b.id < 0 || (uint32_t)b.id >= s->n_vocab)
            return npu_fail(err, NPU_INVALID, "sample.bias", "logit bias for token %d: there are %u tokens", (int)b.id,
                            s->n_vocab);
        if (isnan(b.bias) || (isinf(b.bias) && b.bias > 0))
            return npu_fail(err, NPU_INVALID, "sample.bias", "logit bias for token %d is %g", (int)b.id,
                            (double)b.bias);
    }
    return NPU_OK;
}

static npu_status allocate(npu_sampler *s, npu_error *err) {
    s->bias = malloc((s->p.n_bias + 1) * sizeof *s->bias);
    s->list = malloc(s->n_vocab * sizeof *s->list);
    s->recent = malloc(s->p.penalty_window * sizeof *s->recent);
    s->counts = calloc(s->n_vocab, sizeof *s->counts);
    if (!s->bias || !s->list || !s->recent || !s->counts)
        return npu_fail(err, NPU_NO_MEMORY, "sample.no_memory", "no memory to sample from %u tokens", s->n_vocab);
    if (s->p.n_bias) memcpy(s->bias, s->p.bias, s->p.n_bias * sizeof *s->bias);
    s->p.bias = NULL;
    return NPU_OK;
}

static npu_status set_up(npu_sampler *s, npu_error *err) {
    if (!s->n_vocab || s->n_vocab > INT32_MAX)
        return npu_fail(err, NPU_INVALID, "sample.param", "a vocabulary of %u tokens", s->n_vocab);
    NPU_TRY(check_params(&s->p, err));
    if (s->p.n_bias > s->n_vocab)
        return npu_fail(err, NPU_INVALID, "sample.bias", "%zu logit biases for %u tokens", s->p.n_bias, s->n_vocab);
    if (!s->p.penalty_window) s->p.penalty_window = NPU__PENALTY_WINDOW;
    if (s->p.mirostat_eta == 0) s->p.mirostat_eta = 0.1f;
    NPU_TRY(parse_order(s, err));
    s->p.order = NULL;
    NPU_TRY(allocate(s, err));
    return check_bias(s, err);
}

npu_status npu_sampler_create(const npu_sampler_params *params, uint32_t n_vocab, npu_sampler **out, npu_error *err) {
    *out = NULL;
    npu_sampler *s = calloc(1, sizeof *s);
    if (!s) return npu_fail(err, NPU_NO_MEMORY, "sample.no_memory", "no memory for a sampler");
    if (params) s->p = *params;
    s->n_vocab = n_vocab;
    npu_status status = set_up(s, err);
    if (status != NPU_OK) {
        npu_sampler_free(s);
        return status;
    }
    npu_sampler_reset(s, s->p.seed);
    *out = s;
    return NPU_OK;
}

void npu_sampler_free(npu_sampler *s) {
    if (!s) return;
    free(s->bias);
    free(s->list);
    free(s->recent);
    free(s->counts);
    free(s);
}

void npu_sampler_reset(npu_sampler *s, uint64_t seed) {
    memset(s->counts, 0, s->n_vocab * sizeof *s->counts);
    s->recent_n = s->recent_at = 0;
    s->mu = 2 * (double)s->p.mirostat_tau;
    npu_rng_seed(&s->rng, seed);
}

void npu_sampler_accept(npu_sampler *s, int32_t id) {
    if (id < 0 || (uint32_t)id >= s->n_vocab) return;
    if (s->recent_n == s->p.penalty_window)
        s->counts[s->recent[s->recent_at]]--;
    else
        s->recent_n++;
    s->recent[s->recent_at] = id;
    s->recent_at = (s->recent_at + 1) % s->p.penalty_window;
    s->counts[id]++;
}

static npu_status fill(npu_sampler *s, const float *logits, const uint64_t *allowed, npu_error *err) {
    for (uint32_t i = 0; i < s->n_vocab; i++) {
        if (!isfinite(logits[i]))
            return npu_fail(err, NPU_INVALID, "sample.not_finite", "the logit of token %u is %s", i,
                            isnan(logits[i]) ? "NaN" : "infinite");
        s->list[i] = (npu__candidate){.logit = logits[i], .id = (int32_t)i};
    }
    for (size_t i = 0; i < s->p.n_bias; i++) {
        float *logit = &s->list[s->bias[i].id].logit, sum = *logit + s->bias[i].bias;
        *logit = isinf(s->bias[i].bias) ? -INFINITY : sum > FLT_MAX ? FLT_MAX : sum < -FLT_MAX ? -FLT_MAX : sum;
    }
    s->n = s->n_vocab;
    s->sorted = 0;
    if (!allowed && !s->p.n_bias) return NPU_OK;
    size_t n = 0;
    for (uint32_t i = 0; i < s->n_vocab; i++)
        if ((!allowed || allowed[i / 64] >> i % 64 & 1) && s->list[i].logit > -INFINITY) s->list[n++] = s->list[i];
    s->n = n;
    return n ? NPU_OK : npu_fail(err, NPU_INVALID, "sample.no_token", "no token is allowed to follow");
}

npu_status npu_sampler_sample(npu_sampler *s, const float *logits, const uint64_t *allowed, int32_t *id,
                              npu_error *err) {
    NPU_TRY(fill(s, logits, allowed, err));
    for (size_t i = 0; i < s->n_steps; i++) s->steps[i](s);
    size_t chosen = 0;
    if (s->p.temperature == 0)
        npu__sort_best(s, 1);
    else
        chosen = npu__draw(s, npu__weigh(s));
    *id = s->list[chosen].id;
    return NPU_OK;
}
