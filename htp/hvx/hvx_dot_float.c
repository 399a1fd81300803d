/* See hvx_dot_float.h. One body for a number of columns and a type, all constants where they are inlined. Some rows go
 * together, so that columns are loaded, and of 16-bit weights brought into qf32, less often. */
#include "htp/hvx/hvx_dot_float.h"

#include "htp/hvx/hvx_dot_term.h"
#include "htp/hvx/hvx_inline.h"
#include "htp/hvx/hvx_math.h"
#include "wire/format.h"

#ifdef HTP_BUILD_QEMU /* the compiler's time: there every product is 32 scalar ones */
#define UNROLL_PAIRS
#else
#define UNROLL_PAIRS _Pragma("GCC unroll 2")
#endif
enum { LANES = 32, COLUMNS = HTP_DOT_FLOAT_COLUMNS, MOST_ROWS = 4 };

/* As many as leave all sums in registers. */
HVX_INLINE uint32_t rows_together(uint32_t type, uint32_t columns) {
#ifdef HTP_BUILD_QEMU
    (void)type, (void)columns;
    return 1;
#else
    return columns == 1 || (columns == 2 && type != NPU_TYPE_F32) ? MOST_ROWS : 2;
#endif
}

/* Sums of products. The real build keeps sums in qf32, in which halves are widened: then either they are brought to sf,
 * or, when those are fewer, what they are multiplied by is brought to qf32. */
#ifdef HTP_BUILD_REAL
HVX_INLINE int in_qf32(uint32_t type, uint32_t columns) {
    return type == NPU_TYPE_F16 && columns < rows_together(type, columns);
}
HVX_INLINE HVX_VectorPair widen_halves(HVX_Vector h, int qf32) {
    return qf32 ? dot_widen(Q6_Vh_vshuff_Vh(h)) : hvx_f32_from_half(h);
}
HVX_INLINE HVX_Vector operand(int qf32, HVX_Vector x) {
    return qf32 ? Q6_Vqf32_vadd_VsfVsf(x, Q6_V_vzero()) : x;
}
HVX_INLINE HVX_Vector add_product(int qf32, HVX_Vector sum, HVX_Vector w, HVX_Vector x) {
    HVX_Vector y = qf32 ? Q6_Vqf32_vmpy_Vqf32Vqf32(w, x) : Q6_Vqf32_vmpy_VsfVsf(w, x);
    return Q6_Vqf32_vadd_Vqf32Vqf32(sum, y);
}
HVX_INLINE HVX_Vector result(HVX_Vector sum) {
    return Q6_Vsf_equals_Vqf32(sum);
}
#else
HVX_INLINE int in_qf32(uint32_t type, uint32_t columns) {
    (void)type, (void)columns;
    return 0;
}
HVX_INLINE HVX_VectorPair widen_halves(HVX_Vector h, int qf32) {
    (void)qf32;
    return hvx_f32_from_half(h);
}
HVX_INLINE HVX_Vector operand(int qf32, HVX_Vector x) {
    (void)qf32;
    return x;
}
HVX_INLINE HVX_Vector add_product(int qf32, HVX_Vector sum, HVX_Vector w, HVX_Vector x) {
    (void)qf32;
    return hvx_f32_fma(w, x, sum);
}
HVX_INLINE HVX_Vector result(HVX_Vector sum) {
    return sum;
}
#endif

/* Two vectors of numbers: |n| of the pair are wanted. */
HVX_INLINE HVX_VectorPair numbers(uint32_t type, int qf32, const HVX_Vector *w, uint32_t pair, uint32_t n) {
    if (type == NPU_TYPE_F16) return widen_halves(w[pair], qf32);
    if (type == NPU_TYPE_BF16) return hvx_f32_from_bf16(w[pair]);
    return Q6_W_vcombine_VV(n > LANES ? w[2 * pair + 1] : Q6_V_vzero(), w[2 * pair]);
}

