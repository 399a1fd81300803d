/* Tokens sorted by their bytes, so that all tokens which a text begins with are found by narrowing a range byte by
 * byte. */
#ifndef NPU_TOKENIZER_PREFIX_H
#define NPU_TOKENIZER_PREFIX_H

#include <stdbool.h>

#include "tokenizer/strtab.h"

typedef struct npu__prefix {
    const npu__strtab *strings;
    int32_t *ids;
    uint32_t n;
    uint32_t first[257]; /* where the tokens that begin with a byte start */
} npu__prefix;

/* A place among the tokens: those in [low, high) begin with the |depth| bytes seen so far. */
typedef struct npu__cursor {
    uint32_t low, high;
    uint32_t depth;
} npu__cursor;

/* Takes the tokens below |n| for which types[id] has one of the bits |types_wanted|. Refers to |strings|. */
npu_status npu__prefix_build(npu__prefix *p, const npu__strtab *strings, uint32_t n, const uint8_t *types,
                             unsigned types_wanted, npu_error *err);
void npu__prefix_free(npu__prefix *p);

static inline npu__cursor npu__prefix_start(const npu__prefix *p) {
    return (npu__cursor){0, p->n, 0};
}

/* Goes on by a byte; false if no token begins so. */
bool npu__prefix_step(const npu__prefix *p, npu__cursor *c, uint8_t byte);

/* The token that ends exactly here, or NPU__STR_NONE. */
int32_t npu__prefix_token(const npu__prefix *p, const npu__cursor *c);

#endif
