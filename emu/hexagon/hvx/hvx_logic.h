/* Bit operations, shifts, predicates, comparisons and selection. Part of hvx_hexagon_protos.h. */
#ifndef HVX_LOGIC_H
#define HVX_LOGIC_H

#include "hvx_row.h"
#include "hvx_row_piece.h"

/* Rows of macros are not statements to clang-format. */
/* clang-format off */

HVX_PIECE_V_VV(Q6_V_vand_VV, hvx_piece_uw, u &v)
HVX_PIECE_V_VV(Q6_V_vor_VV, hvx_piece_uw, u | v)
HVX_PIECE_V_VV(Q6_V_vxor_VV, hvx_piece_uw, u ^ v)

/* Shifts of all lanes by a scalar: only the low bits of the amount count. */
HVX_PIECE_V_VR(Q6_Vh_vasl_VhR, hvx_piece_uh, u << (uint16_t)(r & 15))
HVX_PIECE_V_VR(Q6_Vw_vasl_VwR, hvx_piece_uw, u << (uint32_t)(r & 31))
HVX_PIECE_V_VR(Q6_Vh_vasr_VhR, hvx_piece_h, u >> (int16_t)(r & 15))
HVX_PIECE_V_VR(Q6_Vw_vasr_VwR, hvx_piece, u >> (r & 31))
HVX_PIECE_V_VR(Q6_Vuh_vlsr_VuhR, hvx_piece_uh, u >> (uint16_t)(r & 15))
HVX_PIECE_V_VR(Q6_Vuw_vlsr_VuwR, hvx_piece_uw, u >> (uint32_t)(r & 31))
HVX_V_VR(Q6_Vub_vlsr_VubR, 128, D.ub[i] = (uint8_t)(U.ub[i] >> (r.w & 7)))
HVX_V_xVR(Q6_Vh_vaslacc_VhVhR, 64, D.uh[i] = (uint16_t)(X.uh[i] + ((uint32_t)U.uh[i] << (r.w & 15))))
HVX_V_xVR(Q6_Vw_vaslacc_VwVwR, 32, D.uw[i] = X.uw[i] + (U.uw[i] << (r.w & 31)))
HVX_V_xVR(Q6_Vh_vasracc_VhVhR, 64, D.h[i] = (int16_t)(X.h[i] + (U.h[i] >> (r.w & 15))))
HVX_V_xVR(Q6_Vw_vasracc_VwVwR, 32, D.uw[i] = X.uw[i] + (uint32_t)(U.w[i] >> (r.w & 31)))

/* Shifts by vector: the amount is signed (5 bits for halves, 6 for words) and a negative one shifts the other way. */
HVX_V_VV(Q6_Vh_vasl_VhVh, 64, D.h[i] = (int16_t)hvx_shl(U.h[i], hvx_sxt(V.uh[i], 5)))
HVX_V_VV(Q6_Vh_vasr_VhVh, 64, D.h[i] = (int16_t)hvx_shl(U.h[i], -hvx_sxt(V.uh[i], 5)))
HVX_V_VV(Q6_Vh_vlsr_VhVh, 64, D.h[i] = (int16_t)hvx_shl(U.uh[i], -hvx_sxt(V.uh[i], 5)))
HVX_V_VV(Q6_Vw_vasl_VwVw, 32, D.w[i] = (int32_t)hvx_shl(U.w[i], hvx_sxt(V.uw[i], 6)))
HVX_V_VV(Q6_Vw_vasr_VwVw, 32, D.w[i] = (int32_t)hvx_shl(U.w[i], -hvx_sxt(V.uw[i], 6)))
HVX_V_VV(Q6_Vw_vlsr_VwVw, 32, D.w[i] = (int32_t)hvx_shl(U.uw[i], -hvx_sxt(V.uw[i], 6)))
HVX_V_VV(Q6_Vuw_vrotr_VuwVuw, 32, D.uw[i] = U.uw[i] >> (V.uw[i] & 31) | U.uw[i] << (-V.uw[i] & 31))

