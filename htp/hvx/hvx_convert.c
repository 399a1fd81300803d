#include "htp/hvx/hvx_convert.h"

#include "htp/hvx/hvx_math.h"
#include "htp/hvx/hvx_q8_0.h"
#include "wire/format.h"

uint32_t hvx_convert_bytes(uint32_t type, uint32_t n) {
    return type == NPU_TYPE_Q8_0                          ? n / 32 * HVX_Q8_0_BYTES
           : type == NPU_TYPE_F32 || type == NPU_TYPE_I32 ? 4 * n
                                                          : 2 * n;
}

HVX_HOT void from_f16(const HVX_Vector *restrict x, HVX_Vector *restrict y, uint32_t vectors) {
    for (uint32_t i = 0; i + 1 < vectors; i += 2) {
        HVX_VectorPair w = hvx_f32_from_half(x[i / 2]);
        y[i] = Q6_V_lo_W(w);
        y[i + 1] = Q6_V_hi_W(w);
    }
    if (vectors % 2) y[vectors - 1] = Q6_V_lo_W(hvx_f32_from_half(x[vectors / 2]));
}

HVX_HOT void from_bf16(const HVX_Vector *restrict x, HVX_Vector *restrict y, uint32_t vectors) {
    for (uint32_t i = 0; i + 1 < vectors; i += 2) {
        HVX_VectorPair w = hvx_f32_from_bf16(x[i / 2]);
        y[i] = Q6_V_lo_W(w);
        y[i + 1] = Q6_V_hi_W(w);
    }
    if (vectors % 2) y[vectors - 1] = Q6_V_lo_W(hvx_f32_from_bf16(x[vectors / 2]));
}

HVX_HOT void from_q8_0(const uint8_t *restrict in, HVX_Vector *restrict y, uint32_t blocks) {
    for (; blocks >= 4; blocks -= 4, in += 4 * HVX_Q8_0_BYTES, y += 4)
        hvx_q8_0_values(*(const HVX_UVector *)in, *(const HVX_UVector *)(in + 4 * HVX_Q8_0_BYTES - 128), y);
    if (!blocks) return;
    HVX_Vector raw = *(const HVX_UVector *)in, last[4];
    hvx_q8_0_values(raw, raw, last);
    for (uint32_t b = 0; b < blocks; b++) y[b] = last[b];
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

HVX_HOT void to_f16(const HVX_Vector *restrict x, HVX_Vector *restrict y, uint32_t vectors) {
    for (uint32_t i = 0; i + 1 < vectors; i += 2) y[i / 2] = hvx_f32_to_half(Q6_W_vcombine_VV(x[i + 1], x[i]));
    if (vectors % 2) y[vectors / 2] = hvx_f32_to_half(Q6_W_vcombine_VV(Q6_V_vzero(), x[vectors - 1]));
}

/* Bits of bfloat16 in the high half of each word. */
static HVX_Vector narrow_bf16(HVX_Vector x) {
    HVX_Vector one = Q6_V_vsplat_R(1), odd = Q6_V_vand_VV(Q6_Vuw_vlsr_VuwR(x, 16), one);
    HVX_Vector rounded = Q6_Vw_vadd_VwVw(Q6_Vw_vadd_VwVw(x, Q6_V_vsplat_R(0x7FFF)), odd);
    HVX_VectorPred nan = Q6_Q_vcmp_gt_VwVw(hvx_f32_abs(x), Q6_V_vsplat_R(0x7F800000));
    return Q6_V_vmux_QVV(nan, Q6_V_vor_VV(x, Q6_V_vsplat_R(0x400000)), rounded);
}

HVX_HOT void to_bf16(const HVX_Vector *restrict x, HVX_Vector *restrict y, uint32_t vectors) {
    for (uint32_t i = 0; i + 1 < vectors; i += 2)
        y[i / 2] = Q6_Vh_vpacko_VwVw(narrow_bf16(x[i + 1]), narrow_bf16(x[i]));
    if (vectors % 2) y[vectors / 2] = Q6_Vh_vpacko_VwVw(Q6_V_vzero(), narrow_bf16(x[vectors - 1]));
}

HVX_HOT void to_q8_0(const HVX_Vector *x, uint8_t *out, uint32_t blocks) {
    HVX_Vector last[4], scales;
    for (; blocks >= 4; blocks -= 4, x += 4, out += 4 * HVX_Q8_0_BYTES) {
        HVX_Vector codes = hvx_q8_0_make(x, &scales);
        hvx_q8_0_store(codes, scales, out, 4);
    }
    if (!blocks) return;
    for (uint32_t b = 0; b < 4; b++) last[b] = b < blocks ? x[b] : Q6_V_vzero();
    HVX_Vector codes = hvx_q8_0_make(last, &scales);
    hvx_q8_0_store(codes, scales, out, blocks);
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
