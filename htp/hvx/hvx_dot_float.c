/* See hvx_dot_float.h. One body for a number of columns and a type, all constants where they are inlined. */
#include "htp/hvx/hvx_dot_float.h"

#include "htp/hvx/hvx_math.h"
#include "wire/format.h"

#ifdef NPU_NO_INLINE
#define INLINE static inline
#else
#define INLINE static inline __attribute__((always_inline))
#endif

enum { LANES = 32, COLUMNS = HTP_DOT_FLOAT_COLUMNS };

/* Two vectors of numbers: |n| of the pair are wanted. */
INLINE HVX_VectorPair numbers(uint32_t type, const HVX_Vector *w, uint32_t pair, uint32_t n) {
    if (type == NPU_TYPE_F16) return hvx_f32_from_half(w[pair]);
    if (type == NPU_TYPE_BF16) return hvx_f32_from_bf16(w[pair]);
    return Q6_W_vcombine_VV(n > LANES ? w[2 * pair + 1] : Q6_V_vzero(), w[2 * pair]);
}

/* One row against all columns; acc[c] is its vector of sums. Lanes past the end keep what they have. */
INLINE void row_sums(uint32_t type, const HVX_Vector *w, const HVX_Vector *const x[], uint32_t columns, uint32_t k,
                     HVX_Vector acc[COLUMNS]) {
    for (uint32_t c = 0; c < columns; c++) acc[c] = Q6_V_vzero();
    for (uint32_t pair = 0; pair < k / (2 * LANES); pair++) {
        HVX_VectorPair both = numbers(type, w, pair, 2 * LANES);
        for (uint32_t c = 0; c < columns; c++) {
            acc[c] = hvx_f32_fma(Q6_V_lo_W(both), x[c][2 * pair], acc[c]);
            acc[c] = hvx_f32_fma(Q6_V_hi_W(both), x[c][2 * pair + 1], acc[c]);
        }
    }
    uint32_t pair = k / (2 * LANES), rest = k % (2 * LANES);
    if (!rest) return;
    HVX_VectorPair both = numbers(type, w, pair, rest);
    for (uint32_t half = 0; half * LANES < rest; half++) {
        HVX_VectorPred there = hvx_lanes_between(0, rest - half * LANES);
        HVX_Vector values = half ? Q6_V_hi_W(both) : Q6_V_lo_W(both);
        for (uint32_t c = 0; c < columns; c++)
            acc[c] = Q6_V_vmux_QVV(there, hvx_f32_fma(values, x[c][2 * pair + half], acc[c]), acc[c]);
    }
}

/* Lane r: the fold of numerics.md §3 of sums[r]. */
static HVX_Vector fold(const HVX_Vector sums[LANES]) {
    HVX_Vector t[LANES];
    hvx_transpose_32x32(sums, 1, t);
    for (int h = LANES / 2; h; h /= 2)
        for (int j = 0; j < h; j++) t[j] = hvx_f32_add(t[j], t[j + h]);
    return t[0];
}

INLINE void dot(uint32_t type, const uint8_t *w, uint32_t stride, uint32_t rows, const HVX_Vector *const x[],
                uint32_t columns, uint32_t k, HVX_Vector *y) {
    HVX_Vector sums[COLUMNS][LANES];
    for (uint32_t r = 0; r < LANES; r++) {
        HVX_Vector acc[COLUMNS];
        if (r < rows) row_sums(type, (const HVX_Vector *)(w + (uint64_t)r * stride), x, columns, k, acc);
        for (uint32_t c = 0; c < columns; c++) sums[c][r] = r < rows ? acc[c] : Q6_V_vzero();
    }
    for (uint32_t c = 0; c < columns; c++) y[c] = fold(sums[c]);
}

#define DOT(TYPE, n)                                                                                            \
    static void dot_##TYPE##_##n(const uint8_t *w, uint32_t stride, uint32_t rows, const HVX_Vector *const x[], \
                                 uint32_t k, HVX_Vector *y) {                                                   \
        dot(NPU_TYPE_##TYPE, w, stride, rows, x, n, k, y);                                                      \
    }
#define DOTS(TYPE) DOT(TYPE, 1) DOT(TYPE, 2) DOT(TYPE, 3) DOT(TYPE, 4)
DOTS(F32)
DOTS(F16)
DOTS(BF16)

typedef void dot_fn(const uint8_t *w, uint32_t stride, uint32_t rows, const HVX_Vector *const x[], uint32_t k,
                    HVX_Vector *y);

void htp_dot_float(uint32_t type, const uint8_t *w, uint32_t stride, uint32_t rows, const HVX_Vector *const x[],
                   uint32_t columns, uint32_t k, HVX_Vector *y) {
#define ROW(TYPE) \
    { dot_##TYPE##_1, dot_##TYPE##_2, dot_##TYPE##_3, dot_##TYPE##_4 }
    static dot_fn *const dots[3][COLUMNS] = {ROW(F32), ROW(F16), ROW(BF16)};
    dots[type == NPU_TYPE_F32 ? 0 : type == NPU_TYPE_F16 ? 1 : 2][columns - 1](w, stride, rows, x, k, y);
}
