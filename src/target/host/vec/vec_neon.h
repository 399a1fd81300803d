/* The vector type of the host's generic kernels for NEON (AArch64): 4 lanes. See vec_avx2.h. */
#ifndef NPU_HOST_VEC_NEON_H
#define NPU_HOST_VEC_NEON_H

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

enum { VW = 4, VROWS = 2, VALUE_ROWS = 2, ROW_VECTORS = 2, MANY_KEYS = 8, VTILE = 4 };

typedef float32x4_t vf;
typedef int32x4_t vi;
typedef uint32x4_t vm;

static inline vf vf_set(float x) {
    return vdupq_n_f32(x);
}
static inline vf vf_load(const float *p) {
    return vld1q_f32(p);
}
static inline void vf_store(float *p, vf x) {
    vst1q_f32(p, x);
}
static inline vi vi_set(int32_t x) {
    return vdupq_n_s32(x);
}
static inline vm vm_first(int n) {
    const int32x4_t lanes = {0, 1, 2, 3};
    return vcltq_s32(lanes, vdupq_n_s32(n));
}
static inline vf vf_load_part(const float *p, int n) {
    float all[4] = {0};
    for (int i = 0; i < n; i++) all[i] = p[i];
    return vld1q_f32(all);
}
static inline void vf_store_part(float *p, vf x, int n) {
    float all[4];
    vst1q_f32(all, x);
    for (int i = 0; i < n; i++) p[i] = all[i];
}
static inline vf vf_add(vf a, vf b) {
    return vaddq_f32(a, b);
}
static inline vf vf_sub(vf a, vf b) {
    return vsubq_f32(a, b);
}
static inline vf vf_mul(vf a, vf b) {
    return vmulq_f32(a, b);
}
static inline vf vf_div(vf a, vf b) {
    return vdivq_f32(a, b);
}
static inline vf vf_fma(vf a, vf b, vf c) {
    return vfmaq_f32(c, a, b);
}
static inline vf vf_neg(vf a) {
    return vnegq_f32(a);
}
static inline vf vf_abs(vf a) {
    return vabsq_f32(a);
}
static inline vi vf_bits(vf a) {
    return vreinterpretq_s32_f32(a);
}
static inline vf vi_float(vi a) {
    return vreinterpretq_f32_s32(a);
}
static inline vf vi_convert(vi a) {
    return vcvtq_f32_s32(a);
}
static inline vi vi_load(const int32_t *p) {
    return vld1q_s32(p);
}
static inline vi vi_add(vi a, vi b) {
    return vaddq_s32(a, b);
}
static inline vi vi_sub(vi a, vi b) {
    return vsubq_s32(a, b);
}
static inline vi vi_and(vi a, vi b) {
    return vandq_s32(a, b);
}
static inline vi vi_or(vi a, vi b) {
    return vorrq_s32(a, b);
}
static inline vi vi_xor(vi a, vi b) {
    return veorq_s32(a, b);
}
#define vi_shl(a, n) vshlq_n_s32(a, n)
#define vi_sar(a, n) vshrq_n_s32(a, n)
static inline vm vi_eq(vi a, vi b) {
    return vceqq_s32(a, b);
}
static inline vm vf_lt(vf a, vf b) {
    return vcltq_f32(a, b);
}
static inline vm vf_gt(vf a, vf b) {
    return vcgtq_f32(a, b);
}
static inline vm vf_ge(vf a, vf b) {
    return vcgeq_f32(a, b);
}
static inline vm vf_eq(vf a, vf b) {
    return vceqq_f32(a, b);
}
static inline vm vf_nan(vf a) {
    return vmvnq_u32(vceqq_f32(a, a));
}
static inline vm vm_or(vm a, vm b) {
    return vorrq_u32(a, b);
}
static inline vm vm_and_not(vm a, vm b) {
    return vbicq_u32(a, b);
}
static inline int vm_any(vm a) {
    return vmaxvq_u32(a) != 0;
}
static inline vf vf_select(vm m, vf a, vf b) {
    return vbslq_f32(m, a, b);
}
static inline vf vf_max(vf a, vf b) {
    return vmaxq_f32(a, b);
}
static inline vf vf_zero_where(vm m, vf a) {
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(a), m));
}
static inline float vf_fold(vf a) {
    float32x2_t x = vadd_f32(vget_low_f32(a), vget_high_f32(a));
    return vget_lane_f32(x, 0) + vget_lane_f32(x, 1);
}
static inline float vf_top(vf a) {
    return vmaxvq_f32(a);
}
static inline vf vf_set_half(uint16_t h) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(h)));
}
static inline vf vf_load_half(const uint16_t *p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
static inline void vf_store_half(uint16_t *p, vf x) {
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(x)));
}
static inline vf vf_load_bf16(const uint16_t *p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}
static inline vf vf_load_i8(const int8_t *p) {
    const int32_t all[4] = {p[0], p[1], p[2], p[3]};
    return vcvtq_f32_s32(vld1q_s32(all));
}
static inline void vf_load_pairs(const float *p, vf *even, vf *odd) {
    float32x4x2_t x = vld2q_f32(p);
    *even = x.val[0];
    *odd = x.val[1];
}
static inline void vf_store_pairs(float *p, vf even, vf odd) {
    float32x4x2_t x = {{even, odd}};
    vst2q_f32(p, x);
}
/* to[c * to_stride + r] = from[r * from_stride + c] for r, c < VTILE. */
static inline void vf_transpose(const float *from, size_t from_stride, float *to, size_t to_stride) {
    float32x4x2_t a = vtrnq_f32(vld1q_f32(from), vld1q_f32(from + from_stride));
    float32x4x2_t b = vtrnq_f32(vld1q_f32(from + 2 * from_stride), vld1q_f32(from + 3 * from_stride));
    vst1q_f32(to, vcombine_f32(vget_low_f32(a.val[0]), vget_low_f32(b.val[0])));
    vst1q_f32(to + to_stride, vcombine_f32(vget_low_f32(a.val[1]), vget_low_f32(b.val[1])));
    vst1q_f32(to + 2 * to_stride, vcombine_f32(vget_high_f32(a.val[0]), vget_high_f32(b.val[0])));
    vst1q_f32(to + 3 * to_stride, vcombine_f32(vget_high_f32(a.val[1]), vget_high_f32(b.val[1])));
}

#endif
