/* MUL_MAT's activations as integers (numerics.md §5). Weights as integers are npu_block of src/quant. */
#include "target/host/ref/ref.h"

void npu_ref_quantise_act(const float *x, npu_ref_act *out) {
    uint32_t top = 0;
    for (int i = 0; i < 32; i++) {
        uint32_t bits = npu_float_bits(x[i]) & 0x7FFFFFFFu;
        if (bits > top) top = bits;
    }
    *out = (npu_ref_act){0};
    if (top >= 0x7F800000u) {
        out->d = out->s = NPU_F32_NAN;
        return;
    }
    float amax = npu_bits_float(top);
    if (amax < 0x1p-100f) return;
    float id = 127.0f / amax;
    out->d = amax / 127.0f;
    for (int i = 0; i < 32; i++) {
        float q = (x[i] * id + NPU_ROUND_MAGIC) - NPU_ROUND_MAGIC;
        q = q < -127.0f ? -127.0f : q > 127.0f ? 127.0f : q;
        out->q[i] = (int8_t)q;
        *(i < 16 ? &out->b0 : &out->b1) += out->q[i];
    }
    out->s = out->d * (float)(out->b0 + out->b1);
}
