#include "cli/kld.h"

#include <math.h>

double cli_log_sum(const float *x, uint32_t n) {
    double max = x[0], sum = 0;
    for (uint32_t i = 1; i < n; i++)
        if (x[i] > max) max = x[i];
    for (uint32_t i = 0; i < n; i++) sum += exp(x[i] - max);
    return max + log(sum);
}

double cli_kld(const float *reference, double reference_norm, const float *logits, double norm, uint32_t n) {
    double kld = 0;
    for (uint32_t i = 0; i < n; i++) {
        double log_p = reference[i] - reference_norm;
        kld += exp(log_p) * (log_p - (logits[i] - norm));
    }
    return kld;
}

uint32_t cli_best(const float *x, uint32_t n) {
    uint32_t b = 0;
    for (uint32_t i = 1; i < n; i++)
        if (x[i] > x[b]) b = i;
    return b;
}
