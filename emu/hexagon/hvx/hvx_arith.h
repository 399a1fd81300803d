/* Sums, differences, averages, extremes, absolute values, saturation, counts. Part of hvx_hexagon_protos.h. */
#ifndef HVX_ARITH_H
#define HVX_ARITH_H

#include "hvx_row.h"
#include "hvx_row_piece.h"

/* Rows of macros are not statements to clang-format. */
/* clang-format off */

HVX_PIECE_V_VV(Q6_Vb_vadd_VbVb, hvx_piece_ub, u + v)
HVX_PIECE_V_VV(Q6_Vh_vadd_VhVh, hvx_piece_uh, u + v)
HVX_PIECE_V_VV(Q6_Vw_vadd_VwVw, hvx_piece_uw, u + v)
HVX_PIECE_V_VV(Q6_Vb_vsub_VbVb, hvx_piece_ub, u - v)
HVX_PIECE_V_VV(Q6_Vh_vsub_VhVh, hvx_piece_uh, u - v)
HVX_PIECE_V_VV(Q6_Vw_vsub_VwVw, hvx_piece_uw, u - v)
HVX_PIECE_W_WW(Q6_Wb_vadd_WbWb, hvx_piece_ub, u + v)
HVX_PIECE_W_WW(Q6_Wh_vadd_WhWh, hvx_piece_uh, u + v)
HVX_PIECE_W_WW(Q6_Ww_vadd_WwWw, hvx_piece_uw, u + v)
HVX_PIECE_W_WW(Q6_Wb_vsub_WbWb, hvx_piece_ub, u - v)
HVX_PIECE_W_WW(Q6_Wh_vsub_WhWh, hvx_piece_uh, u - v)
HVX_PIECE_W_WW(Q6_Ww_vsub_WwWw, hvx_piece_uw, u - v)

