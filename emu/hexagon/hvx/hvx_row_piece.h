/* Row macros (hvx_row.h) by piece, for what native vectors do at once: T is the piece type of the lanes, u and v the
 * operands' pieces and r the scalar. */
#ifndef HVX_ROW_PIECE_H
#define HVX_ROW_PIECE_H

#include "hvx_lanes.h"

#define HVX_PIECE_V_V(name, T, ...)            \
    HVX_FN HVX_Vector name(HVX_Vector Vu) {    \
        HVX_Vector D;                          \
        for (int i = 0; i < HVX_PIECES; i++) { \
            T u = (T)Vu.p[i];                  \
            D.p[i] = (hvx_piece)(__VA_ARGS__); \
        }                                      \
        return D;                              \
    }
#define HVX_PIECE_V_VV(name, T, ...)                       \
    HVX_FN HVX_Vector name(HVX_Vector Vu, HVX_Vector Vv) { \
        HVX_Vector D;                                      \
        for (int i = 0; i < HVX_PIECES; i++) {             \
            T u = (T)Vu.p[i], v = (T)Vv.p[i];              \
            D.p[i] = (hvx_piece)(__VA_ARGS__);             \
        }                                                  \
        return D;                                          \
    }
#define HVX_PIECE_V_VR(name, T, ...)                   \
    HVX_FN HVX_Vector name(HVX_Vector Vu, int32_t r) { \
        HVX_Vector D;                                  \
        for (int i = 0; i < HVX_PIECES; i++) {         \
            T u = (T)Vu.p[i];                          \
            D.p[i] = (hvx_piece)(__VA_ARGS__);         \
        }                                              \
        return D;                                      \
    }
#define HVX_PIECE_W_WW(name, T, ...)                                     \
    HVX_FN HVX_VectorPair name(HVX_VectorPair Vuu, HVX_VectorPair Vvv) { \
        HVX_VectorPair D;                                                \
        for (int i = 0; i < 2 * HVX_PIECES; i++) {                       \
            T u = (T)Vuu.p[i], v = (T)Vvv.p[i];                          \
            D.p[i] = (hvx_piece)(__VA_ARGS__);                           \
        }                                                                \
        return D;                                                        \
    }

#endif
