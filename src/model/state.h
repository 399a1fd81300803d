/* What a model keeps between steps: keys and values of every layer, for several sequences.
 *
 * Each layer has one slab for keys and one for values, of n_seq * ctx cells; sequence s owns the cells s * ctx … and
 * its position p lies in cell s * ctx + p. Rows are reserved, computed, and become part of the sequence only when
 * committed (after wait said OK), so a failed step leaves nothing behind. Bytes are moved only here, through the
 * executor, which syncs.
 */
#ifndef NPU_MODEL_STATE_H
#define NPU_MODEL_STATE_H

#include "model/hparams.h"
#include "runtime/executor.h"

typedef struct npu_state_layer {
    uint64_t k_offset, v_offset, k_row_bytes, v_row_bytes;
} npu_state_layer;

typedef struct npu_state {
    uint32_t ctx, n_seq;
    uint8_t type;
    uint64_t bytes; /* of all slabs */
    npu_state_layer *layers;
    uint32_t n_layers;
    uint32_t *lengths, *pending; /* [n_seq]: committed, and with reserved rows */
} npu_state;

/* Lays the slabs out. REFUSED: a type that does not fit the head size; RANGE: more cells than can be addressed. */
npu_status npu_state_init(npu_state *s, const npu_hparams *h, uint32_t ctx, uint32_t n_seq, uint8_t type,
                          npu_error *err);
void npu_state_free(npu_state *s);

/* Takes the next position of |seq|, which must be below n_seq. Whether there is room is asked once for all rows of a
 * batch: REFUSED ("decode.ctx_full") names how long the sequence would be and how much the context holds. */
uint32_t npu_state_reserve(npu_state *s, uint32_t seq);
npu_status npu_state_check_room(const npu_state *s, npu_error *err);

/* The cell of a position. */
uint32_t npu_state_cell(const npu_state *s, uint32_t seq, uint32_t position);

/* All reserved rows become part of their sequences, or are forgotten. */
void npu_state_commit(npu_state *s);
void npu_state_rollback(npu_state *s);

/* Cuts |seq| to at most |length|. */
void npu_state_truncate(npu_state *s, uint32_t seq, uint32_t length);

/* Makes |to| the first |length| positions of |from|. */
npu_status npu_state_copy(npu_state *s, npu_executor *x, uint32_t from, uint32_t to, uint32_t length, npu_error *err);

/* Everything is as new: all that is kept is named here, which is the lengths; cells beyond them are never read. */
void npu_state_reset(npu_state *s);

#endif
