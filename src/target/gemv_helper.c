/* gemv made from submit; see the header. The graph's product wants weight rows [N][K], so W is turned while copied. */
#include "target/gemv_helper.h"

#include <stdlib.h>
#include <string.h>

#include "wire/format.h"

enum { X, W, Y, N_OPERANDS };

static npu_tensor matrix(uint32_t ne0, uint32_t ne1, uint16_t buffer) {
    uint64_t row = (uint64_t)ne0 * sizeof(float), all = row * ne1;
    return (npu_tensor){
        .nb = {sizeof(float), row, all, all}, .ne = {ne0, ne1, 1, 1}, .buffer = buffer, .type = NPU_TYPE_F32};
}

static npu_status fill_weights(const npu_gemv_args *a, float *w, npu_error *err) {
    const float *source = a->weights;
    float *tiles = NULL;
    npu_status status = NPU_OK;
    if (!source) {
        uint64_t bytes = (uint64_t)a->K * a->N * sizeof(float);
        source = tiles = malloc(bytes);
        if (!tiles) return npu_fail(err, NPU_NO_MEMORY, "gemv.tiles", "no memory for %u x %u weights", a->K, a->N);
        status = a->tiles(a->tiles_user, a->layer, a->role, (uint8_t *)tiles, bytes, err);
    }
    for (uint64_t k = 0; k < a->K && status == NPU_OK; k++)
        for (uint64_t n = 0; n < a->N; n++) w[n * a->K + k] = source[k * a->N + n];
    free(tiles);
    return status;
}

npu_status npu_gemv_by_submit(npu_target *target, const npu_gemv_args *a, float *out, npu_error *err) {
    if (!a->M || !a->K || !a->N || (!a->weights && !a->tiles)) {
        return npu_fail(err, NPU_INVALID, "gemv.args", "gemv %u x %u x %u: empty, or without weights", a->M, a->K,
                        a->N);
    }
    const npu_target_ops *ops = target->ops;
    npu_tensor tensors[N_OPERANDS] = {matrix(a->K, a->M, X), matrix(a->K, a->N, W), matrix(a->N, a->M, Y)};
    const npu_buffer_use uses[N_OPERANDS] = {NPU_BUFFER_IO, NPU_BUFFER_WEIGHTS, NPU_BUFFER_IO};
    npu_buffer *buffers[N_OPERANDS] = {NULL};
    npu_op op = {.code = NPU_OP_MUL_MAT, .layer = (uint16_t)a->layer, .role = (uint16_t)a->role};
    npu_status status = NPU_OK;
    npu_event event;
    for (int i = 0; i < NPU_OP_SRCS; i++) op.src[i] = i <= W ? (uint16_t)i : NPU_NO_TENSOR;
    for (int i = 0; i < NPU_OP_DSTS; i++) op.dst[i] = i ? NPU_NO_TENSOR : Y;
    for (int i = 0; i < N_OPERANDS && status == NPU_OK; i++)
        status = ops->buffer_alloc(target, tensors[i].nb[2], uses[i], &buffers[i], err);
    if (status == NPU_OK) status = fill_weights(a, (float *)(void *)buffers[W]->data, err);
    if (status == NPU_OK) memcpy(buffers[X]->data, a->x, tensors[X].nb[2]);
    for (int i = X; i <= W && status == NPU_OK; i++)
        status = ops->buffer_sync(target, buffers[i], 0, tensors[i].nb[2], NPU_SYNC_TO_DEVICE, err);
    npu_batch batch = {.tensors = tensors,
                       .ops = &op,
                       .buffers = buffers,
                       .n_tensors = N_OPERANDS,
                       .n_ops = 1,
                       .n_buffers = N_OPERANDS};
    if (status == NPU_OK) status = ops->submit(target, &batch, &event, err);
    if (status == NPU_OK) status = ops->wait(target, event, err);
    if (status == NPU_OK) status = ops->buffer_sync(target, buffers[Y], 0, tensors[Y].nb[2], NPU_SYNC_TO_HOST, err);
    if (status == NPU_OK) memcpy(out, buffers[Y]->data, tensors[Y].nb[2]);
    for (int i = 0; i < N_OPERANDS; i++) ops->buffer_free(target, buffers[i]);
    return status;
}
