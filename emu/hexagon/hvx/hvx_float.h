/* HVX float instructions for running a real build's float path on a PC. A model from public descriptions, not confirmed
 * on hardware: sf and hf operations are IEEE; a qf32 lane is a signed 24-bit significand above an 8-bit exponent of
 * bias 127 with an implied last bit, value (2 * significand + 1) * 2^(exponent - 150). Sums and products keep the
 * larger exponent, or the exponents' sum, and are not normalised. Rounding down to that grid is this model's guess.
 * Slow: one lane at a time. Part of hvx_hexagon_protos.h. */
#ifndef HVX_FLOAT_H
#define HVX_FLOAT_H

#include <math.h>

#include "hvx_ieee.h"
#include "hvx_row.h"

/* The qf32 lane nearest below |x| with an exponent of at least |exponent|; larger when the significand would not fit.
 */
HVX_FN uint32_t hvx_qf32_make(double x, int exponent) {
    if (x != x) return 0x7fffffff;
    if (exponent < 0) exponent = 0;
    double significand = floor(ldexp(x, 149 - exponent));
    while ((significand >= 0x1p23 || significand < -0x1p23) && exponent < 255) {
        exponent++;
        significand = floor(ldexp(x, 149 - exponent));
    }
    if (significand >= 0x1p23) significand = 0x1p23 - 1;
    if (significand < -0x1p23) significand = -0x1p23;
    return (uint32_t)(int32_t)significand << 8 | (uint32_t)exponent;
}
HVX_FN double hvx_qf32_value(uint32_t q) {
    return ldexp(2.0 * ((int32_t)q >> 8) + 1.0, (int)(q & 255) - 150);
}
HVX_FN int hvx_qf32_exponent(uint32_t q) {
    return (int)(q & 255);
}
HVX_FN int hvx_sf_exponent(float x) {
    int e;
    if (x == 0 || x != x) return 0;
    frexpf(x, &e);
    return e + 126;
}

#define QF(lane)       hvx_qf32_value(lane), hvx_qf32_exponent(lane)
#define MINUS_QF(lane) -hvx_qf32_value(lane), hvx_qf32_exponent(lane)
#define SF(lane)       (double)(lane), hvx_sf_exponent(lane)
HVX_FN uint32_t hvx_qf32_add(double a, int ea, double b, int eb) {
    return hvx_qf32_make(a + b, ea > eb ? ea : eb);
}
HVX_FN uint32_t hvx_qf32_mul(double a, int ea, double b, int eb) {
    return hvx_qf32_make(a * b, ea + eb - 127);
}
HVX_V_VV(Q6_Vqf32_vadd_VsfVsf, 32, D.uw[i] = hvx_qf32_add(SF(U.sf[i]), SF(V.sf[i])))
HVX_V_VV(Q6_Vqf32_vadd_Vqf32Vsf, 32, D.uw[i] = hvx_qf32_add(QF(U.uw[i]), SF(V.sf[i])))
HVX_V_VV(Q6_Vqf32_vadd_Vqf32Vqf32, 32, D.uw[i] = hvx_qf32_add(QF(U.uw[i]), QF(V.uw[i])))
HVX_V_VV(Q6_Vqf32_vsub_VsfVsf, 32, D.uw[i] = hvx_qf32_add(SF(U.sf[i]), SF(-V.sf[i])))
HVX_V_VV(Q6_Vqf32_vsub_Vqf32Vsf, 32, D.uw[i] = hvx_qf32_add(QF(U.uw[i]), SF(-V.sf[i])))
HVX_V_VV(Q6_Vqf32_vsub_Vqf32Vqf32, 32, D.uw[i] = hvx_qf32_add(QF(U.uw[i]), MINUS_QF(V.uw[i])))
HVX_V_VV(Q6_Vqf32_vmpy_VsfVsf, 32, D.uw[i] = hvx_qf32_mul(SF(U.sf[i]), SF(V.sf[i])))
HVX_V_VV(Q6_Vqf32_vmpy_Vqf32Vqf32, 32, D.uw[i] = hvx_qf32_mul(QF(U.uw[i]), QF(V.uw[i])))
HVX_FN HVX_Vector Q6_Vqf32_vmpy_VsfRsf(HVX_Vector Vu, int32_t Rt) {
    HVX_Vector r;
    for (int i = 0; i < HVX_PIECES; i++) r.p[i] = (hvx_piece){0} + Rt;
    return Q6_Vqf32_vmpy_VsfVsf(Vu, r);
}
HVX_V_V(Q6_Vsf_equals_Vqf32, 32, D.sf[i] = (float)hvx_qf32_value(U.uw[i]))
HVX_FN HVX_VectorPair Q6_Wqf32_vmpy_VhfVhf(HVX_Vector Vu, HVX_Vector Vv) {
    hvx_w D, a = {hvx_ieee_from_hf(Vu)}, b = {hvx_ieee_from_hf(Vv)};
    for (int half = 0; half < 2; half++)
        HVX_LOOP(32, D.v[half].uw[i] = hvx_qf32_mul(SF(a.v[half].sf[i]), SF(b.v[half].sf[i])))
    return D.w;
}
HVX_FN HVX_Vector Q6_Vhf_equals_Wqf32(HVX_VectorPair Vuu) {
    hvx_w UU = {Vuu};
    for (int half = 0; half < 2; half++) HVX_LOOP(32, UU.v[half].sf[i] = (float)hvx_qf32_value(UU.v[half].uw[i]))
    return hvx_ieee_to_hf(UU.w);
}
#undef QF
#undef MINUS_QF
#undef SF

