/* How the host target runs one op: the seam between its executor (host_submit.c) and the op implementations.
 *
 * Every op has a plain reference (ref/, one file an op family, docs/numerics.md in C) and may have faster variants. An
 * implementation is called once per thread of the pool with the same call but its own |ith|; it splits the work itself
 * and may use npu_pool_barrier between phases. In exact and default mode every implementation gives the reference's
 * bits.
 */
#ifndef NPU_HOST_OP_H
#define NPU_HOST_OP_H

#include "base/pool.h"
#include "target/target.h"

typedef struct npu_host_operand {
    npu_tensor t;  /* step applied; only valid when data is not NULL */
    uint8_t *data; /* address of the first element, NULL = absent; sources are read only */
} npu_host_operand;

struct npu_host_packing;

typedef struct npu_host_call {
    const npu_op *op;
    npu_mode mode;
    npu_host_operand src[NPU_OP_SRCS];
    npu_host_operand dst[NPU_OP_DSTS];
    const uint8_t *const *packed; /* [NPU_OP_SRCS] sources as |packing| made them, NULL = as they are; or NULL */
    const struct npu_host_packing *packing;
    unsigned ith, nth;
    npu_pool *pool;
    uint8_t *scratch; /* shared by the threads, 128-byte aligned, at least what the variant's scratch() asked for */
    uint64_t scratch_bytes;
} npu_host_call;

/* Only operand values that a graph cannot rule out (row ids, spans) can fail here; every thread returns the same status
 * or OK. */
typedef npu_status npu_host_op_fn(const npu_host_call *call, npu_error *err);

/* Scratch bytes for an op at its largest row counts on |nth| threads. NULL = none. */
typedef uint64_t npu_host_scratch_fn(const npu_op *op, const npu_tensor *tensors, npu_mode mode, unsigned nth);

/* How a variant likes its weights best, when somebody has the memory to keep a copy of them. */
typedef struct npu_host_packing {
    const char *layout; /* for the weight cache: changes whenever the copy's bytes do */
    uint64_t (*bytes)(const npu_tensor *w, npu_mode mode); /* of the copy; 0 = |w| stays as it is */
    uint64_t (*parts)(const npu_tensor *w);                /* that can be made independently */
    void (*pack)(const npu_tensor *w, const uint8_t *data, uint64_t first, uint64_t end,
                 uint8_t *to);                                                        /* parts first … end-1 */
    void (*row)(const npu_tensor *w, const uint8_t *packed, uint64_t n, uint8_t *to); /* |n|, as it was */
} npu_host_packing;

typedef struct npu_host_variant {
    const char *name;  /* "ref", "avx2", "avx512", "neon" … */
    uint32_t features; /* NPU_CPU_* it needs, base/cpu.h; 0 for ref */
    npu_host_op_fn *run;
    npu_host_scratch_fn *scratch;
    /* NULL = takes everything the op allows; else whether it takes this one. Tensors at their largest row counts. */
    bool (*takes)(const npu_op *op, const npu_tensor *tensors, npu_mode mode);
    const npu_host_packing *packing; /* NULL = none */
    const npu_host_packing *borrows; /* takes copies that are there for other ops; NULL = none */
} npu_host_variant;

/* Whether fast mode computes anything otherwise than default mode where the CPU has |features|. */
bool npu_host_has_fast(uint32_t features);

enum { NPU_HOST_FAST_ROWS = 16 }; /* from that many rows on (numerics.md §1) */

/* All implementations of an op, ref first, better ones later; the last one that fits the CPU level and takes the op is
 * used. NULL-name terminated; NULL for an unknown code. */
const npu_host_variant *npu_host_variants(uint32_t code);

#endif