HVX_V_VV(Q6_Vb_vadd_VbVb_sat, 128, D.b[i] = hvx_sat_b(U.b[i] + V.b[i]))
HVX_V_VV(Q6_Vub_vadd_VubVub_sat, 128, D.ub[i] = hvx_sat_ub(U.ub[i] + V.ub[i]))
HVX_V_VV(Q6_Vub_vadd_VubVb_sat, 128, D.ub[i] = hvx_sat_ub(U.ub[i] + V.b[i]))
HVX_V_VV(Q6_Vh_vadd_VhVh_sat, 64, D.h[i] = hvx_sat_h(U.h[i] + V.h[i]))
HVX_V_VV(Q6_Vuh_vadd_VuhVuh_sat, 64, D.uh[i] = hvx_sat_uh(U.uh[i] + V.uh[i]))
HVX_V_VV(Q6_Vw_vadd_VwVw_sat, 32, D.w[i] = hvx_sat_w((int64_t)U.w[i] + V.w[i]))
HVX_V_VV(Q6_Vuw_vadd_VuwVuw_sat, 32, D.uw[i] = hvx_sat_uw((int64_t)U.uw[i] + V.uw[i]))
HVX_V_VV(Q6_Vb_vsub_VbVb_sat, 128, D.b[i] = hvx_sat_b(U.b[i] - V.b[i]))
HVX_V_VV(Q6_Vub_vsub_VubVub_sat, 128, D.ub[i] = hvx_sat_ub(U.ub[i] - V.ub[i]))
HVX_V_VV(Q6_Vub_vsub_VubVb_sat, 128, D.ub[i] = hvx_sat_ub(U.ub[i] - V.b[i]))
HVX_V_VV(Q6_Vh_vsub_VhVh_sat, 64, D.h[i] = hvx_sat_h(U.h[i] - V.h[i]))
HVX_V_VV(Q6_Vuh_vsub_VuhVuh_sat, 64, D.uh[i] = hvx_sat_uh(U.uh[i] - V.uh[i]))
HVX_V_VV(Q6_Vw_vsub_VwVw_sat, 32, D.w[i] = hvx_sat_w((int64_t)U.w[i] - V.w[i]))
HVX_V_VV(Q6_Vuw_vsub_VuwVuw_sat, 32, D.uw[i] = hvx_sat_uw((int64_t)U.uw[i] - V.uw[i]))
HVX_W_WW(Q6_Wb_vadd_WbWb_sat, 256, D.b[i] = hvx_sat_b(UU.b[i] + VV.b[i]))
HVX_W_WW(Q6_Wub_vadd_WubWub_sat, 256, D.ub[i] = hvx_sat_ub(UU.ub[i] + VV.ub[i]))
HVX_W_WW(Q6_Wh_vadd_WhWh_sat, 128, D.h[i] = hvx_sat_h(UU.h[i] + VV.h[i]))
HVX_W_WW(Q6_Wuh_vadd_WuhWuh_sat, 128, D.uh[i] = hvx_sat_uh(UU.uh[i] + VV.uh[i]))
HVX_W_WW(Q6_Ww_vadd_WwWw_sat, 64, D.word[i] = hvx_sat_w((int64_t)UU.word[i] + VV.word[i]))
HVX_W_WW(Q6_Wuw_vadd_WuwWuw_sat, 64, D.uw[i] = hvx_sat_uw((int64_t)UU.uw[i] + VV.uw[i]))
HVX_W_WW(Q6_Wb_vsub_WbWb_sat, 256, D.b[i] = hvx_sat_b(UU.b[i] - VV.b[i]))
HVX_W_WW(Q6_Wub_vsub_WubWub_sat, 256, D.ub[i] = hvx_sat_ub(UU.ub[i] - VV.ub[i]))
HVX_W_WW(Q6_Wh_vsub_WhWh_sat, 128, D.h[i] = hvx_sat_h(UU.h[i] - VV.h[i]))
HVX_W_WW(Q6_Wuh_vsub_WuhWuh_sat, 128, D.uh[i] = hvx_sat_uh(UU.uh[i] - VV.uh[i]))
HVX_W_WW(Q6_Ww_vsub_WwWw_sat, 64, D.word[i] = hvx_sat_w((int64_t)UU.word[i] - VV.word[i]))
HVX_W_WW(Q6_Wuw_vsub_WuwWuw_sat, 64, D.uw[i] = hvx_sat_uw((int64_t)UU.uw[i] - VV.uw[i]))

/* Widening: the even lanes' results go to the low vector, the odd lanes' to the high one. */
#define EVEN_ODD(lane, expr_even, expr_odd) D.v[0].lane[i] = (expr_even), D.v[1].lane[i] = (expr_odd)
HVX_W_VV(Q6_Wh_vadd_VubVub, 64, EVEN_ODD(h, U.ub[2 * i] + V.ub[2 * i], U.ub[2 * i + 1] + V.ub[2 * i + 1]))
HVX_W_VV(Q6_Ww_vadd_VhVh, 32, EVEN_ODD(w, U.h[2 * i] + V.h[2 * i], U.h[2 * i + 1] + V.h[2 * i + 1]))
HVX_W_VV(Q6_Ww_vadd_VuhVuh, 32, EVEN_ODD(w, U.uh[2 * i] + V.uh[2 * i], U.uh[2 * i + 1] + V.uh[2 * i + 1]))
HVX_W_VV(Q6_Wh_vsub_VubVub, 64, EVEN_ODD(h, (int16_t)(U.ub[2 * i] - V.ub[2 * i]), (int16_t)(U.ub[2 * i +
             1] - V.ub[2 * i + 1])))
