/* Second implementations of the dot products that decide a simulated model's speed, where the machine has an
 * instruction for them. hvx_mul.h has the definitions; the test runs both. */
#ifndef HVX_FAST_H
#define HVX_FAST_H

#include "hvx_lanes.h"

#if defined __AVX512VNNI__ && HVX_PIECE_BYTES == 64
#include <immintrin.h>
#define HVX_FAST_DOT
HVX_FN hvx_piece hvx_dot_piece(hvx_piece sum, hvx_piece a, hvx_piece b) {
    return (hvx_piece)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
}
#elif defined __AVXVNNI__ && HVX_PIECE_BYTES == 32
#include <immintrin.h>
#define HVX_FAST_DOT
HVX_FN hvx_piece hvx_dot_piece(hvx_piece sum, hvx_piece a, hvx_piece b) {
    return (hvx_piece)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)a, (__m256i)b);
}
#elif defined __AVX2__ && HVX_PIECE_BYTES == 32
#include <immintrin.h>
#define HVX_FAST_DOT
/* Not vpmaddubsw, which saturates: the bytes are widened as even and odd halves. */
HVX_FN hvx_piece hvx_dot_piece(hvx_piece sum, hvx_piece a, hvx_piece b) {
    hvx_piece_uh even = (hvx_piece_uh)a & 0xff, odd = (hvx_piece_uh)a >> 8;
    hvx_piece_h b_even = (hvx_piece_h)((hvx_piece_uh)b << 8) >> 8, b_odd = (hvx_piece_h)b >> 8;
    __m256i products = _mm256_add_epi32(_mm256_madd_epi16((__m256i)even, (__m256i)b_even),
                                        _mm256_madd_epi16((__m256i)odd, (__m256i)b_odd));
    return (hvx_piece)((hvx_piece_uw)sum + (hvx_piece_uw)products);
}
#endif

#ifdef HVX_FAST_DOT
HVX_FN HVX_Vector Q6_Vw_vrmpyacc_VwVubVb(HVX_Vector Vx, HVX_Vector Vu, HVX_Vector Vv) {
    for (int i = 0; i < HVX_PIECES; i++) Vx.p[i] = hvx_dot_piece(Vx.p[i], Vu.p[i], Vv.p[i]);
    return Vx;
}
HVX_FN HVX_Vector Q6_Vw_vrmpyacc_VwVubRb(HVX_Vector Vx, HVX_Vector Vu, int32_t Rt) {
    for (int i = 0; i < HVX_PIECES; i++) Vx.p[i] = hvx_dot_piece(Vx.p[i], Vu.p[i], (hvx_piece){0} + Rt);
    return Vx;
}
HVX_FN HVX_Vector Q6_Vw_vrmpy_VubVb(HVX_Vector Vu, HVX_Vector Vv) {
    return Q6_Vw_vrmpyacc_VwVubVb((HVX_Vector){{{0}}}, Vu, Vv);
}
HVX_FN HVX_Vector Q6_Vw_vrmpy_VubRb(HVX_Vector Vu, int32_t Rt) {
    return Q6_Vw_vrmpyacc_VwVubRb((HVX_Vector){{{0}}}, Vu, Rt);
}
#endif

#endif
