/* The row macros with which hvx_*.h define intrinsics. A row is
 *     HVX_<result>_<operands>(name, iterations, statement)
 * with V vector, W pair, Q predicate, R 32-bit scalar, I small constant; a result that is also the first operand (the
 * accumulating forms) is written x or xx. Inside the statement D is the result, X its old value, U and V (or UU, VV for
 * pairs) the vectors, Q the predicate, r the scalar's lanes, i the loop index. The statement *is* the definition; where
 * speed matters hvx_fast.h has a second implementation, tested to be the same.
 * Rows by piece: hvx_row_piece.h. tests/hvx/hvx_table.py reads these rows: a row's operand letters are its test. */
#ifndef HVX_ROW_H
#define HVX_ROW_H

#include "hvx_lanes.h"

#define HVX_LOOP(n, ...)            \
    for (int i = 0; i < (n); i++) { \
        __VA_ARGS__;                \
    }
#define HVX_V_R(name, n, ...)            \
    HVX_FN HVX_Vector name(int32_t Rt) { \
        hvx_v D;                         \
        hvx_r r = {Rt};                  \
        HVX_LOOP(n, __VA_ARGS__)         \
        return D.v;                      \
    }
#define HVX_V_V(name, n, ...)               \
    HVX_FN HVX_Vector name(HVX_Vector Vu) { \
        hvx_v D, U = {Vu};                  \
        HVX_LOOP(n, __VA_ARGS__)            \
        return D.v;                         \
    }
#define HVX_V_VV(name, n, ...)                             \
    HVX_FN HVX_Vector name(HVX_Vector Vu, HVX_Vector Vv) { \
        hvx_v D, U = {Vu}, V = {Vv};                       \
        HVX_LOOP(n, __VA_ARGS__)                           \
        return D.v;                                        \
    }
#define HVX_V_VR(name, n, ...)                          \
    HVX_FN HVX_Vector name(HVX_Vector Vu, int32_t Rt) { \
        hvx_v D, U = {Vu};                              \
        hvx_r r = {Rt};                                 \
        HVX_LOOP(n, __VA_ARGS__)                        \
        return D.v;                                     \
    }
#define HVX_V_VVR(name, n, ...)                                        \
    HVX_FN HVX_Vector name(HVX_Vector Vu, HVX_Vector Vv, int32_t Rt) { \
        hvx_v D, U = {Vu}, V = {Vv};                                   \
        hvx_r r = {Rt};                                                \
        HVX_LOOP(n, __VA_ARGS__)                                       \
        return D.v;                                                    \
    }
#define HVX_V_VVI HVX_V_VVR
#define HVX_V_W(name, n, ...)                    \
    HVX_FN HVX_Vector name(HVX_VectorPair Vuu) { \
        hvx_w UU = {Vuu};                        \
        hvx_v D;                                 \
        HVX_LOOP(n, __VA_ARGS__)                 \
        return D.v;                              \
    }
#define HVX_V_WR(name, n, ...)                               \
    HVX_FN HVX_Vector name(HVX_VectorPair Vuu, int32_t Rt) { \
        hvx_w UU = {Vuu};                                    \
        hvx_v D;                                             \
        hvx_r r = {Rt};                                      \
        HVX_LOOP(n, __VA_ARGS__)                             \
        return D.v;                                          \
    }
#define HVX_V_WV(name, n, ...)                                  \
    HVX_FN HVX_Vector name(HVX_VectorPair Vuu, HVX_Vector Vv) { \
        hvx_w UU = {Vuu};                                       \
        hvx_v D, V = {Vv};                                      \
        HVX_LOOP(n, __VA_ARGS__)                                \
        return D.v;                                             \
    }
#define HVX_V_Q(name, n, ...)                   \
    HVX_FN HVX_Vector name(HVX_VectorPred Qu) { \
        hvx_v D, Q = {.q = Qu};                 \
        uint32_t sum = 0;                       \
        HVX_LOOP(n, __VA_ARGS__)                \
        return D.v;                             \
    }