/* |rows| rows against all columns; acc[r][c] is their vector of sums. Lanes past the end keep what they have. */
HVX_INLINE void row_sums(uint32_t type, uint32_t rows, const HVX_Vector *const w[], const HVX_Vector *const x[],
                         uint32_t columns, uint32_t k, HVX_Vector acc[MOST_ROWS][COLUMNS]) {
    const int qf32 = in_qf32(type, columns);
    HVX_UNROLL for (uint32_t r = 0; r < rows; r++) HVX_UNROLL for (uint32_t c = 0; c < columns; c++) acc[r][c] =
        Q6_V_vzero();
    UNROLL_PAIRS for (uint32_t pair = 0; pair < k / (2 * LANES); pair++) {
        HVX_VectorPair both[MOST_ROWS];
        HVX_UNROLL for (uint32_t r = 0; r < rows; r++) both[r] = numbers(type, qf32, w[r], pair, 2 * LANES);
        HVX_UNROLL for (uint32_t c = 0; c < columns; c++) {
            HVX_Vector low = operand(qf32, x[c][2 * pair]), high = operand(qf32, x[c][2 * pair + 1]);
            HVX_UNROLL for (uint32_t r = 0; r < rows; r++) {
                acc[r][c] = add_product(qf32, acc[r][c], Q6_V_lo_W(both[r]), low);
                acc[r][c] = add_product(qf32, acc[r][c], Q6_V_hi_W(both[r]), high);
            }
        }
    }
    uint32_t pair = k / (2 * LANES), rest = k % (2 * LANES);
    for (uint32_t r = 0; r < rows && rest; r++) {
        HVX_VectorPair both = numbers(type, qf32, w[r], pair, rest);
        _Pragma("GCC unroll 1") for (uint32_t half = 0; half * LANES < rest; half++) {
            HVX_VectorPred there = hvx_lanes_between(0, rest - half * LANES);
            HVX_Vector values = half ? Q6_V_hi_W(both) : Q6_V_lo_W(both);
            for (uint32_t c = 0; c < columns; c++) {
                HVX_Vector on = add_product(qf32, acc[r][c], values, operand(qf32, x[c][2 * pair + half]));
                acc[r][c] = Q6_V_vmux_QVV(there, on, acc[r][c]);
            }
        }
    }
}

/* Lane r: the fold of numerics.md §3 of sums[r]. */
HVX_HOT HVX_Vector fold(const HVX_Vector sums[LANES]) {
    HVX_Vector t[LANES];
    hvx_transpose_32x32(sums, 1, t);
    for (int h = LANES / 2; h; h /= 2)
        for (int j = 0; j < h; j++) t[j] = hvx_f32_add(t[j], t[j + h]);
    return t[0];
}

HVX_INLINE void dot(uint32_t type, const uint8_t *w, uint32_t stride, uint32_t rows, const HVX_Vector *const x[],
                    uint32_t columns, uint32_t k, HVX_Vector *y) {
    HVX_Vector sums[COLUMNS][LANES];
    const uint32_t together = rows_together(type, columns);
    for (uint32_t r = 0; r < LANES; r += together) {
        const HVX_Vector *of[MOST_ROWS];
        HVX_Vector acc[MOST_ROWS][COLUMNS];
        HVX_UNROLL for (uint32_t i = 0; i < together; i++) { /* a row too many is the last one again */
            uint32_t row = r + i < rows ? r + i : rows - 1;
            of[i] = (const HVX_Vector *)(w + (uint64_t)row * stride);
        }
        if (r < rows) row_sums(type, together, of, x, columns, k, acc);
        HVX_UNROLL for (uint32_t c = 0; c < columns; c++) HVX_UNROLL for (uint32_t i = 0; i < together; i++)
            sums[c][r + i] = r < rows ? result(acc[i][c]) : Q6_V_vzero();
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