HVX_W_VV(Q6_Ww_vsub_VhVh, 32, EVEN_ODD(w, U.h[2 * i] - V.h[2 * i], U.h[2 * i + 1] - V.h[2 * i + 1]))
HVX_W_VV(Q6_Ww_vsub_VuhVuh, 32, EVEN_ODD(w, U.uh[2 * i] - V.uh[2 * i], U.uh[2 * i + 1] - V.uh[2 * i + 1]))
HVX_W_xxVV(Q6_Wh_vaddacc_WhVubVub, 64, EVEN_ODD(h, (int16_t)(X.v[0].h[i] + U.ub[2 * i] +
               V.ub[2 * i]), (int16_t)(X.v[1].h[i] + U.ub[2 * i + 1] + V.ub[2 * i + 1])))
HVX_W_xxVV(Q6_Ww_vaddacc_WwVhVh, 32, EVEN_ODD(uw, X.v[0].uw[i] + (uint32_t)(U.h[2 * i] + V.h[2 * i]), X.v[1].uw[i] +
               (uint32_t)(U.h[2 * i + 1] + V.h[2 * i + 1])))
HVX_W_xxVV(Q6_Ww_vaddacc_WwVuhVuh, 32, EVEN_ODD(uw, X.v[0].uw[i] + U.uh[2 * i] + V.uh[2 * i], X.v[1].uw[i] +
               U.uh[2 * i + 1] + V.uh[2 * i + 1]))

/* Conditional sums; a predicate bit chooses a byte of the sum or of the old value. */
#define CHOOSE(lane, T, when, sum) D.lane[i] = (T)((when & (sum)) | (~(when)&X.lane[i]))
HVX_V_QxV(Q6_Vb_condacc_QVbVb, 128, CHOOSE(ub, uint8_t, Q.ub[i], X.ub[i] + U.ub[i]))
HVX_V_QxV(Q6_Vb_condacc_QnVbVb, 128, CHOOSE(ub, uint8_t, ~Q.ub[i], X.ub[i] + U.ub[i]))
HVX_V_QxV(Q6_Vb_condnac_QVbVb, 128, CHOOSE(ub, uint8_t, Q.ub[i], X.ub[i] - U.ub[i]))
HVX_V_QxV(Q6_Vb_condnac_QnVbVb, 128, CHOOSE(ub, uint8_t, ~Q.ub[i], X.ub[i] - U.ub[i]))
HVX_V_QxV(Q6_Vh_condacc_QVhVh, 64, CHOOSE(uh, uint16_t, Q.uh[i], X.uh[i] + U.uh[i]))
HVX_V_QxV(Q6_Vh_condacc_QnVhVh, 64, CHOOSE(uh, uint16_t, ~Q.uh[i], X.uh[i] + U.uh[i]))
HVX_V_QxV(Q6_Vh_condnac_QVhVh, 64, CHOOSE(uh, uint16_t, Q.uh[i], X.uh[i] - U.uh[i]))
HVX_V_QxV(Q6_Vh_condnac_QnVhVh, 64, CHOOSE(uh, uint16_t, ~Q.uh[i], X.uh[i] - U.uh[i]))
HVX_V_QxV(Q6_Vw_condacc_QVwVw, 32, CHOOSE(uw, uint32_t, Q.uw[i], X.uw[i] + U.uw[i]))
HVX_V_QxV(Q6_Vw_condacc_QnVwVw, 32, CHOOSE(uw, uint32_t, ~Q.uw[i], X.uw[i] + U.uw[i]))
HVX_V_QxV(Q6_Vw_condnac_QVwVw, 32, CHOOSE(uw, uint32_t, Q.uw[i], X.uw[i] - U.uw[i]))
HVX_V_QxV(Q6_Vw_condnac_QnVwVw, 32, CHOOSE(uw, uint32_t, ~Q.uw[i], X.uw[i] - U.uw[i]))
#undef CHOOSE