#define HVX_V_QR(name, n, ...)                              \
    HVX_FN HVX_Vector name(HVX_VectorPred Qu, int32_t Rt) { \
        hvx_v D, Q = {.q = Qu};                             \
        hvx_r r = {Rt};                                     \
        HVX_LOOP(n, __VA_ARGS__)                            \
        return D.v;                                         \
    }
#define HVX_V_QV(name, n, ...)                                 \
    HVX_FN HVX_Vector name(HVX_VectorPred Qu, HVX_Vector Vu) { \
        hvx_v D, U = {Vu}, Q = {.q = Qu};                      \
        HVX_LOOP(n, __VA_ARGS__)                               \
        return D.v;                                            \
    }
#define HVX_V_QVV(name, n, ...)                                               \
    HVX_FN HVX_Vector name(HVX_VectorPred Qu, HVX_Vector Vu, HVX_Vector Vv) { \
        hvx_v D, U = {Vu}, V = {Vv}, Q = {.q = Qu};                           \
        HVX_LOOP(n, __VA_ARGS__)                                              \
        return D.v;                                                           \
    }
#define HVX_V_VVQ(name, n, ...)                                               \
    HVX_FN HVX_Vector name(HVX_Vector Vu, HVX_Vector Vv, HVX_VectorPred Qu) { \
        hvx_v D, U = {Vu}, V = {Vv}, Q = {.q = Qu};                           \
        HVX_LOOP(n, __VA_ARGS__)                                              \
        return D.v;                                                           \
    }
#define HVX_V_xVV(name, n, ...)                                           \
    HVX_FN HVX_Vector name(HVX_Vector Vx, HVX_Vector Vu, HVX_Vector Vv) { \
        hvx_v D, X = {Vx}, U = {Vu}, V = {Vv};                            \
        HVX_LOOP(n, __VA_ARGS__)                                          \
        return D.v;                                                       \
    }
#define HVX_V_xVR(name, n, ...)                                        \
    HVX_FN HVX_Vector name(HVX_Vector Vx, HVX_Vector Vu, int32_t Rt) { \
        hvx_v D, X = {Vx}, U = {Vu};                                   \
        hvx_r r = {Rt};                                                \
        HVX_LOOP(n, __VA_ARGS__)                                       \
        return D.v;                                                    \
    }
#define HVX_V_xWR(name, n, ...)                                             \
    HVX_FN HVX_Vector name(HVX_Vector Vx, HVX_VectorPair Vuu, int32_t Rt) { \
        hvx_w UU = {Vuu};                                                   \
        hvx_v D, X = {Vx};                                                  \
        hvx_r r = {Rt};                                                     \
        HVX_LOOP(n, __VA_ARGS__)                                            \
        return D.v;                                                         \
    }
#define HVX_V_xVVR(name, n, ...)                                                      \
    HVX_FN HVX_Vector name(HVX_Vector Vx, HVX_Vector Vu, HVX_Vector Vv, int32_t Rt) { \
        hvx_v D, X = {Vx}, U = {Vu}, V = {Vv};                                        \
        hvx_r r = {Rt};                                                               \
        HVX_LOOP(n, __VA_ARGS__)                                                      \
        return D.v;                                                                   \
    }
#define HVX_V_xVVI HVX_V_xVVR
#define HVX_V_xQR(name, n, ...)                                            \
    HVX_FN HVX_Vector name(HVX_Vector Vx, HVX_VectorPred Qu, int32_t Rt) { \
        hvx_v D, X = {Vx}, Q = {.q = Qu};                                  \
        hvx_r r = {Rt};                                                    \
        HVX_LOOP(n, __VA_ARGS__)                                           \
        return D.v;                                                        \
    }
#define HVX_V_QxV(name, n, ...)                                               \
    HVX_FN HVX_Vector name(HVX_VectorPred Qu, HVX_Vector Vx, HVX_Vector Vu) { \
        hvx_v D, X = {Vx}, U = {Vu}, Q = {.q = Qu};                           \
        HVX_LOOP(n, __VA_ARGS__)                                              \
        return D.v;                                                           \
    }
