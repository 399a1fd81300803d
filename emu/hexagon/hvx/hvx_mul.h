/* Products. Part of hvx_hexagon_protos.h. "e" and "o" of a widening product: even lanes give the low vector, odd lanes
 * the high one. Sums wrap unless the name says sat. */
#ifndef HVX_MUL_H
#define HVX_MUL_H

#include "hvx_fast.h"
#include "hvx_row.h"

/* Rows of macros are not statements to clang-format. */
/* clang-format off */

/* Four byte products a word: the dot product of quantised kernels (fast forms in hvx_fast.h). */
#define DOT4(A, a, B, b, k)                                                                \
    (A.a[4 * i] * B.b[k] + A.a[4 * i + 1] * B.b[(k) + 1] + A.a[4 * i + 2] * B.b[(k) + 2] + \
     A.a[4 * i + 3] * B.b[(k) + 3])
#ifndef HVX_FAST_DOT
HVX_V_VR(Q6_Vw_vrmpy_VubRb, 32, D.w[i] = DOT4(U, ub, r, b, 0))
HVX_V_xVR(Q6_Vw_vrmpyacc_VwVubRb, 32, D.uw[i] = X.uw[i] + (uint32_t)DOT4(U, ub, r, b, 0))
HVX_V_VV(Q6_Vw_vrmpy_VubVb, 32, D.w[i] = DOT4(U, ub, V, b, 4 * i))
HVX_V_xVV(Q6_Vw_vrmpyacc_VwVubVb, 32, D.uw[i] = X.uw[i] + (uint32_t)DOT4(U, ub, V, b, 4 * i))
#endif
HVX_V_VR(Q6_Vuw_vrmpy_VubRub, 32, D.w[i] = DOT4(U, ub, r, ub, 0))
HVX_V_xVR(Q6_Vuw_vrmpyacc_VuwVubRub, 32, D.uw[i] = X.uw[i] + (uint32_t)DOT4(U, ub, r, ub, 0))
HVX_V_VV(Q6_Vw_vrmpy_VbVb, 32, D.w[i] = DOT4(U, b, V, b, 4 * i))
HVX_V_xVV(Q6_Vw_vrmpyacc_VwVbVb, 32, D.uw[i] = X.uw[i] + (uint32_t)DOT4(U, b, V, b, 4 * i))
HVX_V_VV(Q6_Vuw_vrmpy_VubVub, 32, D.w[i] = DOT4(U, ub, V, ub, 4 * i))
HVX_V_xVV(Q6_Vuw_vrmpyacc_VuwVubVub, 32, D.uw[i] = X.uw[i] + (uint32_t)DOT4(U, ub, V, ub, 4 * i))
#undef DOT4

/* The sliding forms: the scalar's bytes are rotated by the constant and the window runs into the next vector. */
#define SLIDE_LO(b)                                                                            \
    (uint32_t)(UU.v[r1].ub[4 * i] * r.b[-r1 & 3] + UU.v[0].ub[4 * i + 1] * r.b[(1 - r1) & 3] + \
               UU.v[0].ub[4 * i + 2] * r.b[(2 - r1) & 3] + UU.v[0].ub[4 * i + 3] * r.b[(3 - r1) & 3])
#define SLIDE_HI(b)                                                                                \
    (uint32_t)(UU.v[1].ub[4 * i] * r.b[(2 - r1) & 3] + UU.v[1].ub[4 * i + 1] * r.b[(3 - r1) & 3] + \
               UU.v[r1].ub[4 * i + 2] * r.b[-r1 & 3] + UU.v[0].ub[4 * i + 3] * r.b[(1 - r1) & 3])
