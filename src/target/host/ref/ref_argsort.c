/* ARGSORT (numerics.md §6): heap sort of indices. The order is total (equal values by index), so any sort gives the
 * same result. */
#include "target/host/ref/ref.h"

/* Whether index |a| comes before |b|. */
static int before(const float *x, int descending, uint32_t a, uint32_t b) {
    int nan_a = x[a] != x[a], nan_b = x[b] != x[b];
    if (nan_a || nan_b) return nan_a == nan_b ? a < b : nan_b;
    if (x[a] == x[b]) return a < b;
    return descending ? x[a] > x[b] : x[a] < x[b];
}

static void sift(const float *x, int descending, uint32_t *heap, uint32_t at, uint32_t n) {
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= n) return;
        if (child + 1 < n && before(x, descending, heap[child], heap[child + 1])) child++;
        if (!before(x, descending, heap[at], heap[child])) return;
        uint32_t t = heap[at];
        heap[at] = heap[child];
        heap[child] = t;
        at = child;
    }
}

static void sort(const float *x, int descending, uint32_t *order, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) order[i] = i;
    for (uint32_t i = n / 2; i-- > 0;) sift(x, descending, order, i, n);
    for (uint32_t left = n; left-- > 1;) {
        uint32_t t = order[0];
        order[0] = order[left];
        order[left] = t;
        sift(x, descending, order, 0, left);
    }
}

uint64_t npu_host_argsort_scratch_ref(const npu_op *op, const npu_tensor *tensors, npu_mode mode, unsigned nth) {
    (void)mode;
    return nth * npu_host_round(tensors[op->src[0]].ne[0] * sizeof(uint32_t));
}

npu_status npu_host_argsort_ref(const npu_host_call *call, npu_error *err) {
    (void)err;
    const npu_host_operand *x = &call->src[0], *y = &call->dst[0];
    uint32_t *order = (uint32_t *)(call->scratch + call->ith * npu_host_round(x->t.ne[0] * sizeof(uint32_t)));
    uint64_t from, to;
    npu_host_split(call, npu_tensor_rows(&y->t), &from, &to);
    for (uint64_t row = from; row < to; row++) {
        sort((const float *)npu_host_row(x, row), call->op->params.sort.descending, order, x->t.ne[0]);
        int32_t *out = (int32_t *)npu_host_row(y, row);
        for (uint32_t i = 0; i < y->t.ne[0]; i++) out[i] = (int32_t)order[i];
    }
    return NPU_OK;
}