/* Carry chains: the carry of word i is the predicate's bit 4i; the carry out fills all four bits. */
HVX_FN HVX_Vector hvx_add_carry(HVX_Vector Vu, HVX_Vector Vv, HVX_VectorPred *Qx) {
    hvx_v D, U = {Vu}, V = {Vv}, Q = {.q = *Qx};
    for (int i = 0; i < 32; i++) {
        uint64_t sum = (uint64_t)U.uw[i] + V.uw[i] + (Q.ub[4 * i] & 1);
        D.uw[i] = (uint32_t)sum;
        Q.uw[i] = sum >> 32 ? UINT32_MAX : 0;
    }
    *Qx = Q.q;
    return D.v;
}
HVX_FN HVX_Vector Q6_Vw_vadd_VwVwQ_carry(HVX_Vector Vu, HVX_Vector Vv, HVX_VectorPred *Qx) {
    return hvx_add_carry(Vu, Vv, Qx);
}
HVX_PIECE_V_V(Q6_V_vnot_V, hvx_piece_uw, ~u)
HVX_FN HVX_Vector Q6_Vw_vsub_VwVwQ_carry(HVX_Vector Vu, HVX_Vector Vv, HVX_VectorPred *Qx) {
    return hvx_add_carry(Vu, Q6_V_vnot_V(Vv), Qx);
}
HVX_V_VVQ(Q6_Vw_vadd_VwVwQ_carry_sat, 32, D.w[i] = hvx_sat_w((int64_t)U.w[i] + V.w[i] + (Q.ub[4 * i] & 1)))

HVX_V_VV(Q6_Vb_vavg_VbVb, 128, D.b[i] = (int8_t)((U.b[i] + V.b[i]) >> 1))
HVX_V_VV(Q6_Vb_vavg_VbVb_rnd, 128, D.b[i] = (int8_t)((U.b[i] + V.b[i] + 1) >> 1))
HVX_V_VV(Q6_Vub_vavg_VubVub, 128, D.ub[i] = (uint8_t)((U.ub[i] + V.ub[i]) >> 1))
HVX_V_VV(Q6_Vub_vavg_VubVub_rnd, 128, D.ub[i] = (uint8_t)((U.ub[i] + V.ub[i] + 1) >> 1))
HVX_V_VV(Q6_Vh_vavg_VhVh, 64, D.h[i] = (int16_t)((U.h[i] + V.h[i]) >> 1))
HVX_V_VV(Q6_Vh_vavg_VhVh_rnd, 64, D.h[i] = (int16_t)((U.h[i] + V.h[i] + 1) >> 1))
HVX_V_VV(Q6_Vuh_vavg_VuhVuh, 64, D.uh[i] = (uint16_t)((U.uh[i] + V.uh[i]) >> 1))
HVX_V_VV(Q6_Vuh_vavg_VuhVuh_rnd, 64, D.uh[i] = (uint16_t)((U.uh[i] + V.uh[i] + 1) >> 1))
HVX_V_VV(Q6_Vw_vavg_VwVw, 32, D.w[i] = (int32_t)(((int64_t)U.w[i] + V.w[i]) >> 1))
HVX_V_VV(Q6_Vw_vavg_VwVw_rnd, 32, D.w[i] = (int32_t)(((int64_t)U.w[i] + V.w[i] + 1) >> 1))
HVX_V_VV(Q6_Vuw_vavg_VuwVuw, 32, D.uw[i] = (uint32_t)(((uint64_t)U.uw[i] + V.uw[i]) >> 1))
HVX_V_VV(Q6_Vuw_vavg_VuwVuw_rnd, 32, D.uw[i] = (uint32_t)(((uint64_t)U.uw[i] + V.uw[i] + 1) >> 1))
HVX_V_VV(Q6_Vb_vnavg_VbVb, 128, D.b[i] = (int8_t)((U.b[i] - V.b[i]) >> 1))
HVX_V_VV(Q6_Vb_vnavg_VubVub, 128, D.b[i] = (int8_t)((U.ub[i] - V.ub[i]) >> 1))
HVX_V_VV(Q6_Vh_vnavg_VhVh, 64, D.h[i] = (int16_t)((U.h[i] - V.h[i]) >> 1))
HVX_V_VV(Q6_Vw_vnavg_VwVw, 32, D.w[i] = (int32_t)(((int64_t)U.w[i] - V.w[i]) >> 1))

