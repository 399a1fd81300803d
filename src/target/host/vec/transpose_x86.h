/* An 8 x 8 transpose in AVX registers, for both x86 vector widths. */
#ifndef NPU_HOST_TRANSPOSE_X86_H
#define NPU_HOST_TRANSPOSE_X86_H

#include <immintrin.h>
#include <stddef.h>

enum { VTILE = 8 };

/* to[c * to_stride + r] = from[r * from_stride + c] for r, c < VTILE. */
static inline void vf_transpose(const float *from, size_t from_stride, float *to, size_t to_stride) {
    __m256 r[8], t[8];
    for (int i = 0; i < 4; i++) { /* rows i and i + 4 side by side, so that only 128-bit lanes are shuffled below */
        const float *a = from + (size_t)i * from_stride, *b = from + (size_t)(i + 4) * from_stride;
        r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(a)), _mm_loadu_ps(b), 1);
        r[i + 4] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(a + 4)), _mm_loadu_ps(b + 4), 1);
    }
    for (int h = 0; h < 8; h += 4) {
        t[h] = _mm256_unpacklo_ps(r[h], r[h + 1]);
        t[h + 1] = _mm256_unpackhi_ps(r[h], r[h + 1]);
        t[h + 2] = _mm256_unpacklo_ps(r[h + 2], r[h + 3]);
        t[h + 3] = _mm256_unpackhi_ps(r[h + 2], r[h + 3]);
        _mm256_storeu_ps(to + (size_t)h * to_stride, _mm256_shuffle_ps(t[h], t[h + 2], 0x44));
        _mm256_storeu_ps(to + (size_t)(h + 1) * to_stride, _mm256_shuffle_ps(t[h], t[h + 2], 0xEE));
        _mm256_storeu_ps(to + (size_t)(h + 2) * to_stride, _mm256_shuffle_ps(t[h + 1], t[h + 3], 0x44));
        _mm256_storeu_ps(to + (size_t)(h + 3) * to_stride, _mm256_shuffle_ps(t[h + 1], t[h + 3], 0xEE));
    }
}

#endif