/* Narrowing shifts by a scalar: results of the second vector go to the even lanes, of the first to the odd ones. */
#define NARROW(out, in, sat, shift) \
    D.out[2 * i] = sat((int64_t)V.in[i] >> (shift)), D.out[2 * i + 1] = sat((int64_t)U.in[i] >> (shift))
#define NARROW_RND(out, in, sat, shift)                                      \
    D.out[2 * i] = sat(((int64_t)V.in[i] + (1 << (shift) >> 1)) >> (shift)), \
              D.out[2 * i + 1] = sat(((int64_t)U.in[i] + (1 << (shift) >> 1)) >> (shift))
HVX_V_VVR(Q6_Vb_vasr_VhVhR_sat, 64, NARROW(b, h, (int8_t)hvx_sat_b, r.w & 7))
HVX_V_VVR(Q6_Vb_vasr_VhVhR_rnd_sat, 64, NARROW_RND(b, h, hvx_sat_b, r.w & 7))
HVX_V_VVR(Q6_Vub_vasr_VhVhR_sat, 64, NARROW(ub, h, hvx_sat_ub, r.w & 7))
HVX_V_VVR(Q6_Vub_vasr_VhVhR_rnd_sat, 64, NARROW_RND(ub, h, hvx_sat_ub, r.w & 7))
HVX_V_VVR(Q6_Vub_vasr_VuhVuhR_sat, 64, NARROW(ub, uh, hvx_sat_ub, r.w & 7))
HVX_V_VVR(Q6_Vub_vasr_VuhVuhR_rnd_sat, 64, NARROW_RND(ub, uh, hvx_sat_ub, r.w & 7))
HVX_V_VVR(Q6_Vh_vasr_VwVwR, 32, NARROW(h, w, (int16_t), r.w & 15))
HVX_V_VVR(Q6_Vh_vasr_VwVwR_sat, 32, NARROW(h, w, hvx_sat_h, r.w & 15))
HVX_V_VVR(Q6_Vh_vasr_VwVwR_rnd_sat, 32, NARROW_RND(h, w, hvx_sat_h, r.w & 15))
HVX_V_VVR(Q6_Vuh_vasr_VwVwR_sat, 32, NARROW(uh, w, hvx_sat_uh, r.w & 15))
HVX_V_VVR(Q6_Vuh_vasr_VwVwR_rnd_sat, 32, NARROW_RND(uh, w, hvx_sat_uh, r.w & 15))
HVX_V_VVR(Q6_Vuh_vasr_VuwVuwR_sat, 32, NARROW(uh, uw, hvx_sat_uh, r.w & 15))
HVX_V_VVR(Q6_Vuh_vasr_VuwVuwR_rnd_sat, 32, NARROW_RND(uh, uw, hvx_sat_uh, r.w & 15))
#undef NARROW
#undef NARROW_RND

/* Narrowing shifts of a pair by a vector of amounts, one for each result lane. */
#define NARROW(out, in, sat, shift, lane)                                    \
    D.out[2 * i] = sat((int64_t)UU.v[0].in[i] >> (V.lane[2 * i] & (shift))), \
              D.out[2 * i + 1] = sat((int64_t)UU.v[1].in[i] >> (V.lane[2 * i + 1] & (shift)))
#define RND(in, half, lane) ((int64_t)UU.v[half].in[i] + (1 << lane >> 1)) >> lane
HVX_V_WV(Q6_Vub_vasr_WuhVub_sat, 64, NARROW(ub, uh, hvx_sat_ub, 7, ub))
HVX_V_WV(Q6_Vuh_vasr_WwVuh_sat, 32, NARROW(uh, w, hvx_sat_uh, 15, uh))
HVX_V_WV(Q6_Vub_vasr_WuhVub_rnd_sat, 64, int even = V.ub[2 * i] & 7; int odd = V.ub[2 * i + 1] & 7;
         D.ub[2 * i] = hvx_sat_ub((int32_t)(RND(uh, 0, even)));
         D.ub[2 * i + 1] = hvx_sat_ub((int32_t)(RND(uh, 1, odd))))
