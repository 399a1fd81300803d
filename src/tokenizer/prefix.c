#include "tokenizer/prefix.h"

#include <stdlib.h>
#include <string.h>

typedef struct item {
    const char *bytes;
    size_t n;
    int32_t id;
} item;

static int by_bytes(const void *a, const void *b) {
    const item *x = a, *y = b;
    int order = memcmp(x->bytes, y->bytes, x->n < y->n ? x->n : y->n);
    if (order) return order;
    if (x->n != y->n) return x->n < y->n ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

npu_status npu__prefix_build(npu__prefix *p, const npu__strtab *strings, uint32_t n, const uint8_t *types,
                             unsigned types_wanted, npu_error *err) {
    item *items = malloc((n + (size_t)1) * sizeof *items);
    p->strings = strings;
    p->ids = malloc((n + (size_t)1) * sizeof *p->ids);
    if (!items || !p->ids) {
        free(items);
        return npu_fail(err, NPU_NO_MEMORY, "tokenizer.no_memory", "no memory to sort %u tokens", n);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!(types[i] & types_wanted)) continue;
        item *it = &items[p->n++];
        it->bytes = npu__strtab_get(strings, (int32_t)i, &it->n);
        it->id = (int32_t)i;
    }
    qsort(items, p->n, sizeof *items, by_bytes);
    uint32_t byte = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        p->ids[i] = items[i].id;
        while (byte <= (uint8_t)items[i].bytes[0]) p->first[byte++] = i;
    }
    while (byte <= 256) p->first[byte++] = p->n;
    free(items);
    return NPU_OK;
}

void npu__prefix_free(npu__prefix *p) {
    free(p->ids);
    *p = (npu__prefix){0};
}

/* The byte at |depth| of the token at |index|; -1 when it ends there, which sorts first. */
static int byte_at(const npu__prefix *p, uint32_t index, uint32_t depth) {
    size_t n;
    const char *s = npu__strtab_get(p->strings, p->ids[index], &n);
    return depth < n ? (uint8_t)s[depth] : -1;
}

/* The first index in [low, high) whose byte is at least |byte|. */
static uint32_t bound(const npu__prefix *p, uint32_t low, uint32_t high, uint32_t depth, int byte) {
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (byte_at(p, middle, depth) < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool npu__prefix_step(const npu__prefix *p, npu__cursor *c, uint8_t byte) {
    if (c->depth == 0) {
        c->low = p->first[byte];
        c->high = p->first[byte + 1];
    } else {
        c->low = bound(p, c->low, c->high, c->depth, byte);
        c->high = bound(p, c->low, c->high, c->depth, byte + 1);
    }
    c->depth++;
    return c->low < c->high;
}

int32_t npu__prefix_token(const npu__prefix *p, const npu__cursor *c) {
    return c->low < c->high && byte_at(p, c->low, c->depth) < 0 ? p->ids[c->low] : NPU__STR_NONE;
}
