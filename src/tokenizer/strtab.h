/* Numbered byte strings with lookup by content: the vocabulary's index and the symbols of BPE merging. Strings are
 * copied; numbers are given in the order of adding. Fill it from one thread; then any number of threads may look things
 * up.
 */
#ifndef NPU_TOKENIZER_STRTAB_H
#define NPU_TOKENIZER_STRTAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { NPU__STR_NONE = -1 };

typedef struct npu__str_slot {
    int32_t id; /* NPU__STR_NONE when free */
    uint32_t hash;
} npu__str_slot;

typedef struct npu__strtab {
    char *bytes;
    size_t bytes_used, bytes_cap;
    size_t *offsets; /* count + 1 of them */
    uint32_t count, cap;
    npu__str_slot *slots; /* open addressing, a power of two of them; only the first of equal strings is in it */
    uint32_t slot_mask;
    uint64_t seed;
} npu__strtab;

/* Makes room for |count| strings of |bytes| bytes in all, so that adding them does not allocate. Start at {0}. */
npu_status npu__strtab_reserve(npu__strtab *t, size_t count, size_t bytes, npu_error *err);

/* Adds a string under the next number, which goes to |id|. If the content is there already, the string still gets its
 * number, and lookups go on giving the first one. NO_MEMORY, RANGE above 2^30 strings. */
npu_status npu__strtab_add(npu__strtab *t, const char *s, size_t n, int32_t *id, npu_error *err);

/* The number of a content, or NPU__STR_NONE. */
int32_t npu__strtab_find(const npu__strtab *t, const char *s, size_t n);

/* The content of a number below count. */
const char *npu__strtab_get(const npu__strtab *t, int32_t id, size_t *n);

void npu__strtab_free(npu__strtab *t);

#endif
