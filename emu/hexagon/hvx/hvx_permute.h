/* Moving lanes: splat, align, rotate, shuffle, deal, pack, unpack, extend, look-up, insert and extract, predicated
 * stores. Part of hvx_hexagon_protos.h. */
#ifndef HVX_PERMUTE_H
#define HVX_PERMUTE_H

#include "hvx_fast.h"
#include "hvx_row.h"

/* Rows of macros are not statements to clang-format. */
/* clang-format off */

HVX_FN HVX_Vector Q6_V_vsplat_R(int32_t Rt) {
    HVX_Vector D;
    for (int i = 0; i < HVX_PIECES; i++) D.p[i] = (hvx_piece){0} + Rt;
    return D;
}
HVX_V_R(Q6_Vh_vsplat_R, 64, D.h[i] = r.h[0])
HVX_V_R(Q6_Vb_vsplat_R, 128, D.b[i] = r.b[0])
HVX_FN HVX_Vector Q6_V_vzero(void) {
    return Q6_V_vsplat_R(0);
}
HVX_FN HVX_Vector Q6_V_equals_V(HVX_Vector Vu) {
    return Vu;
}
HVX_FN HVX_VectorPair Q6_W_equals_W(HVX_VectorPair Vuu) {
    return Vuu;
}
HVX_FN HVX_VectorPair Q6_W_vcombine_VV(HVX_Vector Vu, HVX_Vector Vv) {
    HVX_VectorPair D;
    for (int i = 0; i < HVX_PIECES; i++) D.p[i] = Vv.p[i], D.p[HVX_PIECES + i] = Vu.p[i];
    return D;
}
HVX_FN HVX_VectorPair Q6_W_vzero(void) {
    return Q6_W_vcombine_VV(Q6_V_vzero(), Q6_V_vzero());
}
HVX_FN HVX_Vector Q6_V_lo_W(HVX_VectorPair Vss) {
    HVX_Vector D;
    for (int i = 0; i < HVX_PIECES; i++) D.p[i] = Vss.p[i];
    return D;
}
HVX_FN HVX_Vector Q6_V_hi_W(HVX_VectorPair Vss) {
    HVX_Vector D;
    for (int i = 0; i < HVX_PIECES; i++) D.p[i] = Vss.p[HVX_PIECES + i];
    return D;
}
HVX_FN int32_t Q6_R_vextract_VR(HVX_Vector Vu, int32_t Rs) {
    hvx_v U = {Vu};
    return U.w[(Rs & 127) >> 2];
}
HVX_FN HVX_Vector Q6_Vw_vinsert_VwR(HVX_Vector Vx, int32_t Rt) {
    Vx.p[0][0] = Rt;
    return Vx;
}

/* 128 bytes of the 256 of Vu:Vv, from byte |from| (0 … 128) of Vv on. */
HVX_FN HVX_Vector hvx_window(HVX_Vector Vu, HVX_Vector Vv, int from) {
    hvx_w both = {Q6_W_vcombine_VV(Vu, Vv)};
    HVX_Vector D;
    memcpy(&D, both.ub + from, sizeof D);
    return D;
}
HVX_FN HVX_Vector Q6_V_valign_VVR(HVX_Vector Vu, HVX_Vector Vv, int32_t Rt) {
    return hvx_window(Vu, Vv, Rt & 127);
}
HVX_FN HVX_Vector Q6_V_vlalign_VVR(HVX_Vector Vu, HVX_Vector Vv, int32_t Rt) {
    return hvx_window(Vu, Vv, 128 - (Rt & 127));
}
HVX_FN HVX_Vector Q6_V_valign_VVI(HVX_Vector Vu, HVX_Vector Vv, int32_t Iu3) {
    return hvx_window(Vu, Vv, Iu3 & 7);
}
HVX_FN HVX_Vector Q6_V_vlalign_VVI(HVX_Vector Vu, HVX_Vector Vv, int32_t Iu3) {
    return hvx_window(Vu, Vv, 128 - (Iu3 & 7));
}
HVX_FN HVX_Vector Q6_V_vror_VR(HVX_Vector Vu, int32_t Rt) {
    return hvx_window(Vu, Vu, Rt & 127);
}

