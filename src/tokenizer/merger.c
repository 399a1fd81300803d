#include "tokenizer/merger.h"

#include <stdlib.h>

static npu_status no_memory(npu_error *err, size_t n) {
    return npu_fail(err, NPU_NO_MEMORY, "tokenizer.no_memory", "no memory to merge %zu symbols", n);
}

npu_status npu__merger_add(npu__merger *m, int32_t id, uint32_t begin, uint32_t bytes, npu_error *err) {
    if (m->n == m->capacity) {
        size_t capacity = m->capacity * 2 + 64;
        npu__symbol *more = realloc(m->symbols, capacity * sizeof *more);
        if (!more) return no_memory(err, capacity);
        m->symbols = more;
        m->capacity = capacity;
    }
    int32_t index = (int32_t)m->n++;
    m->symbols[index] = (npu__symbol){.prev = index - 1, .next = -1, .id = id, .begin = begin, .bytes = bytes};
    if (index) m->symbols[index - 1].next = index;
    return NPU_OK;
}

static void sift_up(npu__waiting *heap, size_t at, npu__waiting item) {
    while (at && heap[(at - 1) / 2].key > item.key) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = item;
}

static void sift_down(npu__waiting *heap, size_t n, size_t at, npu__waiting item) {
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= n) break;
        if (child + 1 < n && heap[child + 1].key < heap[child].key) child++;
        if (heap[child].key >= item.key) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = item;
}

static npu_status heap_room(npu__merger *m, npu_error *err) {
    if (m->heap_n < m->heap_capacity) return NPU_OK;
    size_t capacity = m->heap_capacity * 2 + 64;
    npu__waiting *more = realloc(m->heap, capacity * sizeof *more);
    if (!more) return no_memory(err, capacity);
    m->heap = more;
    m->heap_capacity = capacity;
    return NPU_OK;
}

/* Puts a pair at the heap's end; false if it can't be merged. */
static bool offer(npu__merger *m, npu__pair_fn *pair, const void *context, int32_t left, int32_t right) {
    npu__pair p;
    if (left < 0 || right < 0 || !pair(context, &m->symbols[left], &m->symbols[right], &p)) return false;
    m->heap[m->heap_n] = (npu__waiting){.key = (uint64_t)p.priority << 32 | (uint32_t)left,
                                        .right = right,
                                        .left_id = m->symbols[left].id,
                                        .right_id = m->symbols[right].id,
                                        .result = p.result};
    return true;
}

static npu_status push(npu__merger *m, npu__pair_fn *pair, const void *context, int32_t left, int32_t right,
                       npu_error *err) {
    NPU_TRY(heap_room(m, err));
    if (offer(m, pair, context, left, right)) {
        npu__waiting item = m->heap[m->heap_n];
        sift_up(m->heap, m->heap_n++, item);
    }
    return NPU_OK;
}

static npu_status start(npu__merger *m, npu__pair_fn *pair, const void *context, npu_error *err) {
    m->heap_n = 0;
    for (size_t i = 0; i + 1 < m->n; i++) {
        NPU_TRY(heap_room(m, err));
        if (offer(m, pair, context, (int32_t)i, (int32_t)i + 1)) m->heap_n++;
    }
    for (size_t i = m->heap_n / 2; i-- > 0;) sift_down(m->heap, m->heap_n, i, m->heap[i]);
    return NPU_OK;
}

npu_status npu__merger_run(npu__merger *m, npu__pair_fn *pair, const void *context, npu_error *err) {
    NPU_TRY(start(m, pair, context, err));
    while (m->heap_n) {
        npu__waiting best = m->heap[0];
        npu__waiting last = m->heap[--m->heap_n];
        if (m->heap_n) sift_down(m->heap, m->heap_n, 0, last);

        int32_t left_index = (int32_t)(uint32_t)best.key;
        npu__symbol *left = &m->symbols[left_index], *right = &m->symbols[best.right];
        if (!left->bytes || !right->bytes || left->id != best.left_id || right->id != best.right_id) continue;
        left->bytes += right->bytes;
        left->id = best.result;
        left->next = right->next;
        right->bytes = 0;
        if (right->next >= 0) m->symbols[right->next].prev = left_index;
        NPU_TRY(push(m, pair, context, left->prev, left_index, err));
        NPU_TRY(push(m, pair, context, left_index, left->next, err));
    }
    return NPU_OK;
}

void npu__merger_free(npu__merger *m) {
    free(m->symbols);
    free(m->heap);
    *m = (npu__merger){0};
}