#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
HVX_V_VV(Q6_Vb_vmax_VbVb, 128, D.b[i] = MAX(U.b[i], V.b[i]))
HVX_V_VV(Q6_Vub_vmax_VubVub, 128, D.ub[i] = MAX(U.ub[i], V.ub[i]))
HVX_V_VV(Q6_Vh_vmax_VhVh, 64, D.h[i] = MAX(U.h[i], V.h[i]))
HVX_V_VV(Q6_Vuh_vmax_VuhVuh, 64, D.uh[i] = MAX(U.uh[i], V.uh[i]))
HVX_V_VV(Q6_Vw_vmax_VwVw, 32, D.w[i] = MAX(U.w[i], V.w[i]))
HVX_V_VV(Q6_Vb_vmin_VbVb, 128, D.b[i] = MIN(U.b[i], V.b[i]))
HVX_V_VV(Q6_Vub_vmin_VubVub, 128, D.ub[i] = MIN(U.ub[i], V.ub[i]))
HVX_V_VV(Q6_Vh_vmin_VhVh, 64, D.h[i] = MIN(U.h[i], V.h[i]))
HVX_V_VV(Q6_Vuh_vmin_VuhVuh, 64, D.uh[i] = MIN(U.uh[i], V.uh[i]))
HVX_V_VV(Q6_Vw_vmin_VwVw, 32, D.w[i] = MIN(U.w[i], V.w[i]))
#undef MAX
#undef MIN

HVX_V_V(Q6_Vb_vabs_Vb, 128, D.ub[i] = (uint8_t)hvx_absdiff(U.b[i], 0))
HVX_V_V(Q6_Vb_vabs_Vb_sat, 128, D.b[i] = hvx_sat_b(hvx_absdiff(U.b[i], 0)))
HVX_V_V(Q6_Vh_vabs_Vh, 64, D.uh[i] = (uint16_t)hvx_absdiff(U.h[i], 0))
HVX_V_V(Q6_Vh_vabs_Vh_sat, 64, D.h[i] = hvx_sat_h(hvx_absdiff(U.h[i], 0)))
HVX_V_V(Q6_Vw_vabs_Vw, 32, D.uw[i] = U.w[i] < 0 ? 0u - U.uw[i] : U.uw[i])
HVX_V_V(Q6_Vw_vabs_Vw_sat, 32, D.w[i] = hvx_sat_w(U.w[i] < 0 ? -(int64_t)U.w[i] : U.w[i]))
HVX_V_VV(Q6_Vub_vabsdiff_VubVub, 128, D.ub[i] = (uint8_t)hvx_absdiff(U.ub[i], V.ub[i]))
HVX_V_VV(Q6_Vuh_vabsdiff_VhVh, 64, D.uh[i] = (uint16_t)hvx_absdiff(U.h[i], V.h[i]))
HVX_V_VV(Q6_Vuh_vabsdiff_VuhVuh, 64, D.uh[i] = (uint16_t)hvx_absdiff(U.uh[i], V.uh[i]))
HVX_V_VV(Q6_Vuw_vabsdiff_VwVw, 32, D.uw[i] = U.w[i] > V.w[i] ? U.uw[i] - V.uw[i] : V.uw[i] - U.uw[i])

