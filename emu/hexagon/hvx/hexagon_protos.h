/* Scalar intrinsics of clang's header of this name, for a PC compiler: those that plain C does not say as well.
 * Prefetches do nothing. */
#ifndef HEXAGON_PROTOS_H
#define HEXAGON_PROTOS_H

#include <stdint.h>

#include "hexagon_types.h"

#define HEXAGON_FN static inline __attribute__((always_inline, unused))

HEXAGON_FN int32_t Q6_R_cl0_R(int32_t Rs) {
    return Rs == 0 ? 32 : __builtin_clz((uint32_t)Rs);
}
HEXAGON_FN int32_t Q6_R_cl1_R(int32_t Rs) {
    return Q6_R_cl0_R(~Rs);
}
HEXAGON_FN int32_t Q6_R_clb_R(int32_t Rs) {
    return Q6_R_cl0_R(Rs < 0 ? ~Rs : Rs);
}
HEXAGON_FN int32_t Q6_R_ct0_R(int32_t Rs) {
    return Rs == 0 ? 32 : __builtin_ctz((uint32_t)Rs);
}
HEXAGON_FN int32_t Q6_R_ct1_R(int32_t Rs) {
    return Q6_R_ct0_R(~Rs);
}
HEXAGON_FN int32_t Q6_R_normamt_R(int32_t Rs) {
    return Rs == 0 ? 0 : Q6_R_clb_R(Rs) - 1;
}
HEXAGON_FN int32_t Q6_R_cl0_P(int64_t Rss) {
    return Rss == 0 ? 64 : __builtin_clzll((uint64_t)Rss);
}
HEXAGON_FN int32_t Q6_R_ct0_P(int64_t Rss) {
    return Rss == 0 ? 64 : __builtin_ctzll((uint64_t)Rss);
}
HEXAGON_FN int32_t Q6_R_popcount_P(int64_t Rss) {
    return __builtin_popcountll((uint64_t)Rss);
}
HEXAGON_FN int64_t Q6_P_combine_RR(int32_t Rs, int32_t Rt) {
    return (int64_t)((uint64_t)(uint32_t)Rs << 32 | (uint32_t)Rt);
}
HEXAGON_FN int32_t Q6_R_combine_RlRl(int32_t Rt, int32_t Rs) {
    return (int32_t)((uint32_t)Rt << 16 | ((uint32_t)Rs & 0xffff));
}
HEXAGON_FN int32_t Q6_R_combine_RhRh(int32_t Rt, int32_t Rs) {
    return (int32_t)(((uint32_t)Rt & 0xffff0000) | (uint32_t)Rs >> 16);
}
HEXAGON_FN int32_t Q6_R_combine_RhRl(int32_t Rt, int32_t Rs) {
    return (int32_t)(((uint32_t)Rt & 0xffff0000) | ((uint32_t)Rs & 0xffff));
}
HEXAGON_FN int32_t Q6_R_combine_RlRh(int32_t Rt, int32_t Rs) {
    return (int32_t)((uint32_t)Rt << 16 | (uint32_t)Rs >> 16);
}
HEXAGON_FN int32_t Q6_R_vsplatb_R(int32_t Rs) {
    return (int32_t)(((uint32_t)Rs & 0xff) * 0x01010101u);
}
HEXAGON_FN int32_t Q6_R_swiz_R(int32_t Rs) {
    return (int32_t)__builtin_bswap32((uint32_t)Rs);
}
HEXAGON_FN int32_t Q6_R_max_RR(int32_t Rs, int32_t Rt) {
    return Rs > Rt ? Rs : Rt;
}
HEXAGON_FN int32_t Q6_R_min_RR(int32_t Rt, int32_t Rs) {
    return Rs < Rt ? Rs : Rt;
}
HEXAGON_FN int32_t Q6_R_sath_R(int32_t Rs) {
    return Rs > INT16_MAX ? INT16_MAX : Rs < INT16_MIN ? INT16_MIN : Rs;
}
HEXAGON_FN int32_t Q6_R_satb_R(int32_t Rs) {
    return Rs > INT8_MAX ? INT8_MAX : Rs < INT8_MIN ? INT8_MIN : Rs;
}
HEXAGON_FN int32_t Q6_R_satub_R(int32_t Rs) {
    return Rs > UINT8_MAX ? UINT8_MAX : Rs < 0 ? 0 : Rs;
}
HEXAGON_FN int32_t Q6_R_satuh_R(int32_t Rs) {
    return Rs > UINT16_MAX ? UINT16_MAX : Rs < 0 ? 0 : Rs;
}
HEXAGON_FN int32_t Q6_R_mpy_RR(int32_t Rs, int32_t Rt) {
    return (int32_t)((int64_t)Rs * Rt >> 32);
}

HEXAGON_FN void Q6_dcfetch_A(const void *Rs) {
    (void)Rs;
}
HEXAGON_FN void Q6_l2fetch_AR(const void *Rs, int32_t Rt) {
    (void)Rs, (void)Rt;
}
HEXAGON_FN void Q6_l2fetch_AP(const void *Rs, int64_t Rtt) {
    (void)Rs, (void)Rtt;
}

#undef HEXAGON_FN

#endif
