/* The vectors that matmul_unpack.h and matmul_kernel.h are written in, as NEON: lanes for 4 rows. With the dot product
 * extension the byte products are one instruction; they are signed, so codes of 8 bits lose their offset again. */
#ifndef NPU_MATMUL_VEC_NEON_H
#define NPU_MATMUL_VEC_NEON_H

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#include "base/inline.h"

typedef int32x4_t vi;   /* 16 bytes or 4 words */
typedef float32x4_t vf; /* 4 floats */

enum { LANES = 4, GROUPS = 1, STREAM_SIDES = 1, HAS_BYTE_DOT = 0, DOT_OFFSET = 0, READS_AHEAD = 0 };
enum { SIDES = 4, MAX_COLUMNS = 2, MAX_COLUMNS_HALVES = 1 }; /* of tiles: as registers allow */
enum { DOT_VECTORS = 2, DOT_COLUMNS = 3 };                   /* of those of floats */

NPU_INLINE uint8x16_t as_u8(vi v) {
    return vreinterpretq_u8_s32(v);
}
NPU_INLINE int8x16_t as_s8(vi v) {
    return vreinterpretq_s8_s32(v);
}
NPU_INLINE uint32x4_t as_u32(vi v) {
    return vreinterpretq_u32_s32(v);
}
NPU_INLINE vi of_u8(uint8x16_t v) {
    return vreinterpretq_s32_u8(v);
}
NPU_INLINE vi of_u32(uint32x4_t v) {
    return vreinterpretq_s32_u32(v);
}
NPU_INLINE vi of_s64(int64x2_t v) {
    return vreinterpretq_s32_s64(v);
}

/* 16 bytes from each of GROUPS addresses. */
NPU_INLINE vi v_gather16(const uint8_t *const p[GROUPS]) {
    return of_u8(vld1q_u8(p[0]));
}

/* Words of a 4 x 4 matrix: word j of register i goes to word i of register j. */
NPU_INLINE void v_transpose(vi a, vi b, vi c, vi d, vi *t) {
    int64x2_t ab = vreinterpretq_s64_s32(vtrn1q_s32(a, b)), cd = vreinterpretq_s64_s32(vtrn1q_s32(c, d));
    int64x2_t ab2 = vreinterpretq_s64_s32(vtrn2q_s32(a, b)), cd2 = vreinterpretq_s64_s32(vtrn2q_s32(c, d));
    t[0] = of_s64(vtrn1q_s64(ab, cd));
    t[1] = of_s64(vtrn1q_s64(ab2, cd2));
    t[2] = of_s64(vtrn2q_s64(ab, cd));
    t[3] = of_s64(vtrn2q_s64(ab2, cd2));
}

/* Lane j of the result: the sum of the four lanes of register j. */
NPU_INLINE vi v_sums_of_four(const vi *v) {
    return vpaddq_s32(vpaddq_s32(v[0], v[1]), vpaddq_s32(v[2], v[3]));
}

/* The same, added to |start|; other machines have shorter ways for small sums. */
NPU_INLINE vi v_sums_small(const vi *v, vi start) {
    return vaddq_s32(start, v_sums_of_four(v));
}
NPU_INLINE vi v_sums_half(const vi *v, vi start) {
    return v_sums_small(v, start);
}

/* Lane j: the sums of registers j of |low| and |high|, which fit 16 bits, as a pair of halves. */
NPU_INLINE vi v_sums_pair(const vi *low, const vi *high) {
    int32x4_t a = v_sums_of_four(low), b = v_sums_of_four(high);
    return vreinterpretq_s32_s16(vtrn1q_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b)));
}

