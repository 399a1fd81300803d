/* See hvx_attn.h. One body for a number of queries, a constant where it is inlined. */
#include "htp/hvx/hvx_attn.h"

#include "htp/hvx/hvx_convert.h"
#include "htp/hvx/hvx_dot_term.h"
#include "htp/hvx/hvx_inline.h"
#include "htp/hvx/hvx_math.h"
#include "wire/format.h"

enum { QUERIES = HTP_ATTN_QUERIES, KEYS = HTP_ATTN_KEYS, SUMS = 8 };

/* --- keys --- */

/* Two neighbouring halves of 32 keys to two vectors. */
HVX_INLINE void widen(uint32_t type, HVX_Vector halves, HVX_Vector *keys) {
    HVX_VectorPair w = type == NPU_TYPE_F16 ? hvx_f32_widen(halves) : hvx_f32_widen_bf16(halves);
    keys[0] = Q6_V_lo_W(w);
    keys[1] = Q6_V_hi_W(w);
}

/* Neighbouring halves go together as words, and part when they are widened. */
HVX_HOT void transpose_halves(const HVX_Vector *raw, uint32_t stride, HVX_Vector *restrict between) {
    hvx_transpose_first(raw, stride, between);
}

/* |left|: vectors that are wanted. */
HVX_INLINE void widen_halves(uint32_t type, const HVX_Vector between[KEYS], uint32_t left, HVX_Vector *restrict keys) {
    for (uint32_t i = 0; 8 * i < left; i++, keys += 8) {
        HVX_Vector x[4];
        hvx_transpose_last(between, i, x);
        HVX_UNROLL for (int k = 0; k < 4; k++) widen(type, x[k], keys + 2 * k);
    }
}
HVX_HOT void widen_f16(const HVX_Vector between[KEYS], uint32_t left, HVX_Vector *restrict keys) {
    widen_halves(NPU_TYPE_F16, between, left, keys);
}
HVX_HOT void widen_bf16(const HVX_Vector between[KEYS], uint32_t left, HVX_Vector *restrict keys) {
    widen_halves(NPU_TYPE_BF16, between, left, keys);
}

void htp_attn_keys(uint32_t type, const uint8_t *raw, uint32_t stride, uint32_t d, HVX_Vector *rows, HVX_Vector *keys) {
    uint32_t width = (d + 31) / 32;
    if (type == NPU_TYPE_F16 || type == NPU_TYPE_BF16) {
        HVX_Vector between[KEYS];
        for (uint32_t i = 0; i < width; i += 2, raw += sizeof *keys, keys += 2 * KEYS) {
            transpose_halves((const HVX_Vector *)raw, stride / sizeof *keys, between);
            (type == NPU_TYPE_F16 ? widen_f16 : widen_bf16)(between, width - i < 2 ? KEYS : 2 * KEYS, keys);
        }
        return;
    }
    for (uint32_t j = 0; j < KEYS; j++, raw += stride) hvx_convert_to_f32(type, raw, rows + j * width, d);
    for (uint32_t i = 0; i < width; i++) hvx_transpose_32x32(rows + i, width, keys + i * KEYS);
}

/* --- scores --- */

/* Not unrolled: so the compiler overlaps one iteration with the next, in fewer packets than it finds for four. */
#define ONE_BY_ONE _Pragma("GCC unroll 1")

#ifdef HTP_BUILD_REAL
/* The two halves of the sum side by side. */
HVX_HOT void dot_1(const float *q, const HVX_Vector *keys, uint32_t d, HVX_Vector *score) {
    uint32_t half = d / 2;
    const HVX_Vector *keys2 = keys + half;
    const float *q2 = q + half;
    dot_sum a, b;
    dot_clear(&a);
    dot_clear(&b);
    ONE_BY_ONE for (uint32_t i = 0; i < half; i++) {
        dot_add(&a, keys[i], q[i]);
        dot_add(&b, keys2[i], q2[i]);
    }
    if (d % 2) dot_add(&a, keys[d - 1], q[d - 1]);
    a = Q6_Vqf32_vadd_Vqf32Vqf32(a, b);
    dot_result(&a, score);
}
#else
HVX_HOT void dot_1(const float *q, const HVX_Vector *keys, uint32_t d, HVX_Vector *score) {
    dot_sum sum;
    dot_clear(&sum);
    for (uint32_t i = 0; i < d; i++) dot_add(&sum, keys[i], q[i]);
    dot_result(&sum, score);
}
#endif

