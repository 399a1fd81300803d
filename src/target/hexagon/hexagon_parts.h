/* Which part of an op each device does, when all devices share every op (--split row and tensor). Pure: from the
 * batch's ops and shapes alone, so that it can be checked without a device. hexagon_split_row.c makes programs of it.
 */
#ifndef NPU_HEXAGON_PARTS_H
#define NPU_HEXAGON_PARTS_H

#include <stdbool.h>

#include "target/hexagon/hexagon_hazard.h"
#include "target/hexagon/hexagon_set.h"
#include "target/target.h"

enum { NPU_HEX_OPERANDS = NPU_OP_SRCS + NPU_OP_DSTS }; /* sources first */

typedef enum npu_hex_mode {
    NPU_HEX_ALONE, /* device 0 */
    NPU_HEX_EACH,  /* every device all of it, for itself, in memory of its own */
    NPU_HEX_PARTS, /* every device a part of the result */
    NPU_HEX_SUMS   /* every device the whole result over its part of K, in a place of its own; the next op, an ADD, adds
                    * up what all devices have */
} npu_hex_mode;

/* Elements first .. first + count - 1 of dimension |dim| of an operand are a device's; dim -1 = all of it is
 * everyone's. */
typedef struct npu_hex_range {
    uint32_t first, count;
} npu_hex_range;

typedef struct npu_hex_parts {
    npu_hex_mode mode;
    bool adds_up; /* the ADD after SUMS: source 0 is what they are added to, the other one is not read */
    bool own;     /* of PARTS: in every device's own memory, for parts may be the same of several */
    int8_t dim[NPU_HEX_OPERANDS];
    npu_hex_range of[NPU_HEX_OPERANDS][NPU_HEX_DEVICES];
} npu_hex_parts;

/* What is known of an op's first result, which all of its results share. */
typedef struct npu_hex_value {
    bool each;  /* in every device's own memory */
    bool stays; /* nothing of the batch writes over it: device 0's is where the graph says */
    bool spare; /* in the second shared buffer, as its place in the first one was still being read */
    bool sums;  /* of the mode SUMS */
    bool mine;  /* PARTS in every device's own memory */
    bool has_columns;
    npu_hex_range columns[NPU_HEX_DEVICES]; /* that each device made of every row, counted over heads */
} npu_hex_value;

/* Heads of a layer's attention, cut for its writes, reads and all ops on heads. With more devices than key-value heads
 * each device has one, and those of one head share its query heads: |replicated|. Each makes that head's keys and
 * values for itself; the first writes them to the cache that all see, the others to a copy of their own. */
typedef struct npu_hex_heads {
    uint32_t n_q, n_kv, d, dv;
    npu_hex_range q[NPU_HEX_DEVICES], kv[NPU_HEX_DEVICES];
    bool cut, replicated;
} npu_hex_heads;

typedef struct npu_hex_parting {
    const npu_batch *batch;
    uint32_t n;            /* devices */
    bool sums;             /* products over parts of K are allowed: --split tensor */
    bool no_replicas;      /* key-value heads are not */
    bool conflict;         /* out: an op reads of replicated heads what its device does not have; no_replicas, then */
    bool has_replicas;     /* out: some layer's heads are replicated */
    npu_hex_value *values; /* [batch->n_ops], zeroed; |stays| filled in by npu_hex_parts_begin */
    npu_hex_heads heads;
    uint16_t heads_layer; /* whose |heads| are */
    bool has_heads;
} npu_hex_parting;

void npu_hex_parts_begin(npu_hex_parting *p);

/* How op |i| is cut, once all before it are noted. */
void npu_hex_parts_choose(npu_hex_parting *p, uint32_t i, npu_hex_parts *out);
/* Whether op |i| would read parts that lie in each device's own memory other than part by part. */
bool npu_hex_parts_misses(const npu_hex_parting *p, uint32_t i, const npu_hex_parts *parts);
/* Op |i| will be done this way. */
void npu_hex_parts_note(npu_hex_parting *p, uint32_t i, const npu_hex_parts *parts);

/* Whether device |d| keeps a copy of its own of the keys and values of the layer at hand. */
bool npu_hex_parts_is_replica(const npu_hex_parting *p, const npu_op *op, uint32_t d);

/* All of it by device 0. */
npu_hex_parts npu_hex_parts_alone(void);

/* What the products over parts of K (SUMS) need, of which the largest has |bytes|: of one device whole cache lines, and
 * room for all |n| devices and two products, since the next one is computed while the last one is added up. Plans count
 * it and programs are made with it. */
static inline uint64_t npu_hex_sums_bytes(uint64_t bytes) {
    return (bytes + NPU_HEX_LINE - 1) / NPU_HEX_LINE * NPU_HEX_LINE;
}
static inline uint64_t npu_hex_sums_room(uint32_t n, uint64_t bytes) {
    return 2 * n * npu_hex_sums_bytes(bytes);
}

/* Operand |k| of |op|, sources first; NULL when absent. */
const npu_tensor *npu_hex_parts_operand(const npu_hex_parting *p, const npu_op *op, unsigned k);
/* Whether |t| is an intermediate result. */
bool npu_hex_parts_is_compute(const npu_batch *batch, const npu_tensor *t);
/* The last result before op |before| that shares bytes with |t|, NULL when there is none. */
npu_hex_value *npu_hex_parts_value(const npu_hex_parting *p, uint32_t before, const npu_tensor *t);

/* --- hexagon_parts_heads.c, hexagon_parts_sums.c: only for hexagon_parts.c --- */

/* Fills p->heads for the layer of |op|; false when its heads are not cut. */
bool npu__hex_parts_heads(npu_hex_parting *p, const npu_op *op);
void npu__hex_parts_cut_heads(const npu_hex_parting *p, npu_hex_parts *c, unsigned k, int dim, bool of_q,
                              uint32_t width);
void npu__hex_parts_copy(npu_hex_parts *c, unsigned to, unsigned from, int dim);
/* Cuts operand |k| along its dimension 0 by columns; false when that is not possible. */
bool npu__hex_parts_columns(const npu_hex_parting *p, const npu_op *op, npu_hex_parts *c, unsigned k);

/* Values of K at whose multiples products of the layer over a row of |k| values may be cut, 1 when there are none. */
uint32_t npu__hex_parts_k_unit(const npu_hex_parting *p, uint16_t layer, uint32_t k);
/* Whether product |i| is done over parts of K: fills |c|. */
bool npu__hex_parts_sums(const npu_hex_parting *p, uint32_t i, npu_hex_parts *c);
/* Whether every device does the ADD |i| for itself though one source is shared: what it is added to stays its own, so
 * that the sums of the next product need no barrier behind them. */
bool npu__hex_parts_keeps_own(const npu_hex_parting *p, uint32_t i);
/* The ADD after SUMS. */
void npu__hex_parts_add_up(npu_hex_parting *p, uint32_t i, npu_hex_parts *c);

#endif
