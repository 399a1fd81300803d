/* Values that 4-bit codes stand for, as lists for a macro, so that each side lays them out as it needs: IQ4_NL and
 * IQ4_XS (closer together near zero, where weights are many), and MXFP4's 4-bit floats times two, so that they are
 * whole. */
#ifndef NPU_WIRE_CODEBOOK_H
#define NPU_WIRE_CODEBOOK_H

/* clang-format off */
#define NPU_CODEBOOK_IQ4(V) V(-127) V(-104) V(-83) V(-65) V(-49) V(-35) V(-22) V(-10) \
                            V(1) V(13) V(25) V(38) V(53) V(69) V(89) V(113)
#define NPU_CODEBOOK_MXFP4(V) V(0) V(1) V(2) V(3) V(4) V(6) V(8) V(12) \
                              V(0) V(-1) V(-2) V(-3) V(-4) V(-6) V(-8) V(-12)
/* clang-format on */

#endif