HVX_FN HVX_Vector Q6_Vsf_vadd_VsfVsf(HVX_Vector Vu, HVX_Vector Vv) {
    return hvx_ieee_add(Vu, Vv);
}
HVX_FN HVX_Vector Q6_Vsf_vsub_VsfVsf(HVX_Vector Vu, HVX_Vector Vv) {
    return hvx_ieee_sub(Vu, Vv);
}
HVX_FN HVX_Vector Q6_Vsf_vmpy_VsfVsf(HVX_Vector Vu, HVX_Vector Vv) {
    return hvx_ieee_mul(Vu, Vv);
}
HVX_FN HVX_Vector Q6_Vsf_vmax_VsfVsf(HVX_Vector Vu, HVX_Vector Vv) {
    return hvx_ieee_max(Vu, Vv);
}
HVX_FN HVX_Vector Q6_Vsf_vmin_VsfVsf(HVX_Vector Vu, HVX_Vector Vv) {
    return hvx_ieee_min(Vu, Vv);
}
HVX_FN HVX_Vector Q6_Vsf_equals_Vw(HVX_Vector Vu) {
    return hvx_ieee_from_w(Vu);
}
/* Towards zero, which is a guess; callers must not depend on it. */
HVX_V_V(Q6_Vw_equals_Vsf, 32,
        D.w[i] = U.sf[i] >= 0x1p31f   ? INT32_MAX
                 : U.sf[i] > -0x1p31f ? (int32_t)U.sf[i]
                                      : INT32_MIN)
/* To nearest even: by the nearest float, which has more bits than a half word. */
HVX_FN HVX_Vector Q6_Vhf_vcvt_Vh(HVX_Vector Vu) {
    hvx_w D;
    hvx_v U = {Vu};
    HVX_LOOP(32, D.v[0].sf[i] = U.h[2 * i], D.v[1].sf[i] = U.h[2 * i + 1])
    return hvx_ieee_to_hf(D.w);
}
HVX_FN HVX_VectorPair Q6_Wsf_vcvt_Vhf(HVX_Vector Vu) {
    return hvx_ieee_from_hf(Vu);
}
HVX_FN HVX_Vector Q6_Vhf_vcvt_VsfVsf(HVX_Vector Vu, HVX_Vector Vv) {
    hvx_w both;
    both.v[0].v = Vu, both.v[1].v = Vv;
    return hvx_ieee_to_hf(both.w);
}

#endif