HVX_V_WV(Q6_Vuh_vasr_WwVuh_rnd_sat, 32, int even = V.uh[2 * i] & 15; int odd = V.uh[2 * i + 1] & 15;
         D.uh[2 * i] = hvx_sat_uh(RND(w, 0, even)); D.uh[2 * i + 1] = hvx_sat_uh(RND(w, 1, odd)))
#undef NARROW
#undef RND

HVX_Q_QQ(Q6_Q_and_QQ, 32, D.uw[i] = S.uw[i] & T.uw[i])
HVX_Q_QQ(Q6_Q_and_QQn, 32, D.uw[i] = S.uw[i] & ~T.uw[i])
HVX_Q_QQ(Q6_Q_or_QQ, 32, D.uw[i] = S.uw[i] | T.uw[i])
HVX_Q_QQ(Q6_Q_or_QQn, 32, D.uw[i] = S.uw[i] | ~T.uw[i])
HVX_Q_QQ(Q6_Q_xor_QQ, 32, D.uw[i] = S.uw[i] ^ T.uw[i])
HVX_Q_Q(Q6_Q_not_Q, 32, D.uw[i] = ~S.uw[i])
HVX_Q_R(Q6_Q_vsetq_R, 128, D.ub[i] = i < (r.w & 127) ? 255 : 0)
HVX_Q_R(Q6_Q_vsetq2_R, 128, D.ub[i] = i <= (int)((r.uw - 1) & 127) ? 255 : 0)
HVX_Q_QQ(Q6_Qb_vshuffe_QhQh, 64, D.ub[2 * i] = T.ub[2 * i], D.ub[2 * i + 1] = S.ub[2 * i])
HVX_Q_QQ(Q6_Qh_vshuffe_QwQw, 32, D.uh[2 * i] = T.uh[2 * i], D.uh[2 * i + 1] = S.uh[2 * i])
HVX_Q_VR(Q6_Q_vand_VR, 128, D.ub[i] = U.ub[i] & r.ub[i & 3] ? 255 : 0)
HVX_Q_xVR(Q6_Q_vandor_QVR, 128, D.ub[i] = X.ub[i] | (U.ub[i] & r.ub[i & 3] ? 255 : 0))
HVX_V_QR(Q6_V_vand_QR, 32, D.uw[i] = Q.uw[i] & r.uw)
HVX_V_QR(Q6_V_vand_QnR, 32, D.uw[i] = ~Q.uw[i] & r.uw)
HVX_V_xQR(Q6_V_vandor_VQR, 32, D.uw[i] = X.uw[i] | (Q.uw[i] & r.uw))
HVX_V_xQR(Q6_V_vandor_VQnR, 32, D.uw[i] = X.uw[i] | (~Q.uw[i] & r.uw))
HVX_V_QV(Q6_V_vand_QV, 32, D.uw[i] = Q.uw[i] & U.uw[i])
HVX_V_QV(Q6_V_vand_QnV, 32, D.uw[i] = ~Q.uw[i] & U.uw[i])
HVX_V_QVV(Q6_V_vmux_QVV, 32, D.uw[i] = (Q.uw[i] & U.uw[i]) | (~Q.uw[i] & V.uw[i]))
HVX_W_QVV(Q6_W_vswap_QVV, 32, D.v[0].uw[i] = (Q.uw[i] & U.uw[i]) | (~Q.uw[i] & V.uw[i]),
          D.v[1].uw[i] = (Q.uw[i] & V.uw[i]) | (~Q.uw[i] & U.uw[i]))

/* One comparison in its four forms: alone, and anded, ored or xored into a predicate. |lane| is what is compared,
 * |mask| the unsigned lane of the same width. */
