/* Row macros (hvx_row.h) by piece, for what native vectors do at once: T is the piece type of the lanes, u and v the
 * operands' pieces and r the scalar. */
#ifndef HVX_ROW_PIECE_H
#define HVX_ROW_PIECE_H

#include "hvx_lanes.h"

/* What each has in its braces: |n| pieces of a result of type |V|, after the |operands| of each. */
#define HVX_EACH_PIECE(V, n, operands, ...)    \
    {                                          \
        V D;                                   \
        for (int i = 0; i < (n); i++) {        \
            operands;                          \
            D.p[i] = (hvx_piece)(__VA_ARGS__); \
        }                                      \
        return D;                              \
    }
#define HVX_PIECE_V_V(name, T, ...) \
    HVX_FN HVX_Vector name(HVX_Vector Vu) HVX_EACH_PIECE(HVX_Vector, HVX_PIECES, T u = (T)Vu.p[i], __VA_ARGS__)
#define HVX_PIECE_V_VV(name, T, ...)                     \
    HVX_FN HVX_Vector name(HVX_Vector Vu, HVX_Vector Vv) \
        HVX_EACH_PIECE(HVX_Vector, HVX_PIECES, T u = (T)Vu.p[i]; T v = (T)Vv.p[i], __VA_ARGS__)
#define HVX_PIECE_V_VR(name, T, ...)                 \
    HVX_FN HVX_Vector name(HVX_Vector Vu, int32_t r) \
        HVX_EACH_PIECE(HVX_Vector, HVX_PIECES, T u = (T)Vu.p[i], __VA_ARGS__)
#define HVX_PIECE_W_WW(name, T, ...)                                   \
    HVX_FN HVX_VectorPair name(HVX_VectorPair Vuu, HVX_VectorPair Vvv) \
        HVX_EACH_PIECE(HVX_VectorPair, 2 * HVX_PIECES, T u = (T)Vuu.p[i]; T v = (T)Vvv.p[i], __VA_ARGS__)

#endif
