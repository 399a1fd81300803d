/* Distances between rows of logits, in f64. */
#ifndef NPU_CLI_KLD_H
#define NPU_CLI_KLD_H

#include <stdint.h>

double cli_log_sum(const float *logits, uint32_t n); /* log(sum(exp(x))) */

/* KL divergence of |logits| from |reference|, in nats; exactly 0 for equal rows. The norms are cli_log_sum of each. */
double cli_kld(const float *reference, double reference_norm, const float *logits, double norm, uint32_t n);

uint32_t cli_best(const float *logits, uint32_t n); /* the first of the largest */

#endif