#define COMPARE(type, op, lane, mask, n, T) \
HVX_Q_VV(Q6_Q_vcmp_##type, n, D.mask[i] = U.lane[i] op V.lane[i] ? (T)-1 : 0)
#define COMPARE_INTO(type, how, op, lane, mask, n, T) \
HVX_Q_xVV(Q6_Q_vcmp_##type, n, D.mask[i] = (T)(X.mask[i] how(U.lane[i] op V.lane[i] ? (T)-1 : 0)))
COMPARE(eq_VbVb, ==, b, ub, 128, uint8_t)
COMPARE(eq_VhVh, ==, h, uh, 64, uint16_t)
COMPARE(eq_VwVw, ==, w, uw, 32, uint32_t)
COMPARE(gt_VbVb, >, b, ub, 128, uint8_t)
COMPARE(gt_VubVub, >, ub, ub, 128, uint8_t)
COMPARE(gt_VhVh, >, h, uh, 64, uint16_t)
COMPARE(gt_VuhVuh, >, uh, uh, 64, uint16_t)
COMPARE(gt_VwVw, >, w, uw, 32, uint32_t)
COMPARE(gt_VuwVuw, >, uw, uw, 32, uint32_t)
COMPARE_INTO(eqand_QVbVb, &, ==, b, ub, 128, uint8_t)
COMPARE_INTO(eqor_QVbVb, |, ==, b, ub, 128, uint8_t)
COMPARE_INTO(eqxacc_QVbVb, ^, ==, b, ub, 128, uint8_t)
COMPARE_INTO(eqand_QVhVh, &, ==, h, uh, 64, uint16_t)
COMPARE_INTO(eqor_QVhVh, |, ==, h, uh, 64, uint16_t)
COMPARE_INTO(eqxacc_QVhVh, ^, ==, h, uh, 64, uint16_t)
COMPARE_INTO(eqand_QVwVw, &, ==, w, uw, 32, uint32_t)
COMPARE_INTO(eqor_QVwVw, |, ==, w, uw, 32, uint32_t)
COMPARE_INTO(eqxacc_QVwVw, ^, ==, w, uw, 32, uint32_t)
COMPARE_INTO(gtand_QVbVb, &, >, b, ub, 128, uint8_t)
COMPARE_INTO(gtor_QVbVb, |, >, b, ub, 128, uint8_t)
COMPARE_INTO(gtxacc_QVbVb, ^, >, b, ub, 128, uint8_t)
COMPARE_INTO(gtand_QVubVub, &, >, ub, ub, 128, uint8_t)
COMPARE_INTO(gtor_QVubVub, |, >, ub, ub, 128, uint8_t)
COMPARE_INTO(gtxacc_QVubVub, ^, >, ub, ub, 128, uint8_t)
COMPARE_INTO(gtand_QVhVh, &, >, h, uh, 64, uint16_t)
COMPARE_INTO(gtor_QVhVh, |, >, h, uh, 64, uint16_t)
COMPARE_INTO(gtxacc_QVhVh, ^, >, h, uh, 64, uint16_t)
COMPARE_INTO(gtand_QVuhVuh, &, >, uh, uh, 64, uint16_t)
COMPARE_INTO(gtor_QVuhVuh, |, >, uh, uh, 64, uint16_t)
COMPARE_INTO(gtxacc_QVuhVuh, ^, >, uh, uh, 64, uint16_t)
COMPARE_INTO(gtand_QVwVw, &, >, w, uw, 32, uint32_t)
COMPARE_INTO(gtor_QVwVw, |, >, w, uw, 32, uint32_t)
COMPARE_INTO(gtxacc_QVwVw, ^, >, w, uw, 32, uint32_t)
COMPARE_INTO(gtand_QVuwVuw, &, >, uw, uw, 32, uint32_t)
COMPARE_INTO(gtor_QVuwVuw, |, >, uw, uw, 32, uint32_t)
COMPARE_INTO(gtxacc_QVuwVuw, ^, >, uw, uw, 32, uint32_t)
#undef COMPARE
#undef COMPARE_INTO

/* clang-format on */

#endif
