/* Inside of sampling: the candidates and the steps that change them. Seen by sampler.c, steps.c and their tests. */
#ifndef NPU_SAMPLE_STEPS_H
#define NPU_SAMPLE_STEPS_H

#include "sample/rng.h"
#include "npu/sampler.h"

typedef struct npu__candidate {
    double p; /* probability or another key, as the step at work needs it */
    float logit;
    int32_t id;
} npu__candidate;

typedef void npu__step(npu_sampler *s);

enum { NPU__STEPS_MAX = 16, NPU__PENALTY_WINDOW = 64 };

struct npu_sampler {
    npu_sampler_params p;
    uint32_t n_vocab;
    npu__step *steps[NPU__STEPS_MAX];
    size_t n_steps;
    npu_logit_bias *bias;
    npu__candidate *list;
    size_t n;      /* candidates left */
    size_t sorted; /* how many at the front are known to be the best, in order */
    int32_t *recent;
    uint32_t recent_n, recent_at;
    uint32_t *counts; /* of each token among the recent ones */
    npu_rng rng;
    double mu; /* mirostat */
};

npu__step npu__step_penalties, npu__step_top_k, npu__step_typical, npu__step_top_p, npu__step_min_p, npu__step_temp,
    npu__step_mirostat;

/* Makes the |n| best candidates the first ones, in order: larger logit, then smaller id. */
void npu__sort_best(npu_sampler *s, size_t n);

/* Sets p of all candidates to exp(logit - best) and returns their sum. */
double npu__weigh(npu_sampler *s);

/* A candidate's index, drawn by the weights p, whose sum is |sum|. */
size_t npu__draw(npu_sampler *s, double sum);

#endif