HVX_V_VV(Q6_Vub_vsat_VhVh, 64, D.ub[2 * i] = hvx_sat_ub(V.h[i]), D.ub[2 * i + 1] = hvx_sat_ub(U.h[i]))
HVX_V_VV(Q6_Vh_vsat_VwVw, 32, D.h[2 * i] = hvx_sat_h(V.w[i]), D.h[2 * i + 1] = hvx_sat_h(U.w[i]))
HVX_V_VV(Q6_Vuh_vsat_VuwVuw, 32, D.uh[2 * i] = hvx_sat_uh(V.uw[i]), D.uh[2 * i + 1] = hvx_sat_uh(U.uw[i]))
HVX_V_VV(Q6_Vw_vsatdw_VwVw, 32, D.w[i] = hvx_sat_w((int64_t)((uint64_t)U.uw[i] << 32 | V.uw[i])))
HVX_V_VV(Q6_Vb_vround_VhVh_sat, 64, D.b[2 * i] = hvx_sat_b((V.h[i] + 128) >> 8),
         D.b[2 * i + 1] = hvx_sat_b((U.h[i] + 128) >> 8))
HVX_V_VV(Q6_Vub_vround_VhVh_sat, 64, D.ub[2 * i] = hvx_sat_ub((V.h[i] + 128) >> 8),
         D.ub[2 * i + 1] = hvx_sat_ub((U.h[i] + 128) >> 8))
HVX_V_VV(Q6_Vub_vround_VuhVuh_sat, 64, D.ub[2 * i] = hvx_sat_ub((V.uh[i] + 128) >> 8),
         D.ub[2 * i + 1] = hvx_sat_ub((U.uh[i] + 128) >> 8))
#define ROUND_HALF(x) (((int64_t)(x) + 32768) >> 16)
HVX_V_VV(Q6_Vh_vround_VwVw_sat, 32, D.h[2 * i] = hvx_sat_h(ROUND_HALF(V.w[i])),
         D.h[2 * i + 1] = hvx_sat_h(ROUND_HALF(U.w[i])))
HVX_V_VV(Q6_Vuh_vround_VwVw_sat, 32, D.uh[2 * i] = hvx_sat_uh(ROUND_HALF(V.w[i])),
         D.uh[2 * i + 1] = hvx_sat_uh(ROUND_HALF(U.w[i])))
HVX_V_VV(Q6_Vuh_vround_VuwVuw_sat, 32, D.uh[2 * i] = hvx_sat_uh(ROUND_HALF(V.uw[i])),
         D.uh[2 * i + 1] = hvx_sat_uh(ROUND_HALF(U.uw[i])))
#undef ROUND_HALF

HVX_V_V(Q6_Vuh_vcl0_Vuh, 64, D.uh[i] = (uint16_t)hvx_cl0(U.uh[i], 16))
HVX_V_V(Q6_Vuw_vcl0_Vuw, 32, D.w[i] = hvx_cl0(U.uw[i], 32))
HVX_V_V(Q6_Vh_vnormamt_Vh, 64, D.h[i] = (int16_t)(hvx_clb(U.h[i], 16) - 1))
HVX_V_V(Q6_Vw_vnormamt_Vw, 32, D.w[i] = hvx_clb(U.w[i], 32) - 1)
HVX_V_VV(Q6_Vh_vadd_vclb_VhVh, 64, D.h[i] = (int16_t)(hvx_clb(U.h[i], 16) + V.h[i]))
HVX_V_VV(Q6_Vw_vadd_vclb_VwVw, 32, D.uw[i] = (uint32_t)hvx_clb(U.w[i], 32) + V.uw[i])
HVX_V_V(Q6_Vh_vpopcount_Vh, 64, D.h[i] = (int16_t)__builtin_popcount(U.uh[i]))

HVX_V_Q(Q6_Vb_prefixsum_Q, 128, sum += Q.ub[i] & 1; D.ub[i] = (uint8_t)sum)
HVX_V_Q(Q6_Vh_prefixsum_Q, 64, sum += (Q.ub[2 * i] & 1) + (Q.ub[2 * i + 1] & 1); D.uh[i] = (uint16_t)sum)
HVX_V_Q(Q6_Vw_prefixsum_Q, 32, for (int j = 0; j < 4; j++) sum += Q.ub[4 * i + j] & 1; D.uw[i] = sum)

/* clang-format on */

#endif
