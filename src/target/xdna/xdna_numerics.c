/* The plain definition of the XDNA number contract, and the choice of a vector set. */
#include "target/xdna/xdna_numerics.h"

#include <math.h>
#include <string.h>

#include "base/cpu.h"

extern const npu_xdna_math npu_xdna_math_avx2, npu_xdna_math_avx512;

enum { LEAST = 27 << 23 }; /* the bits of 2^-100 */

static float quantise(const float *x, uint32_t n, int8_t *codes) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits &= 0x7FFFFFFF;
        if (bits > most) most = bits;
    }
    if (most < LEAST || most >= 0x7F800000) {
        memset(codes, 0, n);
        return most < LEAST ? 0 : NAN;
    }
    float amax;
    memcpy(&amax, &most, sizeof amax);
    float scale = amax / 127, inverse = 1 / scale;
    for (uint32_t i = 0; i < n; i++) {
        float code = roundf(x[i] * inverse);
        codes[i] = (int8_t)(code > 127 ? 127 : code < -127 ? -127 : code);
    }
    return scale;
}

static void dequantise(const int32_t *sums, uint32_t n, float row_scale, const float *column_scales, float *y) {
    for (uint32_t i = 0; i < n; i++) y[i] = (float)sums[i] * (row_scale * column_scales[i]);
}

static const npu_xdna_math plain = {"ref", 0, quantise, dequantise};

static const npu_xdna_math *const sets[] = {
    &plain,
#if defined(__x86_64__)
    &npu_xdna_math_avx2,
    &npu_xdna_math_avx512,
#endif
};

const npu_xdna_math *npu_xdna_math_at(unsigned i) {
    return i < sizeof sets / sizeof sets[0] ? sets[i] : NULL;
}

const npu_xdna_math *npu_xdna_math_for(uint32_t features) {
    const npu_xdna_math *best = &plain;
    for (unsigned i = 0; npu_xdna_math_at(i); i++)
        if ((sets[i]->features & features) == sets[i]->features) best = sets[i];
    return best;
}

int npu_xdna_block_fits(uint32_t block, uint64_t n) {
    return !block || (block <= NPU_XDNA_MAX_HADAMARD && !(block & (block - 1)) && !(n % block));
}

static void rotate_block(float *x, uint32_t block) {
    for (uint32_t h = 1; h < block; h *= 2)
        for (uint32_t i = 0; i < block; i += 2 * h)
            for (uint32_t j = i; j < i + h; j++) {
                float a = x[j], b = x[j + h];
                x[j] = a + b;
                x[j + h] = a - b;
            }
    float factor = 1 / sqrtf((float)block);
    for (uint32_t i = 0; i < block; i++) x[i] *= factor;
}

void npu_xdna_rotate(float *x, uint64_t n, uint32_t block) {
    for (uint64_t i = 0; block > 1 && i < n; i += block) rotate_block(x + i, block);
}

float npu_xdna_quantise(const npu_xdna_math *math, const float *x, uint32_t real, uint32_t n, uint32_t block,
                        float *scratch, int8_t *codes) {
    if (block > 1) {
        memcpy(scratch, x, real * sizeof *x);
        memset(scratch + real, 0, (n - real) * sizeof *x);
        npu_xdna_rotate(scratch, n, block);
        return math->quantise(scratch, n, codes);
    }
    memset(codes + real, 0, n - real);
    return math->quantise(x, real, codes);
}
