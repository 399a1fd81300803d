/* Lane sums (numerics.md §3). */
#include "target/host/ref/ref.h"

enum { LANES = 32 };

static float fold(float *lane) {
    for (int h = LANES / 2; h; h /= 2)
        for (int j = 0; j < h; j++) lane[j] = lane[j] + lane[j + h];
    return lane[0];
}

static double fold_f64(double *lane) {
    for (int h = LANES / 2; h; h /= 2)
        for (int j = 0; j < h; j++) lane[j] = lane[j] + lane[j + h];
    return lane[0];
}

float npu_ref_sum32(const float *x, uint64_t n) {
    float lane[LANES] = {0};
    for (uint64_t k = 0; k < n; k++) lane[k % LANES] = lane[k % LANES] + x[k];
    return fold(lane);
}

float npu_ref_dot32(const float *a, const float *b, uint64_t n) {
    float lane[LANES] = {0};
    for (uint64_t k = 0; k < n; k++) lane[k % LANES] = npu_fmaf(a[k], b[k], lane[k % LANES]);
    return fold(lane);
}

double npu_ref_sum32_f64(const float *x, uint64_t n) {
    double lane[LANES] = {0};
    for (uint64_t k = 0; k < n; k++) lane[k % LANES] = lane[k % LANES] + (double)x[k];
    return fold_f64(lane);
}

double npu_ref_dot32_f64(const float *a, const float *b, uint64_t n) {
    double lane[LANES] = {0};
    for (uint64_t k = 0; k < n; k++) lane[k % LANES] = __builtin_fma((double)a[k], (double)b[k], lane[k % LANES]);
    return fold_f64(lane);
}