/* Butterfly networks: at each stage a byte takes its partner's value where its control byte has the stage's bit. */
HVX_FN HVX_Vector hvx_delta_stage(HVX_Vector Vu, HVX_Vector Vv, int bit) {
    hvx_v D, U = {Vu}, V = {Vv};
    HVX_LOOP(128, D.ub[i] = V.ub[i] & bit ? U.ub[i ^ bit] : U.ub[i])
    return D.v;
}
HVX_FN HVX_Vector Q6_V_vdelta_VV(HVX_Vector Vu, HVX_Vector Vv) {
    for (int bit = 64; bit > 0; bit >>= 1) Vu = hvx_delta_stage(Vu, Vv, bit);
    return Vu;
}
HVX_FN HVX_Vector Q6_V_vrdelta_VV(HVX_Vector Vu, HVX_Vector Vv) {
    for (int bit = 1; bit < 128; bit <<= 1) Vu = hvx_delta_stage(Vu, Vv, bit);
    return Vu;
}
/* One stage of vshuff/vdeal: bytes of the high vector without the bit change places with the low vector's with it. */
HVX_FN HVX_VectorPair hvx_shuffle_stage(HVX_VectorPair pair, int bit) {
    hvx_w D = {pair}, P = {pair};
    HVX_LOOP(128, D.v[0].ub[i] = i & bit ? P.v[1].ub[i ^ bit] : P.v[0].ub[i];
             D.v[1].ub[i] = i & bit ? P.v[1].ub[i] : P.v[0].ub[i ^ bit])
    return D.w;
}
#ifdef HVX_FAST_WORDS
#define WORDS_BY(function) if ((Rt & 127) == 124) return function(Vu, Vv);
#else
#define WORDS_BY(function)
#endif
HVX_FN HVX_VectorPair Q6_W_vshuff_VVR(HVX_Vector Vu, HVX_Vector Vv, int32_t Rt) {
    WORDS_BY(hvx_shuffle_pair_words)
    HVX_VectorPair pair = Q6_W_vcombine_VV(Vu, Vv);
    for (int bit = 1; bit < 128; bit <<= 1)
        if (Rt & bit) pair = hvx_shuffle_stage(pair, bit);
    return pair;
}
HVX_FN HVX_VectorPair Q6_W_vdeal_VVR(HVX_Vector Vu, HVX_Vector Vv, int32_t Rt) {
    WORDS_BY(hvx_deal_pair_words)
    HVX_VectorPair pair = Q6_W_vcombine_VV(Vu, Vv);
    for (int bit = 64; bit > 0; bit >>= 1)
        if (Rt & bit) pair = hvx_shuffle_stage(pair, bit);
    return pair;
}
#undef WORDS_BY
HVX_V_V(Q6_Vb_vshuff_Vb, 64, D.b[2 * i] = U.b[i], D.b[2 * i + 1] = U.b[64 + i])
HVX_V_V(Q6_Vh_vshuff_Vh, 32, D.h[2 * i] = U.h[i], D.h[2 * i + 1] = U.h[32 + i])
HVX_V_V(Q6_Vb_vdeal_Vb, 64, D.b[i] = U.b[2 * i], D.b[64 + i] = U.b[2 * i + 1])
HVX_V_V(Q6_Vh_vdeal_Vh, 32, D.h[i] = U.h[2 * i], D.h[32 + i] = U.h[2 * i + 1])
HVX_V_VV(Q6_Vb_vdeale_VbVb, 32, D.b[i] = V.b[4 * i], D.b[32 + i] = V.b[4 * i + 2], D.b[64 + i] = U.b[4 * i],
         D.b[96 + i] = U.b[4 * i + 2])
HVX_V_VV(Q6_Vb_vshuffe_VbVb, 64, D.b[2 * i] = V.b[2 * i], D.b[2 * i + 1] = U.b[2 * i])
HVX_V_VV(Q6_Vb_vshuffo_VbVb, 64, D.b[2 * i] = V.b[2 * i + 1], D.b[2 * i + 1] = U.b[2 * i + 1])
HVX_V_VV(Q6_Vh_vshuffe_VhVh, 32, D.h[2 * i] = V.h[2 * i], D.h[2 * i + 1] = U.h[2 * i])
HVX_V_VV(Q6_Vh_vshuffo_VhVh, 32, D.h[2 * i] = V.h[2 * i + 1], D.h[2 * i + 1] = U.h[2 * i + 1])
HVX_FN HVX_VectorPair Q6_Wb_vshuffoe_VbVb(HVX_Vector Vu, HVX_Vector Vv) {
    return Q6_W_vcombine_VV(Q6_Vb_vshuffo_VbVb(Vu, Vv), Q6_Vb_vshuffe_VbVb(Vu, Vv));
}
HVX_FN HVX_VectorPair Q6_Wh_vshuffoe_VhVh(HVX_Vector Vu, HVX_Vector Vv) {
    return Q6_W_vcombine_VV(Q6_Vh_vshuffo_VhVh(Vu, Vv), Q6_Vh_vshuffe_VhVh(Vu, Vv));
}

