/* Rotary frequencies: every scaling kind ends in a table of frequencies and one scale of the pairs (docs/numerics.md,
 * ROPE_TABLE). Made once for each context, in f64, rounded to f32.
 */
#ifndef NPU_MODEL_ROPE_H
#define NPU_MODEL_ROPE_H

#include "model/hparams.h"

/* Fills freqs[n_rot / 2] and |*scale| for the layers that are |local| or not. |factors| (n_rot / 2 values, or NULL)
 * divide the frequencies. INVALID when a factor or a result is not a positive number. */
npu_status npu_rope_make(const npu_rope_hparams *r, bool local, const float *factors, float *freqs, float *scale,
                         npu_error *err);

#endif