HVX_HOT void dot_2(const float *q, const float *q2, const HVX_Vector *keys, uint32_t d, HVX_Vector *scores) {
    dot_sum a, b;
    dot_clear(&a);
    dot_clear(&b);
    ONE_BY_ONE for (uint32_t i = 0; i < d; i++) {
        HVX_Vector key = keys[i];
        dot_add(&a, key, q[i]);
        dot_add(&b, key, q2[i]);
    }
    dot_result(&a, &scores[0]);
    dot_result(&b, &scores[1]);
}

/* By pairs: more at once would cost more packets each. */
void htp_attn_dot(uint32_t queries, const float *const q[], const HVX_Vector *keys, uint32_t d, HVX_Vector *scores) {
    uint32_t r = 0;
    for (; r + 2 <= queries; r += 2) dot_2(q[r], q[r + 1], keys, d, scores + r);
    if (r < queries) dot_1(q[r], keys, d, scores + r);
}

/* --- softmax --- */

enum { LARGEST, SUM };

HVX_INLINE HVX_Vector fold_step(int what, HVX_Vector a, HVX_Vector b) {
    return what == SUM ? hvx_f32_add(a, b) : hvx_f32_max(a, b);
}

/* The fold of docs/numerics.md §3 of |n| vectors; two, then four of them share one after its first steps. */
HVX_INLINE void fold(int what, uint32_t n, HVX_Vector *x, float *y) {
    HVX_Vector v[2], all = x[0];
    uint32_t bytes = 64;
    if (n > 1) {
        for (uint32_t i = 0; i < n; i += 2) {
            HVX_VectorPair w = Q6_W_vshuff_VVR(x[i + 1 < n ? i + 1 : i], x[i], 64);
            v[i / 2] = fold_step(what, Q6_V_lo_W(w), Q6_V_hi_W(w));
        }
        all = v[0];
        bytes = 32;
    }
    if (n > 2) {
        HVX_VectorPair w = Q6_W_vshuff_VVR(v[1], v[0], 32);
        all = fold_step(what, Q6_V_lo_W(w), Q6_V_hi_W(w));
        bytes = 16;
    }
    HVX_UNROLL for (; bytes >= 4; bytes /= 2) all = fold_step(what, all, Q6_V_vror_VR(all, (int32_t)bytes));
    HVX_UNROLL for (uint32_t r = 0; r < n; r++) y[r] =
        npu_bits_float((uint32_t)Q6_R_vextract_VR(all, (int32_t)(r % 2 * 64 + r / 2 * 32)));
}

HVX_INLINE void softmax(uint32_t n, const HVX_Vector *scores, uint32_t first, uint32_t end,
                        htp_attn_state *const state[], HVX_Vector *p, float *c) {
    HVX_VectorPred visible = hvx_lanes_between(first, end);
    HVX_Vector s[QUERIES], e[QUERIES], lowest = hvx_f32_splat(-NPU_F32_INF);
    float m[QUERIES], l[QUERIES], worth[32] __attribute__((aligned(128)));
    HVX_UNROLL for (uint32_t r = 0; r < n; r++) s[r] = Q6_V_vmux_QVV(visible, scores[r], lowest);
    fold(LARGEST, n, s, m);
    *(HVX_Vector *)worth = Q6_V_vzero();
    HVX_UNROLL for (uint32_t r = 0; r < n; r++) {
        m[r] = npu_maxf(state[r]->m, m[r]);
        worth[r] = state[r]->m - m[r];
        e[r] = hvx_f32_exp(hvx_f32_sub(scores[r], hvx_f32_splat(m[r])));
    }
    hvx_f32_exp_first(worth, n);
    HVX_UNROLL for (uint32_t r = 0; r < n; r++) p[r] = e[r] = Q6_V_vmux_QVV(visible, e[r], Q6_V_vzero());
    fold(SUM, n, e, l);
    HVX_UNROLL for (uint32_t r = 0; r < n; r++) {
        c[r] = worth[r];
        if (m[r] != -NPU_F32_INF) *state[r] = (htp_attn_state){m[r], __builtin_fmaf(state[r]->l, worth[r], l[r])};
    }
}

