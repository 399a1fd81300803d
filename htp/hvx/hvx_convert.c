#include "htp/hvx/hvx_convert.h"

#include "htp/hvx/hvx_math.h"
#include "wire/format.h"

enum { BLOCK = 32, Q8_0_BYTES = 34 };

uint32_t hvx_convert_bytes(uint32_t type, uint32_t n) {
    return type == NPU_TYPE_Q8_0                          ? n / BLOCK * Q8_0_BYTES
           : type == NPU_TYPE_F32 || type == NPU_TYPE_I32 ? 4 * n
                                                          : 2 * n;
}

/* Functions of their own, so that scripts/htp-packets finds their loops. */
#define HOT __attribute__((noinline)) static

HOT void from_f16(const HVX_Vector *restrict x, HVX_Vector *restrict y, uint32_t vectors) {
    for (uint32_t i = 0; i + 1 < vectors; i += 2) {
        HVX_VectorPair w = hvx_f32_from_half(x[i / 2]);
        y[i] = Q6_V_lo_W(w);
        y[i + 1] = Q6_V_hi_W(w);
    }
    if (vectors % 2) y[vectors - 1] = Q6_V_lo_W(hvx_f32_from_half(x[vectors / 2]));
}

HOT void from_bf16(const HVX_Vector *restrict x, HVX_Vector *restrict y, uint32_t vectors) {
    for (uint32_t i = 0; i < vectors; i += 2) {
        HVX_VectorPair w = Q6_Wuw_vunpack_Vuh(x[i / 2]);
        y[i] = Q6_Vw_vasl_VwR(Q6_V_lo_W(w), 16);
        if (i + 1 < vectors) y[i + 1] = Q6_Vw_vasl_VwR(Q6_V_hi_W(w), 16);
    }
}

/* d * q; a block's scale is in its first half. */
HOT void from_q8_0(const uint8_t *restrict in, HVX_Vector *restrict y, uint32_t blocks) {
    for (uint32_t b = 0; b < blocks; b++) {
        HVX_Vector raw = *(const HVX_UVector *)(in + b * Q8_0_BYTES);
        HVX_Vector d = Q6_V_lo_W(hvx_f32_widen(Q6_Vh_vsplat_R(Q6_R_vextract_VR(raw, 0))));
        HVX_Vector halves = Q6_V_lo_W(Q6_Wh_vunpack_Vb(Q6_V_vror_VR(raw, 2)));
        y[b] = hvx_f32_mul(d, hvx_f32_from_i32(Q6_V_lo_W(Q6_Ww_vunpack_Vh(halves))));
    }
}

void hvx_convert_to_f32(uint32_t type, const uint8_t *in, HVX_Vector *y, uint32_t n) {
    const HVX_Vector *x = (const HVX_Vector *)in;
    uint32_t vectors = (n + 31) / 32;
    if (type == NPU_TYPE_F16)
        from_f16(x, y, vectors);
    else if (type == NPU_TYPE_BF16)
        from_bf16(x, y, vectors);
    else if (type == NPU_TYPE_Q8_0)
        from_q8_0(in, y, vectors);
    else
        for (uint32_t i = 0; i < vectors; i++) y[i] = x[i];
}

HOT void to_f16(const HVX_Vector *restrict x, HVX_Vector *restrict y, uint32_t vectors) {
    for (uint32_t i = 0; i + 1 < vectors; i += 2) y[i / 2] = hvx_f32_to_half(Q6_W_vcombine_VV(x[i + 1], x[i]));
    if (vectors % 2) y[vectors / 2] = hvx_f32_to_half(Q6_W_vcombine_VV(Q6_V_vzero(), x[vectors - 1]));
}

/* Bits of bfloat16 in the low half of each word. */
static HVX_Vector narrow_bf16(HVX_Vector x) {
    HVX_Vector one = Q6_V_vsplat_R(1), odd = Q6_V_vand_VV(Q6_Vuw_vlsr_VuwR(x, 16), one);
    HVX_Vector rounded = Q6_Vw_vadd_VwVw(Q6_Vw_vadd_VwVw(x, Q6_V_vsplat_R(0x7FFF)), odd);
    HVX_VectorPred nan = Q6_Q_vcmp_gt_VwVw(hvx_f32_abs(x), Q6_V_vsplat_R(0x7F800000));
    return Q6_Vuw_vlsr_VuwR(Q6_V_vmux_QVV(nan, Q6_V_vor_VV(x, Q6_V_vsplat_R(0x400000)), rounded), 16);
}

