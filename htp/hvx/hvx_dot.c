/* Dot product kernels; see hvx_dot.h for layouts. One body, specialised by constants (bits of a code, offset, minima,
 * columns), whose loop takes two tiles, because that is what one vector of f16 scales covers, and because two
 * independent chains of vrmpy fill the packets: a chain alone would give one a packet. The offset of the codes enters
 * as the accumulator's start, -offset * sum of the activations, so codes stay unsigned as the scalar form of vrmpy
 * wants them. */
#include "htp/hvx/hvx_dot.h"

#include "htp/hvx/hvx_dot_term.h"

#ifdef NPU_NO_INLINE /* sanitizers: compilers take minutes for it otherwise */
#define INLINE static inline
#define UNROLL
#else
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")
#endif

enum { MAX_COLUMNS = 4 };

/* Eight activations as the two scalar operands of vrmpy. */
INLINE int64_t eight(const int8_t *codes) {
    int64_t q;
    memcpy(&q, __builtin_assume_aligned(codes, 8), sizeof q);
    return q;
}

/* Integer sums of one tile for each column. */
INLINE void tile_sums(int bits, int offset, const HVX_Vector *w, const int8_t *const x[],
                      const htp_act_block *const b[], int columns, HVX_Vector *sums) {
    HVX_Vector low = Q6_Vb_vsplat_R(15);
    UNROLL for (int c = 0; c < columns; c++) sums[c] = Q6_V_vsplat_R(-offset * b[c]->sum);
    UNROLL for (int v = 0; v < 4; v++) {
        HVX_Vector first = bits == 4 ? Q6_V_vand_VV(w[v], low) : w[2 * v];
        HVX_Vector second = bits == 4 ? Q6_Vub_vlsr_VubR(w[v], 4) : w[2 * v + 1];
        UNROLL for (int c = 0; c < columns; c++) {
            int64_t q = eight(x[c] + 8 * v);
            sums[c] = Q6_Vw_vrmpyacc_VwVubRb(sums[c], first, (int32_t)q);
            sums[c] = Q6_Vw_vrmpyacc_VwVubRb(sums[c], second, (int32_t)(q >> 32));
        }
    }
}

INLINE void add_terms(int has_min, const HVX_Vector *sums, HVX_Vector dw, HVX_Vector m, const htp_act_block *const b[],
                      int columns, HVX_Vector *acc) {
    UNROLL for (int c = 0; c < columns; c++) {
        acc[c] = dot_term(acc[c], sums[c], dw, b[c]->d);
        if (has_min) acc[c] = dot_min_term(acc[c], m, b[c]->d * (float)b[c]->sum);
    }
}

INLINE void dot(int bits, int offset, int has_min, int columns, const HVX_Vector *restrict w,
                const HVX_Vector *restrict scales, const HVX_Vector *restrict minima, const htp_act_row *rows,
                uint32_t tiles, HVX_Vector *restrict y) {
    HVX_Vector acc[MAX_COLUMNS], even[MAX_COLUMNS], odd[MAX_COLUMNS];
    const int8_t *x[MAX_COLUMNS], *x_odd[MAX_COLUMNS];
    const htp_act_block *b[MAX_COLUMNS], *b_odd[MAX_COLUMNS];
    HVX_VectorPair m = Q6_W_vcombine_VV(Q6_V_vzero(), Q6_V_vzero());
    UNROLL for (int c = 0; c < columns; c++) {
        acc[c] = Q6_V_vzero();
        x[c] = rows[c].codes;
        b[c] = rows[c].blocks;
    }
    for (uint32_t pairs = tiles / 2; pairs; pairs--) {
        HVX_VectorPair dw = dot_widen(*scales++);
        if (has_min) m = dot_widen(*minima++);
        UNROLL for (int c = 0; c < columns; c++) {
            x_odd[c] = x[c] + 32;
            b_odd[c] = b[c] + 1;
        }
        tile_sums(bits, offset, w, x, b, columns, even);
        tile_sums(bits, offset, w + bits, x_odd, b_odd, columns, odd);
        add_terms(has_min, even, Q6_V_lo_W(dw), Q6_V_lo_W(m), b, columns, acc);
        add_terms(has_min, odd, Q6_V_hi_W(dw), Q6_V_hi_W(m), b_odd, columns, acc);
        w += 2 * bits;
        UNROLL for (int c = 0; c < columns; c++) {
            x[c] += 64;
            b[c] += 2;
        }
    }
    if (tiles & 1) {
        tile_sums(bits, offset, w, x, b, columns, even);
        if (has_min) m = dot_widen(*minima);
        add_terms(has_min, even, Q6_V_lo_W(dot_widen(*scales)), Q6_V_lo_W(m), b, columns, acc);
    }
    UNROLL for (int c = 0; c < columns; c++) y[c] = dot_result(acc[c]);
}

#define DOT(name, bits, offset, has_min, columns)                                                 \
    static void name(const HVX_Vector *codes, const HVX_Vector *scales, const HVX_Vector *minima, \
                     const htp_act_row *x, uint32_t tiles, HVX_Vector *y) {                       \
        dot(bits, offset, has_min, columns, codes, scales, minima, x, tiles, y);                  \
    }
DOT(dot_q4_0_1, 4, 8, 0, 1)
DOT(dot_q4_0_2, 4, 8, 0, 2)
DOT(dot_q4_0_4, 4, 8, 0, 4)
DOT(dot_q4_1_1, 4, 0, 1, 1)
DOT(dot_q4_1_2, 4, 0, 1, 2)
DOT(dot_q4_1_4, 4, 0, 1, 4)
DOT(dot_q8_0_1, 8, 128, 0, 1)
DOT(dot_q8_0_2, 8, 128, 0, 2)
DOT(dot_q8_0_4, 8, 128, 0, 4)
#undef DOT

htp_dot_fn *const htp_dot[HTP_DOT_FORMATS][3] = {
    [HTP_DOT_Q4_0] = {dot_q4_0_1, dot_q4_0_2, dot_q4_0_4},
    [HTP_DOT_Q4_1] = {dot_q4_1_1, dot_q4_1_2, dot_q4_1_4},
    [HTP_DOT_Q8_0] = {dot_q8_0_1, dot_q8_0_2, dot_q8_0_4},
};
