/* The vector types of Hexagon HVX (128-byte mode) for a PC compiler. Native builds of NPU programs put this folder on
 * the include path and get the names that clang for Hexagon has in its header of the same name; Hexagon builds never
 * see it.
 *
 * A vector is a struct of native vectors ("pieces") as wide as the machine's registers, not one 128-byte vector type:
 * gcc keeps such structs in registers but moves oversized vector types through memory, and a struct makes operators on
 * HVX_Vector, which kernels must not use, an error. With gcc add -Wno-psabi: it notes that the passing of such
 * parameters once changed, and all functions here are inlined. A predicate holds one byte for each of its 128 bits: 0
 * or 255. */
#ifndef HEXAGON_TYPES_H
#define HEXAGON_TYPES_H

#include <stdint.h>

#if defined __AVX512F__ && defined __AVX512BW__
#define HVX_PIECE_BYTES 64
#elif defined __AVX2__
#define HVX_PIECE_BYTES 32
#else
#define HVX_PIECE_BYTES 16
#endif
#define HVX_PIECES (128 / HVX_PIECE_BYTES)

typedef int32_t hvx_piece __attribute__((vector_size(HVX_PIECE_BYTES), may_alias));
typedef uint32_t hvx_piece_uw __attribute__((vector_size(HVX_PIECE_BYTES), may_alias));
typedef int16_t hvx_piece_h __attribute__((vector_size(HVX_PIECE_BYTES), may_alias));
typedef uint16_t hvx_piece_uh __attribute__((vector_size(HVX_PIECE_BYTES), may_alias));
typedef uint8_t hvx_piece_ub __attribute__((vector_size(HVX_PIECE_BYTES), may_alias));
typedef float hvx_piece_sf __attribute__((vector_size(HVX_PIECE_BYTES), may_alias));

typedef struct {
    hvx_piece p[HVX_PIECES];
} __attribute__((aligned(128), may_alias)) HVX_Vector;

typedef struct {
    hvx_piece p[2 * HVX_PIECES];
} __attribute__((aligned(128), may_alias)) HVX_VectorPair;

typedef struct {
    hvx_piece p[HVX_PIECES];
} __attribute__((aligned(128), may_alias)) HVX_VectorPred;

/* For loads and stores at any address, as `*(const HVX_UVector *)p`. */
typedef HVX_Vector HVX_UVector __attribute__((aligned(1), may_alias));
typedef HVX_VectorPair HVX_UVectorPair __attribute__((aligned(1), may_alias));

#endif