#define SLIDE(name, sum, b)                                                   \
    HVX_FN HVX_VectorPair name(HVX_VectorPair Vuu, int32_t Rt, int32_t Iu1) { \
        hvx_w D, UU = {Vuu};                                                  \
        hvx_r r = {Rt};                                                       \
        int r1 = Iu1 & 1;                                                     \
        HVX_LOOP(32, D.v[0].uw[i] = sum##_LO(b); D.v[1].uw[i] = sum##_HI(b))  \
        return D.w;                                                           \
    }
#define SLIDE_ACC(name, sum, b)                                                                            \
    HVX_FN HVX_VectorPair name(HVX_VectorPair Vxx, HVX_VectorPair Vuu, int32_t Rt, int32_t Iu1) {          \
        hvx_w D, X = {Vxx}, UU = {Vuu};                                                                    \
        hvx_r r = {Rt};                                                                                    \
        int r1 = Iu1 & 1;                                                                                  \
        HVX_LOOP(32, D.v[0].uw[i] = X.v[0].uw[i] + sum##_LO(b); D.v[1].uw[i] = X.v[1].uw[i] + sum##_HI(b)) \
        return D.w;                                                                                        \
    }
SLIDE(Q6_Ww_vrmpy_WubRbI, SLIDE, b)
SLIDE(Q6_Wuw_vrmpy_WubRubI, SLIDE, ub)
SLIDE_ACC(Q6_Ww_vrmpyacc_WwWubRbI, SLIDE, b)
SLIDE_ACC(Q6_Wuw_vrmpyacc_WuwWubRubI, SLIDE, ub)
#undef SLIDE_LO
#undef SLIDE_HI
#undef SLIDE
#undef SLIDE_ACC

/* Widening products with a vector. */
#define EVEN_ODD_VV(lane, T, a, b) \
    D.v[0].lane[i] = (T)(U.a[2 * i] * (T)V.b[2 * i]), D.v[1].lane[i] = (T)(U.a[2 * i + 1] * (T)V.b[2 * i + 1])
#define EVEN_ODD_VV_ACC(lane, T, a, b)                                      \
    D.v[0].lane[i] = (T)(X.v[0].lane[i] + (T)(U.a[2 * i] * (T)V.b[2 * i])), \
    D.v[1].lane[i] = (T)(X.v[1].lane[i] + (T)(U.a[2 * i + 1] * (T)V.b[2 * i + 1]))
HVX_W_VV(Q6_Wh_vmpy_VbVb, 64, EVEN_ODD_VV(h, int16_t, b, b))
HVX_W_VV(Q6_Wh_vmpy_VubVb, 64, EVEN_ODD_VV(h, int16_t, ub, b))
HVX_W_VV(Q6_Wuh_vmpy_VubVub, 64, EVEN_ODD_VV(uh, uint16_t, ub, ub))
HVX_W_VV(Q6_Ww_vmpy_VhVh, 32, EVEN_ODD_VV(w, int32_t, h, h))
HVX_W_VV(Q6_Ww_vmpy_VhVuh, 32, EVEN_ODD_VV(w, int32_t, h, uh))
HVX_W_VV(Q6_Wuw_vmpy_VuhVuh, 32, EVEN_ODD_VV(uw, uint32_t, uh, uh))
HVX_W_xxVV(Q6_Wh_vmpyacc_WhVbVb, 64, EVEN_ODD_VV_ACC(h, int16_t, b, b))
HVX_W_xxVV(Q6_Wh_vmpyacc_WhVubVb, 64, EVEN_ODD_VV_ACC(h, int16_t, ub, b))
HVX_W_xxVV(Q6_Wuh_vmpyacc_WuhVubVub, 64, EVEN_ODD_VV_ACC(uh, uint16_t, ub, ub))
HVX_W_xxVV(Q6_Ww_vmpyacc_WwVhVh, 32, EVEN_ODD_VV_ACC(uw, uint32_t, h, h))
HVX_W_xxVV(Q6_Ww_vmpyacc_WwVhVuh, 32, EVEN_ODD_VV_ACC(uw, uint32_t, h, uh))
HVX_W_xxVV(Q6_Wuw_vmpyacc_WuwVuhVuh, 32, EVEN_ODD_VV_ACC(uw, uint32_t, uh, uh))
#undef EVEN_ODD_VV
#undef EVEN_ODD_VV_ACC

/* Widening products with a scalar: bytes k of a word meet byte k of the scalar, halves likewise. */
#define EVEN_ODD_VR(lane, T, a, b, mask)                       \
    D.v[0].lane[i] = (T)(U.a[2 * i] * (T)r.b[2 * i & (mask)]), \
    D.v[1].lane[i] = (T)(U.a[2 * i + 1] * (T)r.b[(2 * i + 1) & (mask)])
#define EVEN_ODD_VR_ACC(lane, T, a, b, mask)                                         \
    D.v[0].lane[i] = (T)(X.v[0].lane[i] + (T)(U.a[2 * i] * (T)r.b[2 * i & (mask)])), \
    D.v[1].lane[i] = (T)(X.v[1].lane[i] + (T)(U.a[2 * i + 1] * (T)r.b[(2 * i + 1) & (mask)]))
HVX_W_VR(Q6_Wh_vmpy_VubRb, 64, EVEN_ODD_VR(h, int16_t, ub, b, 3))
HVX_W_VR(Q6_Wuh_vmpy_VubRub, 64, EVEN_ODD_VR(uh, uint16_t, ub, ub, 3))
HVX_W_VR(Q6_Ww_vmpy_VhRh, 32, EVEN_ODD_VR(w, int32_t, h, h, 1))
HVX_W_VR(Q6_Wuw_vmpy_VuhRuh, 32, EVEN_ODD_VR(uw, uint32_t, uh, uh, 1))
HVX_W_xxVR(Q6_Wh_vmpyacc_WhVubRb, 64, EVEN_ODD_VR_ACC(h, int16_t, ub, b, 3))
HVX_W_xxVR(Q6_Wuh_vmpyacc_WuhVubRub, 64, EVEN_ODD_VR_ACC(uh, uint16_t, ub, ub, 3))
HVX_W_xxVR(Q6_Ww_vmpyacc_WwVhRh, 32, EVEN_ODD_VR_ACC(uw, uint32_t, h, h, 1))
HVX_W_xxVR(Q6_Wuw_vmpyacc_WuwVuhRuh, 32, EVEN_ODD_VR_ACC(uw, uint32_t, uh, uh, 1))
HVX_W_xxVR(Q6_Ww_vmpyacc_WwVhRh_sat, 32, D.v[0].w[i] = hvx_sat_w((int64_t)X.v[0].w[i] + U.h[2 * i] * r.h[0]),
           D.v[1].w[i] = hvx_sat_w((int64_t)X.v[1].w[i] + U.h[2 * i + 1] * r.h[1]))
#undef EVEN_ODD_VR
#undef EVEN_ODD_VR_ACC

/* Fractional halves: the product doubled, its high half kept. */
#define FRACTION(a, b, round) hvx_sat_h((2 * (int64_t)(a) * (b) + (round)) >> 16)
HVX_V_VR(Q6_Vh_vmpy_VhRh_s1_rnd_sat, 64, D.h[i] = FRACTION(U.h[i], r.h[i & 1], 32768))
HVX_V_VR(Q6_Vh_vmpy_VhRh_s1_sat, 64, D.h[i] = FRACTION(U.h[i], r.h[i & 1], 0))
HVX_V_VV(Q6_Vh_vmpy_VhVh_s1_rnd_sat, 64, D.h[i] = FRACTION(U.h[i], V.h[i], 32768))
#undef FRACTION
HVX_V_VV(Q6_Vuh_vmpy_VuhVuh_rs16, 64, D.uh[i] = (uint16_t)((uint32_t)U.uh[i] * V.uh[i] >> 16))

/* Products that keep the low bits. */
HVX_V_VV(Q6_Vh_vmpyi_VhVh, 64, D.h[i] = (int16_t)(U.h[i] * V.h[i]))
HVX_V_xVV(Q6_Vh_vmpyiacc_VhVhVh, 64, D.h[i] = (int16_t)((uint32_t)X.h[i] + hvx_mul(U.h[i], V.h[i])))
HVX_V_VR(Q6_Vh_vmpyi_VhRb, 64, D.h[i] = (int16_t)(U.h[i] * r.b[i & 3]))
HVX_V_xVR(Q6_Vh_vmpyiacc_VhVhRb, 64, D.h[i] = (int16_t)(X.h[i] + U.h[i] * r.b[i & 3]))
HVX_V_VR(Q6_Vw_vmpyi_VwRb, 32, D.uw[i] = hvx_mul(U.w[i], r.b[i & 3]))
HVX_V_VR(Q6_Vw_vmpyi_VwRub, 32, D.uw[i] = hvx_mul(U.w[i], r.ub[i & 3]))
HVX_V_VR(Q6_Vw_vmpyi_VwRh, 32, D.uw[i] = hvx_mul(U.w[i], r.h[i & 1]))
HVX_V_xVR(Q6_Vw_vmpyiacc_VwVwRb, 32, D.uw[i] = X.uw[i] + hvx_mul(U.w[i], r.b[i & 3]))
HVX_V_xVR(Q6_Vw_vmpyiacc_VwVwRub, 32, D.uw[i] = X.uw[i] + hvx_mul(U.w[i], r.ub[i & 3]))
HVX_V_xVR(Q6_Vw_vmpyiacc_VwVwRh, 32, D.uw[i] = X.uw[i] + hvx_mul(U.w[i], r.h[i & 1]))

/* Words by the even (e) or odd (o) halves of words: with these a 32 × 32 bit product is put together. */
#define HALF_E(V) V.h[2 * i]
#define HALF_O(V) V.h[2 * i + 1]
HVX_V_VV(Q6_Vw_vmpyie_VwVuh, 32, D.uw[i] = hvx_mul(U.w[i], V.uh[2 * i]))
HVX_V_VV(Q6_Vw_vmpyio_VwVh, 32, D.uw[i] = hvx_mul(U.w[i], HALF_O(V)))
HVX_V_xVV(Q6_Vw_vmpyieacc_VwVwVh, 32, D.uw[i] = X.uw[i] + hvx_mul(U.w[i], HALF_E(V)))
HVX_V_xVV(Q6_Vw_vmpyieacc_VwVwVuh, 32, D.uw[i] = X.uw[i] + hvx_mul(U.w[i], V.uh[2 * i]))
HVX_V_VV(Q6_Vw_vmpyieo_VhVh, 32, D.uw[i] = hvx_mul(HALF_E(U), HALF_O(V)) << 16)
HVX_V_VV(Q6_Vw_vmpye_VwVuh, 32, D.w[i] = (int32_t)((int64_t)U.w[i] * V.uh[2 * i] >> 16))
HVX_V_VV(Q6_Vw_vmpyo_VwVh_s1_sat, 32, D.w[i] = hvx_sat_w((int64_t)U.w[i] * HALF_O(V) >> 15))
HVX_V_VV(Q6_Vw_vmpyo_VwVh_s1_rnd_sat, 32, D.w[i] = hvx_sat_w((((int64_t)U.w[i] * HALF_O(V) >> 14) + 1) >> 1))
HVX_V_xVV(Q6_Vw_vmpyoacc_VwVwVh_s1_sat_shift, 32,
          D.w[i] = hvx_sat_w(((int64_t)X.w[i] + (int64_t)U.w[i] * HALF_O(V)) >> 15))
HVX_V_xVV(Q6_Vw_vmpyoacc_VwVwVh_s1_rnd_sat_shift, 32,
          D.w[i] = hvx_sat_w(((((int64_t)X.w[i] + (int64_t)U.w[i] * HALF_O(V)) >> 14) + 1) >> 1))
HVX_W_VV(Q6_W_vmpye_VwVuh, 32, int64_t product = (int64_t)U.w[i] * V.uh[2 * i];
         D.v[1].w[i] = (int32_t)(product >> 16); D.v[0].uw[i] = (uint32_t)product << 16)
HVX_W_xxVV(Q6_W_vmpyoacc_WVwVh, 32, int64_t product = (int64_t)U.w[i] * HALF_O(V) + X.v[1].w[i];
           D.v[1].w[i] = (int32_t)(product >> 16); D.v[0].uw[i] = X.v[0].uw[i] >> 16 | (uint32_t)product << 16)
HVX_V_VR(Q6_Vuw_vmpye_VuhRuh, 32, D.uw[i] = (uint32_t)U.uh[2 * i] * r.uh[0])
HVX_V_xVR(Q6_Vuw_vmpyeacc_VuwVuhRuh, 32, D.uw[i] = X.uw[i] + (uint32_t)U.uh[2 * i] * r.uh[0])
#undef HALF_E
#undef HALF_O

/* Two products a lane: vdmpy of neighbours, vmpa of the two vectors of a pair, vtmpy with a third term of weight
 * one. */
#define PAIR_U(a, b, mask) \
    ((int64_t)U.a[2 * i] * r.b[2 * i & (mask)] + (int64_t)U.a[2 * i + 1] * r.b[(2 * i + 1) & (mask)])
#define PAIR_LO(a, b, mask) \
    ((int64_t)UU.v[0].a[2 * i] * r.b[2 * i & (mask)] + (int64_t)UU.v[0].a[2 * i + 1] * r.b[(2 * i + 1) & (mask)])
#define PAIR_HI(a, b, mask) \
    ((int64_t)UU.v[0].a[2 * i + 1] * r.b[2 * i & (mask)] + (int64_t)UU.v[1].a[2 * i] * r.b[(2 * i + 1) & (mask)])
HVX_V_VR(Q6_Vh_vdmpy_VubRb, 64, D.h[i] = (int16_t)PAIR_U(ub, b, 3))
HVX_V_xVR(Q6_Vh_vdmpyacc_VhVubRb, 64, D.h[i] = (int16_t)(X.h[i] + PAIR_U(ub, b, 3)))
HVX_V_VR(Q6_Vw_vdmpy_VhRb, 32, D.w[i] = (int32_t)PAIR_U(h, b, 3))
HVX_V_xVR(Q6_Vw_vdmpyacc_VwVhRb, 32, D.w[i] = (int32_t)(X.w[i] + PAIR_U(h, b, 3)))
HVX_V_VR(Q6_Vw_vdmpy_VhRh_sat, 32, D.w[i] = hvx_sat_w(PAIR_U(h, h, 1)))
HVX_V_xVR(Q6_Vw_vdmpyacc_VwVhRh_sat, 32, D.w[i] = hvx_sat_w(X.w[i] + PAIR_U(h, h, 1)))
HVX_V_VR(Q6_Vw_vdmpy_VhRuh_sat, 32, D.w[i] = hvx_sat_w(PAIR_U(h, uh, 1)))
HVX_V_xVR(Q6_Vw_vdmpyacc_VwVhRuh_sat, 32, D.w[i] = hvx_sat_w(X.w[i] + PAIR_U(h, uh, 1)))
HVX_V_VV(Q6_Vw_vdmpy_VhVh_sat, 32,
         D.w[i] = hvx_sat_w((int64_t)U.h[2 * i] * V.h[2 * i] + (int64_t)U.h[2 * i + 1] * V.h[2 * i + 1]))
HVX_V_xVV(Q6_Vw_vdmpyacc_VwVhVh_sat, 32,
          D.w[i] = hvx_sat_w(X.w[i] + (int64_t)U.h[2 * i] * V.h[2 * i] + (int64_t)U.h[2 * i + 1] * V.h[2 * i + 1]))
HVX_W_WR(Q6_Wh_vdmpy_WubRb, 64, D.v[0].h[i] = (int16_t)PAIR_LO(ub, b, 3), D.v[1].h[i] = (int16_t)PAIR_HI(ub, b, 3))
HVX_W_xxWR(Q6_Wh_vdmpyacc_WhWubRb, 64, D.v[0].h[i] = (int16_t)(X.v[0].h[i] + PAIR_LO(ub, b, 3)),
           D.v[1].h[i] = (int16_t)(X.v[1].h[i] + PAIR_HI(ub, b, 3)))
HVX_W_WR(Q6_Ww_vdmpy_WhRb, 32, D.v[0].w[i] = (int32_t)PAIR_LO(h, b, 3), D.v[1].w[i] = (int32_t)PAIR_HI(h, b, 3))
HVX_W_xxWR(Q6_Ww_vdmpyacc_WwWhRb, 32, D.v[0].w[i] = (int32_t)(X.v[0].w[i] + PAIR_LO(h, b, 3)),
           D.v[1].w[i] = (int32_t)(X.v[1].w[i] + PAIR_HI(h, b, 3)))
HVX_V_WR(Q6_Vw_vdmpy_WhRh_sat, 32, D.w[i] = hvx_sat_w(PAIR_HI(h, h, 1)))
HVX_V_xWR(Q6_Vw_vdmpyacc_VwWhRh_sat, 32, D.w[i] = hvx_sat_w(X.w[i] + PAIR_HI(h, h, 1)))
HVX_V_WR(Q6_Vw_vdmpy_WhRuh_sat, 32, D.w[i] = hvx_sat_w(PAIR_HI(h, uh, 1)))
HVX_V_xWR(Q6_Vw_vdmpyacc_VwWhRuh_sat, 32, D.w[i] = hvx_sat_w(X.w[i] + PAIR_HI(h, uh, 1)))
#undef PAIR_U

#define TRIPLE(lane, T, a, acc0, acc1)                              \
    D.v[0].lane[i] = (T)(acc0 PAIR_LO(a, b, 3) + UU.v[1].a[2 * i]), \
    D.v[1].lane[i] = (T)(acc1 PAIR_HI(a, b, 3) + UU.v[1].a[2 * i + 1])
HVX_W_WR(Q6_Wh_vtmpy_WbRb, 64, TRIPLE(h, int16_t, b, , ))
HVX_W_WR(Q6_Wh_vtmpy_WubRb, 64, TRIPLE(h, int16_t, ub, , ))
HVX_W_WR(Q6_Ww_vtmpy_WhRb, 32, TRIPLE(w, int32_t, h, , ))
HVX_W_xxWR(Q6_Wh_vtmpyacc_WhWbRb, 64, TRIPLE(h, int16_t, b, X.v[0].h[i] +, X.v[1].h[i] +))
HVX_W_xxWR(Q6_Wh_vtmpyacc_WhWubRb, 64, TRIPLE(h, int16_t, ub, X.v[0].h[i] +, X.v[1].h[i] +))
HVX_W_xxWR(Q6_Ww_vtmpyacc_WwWhRb, 32, TRIPLE(w, int32_t, h, X.v[0].w[i] +, X.v[1].w[i] +))
#undef TRIPLE
#undef PAIR_LO
#undef PAIR_HI

#define ACROSS(lane, T, a, b, acc0, acc1)                                                               \
    D.v[0].lane[i] = (T)(acc0(int64_t) UU.v[0].a[2 * i] * r.b[0] + (int64_t)UU.v[1].a[2 * i] * r.b[1]), \
    D.v[1].lane[i] = (T)(acc1(int64_t) UU.v[0].a[2 * i + 1] * r.b[2] + (int64_t)UU.v[1].a[2 * i + 1] * r.b[3])
HVX_W_WR(Q6_Wh_vmpa_WubRb, 64, ACROSS(h, int16_t, ub, b, , ))
HVX_W_WR(Q6_Wh_vmpa_WubRub, 64, ACROSS(h, int16_t, ub, ub, , ))
HVX_W_WR(Q6_Ww_vmpa_WhRb, 32, ACROSS(w, int32_t, h, b, , ))
HVX_W_WR(Q6_Ww_vmpa_WuhRb, 32, ACROSS(w, int32_t, uh, b, , ))
HVX_W_xxWR(Q6_Wh_vmpaacc_WhWubRb, 64, ACROSS(h, int16_t, ub, b, X.v[0].h[i] +, X.v[1].h[i] +))
HVX_W_xxWR(Q6_Wh_vmpaacc_WhWubRub, 64, ACROSS(h, int16_t, ub, ub, X.v[0].h[i] +, X.v[1].h[i] +))
HVX_W_xxWR(Q6_Ww_vmpaacc_WwWhRb, 32, ACROSS(w, int32_t, h, b, X.v[0].w[i] +, X.v[1].w[i] +))
HVX_W_xxWR(Q6_Ww_vmpaacc_WwWuhRb, 32, ACROSS(w, int32_t, uh, b, X.v[0].w[i] +, X.v[1].w[i] +))
#undef ACROSS
#define ACROSS(b, k) \
    (int16_t)(UU.v[0].ub[2 * i + k] * VV.v[0].b[2 * i + k] + UU.v[1].ub[2 * i + k] * VV.v[1].b[2 * i + k])
HVX_W_WW(Q6_Wh_vmpa_WubWb, 64, D.v[0].h[i] = ACROSS(b, 0), D.v[1].h[i] = ACROSS(b, 1))
HVX_W_WW(Q6_Wh_vmpa_WubWub, 64, D.v[0].h[i] = ACROSS(ub, 0), D.v[1].h[i] = ACROSS(ub, 1))
#undef ACROSS

/* clang-format on */

#endif
