/* IEEE binary32 arithmetic by lane for native builds: what a program that must give the same bits everywhere uses
 * instead of the HVX float instructions, whose formats before v79 are not IEEE's. No vendor interface. Compile with
 * -ffp-contract=off. Lanes are as in memory; NaN payloads are unspecified. */
#ifndef HVX_IEEE_H
#define HVX_IEEE_H

#include "hvx_lanes.h"

#if defined __FMA__ || defined __AVX512F__
#include <immintrin.h>
#endif

/* One rounding, by the machine's instruction where it has one. */
HVX_FN hvx_piece_sf hvx_ieee_fma_piece(hvx_piece_sf a, hvx_piece_sf b, hvx_piece_sf c) {
#if defined __AVX512F__ && HVX_PIECE_BYTES == 64
    return (hvx_piece_sf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined __FMA__ && HVX_PIECE_BYTES == 32
    return (hvx_piece_sf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    hvx_piece_sf d;
    for (int i = 0; i < HVX_PIECE_BYTES / 4; i++) d[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return d;
#endif
}

#define HVX_IEEE_1(name, ...)                  \
    HVX_FN HVX_Vector name(HVX_Vector Vu) {    \
        HVX_Vector D;                          \
        for (int i = 0; i < HVX_PIECES; i++) { \
            hvx_piece u = Vu.p[i];             \
            D.p[i] = (hvx_piece)(__VA_ARGS__); \
        }                                      \
        return D;                              \
    }
#define HVX_IEEE_2(name, ...)                                                  \
    HVX_FN HVX_Vector name(HVX_Vector Vu, HVX_Vector Vv) {                     \
        HVX_Vector D;                                                          \
        for (int i = 0; i < HVX_PIECES; i++) {                                 \
            hvx_piece_sf a = (hvx_piece_sf)Vu.p[i], b = (hvx_piece_sf)Vv.p[i]; \
            D.p[i] = (hvx_piece)(__VA_ARGS__);                                 \
        }                                                                      \
        return D;                                                              \
    }
#define SELECT(mask, x, y) (((hvx_piece)(mask) & (hvx_piece)(x)) | (~(hvx_piece)(mask) & (hvx_piece)(y)))
HVX_IEEE_2(hvx_ieee_add, a + b)
HVX_IEEE_2(hvx_ieee_sub, a - b)
HVX_IEEE_2(hvx_ieee_mul, a *b)
HVX_IEEE_2(hvx_ieee_div, a / b)
/* The second operand when both are equal; NaN when either is. */
HVX_IEEE_2(hvx_ieee_max, SELECT((a > b) | (a != a), a, b))
HVX_IEEE_2(hvx_ieee_min, SELECT((a < b) | (a != a), a, b))
HVX_IEEE_1(hvx_ieee_from_w, __builtin_convertvector(u, hvx_piece_sf))
#undef HVX_IEEE_1
#undef HVX_IEEE_2

HVX_FN HVX_Vector hvx_ieee_fma(HVX_Vector Vu, HVX_Vector Vv, HVX_Vector Vw) {
    HVX_Vector D;
    for (int i = 0; i < HVX_PIECES; i++)
        D.p[i] = (hvx_piece)hvx_ieee_fma_piece((hvx_piece_sf)Vu.p[i], (hvx_piece_sf)Vv.p[i], (hvx_piece_sf)Vw.p[i]);
    return D;
}

/* Halves in the low 16 bits of each word. The exponent is moved by an exact product, which also normalises subnormals.
 */
HVX_FN hvx_piece hvx_ieee_widen(hvx_piece_uw h) {
    hvx_piece_uw rest = h & 0x7fff;
    hvx_piece_sf f = (hvx_piece_sf)(rest << 13) * 0x1p112f;
    hvx_piece_uw special = (hvx_piece_uw)(rest >= 0x7c00) & 0x7f800000;
    return (hvx_piece)((hvx_piece_uw)f | special | (h & 0x8000) << 16);
}
/* Even halves to the low vector, odd ones to the high one. */
HVX_FN HVX_VectorPair hvx_ieee_from_hf(HVX_Vector Vu) {
    HVX_VectorPair D;
    for (int i = 0; i < HVX_PIECES; i++) {
        D.p[i] = hvx_ieee_widen((hvx_piece_uw)Vu.p[i] & 0xffff);
        D.p[HVX_PIECES + i] = hvx_ieee_widen((hvx_piece_uw)Vu.p[i] >> 16);
    }
    return D;
}
/* Nearest even, overflow to infinity, subnormals kept: two additions do the rounding. The first brings the fraction's
 * cut to the end of the significand: 0.5 lies at it for what becomes subnormal, else the value's own power of two times
 * 2^13. */
HVX_FN hvx_piece_uw hvx_ieee_narrow(hvx_piece_uw f) {
    hvx_piece_uw sign = f >> 16 & 0x8000, rest = f & 0x7fffffff;
    hvx_piece_uw normal = (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13;
    hvx_piece_uw tiny = (hvx_piece_uw)((hvx_piece_sf)rest + 0.5f) - 0x3f000000;
    hvx_piece_uw h = (hvx_piece_uw)SELECT(rest < 0x38800000, tiny, normal);
    h = (hvx_piece_uw)SELECT(rest >= 0x47800000, (hvx_piece_uw){0} + 0x7c00, h);
    h = (hvx_piece_uw)SELECT(rest > 0x7f800000, 0x7e00 | (rest >> 13 & 0x1ff), h);
    return h | sign;
}
/* The reverse of hvx_ieee_from_hf. */
HVX_FN HVX_Vector hvx_ieee_to_hf(HVX_VectorPair Vuu) {
    HVX_Vector D;
    for (int i = 0; i < HVX_PIECES; i++)
        D.p[i] = (hvx_piece)(hvx_ieee_narrow((hvx_piece_uw)Vuu.p[i]) |
                             hvx_ieee_narrow((hvx_piece_uw)Vuu.p[HVX_PIECES + i]) << 16);
    return D;
}
#undef SELECT

#endif
