/* From logits to the next token: a chain of steps that reshape or cut the distribution, then a draw.
 *
 * The chain is: logit bias and mask; the steps in their order (by default penalties, top-k, typical, top-p, min-p,
 * temperature); the draw. Temperature 0 takes the best token after bias, mask and penalties. Mirostat replaces the
 * cutting steps. Equal logits are ordered by id and all sums are made in one order with our own exp and log, so the
 * same logits and seed give the same token on every machine. Nothing is allocated after creation. One thread at a time.
 *
 * Sources (arXiv): top-p 1904.09751, min-p 2407.01082, typical 2202.00666, mirostat 2007.14966, repeat penalty
 * 1909.05858.
 */
#ifndef NPU_SAMPLER_H
#define NPU_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npu/api.h"
#include "npu/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct npu_logit_bias {
    int32_t id;
    float bias; /* added to the logit; -INFINITY bans the token */
} npu_logit_bias;

/* {0} is greedy sampling. For every step, 0 turns it off. */
typedef struct npu_sampler_params {
    float temperature;       /* 0: greedy; else logits are divided by it */
    uint32_t top_k;          /* the k most likely */
    float top_p;             /* the most likely whose probabilities reach p together; 1 is off too */
    float min_p;             /* those at least this part as likely as the best */
    float typical_p;         /* those of nearly expected surprise that reach p together; 1 is off too */
    float repeat_penalty;    /* recent tokens: positive logits are divided by it, negative multiplied; 1 is off too */
    float frequency_penalty; /* taken from a recent token's logit for each time it occurs */
    float presence_penalty;  /* taken once */
    uint32_t penalty_window; /* how many tokens are recent; 0: 64 */
    float mirostat_tau;      /* aim of mirostat 2.0, in bits of surprise a token */
    float mirostat_eta;      /* its learning rate; 0: 0.1 */
    const npu_logit_bias *bias;
    size_t n_bias;
    const char *order; /* names separated by commas; NULL: NPU_SAMPLER_ORDER; a step not named is off */
    uint64_t seed;
} npu_sampler_params;

#define NPU_SAMPLER_ORDER "penalties,top-k,typical,top-p,min-p,temp"

typedef struct npu_sampler npu_sampler;

/* |params| is copied with its bias and order; NULL is {0}. On success the caller owns *out, else it is NULL. INVALID
 * ("sample.param", "sample.order", "sample.bias") names the parameter and its range; NO_MEMORY. */
NPU_API npu_status npu_sampler_create(const npu_sampler_params *params, uint32_t n_vocab, npu_sampler **out,
                                      npu_error *err);
NPU_API void npu_sampler_free(npu_sampler *s); /* NULL is fine */

/* Chooses a token from |n_vocab| logits. |allowed| is NULL or a bit for each token (64 in a word, lowest first); others
 * are not chosen. INVALID ("sample.not_finite": a logit is NaN or infinite, named; "sample.no_token": nothing is
 * allowed): *id stays, and no draw is used up. */
NPU_API npu_status npu_sampler_sample(npu_sampler *s, const float *logits, const uint64_t *allowed, int32_t *id,
                                      npu_error *err);

/* Tells the sampler which token came into the text, from the prompt or sampled: the penalties look at these. An id that
 * is none is passed over. */
NPU_API void npu_sampler_accept(npu_sampler *s, int32_t id);

/* As new, with another seed: no recent tokens, mirostat at its start. */
NPU_API void npu_sampler_reset(npu_sampler *s, uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
