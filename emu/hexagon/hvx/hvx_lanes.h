/* Lane views of the vector types, saturation and bit counting, of which hvx_*.h make what intrinsics do to a lane. */
#ifndef HVX_LANES_H
#define HVX_LANES_H

#include <string.h>

#include "hexagon_types.h"

#define HVX_FN static inline __attribute__((always_inline, unused))

typedef union {
    HVX_Vector v;
    HVX_VectorPred q;
    int8_t b[128];
    uint8_t ub[128];
    int16_t h[64];
    uint16_t uh[64];
    int32_t w[32];
    uint32_t uw[32];
    float sf[32];
} hvx_v;

typedef union {
    HVX_VectorPair w;
    hvx_v v[2];
    int8_t b[256];
    uint8_t ub[256];
    int16_t h[128];
    uint16_t uh[128];
    int32_t word[64];
    uint32_t uw[64];
} hvx_w;

typedef union {
    int32_t r;
    int8_t b[4];
    uint8_t ub[4];
    int16_t h[2];
    uint16_t uh[2];
    int32_t w;
    uint32_t uw;
} hvx_r;

HVX_FN int64_t hvx_clamp(int64_t x, int64_t lo, int64_t hi) {
    return x < lo ? lo : x > hi ? hi : x;
}
HVX_FN int8_t hvx_sat_b(int32_t x) {
    return (int8_t)(x < INT8_MIN ? INT8_MIN : x > INT8_MAX ? INT8_MAX : x);
}
HVX_FN uint8_t hvx_sat_ub(int32_t x) {
    return (uint8_t)(x < 0 ? 0 : x > UINT8_MAX ? UINT8_MAX : x);
}
HVX_FN int16_t hvx_sat_h(int64_t x) {
    return (int16_t)hvx_clamp(x, INT16_MIN, INT16_MAX);
}
HVX_FN uint16_t hvx_sat_uh(int64_t x) {
    return (uint16_t)hvx_clamp(x, 0, UINT16_MAX);
}
HVX_FN int32_t hvx_sat_w(int64_t x) {
    return (int32_t)hvx_clamp(x, INT32_MIN, INT32_MAX);
}
HVX_FN uint32_t hvx_sat_uw(int64_t x) {
    return (uint32_t)hvx_clamp(x, 0, UINT32_MAX);
}
/* Leading zeros of the low |bits| bits; leading bits that equal the sign. */
HVX_FN int hvx_cl0(uint32_t x, int bits) {
    return x == 0 ? bits : __builtin_clz(x) - (32 - bits);
}
HVX_FN int hvx_clb(int32_t x, int bits) {
    uint32_t mask = bits == 32 ? UINT32_MAX : (1u << bits) - 1;
    return hvx_cl0((uint32_t)(x < 0 ? ~x : x) & mask, bits);
}
/* Bidirectional shifts: a negative amount goes the other way. Amounts are within -32 … 31. */
HVX_FN int64_t hvx_shl(int64_t x, int amount) {
    return amount >= 0 ? (int64_t)((uint64_t)x << amount) : x >> -amount;
}
HVX_FN int hvx_sxt(uint32_t x, int bits) {
    return (int32_t)(x << (32 - bits)) >> (32 - bits);
}
/* Wrapping 32-bit product. */
HVX_FN uint32_t hvx_mul(int32_t a, int32_t b) {
    return (uint32_t)a * (uint32_t)b;
}
HVX_FN int32_t hvx_absdiff(int32_t a, int32_t b) {
    return a > b ? a - b : b - a;
}

#endif
