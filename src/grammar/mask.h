/* From states of the machine to sets of tokens. The vocabulary is a tree by bytes, so tokens that begin alike are
 * judged together, and a state's set is kept until the machine forgets its states. Caller: api/grammar.c, through
 * npu__masks.
 */
#ifndef NPU_GRAMMAR_MASK_H
#define NPU_GRAMMAR_MASK_H

#include "grammar/machine.h"
#include "tokenizer/tokenizer.h"

typedef struct npu__masks npu__masks;

/* Masks have |n_tokens| bits; both must outlive it. */
npu_status npu__masks_create(const npu_tokenizer *tok, uint32_t n_tokens, const npu__program *program, npu__masks **out,
                             npu_error *err);
void npu__masks_free(npu__masks *m);

npu_status npu__masks_start(npu__masks *m, npu_error *err);
npu_status npu__masks_allowed(npu__masks *m, const uint64_t **mask, npu_error *err);

/* *taken false: the token may not come, and nothing changed. */
npu_status npu__masks_accept(npu__masks *m, int32_t id, bool *taken, npu_error *err);
bool npu__masks_may_end(const npu__masks *m);
bool npu__masks_may_go_on(const npu__masks *m);

#endif