HOT void to_bf16(const HVX_Vector *restrict x, HVX_Vector *restrict y, uint32_t vectors) {
    for (uint32_t i = 0; i < vectors; i += 2) {
        HVX_Vector high = i + 1 < vectors ? narrow_bf16(x[i + 1]) : Q6_V_vzero();
        y[i / 2] = Q6_Vh_vpacke_VwVw(high, narrow_bf16(x[i]));
    }
}

/* Nearest whole number, halves away from zero, of |x| <= 128: what nearest even brought half a step towards zero goes
 * on by one. */
static HVX_Vector round_away(HVX_Vector x) {
    HVX_Vector n = hvx_f32_to_i32(x), rest = hvx_f32_sub(x, hvx_f32_from_i32(n)), sign = Q6_Vw_vasr_VwR(x, 31);
    HVX_Vector half = hvx_f32_with_sign(hvx_f32_splat(0.5f), x);
    HVX_Vector step = Q6_V_vor_VV(sign, Q6_V_vsplat_R(1)); /* 1 or -1 */
    return Q6_V_vmux_QVV(Q6_Q_vcmp_eq_VwVw(rest, half), Q6_Vw_vadd_VwVw(n, step), n);
}

/* Bits of the largest size, which order like integers: NaN above infinity above numbers. */
static uint32_t largest_bits(HVX_Vector x) {
    x = hvx_f32_abs(x);
    for (int bytes = 64; bytes >= 4; bytes /= 2) x = Q6_Vw_vmax_VwVw(x, Q6_V_vror_VR(x, bytes));
    return (uint32_t)Q6_R_vextract_VR(x, 0);
}

static HVX_Vector make_q8_0(HVX_Vector x) {
    uint32_t bits = largest_bits(x);
    float amax = npu_bits_float(bits);
    int finite = bits < 0x7F800000u;
    float d = amax / 127.0f, id = d != 0 ? 1.0f / d : 0.0f;
    uint32_t scale = finite ? npu_float_to_half(d) : 0x7E00u;
    HVX_Vector q = Q6_V_vzero();
    if (finite && npu_float_bits(id) < 0x7F800000u) {
        q = round_away(hvx_f32_mul(x, hvx_f32_splat(id)));
        q = Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(q, Q6_V_vsplat_R(-127)), Q6_V_vsplat_R(127));
    }
    HVX_Vector bytes = Q6_Vb_vpacke_VhVh(Q6_V_vzero(), Q6_Vh_vpacke_VwVw(Q6_V_vzero(), q));
    /* The codes move up by two bytes; what comes around is zero. */
    return Q6_V_vor_VV(Q6_V_vror_VR(bytes, 126), Q6_V_vand_QR(Q6_Q_vsetq_R(2), (int32_t)(scale | scale << 16)));
}

/* Ascending: what a block's vector holds too much, the next one writes anew. */
HOT void to_q8_0(const HVX_Vector *x, uint8_t *out, uint32_t blocks) {
    for (uint32_t b = 0; b < blocks; b++) *(HVX_UVector *)(out + b * Q8_0_BYTES) = make_q8_0(x[b]);
}

void hvx_convert_from_f32(uint32_t type, const HVX_Vector *x, uint8_t *out, uint32_t n) {
    HVX_Vector *y = (HVX_Vector *)out;
    uint32_t vectors = (n + 31) / 32;
    if (type == NPU_TYPE_F16)
        to_f16(x, y, vectors);
    else if (type == NPU_TYPE_BF16)
        to_bf16(x, y, vectors);
    else if (type == NPU_TYPE_Q8_0)
        to_q8_0(x, out, vectors);
    else
        for (uint32_t i = 0; i < vectors; i++) y[i] = x[i];
}
