/* Linear, YaRN and longrope scaling as one formula; see rope.h. */
#include "model/rope.h"

#include <math.h>

#include "wire/math64.h"

#define TWO_PI 6.283185307179586

/* The pair whose wave turns |turns| times within the original context. */
static double correction_dim(const npu_rope_hparams *r, double base, double turns) {
    return r->n_rot * npu_log64(r->original_ctx / (turns * TWO_PI)) / (2 * npu_log64(base));
}

/* How far pair |i| keeps its own frequency (1) instead of the scaled one (0). */
static double yarn_mix(const npu_rope_hparams *r, double base, uint32_t i) {
    if (r->yarn_ext == 0) return 0;
    double low = floor(correction_dim(r, base, r->yarn_beta_fast));
    double high = ceil(correction_dim(r, base, r->yarn_beta_slow));
    if (low < 0) low = 0;
    if (high > r->n_rot - 1) high = r->n_rot - 1;
    double width = high - low < 0.001 ? 0.001 : high - low, y = (i - low) / width;
    return (1 - (y < 0 ? 0 : y > 1 ? 1 : y)) * r->yarn_ext;
}

static double mscale(double factor, double mul) {
    return factor <= 1 ? 1 : 0.1 * mul * npu_log64(factor) + 1;
}

/* The model-wide factor assumes the model-wide frequency scale; what a layer's own scale gives is put on top. */
static double pair_scale(const npu_rope_hparams *r, double freq_scale) {
    if (r->yarn_ext == 0) return (double)r->yarn_attn * r->attn_factor;
    double factor = 1 / (double)r->freq_scale;
    double whole = mscale(factor, 1) / (r->yarn_log_mul != 0 ? mscale(factor, r->yarn_log_mul) : 1);
    double undo = 1 + 0.1 * npu_log64(factor);
    return whole / undo * r->attn_factor * (1 + 0.1 * npu_log64(1 / freq_scale));
}

npu_status npu_rope_make(const npu_rope_hparams *r, bool local, const float *factors, float *freqs, float *scale,
                         npu_error *err) {
    double base = local ? r->base_local : r->base;
    double freq_scale = local ? r->freq_scale_local : r->freq_scale;
    for (uint32_t i = 0; i < r->n_rot / 2; i++) {
        double factor = factors ? factors[i] : 1;
        if (!(factor > 0) || !isfinite(factor))
            return npu_fail(err, NPU_INVALID, "model.rope_factor", "rope factor %u is %g, must be above 0", i, factor);
        double mix = yarn_mix(r, base, i);
        double freq = npu_pow64(base, -2.0 * i / r->n_rot) / factor * (freq_scale * (1 - mix) + mix);
        freqs[i] = (float)freq;
        if (!isfinite(freqs[i]))
            return npu_fail(err, NPU_INVALID, "model.rope_freq", "rope frequency %u is %g", i, freq);
    }
    *scale = (float)pair_scale(r, freq_scale);
    if (!isfinite(*scale))
        return npu_fail(err, NPU_INVALID, "model.rope_scale", "the rope scaling of the file gives a factor of %g",
                        (double)*scale);
    return NPU_OK;
}