HVX_V_VV(Q6_Vb_vpacke_VhVh, 64, D.b[i] = V.b[2 * i], D.b[64 + i] = U.b[2 * i])
HVX_V_VV(Q6_Vb_vpacko_VhVh, 64, D.b[i] = V.b[2 * i + 1], D.b[64 + i] = U.b[2 * i + 1])
HVX_V_VV(Q6_Vh_vpacke_VwVw, 32, D.h[i] = V.h[2 * i], D.h[32 + i] = U.h[2 * i])
HVX_V_VV(Q6_Vh_vpacko_VwVw, 32, D.h[i] = V.h[2 * i + 1], D.h[32 + i] = U.h[2 * i + 1])
HVX_V_VV(Q6_Vb_vpack_VhVh_sat, 64, D.b[i] = hvx_sat_b(V.h[i]), D.b[64 + i] = hvx_sat_b(U.h[i]))
HVX_V_VV(Q6_Vub_vpack_VhVh_sat, 64, D.ub[i] = hvx_sat_ub(V.h[i]), D.ub[64 + i] = hvx_sat_ub(U.h[i]))
HVX_V_VV(Q6_Vh_vpack_VwVw_sat, 32, D.h[i] = hvx_sat_h(V.w[i]), D.h[32 + i] = hvx_sat_h(U.w[i]))
HVX_V_VV(Q6_Vuh_vpack_VwVw_sat, 32, D.uh[i] = hvx_sat_uh(V.w[i]), D.uh[32 + i] = hvx_sat_uh(U.w[i]))

HVX_W_V(Q6_Wh_vunpack_Vb, 128, D.h[i] = U.b[i])
HVX_W_V(Q6_Wuh_vunpack_Vub, 128, D.uh[i] = U.ub[i])
HVX_W_V(Q6_Ww_vunpack_Vh, 64, D.word[i] = U.h[i])
HVX_W_V(Q6_Wuw_vunpack_Vuh, 64, D.uw[i] = U.uh[i])
HVX_W_xxV(Q6_Wh_vunpackoor_WhVb, 128, D.uh[i] = (uint16_t)(X.uh[i] | U.ub[i] << 8))
HVX_W_xxV(Q6_Ww_vunpackoor_WwVh, 64, D.uw[i] = X.uw[i] | (uint32_t)U.uh[i] << 16)
HVX_W_V(Q6_Wh_vsxt_Vb, 64, D.v[0].h[i] = U.b[2 * i], D.v[1].h[i] = U.b[2 * i + 1])
HVX_W_V(Q6_Wuh_vzxt_Vub, 64, D.v[0].uh[i] = U.ub[2 * i], D.v[1].uh[i] = U.ub[2 * i + 1])
HVX_W_V(Q6_Ww_vsxt_Vh, 32, D.v[0].w[i] = U.h[2 * i], D.v[1].w[i] = U.h[2 * i + 1])
HVX_W_V(Q6_Wuw_vzxt_Vuh, 32, D.v[0].uw[i] = U.uh[2 * i], D.v[1].uw[i] = U.uh[2 * i + 1])

/* Look-ups. vlut32: the high three bits of an index must be the scalar's low three, or the lane gives 0; bit 1 of the
 * scalar says which byte of a table half-word is taken. The nomatch forms use the scalar's bits instead. vlut16
 * likewise with four bits and half-words. */
