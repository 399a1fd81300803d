/* Takes the place of htp/hvx/hvx_dot_term.h for scripts/htp-packets --qemu: the loop of the dot products stays as it
 * is, with integer operations where it has float, which qemu-hexagon lacks. The results mean nothing; the packets of
 * the static count and those that were run can be compared. */
#define HTP_HVX_DOT_TERM_H
#define HTP_DOT_AS_REAL /* unrolled as the real build */

#include <stdint.h>
#include <string.h>

#include <hexagon_types.h>
#include <hexagon_protos.h>
#include <hvx_hexagon_protos.h>

static inline HVX_VectorPair dot_widen(HVX_Vector h) {
    return Q6_Ww_vmpy_VhVh(h, h);
}
static inline HVX_VectorPair dot_widen_bf16(HVX_Vector h) {
    return dot_widen(h);
}
static inline HVX_VectorPair dot_sub_scales(HVX_Vector u, HVX_Vector d, int bias) {
    return Q6_Ww_vmpy_VhVh(Q6_Vh_vsub_VhVh(u, Q6_Vh_vsplat_R(bias)), d);
}
typedef HVX_Vector dot_sum;
static inline void dot_clear(dot_sum *acc) {
    *acc = Q6_V_vzero();
}
static inline void dot_term(dot_sum *acc, HVX_Vector sums, HVX_Vector dw, float dx) {
    int32_t bits;
    memcpy(&bits, &dx, sizeof bits);
    *acc = Q6_Vw_vadd_VwVw(*acc, Q6_V_vand_VV(Q6_V_vxor_VV(sums, Q6_V_vsplat_R(bits)), dw));
}
static inline void dot_min_term(dot_sum *acc, HVX_Vector m, float s) {
    dot_term(acc, m, m, s);
}
static inline void dot_result(const dot_sum *acc, HVX_Vector *y) {
    *y = *acc;
}
