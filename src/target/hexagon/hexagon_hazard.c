#include "target/hexagon/hexagon_hazard.h"

#include <stdlib.h>
#include <string.h>

#include "wire/op_check.h"

/* |n| runs of |run| bytes, |step| apart: whole cache lines. */
struct npu_hex_access {
    const void *buffer;
    uint64_t at, run, step, n;
    uint32_t device;
    bool written;
};

void npu_hex_hazards_free(npu_hex_hazards *h) {
    free(h->list);
    *h = (npu_hex_hazards){0};
}

void npu_hex_hazards_begin(npu_hex_hazards *h) {
    h->next = h->n;
}

void npu_hex_hazards_undo(npu_hex_hazards *h) {
    h->n = h->next;
}

/* Dimensions that follow each other without gaps are one. */
static void find_runs(npu_hex_access *a, const npu_tensor *t) {
    uint32_t values, unit_bytes = npu_tensor_unit(t, &values);
    a->run = (uint64_t)(t->ne[0] / values) * unit_bytes;
    a->n = 1;
    bool odd = t->nb[0] != unit_bytes;
    for (unsigned k = 1; k < NPU_MAX_DIMS; k++) {
        if (t->ne[k] == 1) continue;
        if (a->n == 1 && t->nb[k] == a->run) {
            a->run *= t->ne[k];
        } else if (a->n == 1 && t->nb[k] > a->run) {
            a->step = t->nb[k];
            a->n = t->ne[k];
        } else if (a->n > 1 && t->nb[k] == a->step * a->n) {
            a->n *= t->ne[k];
        } else {
            odd = true;
        }
    }
    if (odd) {
        a->run = npu_tensor_extent(t);
        a->n = 1;
    }
}

/* Caches clean, drop and evict by line: who touches a byte touches its line. Runs that don't all begin at the same
 * place of a line are taken together with what is between them. */
static void widen_to_lines(npu_hex_access *a) {
    if (a->n > 1 && a->step % NPU_HEX_LINE) {
        a->run += (a->n - 1) * a->step;
        a->n = 1;
    }
    uint64_t end = (a->at + a->run + NPU_HEX_LINE - 1) / NPU_HEX_LINE * NPU_HEX_LINE;
    a->at = a->at / NPU_HEX_LINE * NPU_HEX_LINE;
    a->run = end - a->at;
}

bool npu_hex_hazards_add(npu_hex_hazards *h, uint32_t device, const npu_tensor *t, const void *buffer, bool written) {
    if (t->flags & NPU_TENSOR_WEIGHT) return true;
    if (h->n == h->slots) {
        uint32_t slots = h->slots ? 2 * h->slots : 64;
        npu_hex_access *bigger = realloc(h->list, slots * sizeof *bigger);
        if (!bigger) return false;
        h->list = bigger;
        h->slots = slots;
    }
    npu_hex_access a = {.buffer = buffer, .at = t->offset, .device = device, .written = written};
    find_runs(&a, t);
    widen_to_lines(&a);
    h->list[h->n++] = a;
    return true;
}

static bool meet(const npu_hex_access *a, const npu_hex_access *b) {
    if (a->buffer != b->buffer || a->device == b->device || !(a->written || b->written)) return false;
    uint64_t end_a = a->at + (a->n - 1) * a->step + a->run, end_b = b->at + (b->n - 1) * b->step + b->run;
    if (end_a <= b->at || end_b <= a->at) return false;
    if ((a->n == 1 && b->n == 1) || (a->n > 1 && b->n > 1 && a->step != b->step)) return true;
    uint64_t step = a->n > 1 ? a->step : b->step;
    if (a->run > step || b->run > step) return true;
    uint64_t off = b->at >= a->at ? (b->at - a->at) % step : (step - (a->at - b->at) % step) % step;
    return off < a->run || off + b->run > step;
}

bool npu_hex_hazards_inside(const npu_hex_hazards *h) {
    for (uint32_t i = h->next; i < h->n; i++)
        for (uint32_t k = h->next; k < i; k++)
            if (meet(&h->list[i], &h->list[k])) return true;
    return false;
}

bool npu_hex_hazards_needed(const npu_hex_hazards *h) {
    for (uint32_t i = h->next; i < h->n; i++)
        for (uint32_t k = 0; k < h->next; k++)
            if (meet(&h->list[i], &h->list[k])) return true;
    return false;
}

bool npu_hex_hazards_end(npu_hex_hazards *h) {
    if (!npu_hex_hazards_needed(h)) return false;
    h->n -= h->next;
    memmove(h->list, h->list + h->next, h->n * sizeof *h->list);
    h->next = 0;
    return true;
}
