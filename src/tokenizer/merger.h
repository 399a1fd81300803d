/* The merging that byte-level BPE and SentencePiece BPE share: a list of symbols in which, again and again, the best
 * pair of neighbours becomes one symbol. Pairs wait in a heap; a pair whose symbols changed meanwhile is skipped, so
 * the time is n log n in the number of symbols. The best pair has the smallest priority; of equal ones the leftmost.
 */
#ifndef NPU_TOKENIZER_MERGER_H
#define NPU_TOKENIZER_MERGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct npu__symbol {
    int32_t prev, next;    /* -1 at the ends */
    int32_t id;            /* what it is to the pair function; a changed symbol must get another id */
    uint32_t begin, bytes; /* where it stands in the text; 0 bytes: merged into its left neighbour */
} npu__symbol;

typedef struct npu__pair {
    int32_t result; /* id of the merged symbol */
    uint32_t priority;
} npu__pair;

/* Whether two neighbours can be merged, and into what. */
typedef bool npu__pair_fn(const void *context, const npu__symbol *left, const npu__symbol *right, npu__pair *out);

typedef struct npu__waiting {
    uint64_t key; /* priority, then position */
    int32_t right, left_id, right_id, result;
} npu__waiting;

/* Reusable for many words; {0} at first. */
typedef struct npu__merger {
    npu__symbol *symbols;
    size_t n, capacity;
    npu__waiting *heap;
    size_t heap_n, heap_capacity;
} npu__merger;

/* Appends a symbol to the list being made; set n to 0 before a new word. */
npu_status npu__merger_add(npu__merger *m, int32_t id, uint32_t begin, uint32_t bytes, npu_error *err);

/* Merges until no pair is left. Symbol 0 stays the first of the list. */
npu_status npu__merger_run(npu__merger *m, npu__pair_fn *pair, const void *context, npu_error *err);

void npu__merger_free(npu__merger *m);

#endif