/* --- values --- */

/* |columns| neighbouring vectors of the values at once, so that one load of p serves all of them. */
HVX_INLINE void add_columns(uint32_t n, uint32_t columns, const float *const x[], const float *c, uint32_t keys,
                            const HVX_Vector *v, uint32_t width, HVX_Vector *const sums[], uint32_t i) {
    dot_sum acc[SUMS];
    HVX_UNROLL for (uint32_t r = 0; r < n; r++) HVX_UNROLL for (uint32_t k = 0; k < columns; k++)
        dot_start(&acc[r * columns + k], sums[r][i + k], c[r]);
    HVX_F32_UNROLL for (uint32_t j = 0; j < keys; j++, v += width) HVX_UNROLL for (uint32_t k = 0; k < columns; k++) {
        HVX_Vector value = v[k];
        HVX_UNROLL for (uint32_t r = 0; r < n; r++) dot_add(&acc[r * columns + k], value, x[r][j]);
    }
    HVX_UNROLL for (uint32_t r = 0; r < n; r++) HVX_UNROLL for (uint32_t k = 0; k < columns; k++)
        dot_result(&acc[r * columns + k], &sums[r][i + k]);
}

HVX_INLINE void add(uint32_t n, const float *const p[], const float *c, uint32_t first, uint32_t end,
                    const HVX_Vector *values, uint32_t width, HVX_Vector *const sums[]) {
    const float *x[QUERIES];
    uint32_t i = 0;
    HVX_UNROLL for (uint32_t r = 0; r < n; r++) x[r] = p[r] + first;
    values += first * width;
    for (; n == 1 && i + 4 <= width; i += 4) add_columns(n, 4, x, c, end - first, values + i, width, sums, i);
    for (; i + 2 <= width; i += 2) add_columns(n, 2, x, c, end - first, values + i, width, sums, i);
    if (i < width) add_columns(n, 1, x, c, end - first, values + i, width, sums, i);
}

#define FOR_QUERIES(n)                                                                                              \
    HVX_HOT void softmax_##n(const HVX_Vector *scores, uint32_t first, uint32_t end, htp_attn_state *const state[], \
                             HVX_Vector *p, float *c) {                                                             \
        softmax(n, scores, first, end, state, p, c);                                                                \
    }                                                                                                               \
    HVX_HOT void add_##n(const float *const p[], const float *c, uint32_t first, uint32_t end,                      \
                         const HVX_Vector *values, uint32_t width, HVX_Vector *const sums[]) {                      \
        add(n, p, c, first, end, values, width, sums);                                                              \
    }
FOR_QUERIES(1)
FOR_QUERIES(2)
FOR_QUERIES(3)
FOR_QUERIES(4)

void htp_attn_softmax(uint32_t queries, const HVX_Vector *scores, uint32_t first, uint32_t end,
                      htp_attn_state *const state[], HVX_Vector *p, float *c) {
    static void (*const of[QUERIES])(const HVX_Vector *, uint32_t, uint32_t, htp_attn_state *const[], HVX_Vector *,
                                     float *) = {softmax_1, softmax_2, softmax_3, softmax_4};
    of[queries - 1](scores, first, end, state, p, c);
}

void htp_attn_add(uint32_t queries, const float *const p[], const float *c, uint32_t first, uint32_t end,
                  const HVX_Vector *values, uint32_t width, HVX_Vector *const sums[]) {
    static void (*const of[QUERIES])(const float *const[], const float *, uint32_t, uint32_t, const HVX_Vector *,
                                     uint32_t, HVX_Vector *const[]) = {add_1, add_2, add_3, add_4};
    of[queries - 1](p, c, first, end, values, width, sums);
}
