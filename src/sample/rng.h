/* The random numbers of sampling: xoshiro256** seeded through splitmix64 (both public domain by Blackman and Vigna).
 * The same seed gives the same numbers on every machine.
 */
#ifndef NPU_SAMPLE_RNG_H
#define NPU_SAMPLE_RNG_H

#include <stdint.h>

typedef struct npu_rng {
    uint64_t s[4];
} npu_rng;

static inline void npu_rng_seed(npu_rng *r, uint64_t seed) {
    for (int i = 0; i < 4; i++) {
        seed += 0x9E3779B97F4A7C15u;
        uint64_t z = seed;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        r->s[i] = z ^ (z >> 31);
    }
}

static inline uint64_t npu_rng_next(npu_rng *r) {
    uint64_t *s = r->s, x = s[1] * 5, t = s[1] << 17;
    uint64_t result = ((x << 7) | (x >> 57)) * 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}

/* In [0, 1), all multiples of 2^-53. */
static inline double npu_rng_unit(npu_rng *r) {
    return (double)(npu_rng_next(r) >> 11) * 0x1p-53;
}

#endif