#define HVX_W_V(name, n, ...)                   \
    HVX_FN HVX_VectorPair name(HVX_Vector Vu) { \
        hvx_w D;                                \
        hvx_v U = {Vu};                         \
        HVX_LOOP(n, __VA_ARGS__)                \
        return D.w;                             \
    }
#define HVX_W_VV(name, n, ...)                                 \
    HVX_FN HVX_VectorPair name(HVX_Vector Vu, HVX_Vector Vv) { \
        hvx_w D;                                               \
        hvx_v U = {Vu}, V = {Vv};                              \
        HVX_LOOP(n, __VA_ARGS__)                               \
        return D.w;                                            \
    }
#define HVX_W_VR(name, n, ...)                              \
    HVX_FN HVX_VectorPair name(HVX_Vector Vu, int32_t Rt) { \
        hvx_w D;                                            \
        hvx_v U = {Vu};                                     \
        hvx_r r = {Rt};                                     \
        HVX_LOOP(n, __VA_ARGS__)                            \
        return D.w;                                         \
    }
#define HVX_W_VVR(name, n, ...)                                            \
    HVX_FN HVX_VectorPair name(HVX_Vector Vu, HVX_Vector Vv, int32_t Rt) { \
        hvx_w D;                                                           \
        hvx_v U = {Vu}, V = {Vv};                                          \
        hvx_r r = {Rt};                                                    \
        HVX_LOOP(n, __VA_ARGS__)                                           \
        return D.w;                                                        \
    }
#define HVX_W_VVI HVX_W_VVR
#define HVX_W_QVV(name, n, ...)                                                   \
    HVX_FN HVX_VectorPair name(HVX_VectorPred Qu, HVX_Vector Vu, HVX_Vector Vv) { \
        hvx_w D;                                                                  \
        hvx_v U = {Vu}, V = {Vv}, Q = {.q = Qu};                                  \
        HVX_LOOP(n, __VA_ARGS__)                                                  \
        return D.w;                                                               \
    }
#define HVX_W_W(name, n, ...)                        \
    HVX_FN HVX_VectorPair name(HVX_VectorPair Vuu) { \
        hvx_w D, UU = {Vuu};                         \
        HVX_LOOP(n, __VA_ARGS__)                     \
        return D.w;                                  \
    }
#define HVX_W_WW(name, n, ...)                                           \
    HVX_FN HVX_VectorPair name(HVX_VectorPair Vuu, HVX_VectorPair Vvv) { \
        hvx_w D, UU = {Vuu}, VV = {Vvv};                                 \
        HVX_LOOP(n, __VA_ARGS__)                                         \
        return D.w;                                                      \
    }
#define HVX_W_WR(name, n, ...)                                   \
    HVX_FN HVX_VectorPair name(HVX_VectorPair Vuu, int32_t Rt) { \
        hvx_w D, UU = {Vuu};                                     \
        hvx_r r = {Rt};                                          \
        HVX_LOOP(n, __VA_ARGS__)                                 \
        return D.w;                                              \
    }
#define HVX_W_xxV(name, n, ...)                                     \
    HVX_FN HVX_VectorPair name(HVX_VectorPair Vxx, HVX_Vector Vu) { \
        hvx_w D, X = {Vxx};                                         \
        hvx_v U = {Vu};                                             \
        HVX_LOOP(n, __VA_ARGS__)                                    \
        return D.w;                                                 \
    }
#define HVX_W_xxVV(name, n, ...)                                                   \
    HVX_FN HVX_VectorPair name(HVX_VectorPair Vxx, HVX_Vector Vu, HVX_Vector Vv) { \
        hvx_w D, X = {Vxx};                                                        \
        hvx_v U = {Vu}, V = {Vv};                                                  \
        HVX_LOOP(n, __VA_ARGS__)                                                   \
        return D.w;                                                                \
    }