NPU_INLINE vi v_set8(int x) {
    return of_u8(vdupq_n_u8((uint8_t)x));
}
NPU_INLINE vi v_set32(int x) {
    return vdupq_n_s32(x);
}
NPU_INLINE vi v_zero(void) {
    return vdupq_n_s32(0);
}
/* Four words, the first one last. */
NPU_INLINE vi v_group(int d, int c, int b, int a) {
    return (vi){a, b, c, d};
}
NPU_INLINE vi v_group16(const void *p) {
    return of_u8(vld1q_u8(p));
}
NPU_INLINE vi v_and(vi a, vi b) {
    return vandq_s32(a, b);
}
NPU_INLINE vi v_or(vi a, vi b) {
    return vorrq_s32(a, b);
}
NPU_INLINE vi v_or_and(vi a, vi b, vi mask) {
    return vorrq_s32(a, vandq_s32(b, mask));
}
NPU_INLINE vi v_xor(vi a, vi b) {
    return veorq_s32(a, b);
}
NPU_INLINE vi v_add8(vi a, vi b) {
    return of_u8(vaddq_u8(as_u8(a), as_u8(b)));
}
NPU_INLINE vi v_sub8(vi a, vi b) {
    return of_u8(vsubq_u8(as_u8(a), as_u8(b)));
}
NPU_INLINE vi v_add32(vi a, vi b) {
    return vaddq_s32(a, b);
}
NPU_INLINE vi v_sub32(vi a, vi b) {
    return vsubq_s32(a, b);
}
NPU_INLINE vi v_mul32(vi a, vi b) {
    return vmulq_s32(a, b);
}
/* Shifts by a register, which compilers make immediate: the immediate forms want a literal. */
NPU_INLINE vi v_srl16(vi v, int n) {
    return vreinterpretq_s32_u16(vshlq_u16(vreinterpretq_u16_s32(v), vdupq_n_s16((int16_t)-n)));
}
NPU_INLINE vi v_sra16(vi v, int n) {
    return vreinterpretq_s32_s16(vshlq_s16(vreinterpretq_s16_s32(v), vdupq_n_s16((int16_t)-n)));
}
NPU_INLINE vi v_srl32(vi v, int n) {
    return of_u32(vshlq_u32(as_u32(v), vdupq_n_s32(-n)));
}
NPU_INLINE vi v_sra32(vi v, int n) {
    return vshlq_s32(v, vdupq_n_s32(-n));
}
NPU_INLINE vi v_sll32(vi v, int n) {
    return vshlq_s32(v, vdupq_n_s32(n));
}
/* Only the low 8 bits of a count are looked at, as a signed number: larger counts give any result. */
NPU_INLINE vi v_sllv32(vi v, vi n) {
    return vshlq_s32(v, n);
}
/* Bytes of a 16-byte table. */
NPU_INLINE vi v_look_up(vi table, vi i) {
    return of_u8(vqtbl1q_u8(as_u8(table), as_u8(i)));
}
/* v + add in the bytes where bits & bit is not 0. */
NPU_INLINE vi v_add_where(vi v, vi bits, vi bit, vi add) {
    return v_add8(v, v_and(of_u8(vtstq_u8(as_u8(bits), as_u8(bit))), add));
}
/* a < b ? yes : no, signed words. */
NPU_INLINE vi v_if_less32(vi a, vi b, vi yes, vi no) {
    return vbslq_s32(vcltq_s32(a, b), yes, no);
}

/* Adds sums of four products of signed bytes. Without the extension a pair of products must fit 16 bits: |w| <= 128 and
 * |x| <= 127. */
