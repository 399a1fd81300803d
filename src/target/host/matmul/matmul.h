/* Fast MUL_MAT of the host target (docs/numerics.md §4, §5): what the driver (matmul.c) and the kernels of each
 * instruction set (matmul_<isa>.c) share. The variants give the reference's bits; the op table lists them.
 *
 * Weights are read in place. The lanes of a vector are rows of the weight matrix, so that every output has one
 * accumulator and no lane layout enters a result. One activation row is enough work for the kernel |stream|, which
 * keeps an unpacked block in registers; more rows go through |panel|, which unpacks a strip of weight rows once into
 * scratch and multiplies it with all of them.
 */
#ifndef NPU_HOST_MATMUL_H
#define NPU_HOST_MATMUL_H

#include "target/host/host_op.h"

/* 32 activations as §5 has them. |n|, |n_low| and |n_high| are what a sum starts at when codes are stored as c + 128:
 * -128 times the sum of all 32, the first and the last 16 values. |start16|, of the AVX2 kernels alone: -32 times the
 * sums of values 4j, 4j + 1 and of 4j + 2, 4j + 3, of the first and of the last 16 values. */
typedef struct npu_mm_act {
    int8_t q[32];
    float d, s;
    int32_t n, n_low, n_high;
    int16_t b0, b1;
    int16_t start16[4];
} npu_mm_act;

_Static_assert(sizeof(npu_mm_act) == 64, "one cache line");

enum {
    NPU_MM_STRIP = 32,            /* weight rows that a kernel takes at a time, at most */
    NPU_MM_PANEL_BYTES = 1 << 15, /* room for an unpacked chunk of them */
    NPU_MM_PACK_ROWS = 16,        /* weight rows that packed weights keep together */
};

/* One weight matrix against all activation rows: y[m][n] for the rows n that the kernel is asked for. */
typedef struct npu_mm_task {
    const uint8_t *w;
    const uint8_t *packed;  /* the same weights packed (matmul_pack.c); NULL = in place only */
    uint64_t stride;        /* bytes from one weight row to the next */
    uint32_t blocks;        /* blocks of 32 values in a row */
    uint32_t rows;          /* activation rows, at least 1 */
    const npu_mm_act *acts; /* [rows][blocks] */
    float *const *y;        /* [rows] addresses of result rows */
    const float *bias;      /* NULL = none */
    const uint8_t *after;   /* what this thread will read next: worth prefetching at the end; never dereferenced */
} npu_mm_task;

/* Weight rows n0 .. n1-1 of |task|. |scratch| is the thread's own, 128-byte aligned: NPU_MM_PANEL_BYTES, then room for
 * NPU_MM_STRIP rows of weights. */
typedef void npu_mm_rows_fn(const npu_mm_task *task, uint32_t n0, uint32_t n1, uint8_t *scratch);

typedef struct npu_mm_format {
    npu_mm_rows_fn *stream; /* one activation row */
    npu_mm_rows_fn *panel;  /* any number, or more than one */
} npu_mm_format;

/* Float rows: y[m][n] = dot32(w row n, x row m), + bias[n], for |n_rows| weight rows. Rows are in the order that
 * |slice_row| gives them, which leaves out what |k| has beyond a multiple of 32. */
typedef struct npu_mm_dot {
    const float *w, *x;
    uint64_t w_slice, x_slice; /* floats from one slice to the next */
    uint32_t k, n_rows, rows;
    const float *w_rest;        /* [n_rows][32]: what is left out of w */
    const float *const *x_rows; /* rows of x as they are */
    float *const *y;
    uint32_t first;    /* row 0 of |w| is result column |first| */
    const float *bias; /* of column 0; NULL = none */
} npu_mm_dot;

/* What takes the place of |formats| from |rows| activation rows on: their |panel| alone. |convert| fills npu_mm_act
 * with what it takes, which is then not the integers of numerics.md; NULL = these. */
typedef struct npu_mm_many {
    uint32_t rows;
    void (*convert)(const float *x, npu_mm_act *acts, uint32_t blocks);
    const npu_mm_format *formats;
} npu_mm_many;

typedef struct npu_mm_kernels {
    void (*quantise)(const float *x, npu_mm_act *acts, uint32_t blocks);
    const npu_mm_format *formats; /* [NPU_TYPE_LIMIT] */
    /* Puts a row of |k| floats in the order that |dot_rows| reads: in |slices|, |slice| floats apart, in each of which
     * a row has the same part of k / 32 * 32 floats, one row after the other. |to|: where its first slice goes. */
    uint32_t slices;
    void (*slice_row)(const float *row, uint32_t k, float *to, uint64_t slice);
    void (*dot_rows)(const npu_mm_dot *dot);
    void (*widen_f16)(const void *src, float *dst, size_t n);
    void (*widen_bf16)(const void *src, float *dst, size_t n);
    /* dot32 of a weight row with one row of x; of 16 bits with nothing widened in memory, NULL = not here. */
    float (*dot_f32)(const float *w, const float *x, uint32_t k);
    float (*dot_f16)(const uint8_t *w, const float *x, uint32_t k);
    float (*dot_bf16)(const uint8_t *w, const float *x, uint32_t k);
    const npu_mm_many *many; /* NULL = |formats| serve any number of rows */
    const npu_mm_many *fast; /* in fast mode; NULL = it is as default mode */
    /* What |panel| functions want of two neighbouring rows together, in their place; NULL = they take rows as they are.
     * A last row without a neighbour stays as it is. */
    void (*pair)(npu_mm_act *even, npu_mm_act *odd, uint32_t blocks);
} npu_mm_kernels;

/* Packed weights: units of NPU_MM_PACK_ROWS rows lie together, and in them each element of a unit (a scale, a word of
 * codes) of one row after the other, so that a vector of rows is one load and a matrix is read from end to end. */
extern const npu_host_packing npu_host_mul_mat_packing;

/* Names the order above; test matmul_layout holds it against the bytes. */
#define NPU_MM_LAYOUT "host strips 2"

/* The driver: one call of an op on one thread of the pool. */
npu_status npu__mm_run(const npu_host_call *call, const npu_mm_kernels *kernels, npu_error *err);

extern const npu_mm_kernels npu__mm_avx512;
extern const npu_mm_many npu__mm_fast_amx;

npu_host_op_fn npu_host_mul_mat_amx, npu_host_mul_mat_avx512, npu_host_mul_mat_avxvnni, npu_host_mul_mat_avx2;
npu_host_op_fn npu_host_mul_mat_neon, npu_host_mul_mat_dotprod, npu_host_mul_mat_i8mm;
npu_host_scratch_fn npu_host_mul_mat_scratch;

#endif