#define LUT32(index, match) ((index) >> 5 == ((match)&7) ? V.ub[2 * ((index)&63) + ((match) >> 1 & 1)] : 0)
#define LUT16(index, match) ((index) >> 4 == ((match)&15) ? V.uh[2 * ((index)&31) + ((match) >> 1 & 1)] : 0)
HVX_V_VVR(Q6_Vb_vlut32_VbVbR, 128, D.ub[i] = LUT32(U.ub[i], r.w))
HVX_V_VVI(Q6_Vb_vlut32_VbVbI, 128, D.ub[i] = LUT32(U.ub[i], r.w))
HVX_V_xVVR(Q6_Vb_vlut32or_VbVbVbR, 128, D.ub[i] = X.ub[i] | LUT32(U.ub[i], r.w))
HVX_V_xVVI(Q6_Vb_vlut32or_VbVbVbI, 128, D.ub[i] = X.ub[i] | LUT32(U.ub[i], r.w))
HVX_V_VVR(Q6_Vb_vlut32_VbVbR_nomatch, 128, D.ub[i] = V.ub[2 * ((U.ub[i] & 31) | (r.w & 1) << 5) + (r.w >> 1 & 1)])
HVX_W_VVR(Q6_Wh_vlut16_VbVhR, 64, D.v[0].uh[i] = LUT16(U.ub[2 * i], r.w), D.v[1].uh[i] = LUT16(U.ub[2 * i + 1], r.w))
HVX_W_VVI(Q6_Wh_vlut16_VbVhI, 64, D.v[0].uh[i] = LUT16(U.ub[2 * i], r.w), D.v[1].uh[i] = LUT16(U.ub[2 * i + 1], r.w))
HVX_W_xxVVR(Q6_Wh_vlut16or_WhVbVhR, 64, D.v[0].uh[i] = X.v[0].uh[i] | LUT16(U.ub[2 * i], r.w),
            D.v[1].uh[i] = X.v[1].uh[i] | LUT16(U.ub[2 * i + 1], r.w))
HVX_W_xxVVI(Q6_Wh_vlut16or_WhVbVhI, 64, D.v[0].uh[i] = X.v[0].uh[i] | LUT16(U.ub[2 * i], r.w),
            D.v[1].uh[i] = X.v[1].uh[i] | LUT16(U.ub[2 * i + 1], r.w))
#define LUT16_NOMATCH(index) V.uh[2 * (((index)&15) | (r.w & 1) << 4) + (r.w >> 1 & 1)]
HVX_W_VVR(Q6_Wh_vlut16_VbVhR_nomatch, 64, D.v[0].uh[i] = LUT16_NOMATCH(U.ub[2 * i]),
          D.v[1].uh[i] = LUT16_NOMATCH(U.ub[2 * i + 1]))
#undef LUT32
#undef LUT16
#undef LUT16_NOMATCH
HVX_FN HVX_Vector Q6_Vh_vlut4_VuhPh(HVX_Vector Vu, int64_t Rtt) {
    hvx_v D, U = {Vu};
    HVX_LOOP(64, D.uh[i] = (uint16_t)((uint64_t)Rtt >> 16 * (U.uh[i] >> 14)))
    return D.v;
}

/* Predicated stores; nt (non-temporal) is a hint that changes nothing. */
HVX_FN void Q6_vmem_QRIV(HVX_VectorPred Qv, HVX_Vector *Rt, HVX_Vector Vs) {
    hvx_v Q = {.q = Qv}, S = {Vs};
    uint8_t *to = (uint8_t *)Rt;
    for (int i = 0; i < 128; i++)
        if (Q.ub[i]) to[i] = S.ub[i];
}
HVX_FN void Q6_vmem_QnRIV(HVX_VectorPred Qv, HVX_Vector *Rt, HVX_Vector Vs) {
    hvx_v Q = {.q = Qv}, S = {Vs};
    uint8_t *to = (uint8_t *)Rt;
    for (int i = 0; i < 128; i++)
        if (!Q.ub[i]) to[i] = S.ub[i];
}
HVX_FN void Q6_vmem_QRIV_nt(HVX_VectorPred Qv, HVX_Vector *Rt, HVX_Vector Vs) {
    Q6_vmem_QRIV(Qv, Rt, Vs);
}
HVX_FN void Q6_vmem_QnRIV_nt(HVX_VectorPred Qv, HVX_Vector *Rt, HVX_Vector Vs) {
    Q6_vmem_QnRIV(Qv, Rt, Vs);
}

/* clang-format on */

#endif
