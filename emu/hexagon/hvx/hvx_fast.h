/* Second implementations of what decides a simulated model's speed, where the machine has instructions for it: the dot
 * products, and vshuff and vdeal of words (a scalar of -4), of which transposes are made. hvx_mul.h and hvx_permute.h
 * have the definitions; the test runs both. */
#ifndef HVX_FAST_H
#define HVX_FAST_H

#include "hvx_lanes.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

#if defined __AVX512VNNI__ && HVX_PIECE_BYTES == 64
#define HVX_FAST_DOT
HVX_FN hvx_piece hvx_dot_piece(hvx_piece sum, hvx_piece a, hvx_piece b) {
    return (hvx_piece)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
}
#elif defined __AVXVNNI__ && HVX_PIECE_BYTES == 32
#define HVX_FAST_DOT
HVX_FN hvx_piece hvx_dot_piece(hvx_piece sum, hvx_piece a, hvx_piece b) {
    return (hvx_piece)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)a, (__m256i)b);
}
#elif defined __AVX2__ && HVX_PIECE_BYTES == 32
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

#if (defined __AVX512F__ && HVX_PIECE_BYTES == 64) || (defined __AVX2__ && HVX_PIECE_BYTES == 32)
#define HVX_FAST_WORDS
#if HVX_PIECE_BYTES == 64
#define WORDS(...) _mm512_setr_epi32(__VA_ARGS__)
HVX_FN void hvx_shuffle_words(hvx_piece even, hvx_piece odd, hvx_piece out[2]) {
    __m512i a = (__m512i)even, b = (__m512i)odd;
    __m512i low = WORDS(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    out[0] = (hvx_piece)_mm512_permutex2var_epi32(a, low, b);
    out[1] = (hvx_piece)_mm512_permutex2var_epi32(a, _mm512_add_epi32(low, _mm512_set1_epi32(8)), b);
}
HVX_FN void hvx_deal_words(hvx_piece first, hvx_piece second, hvx_piece *even, hvx_piece *odd) {
    __m512i a = (__m512i)first, b = (__m512i)second;
    __m512i evens = WORDS(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    *even = (hvx_piece)_mm512_permutex2var_epi32(a, evens, b);
    *odd = (hvx_piece)_mm512_permutex2var_epi32(a, _mm512_add_epi32(evens, _mm512_set1_epi32(1)), b);
}
#undef WORDS
#else
HVX_FN void hvx_shuffle_words(hvx_piece even, hvx_piece odd, hvx_piece out[2]) {
    __m256i low = _mm256_unpacklo_epi32((__m256i)even, (__m256i)odd);
    __m256i high = _mm256_unpackhi_epi32((__m256i)even, (__m256i)odd);
    out[0] = (hvx_piece)_mm256_permute2x128_si256(low, high, 0x20);
    out[1] = (hvx_piece)_mm256_permute2x128_si256(low, high, 0x31);
}
HVX_FN void hvx_deal_words(hvx_piece first, hvx_piece second, hvx_piece *even, hvx_piece *odd) {
    __m256 a = (__m256)first, b = (__m256)second;
    *even = (hvx_piece)_mm256_permute4x64_epi64((__m256i)_mm256_shuffle_ps(a, b, 0x88), 0xd8);
    *odd = (hvx_piece)_mm256_permute4x64_epi64((__m256i)_mm256_shuffle_ps(a, b, 0xdd), 0xd8);
}
#endif
HVX_FN HVX_VectorPair hvx_shuffle_pair_words(HVX_Vector Vu, HVX_Vector Vv) {
    HVX_VectorPair D;
    for (int i = 0; i < HVX_PIECES; i++) hvx_shuffle_words(Vv.p[i], Vu.p[i], D.p + 2 * i);
    return D;
}
HVX_FN HVX_VectorPair hvx_deal_pair_words(HVX_Vector Vu, HVX_Vector Vv) {
    HVX_VectorPair D;
    for (int i = 0; i < HVX_PIECES; i++) {
        const HVX_Vector *from = 2 * i < HVX_PIECES ? &Vv : &Vu;
        int at = 2 * i % HVX_PIECES;
        hvx_deal_words(from->p[at], from->p[at + 1], &D.p[i], &D.p[HVX_PIECES + i]);
    }
    return D;
}
#endif

#endif