#define HVX_W_xxVR(name, n, ...)                                                \
    HVX_FN HVX_VectorPair name(HVX_VectorPair Vxx, HVX_Vector Vu, int32_t Rt) { \
        hvx_w D, X = {Vxx};                                                     \
        hvx_v U = {Vu};                                                         \
        hvx_r r = {Rt};                                                         \
        HVX_LOOP(n, __VA_ARGS__)                                                \
        return D.w;                                                             \
    }
#define HVX_W_xxWR(name, n, ...)                                                     \
    HVX_FN HVX_VectorPair name(HVX_VectorPair Vxx, HVX_VectorPair Vuu, int32_t Rt) { \
        hvx_w D, X = {Vxx}, UU = {Vuu};                                              \
        hvx_r r = {Rt};                                                              \
        HVX_LOOP(n, __VA_ARGS__)                                                     \
        return D.w;                                                                  \
    }
#define HVX_W_xxVVR(name, n, ...)                                                              \
    HVX_FN HVX_VectorPair name(HVX_VectorPair Vxx, HVX_Vector Vu, HVX_Vector Vv, int32_t Rt) { \
        hvx_w D, X = {Vxx};                                                                    \
        hvx_v U = {Vu}, V = {Vv};                                                              \
        hvx_r r = {Rt};                                                                        \
        HVX_LOOP(n, __VA_ARGS__)                                                               \
        return D.w;                                                                            \
    }
#define HVX_W_xxVVI HVX_W_xxVVR
#define HVX_Q_R(name, n, ...)                \
    HVX_FN HVX_VectorPred name(int32_t Rt) { \
        hvx_v D;                             \
        hvx_r r = {Rt};                      \
        HVX_LOOP(n, __VA_ARGS__)             \
        return D.q;                          \
    }
#define HVX_Q_Q(name, n, ...)                       \
    HVX_FN HVX_VectorPred name(HVX_VectorPred Qs) { \
        hvx_v D, S = {.q = Qs};                     \
        HVX_LOOP(n, __VA_ARGS__)                    \
        return D.q;                                 \
    }
#define HVX_Q_QQ(name, n, ...)                                         \
    HVX_FN HVX_VectorPred name(HVX_VectorPred Qs, HVX_VectorPred Qt) { \
        hvx_v D, S = {.q = Qs}, T = {.q = Qt};                         \
        HVX_LOOP(n, __VA_ARGS__)                                       \
        return D.q;                                                    \
    }
#define HVX_Q_VR(name, n, ...)                              \
    HVX_FN HVX_VectorPred name(HVX_Vector Vu, int32_t Rt) { \
        hvx_v D, U = {Vu};                                  \
        hvx_r r = {Rt};                                     \
        HVX_LOOP(n, __VA_ARGS__)                            \
        return D.q;                                         \
    }
#define HVX_Q_xVR(name, n, ...)                                                \
    HVX_FN HVX_VectorPred name(HVX_VectorPred Qx, HVX_Vector Vu, int32_t Rt) { \
        hvx_v D, X = {.q = Qx}, U = {Vu};                                      \
        hvx_r r = {Rt};                                                        \
        HVX_LOOP(n, __VA_ARGS__)                                               \
        return D.q;                                                            \
    }
#define HVX_Q_VV(name, n, ...)                                 \
    HVX_FN HVX_VectorPred name(HVX_Vector Vu, HVX_Vector Vv) { \
        hvx_v D, U = {Vu}, V = {Vv};                           \
        HVX_LOOP(n, __VA_ARGS__)                               \
        return D.q;                                            \
    }
#define HVX_Q_xVV(name, n, ...)                                                   \
    HVX_FN HVX_VectorPred name(HVX_VectorPred Qx, HVX_Vector Vu, HVX_Vector Vv) { \
        hvx_v D, X = {.q = Qx}, U = {Vu}, V = {Vv};                               \
        HVX_LOOP(n, __VA_ARGS__)                                                  \
        return D.q;                                                               \
    }

#endif
