/* How the operands of an XDNA matrix-product kernel lie in memory: the one place that says it, for the target, which
 * packs operands, and for the kernels that read them (those of the emulated device are built with it). Pure functions
 * of numbers. docs/xdna.md, "Layout", has it in words and a picture.
 *
 *   C[m][n] = sum over k of A[m][k] * B[k][n]
 *
 * A micro-tile is what one instruction of a compute tile multiplies: r x s of A, s x t of B, r x t of C (XDNA1 4x8x8,
 * XDNA2 8x8x8). With |tiled| each micro-tile is contiguous and row-major, and
 *   A  micro-tiles row-major                           [m/r][k/s]            [r][s]
 *   B  core tiles of kt x nt, down each column of them [n/nt][k/kt] [kt/s][nt/t] [s][t]
 *   C  micro-tiles row-major                           [m/r][n/t]            [r][t]
 * Without |tiled| all three are plain row-major matrices (what the public whole-array design takes: its DMAs do the
 * tiling). A and B are int8, C is int32; offsets are in elements.
 */
#ifndef NPU_WIRE_XDNA_LAYOUT_H
#define NPU_WIRE_XDNA_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct npu_xdna_layout {
    uint32_t m, k, n;
    uint32_t r, s, t; /* micro-tile */
    uint32_t kt, nt;  /* core tile of B */
    bool tiled;
} npu_xdna_layout;

#define NPU_XDNA_MAX_M 1024u
#define NPU_XDNA_MAX_K 131072u /* 127 * 127 * K stays below 2^31 */
#define NPU_XDNA_MAX_N 1048576u

/* Is every number in range and does each tile size divide what it must? All functions below need a layout that is. */
static inline bool npu_xdna_layout_ok(const npu_xdna_layout *l) {
    if (!l->m || !l->k || !l->n || l->m > NPU_XDNA_MAX_M || l->k > NPU_XDNA_MAX_K || l->n > NPU_XDNA_MAX_N)
        return false;
    if (!l->tiled) return true;
    if (!l->r || !l->s || !l->t || l->r > 64 || l->s > 64 || l->t > 64 || !l->kt || !l->nt) return false;
    return !(l->m % l->r) && !(l->kt % l->s) && !(l->nt % l->t) && !(l->k % l->kt) && !(l->n % l->nt);
}

static inline uint64_t npu_xdna_a_at(const npu_xdna_layout *l, uint32_t m, uint32_t k) {
    if (!l->tiled) return (uint64_t)m * l->k + k;
    uint64_t tile = (uint64_t)(m / l->r) * (l->k / l->s) + k / l->s;
    return tile * (l->r * l->s) + (m % l->r) * l->s + k % l->s;
}

static inline uint64_t npu_xdna_b_at(const npu_xdna_layout *l, uint32_t k, uint32_t n) {
    if (!l->tiled) return (uint64_t)k * l->n + n;
    uint64_t core = (uint64_t)(n / l->nt) * (l->k / l->kt) + k / l->kt;
    uint32_t tile = (k % l->kt) / l->s * (l->nt / l->t) + (n % l->nt) / l->t;
    return core * ((uint64_t)l->kt * l->nt) + (uint64_t)tile * (l->s * l->t) + (k % l->s) * l->t + n % l->t;
}

static inline uint64_t npu_xdna_c_at(const npu_xdna_layout *l, uint32_t m, uint32_t n) {
    if (!l->tiled) return (uint64_t)m * l->n + n;
    uint64_t tile = (uint64_t)(m / l->r) * (l->n / l->t) + n / l->t;
    return tile * (l->r * l->t) + (m % l->r) * l->t + n % l->t;
}

static inline uint64_t npu_xdna_a_bytes(const npu_xdna_layout *l) {
    return (uint64_t)l->m * l->k;
}

static inline uint64_t npu_xdna_b_bytes(const npu_xdna_layout *l) {
    return (uint64_t)l->k * l->n;
}

static inline uint64_t npu_xdna_c_bytes(const npu_xdna_layout *l) {
    return 4 * (uint64_t)l->m * l->n;
}

#endif