NPU_INLINE vi v_dot_signed(vi sum, vi w, vi x) {
#ifdef __ARM_FEATURE_DOTPROD
    return vdotq_s32(sum, as_s8(w), as_s8(x));
#else
    int8x16_t w8 = as_s8(w), x8 = as_s8(x);
    int16x8_t low = vmull_s8(vget_low_s8(w8), vget_low_s8(x8)), high = vmull_high_s8(w8, x8);
    return vaddq_s32(sum, vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
#endif
}
NPU_INLINE vi v_dot(vi sum, vi w, vi x) {
    return v_dot_signed(sum, w, x);
}
NPU_INLINE vi v_dot_small(vi w0, vi x0, vi w1, vi x1) {
    return v_dot_signed(v_dot_signed(v_zero(), w0, x0), w1, x1);
}
#ifdef __ARM_FEATURE_DOTPROD
/* As matmul_product.h has it. The instruction takes the four from 16 bytes, by a number that must be a constant for
 * compilers. */
#define NPU_MATMUL_DOT_WORD
NPU_INLINE vi v_dot_word(vi sum, vi w, const int8_t *q, int j) {
    int8x16_t x = vld1q_s8(q + j / 4 * 16);
    switch (j % 4) {
    case 0:
        return vdotq_laneq_s32(sum, as_s8(w), x, 0);
    case 1:
        return vdotq_laneq_s32(sum, as_s8(w), x, 1);
    case 2:
        return vdotq_laneq_s32(sum, as_s8(w), x, 2);
    default:
        return vdotq_laneq_s32(sum, as_s8(w), x, 3);
    }
}
#endif
NPU_INLINE vi v_mul16(vi a, vi b) {
    return vreinterpretq_s32_s16(vmulq_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b)));
}
/* Sums of two products of signed halves, */
NPU_INLINE vi v_dot16(vi a, vi b) {
    int16x8_t a16 = vreinterpretq_s16_s32(a), b16 = vreinterpretq_s16_s32(b);
    return vpaddq_s32(vmull_s16(vget_low_s16(a16), vget_low_s16(b16)), vmull_high_s16(a16, b16));
}
/* and as floats, when they are below 2^22. */
NPU_INLINE vf v_dot16f(vi a, vi b) {
    return vcvtq_f32_s32(v_dot16(a, b));
}
/* What sums of byte products start at, for |n|, and how they are read in the end: other machines have a shorter way. */
NPU_INLINE vi v_count_from(vi n) {
    return n;
}
NPU_INLINE vf v_counted(vi sum) {
    return vcvtq_f32_s32(sum);
}

NPU_INLINE void v_store(void *p, vi v) {
    vst1q_u8(p, as_u8(v));
}
/* A half of each lane. */
NPU_INLINE vf v_load_halves(const void *p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
/* An unsigned byte of each lane, as words. */
NPU_INLINE vi v_load_bytes(const void *p) {
    uint32_t four;
    memcpy(&four, p, 4);
    return of_u32(vmovl_u16(vget_low_u16(vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(four))))));
}
/* The low halves of |low| and |high| as pairs. */
NPU_INLINE vi v_pair(vi low, vi high) {
    return vsliq_n_s32(low, high, 16);
}
NPU_INLINE vi v_load(const void *p) {
    return of_u8(vld1q_u8(p));
}
NPU_INLINE vf v_float(vi v) {
    return vcvtq_f32_s32(v);
}
NPU_INLINE vf v_as_float(vi v) {
    return vreinterpretq_f32_s32(v);
}
NPU_INLINE vi v_as_int(vf v) {
    return vreinterpretq_s32_f32(v);
}
NPU_INLINE vf v_setf(float x) {
    return vdupq_n_f32(x);
}
NPU_INLINE vf v_mulf(vf a, vf b) {
    return vmulq_f32(a, b);
}
NPU_INLINE vf v_addf(vf a, vf b) {
    return vaddq_f32(a, b);
}
NPU_INLINE vf v_fma(vf a, vf b, vf c) {
    return vfmaq_f32(c, a, b);
}
NPU_INLINE vf v_zerof(void) {
    return vdupq_n_f32(0);
}
/* The first |n| lanes; the others are 0 and not touched in memory. */
NPU_INLINE vf v_loadf(const float *p, uint32_t n) {
    float lanes[LANES] = {0};
    if (n == LANES) return vld1q_f32(p);
    memcpy(lanes, p, n * sizeof *p);
    return vld1q_f32(lanes);
}
NPU_INLINE void v_storef(float *p, vf v, uint32_t n) {
    float lanes[LANES];
    if (n == LANES) {
        vst1q_f32(p, v);
        return;
    }
    vst1q_f32(lanes, v);
    memcpy(p, lanes, n * sizeof *p);
}
/* The low half of each word as a binary16. */
NPU_INLINE vf v_half(vi words) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(as_u32(words))));
}
/* Four binary16 numbers a group. */
NPU_INLINE vf v_halves(const int64_t *four) {
    return vcvt_f32_f16(vreinterpret_f16_s64(vdup_n_s64(four[0])));
}
/* Four unsigned bytes a group, as words. */
NPU_INLINE vi v_bytes(const int64_t *four) {
    return of_u32(vmovl_u16(vget_low_u16(vmovl_u8(vreinterpret_u8_s64(vdup_n_s64(four[0]))))));
}
/* A word for each lane. */
NPU_INLINE vi v_words(const uint32_t *w) {
    return of_u32(vld1q_u32(w));
}

#endif
