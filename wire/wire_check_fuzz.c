/* libFuzzer target of what the NPU program believes of the host: batch images, requests, and single ops through the op
 * check and the op plans. The first byte chooses: even, the rest is an image; odd, it is an op and its tensors. A plan
 * that is accepted must fit the hardware. */
#include <stdlib.h>
#include <string.h>

#include "wire/check.h"
#include "wire/op_check.h"

static const npu_hw hw = {.arch = 73,
                          .threads = 4,
                          .vtcm_bytes = 8 << 20,
                          .window_bytes = 3ull << 30,
                          .max_buffer_bytes = 1 << 30,
                          .line_bytes = 128};

static void check_head(const uint32_t *kernel) {
    npu_kernel_head head;
    memcpy(&head, kernel, sizeof head);
    if (!head.kernel || !head.threads || head.threads > hw.threads || head.depth < 2 ||
        (uint64_t)head.vtcm_thread_bytes * head.threads > hw.vtcm_bytes ||
        (uint64_t)head.scratch_thread_bytes * head.threads + head.scratch_shared_bytes > NPU_SCRATCH_BYTES)
        __builtin_trap();
}

static void try_image(const uint8_t *image, size_t size) {
    uint32_t max_rows[NPU_ROWS_COUNT];
    npu_wire_fault fault = {0};
    if (!npu_wire_check_image(image, size, &hw, max_rows, &fault)) {
        if (!fault.text) __builtin_trap();
        return;
    }
    const npu_wire_image *head = (const npu_wire_image *)image;
    for (uint32_t i = 0; i < head->n_ops; i++) check_head(npu_wire_ops(head)[i].kernel);
}

static void try_op(const uint8_t *data, size_t size) {
    const npu_op *op = (const npu_op *)data;
    const npu_tensor *tensors = (const npu_tensor *)(data + sizeof *op);
    if (size < sizeof *op) return;
    uint32_t n = (uint32_t)((size - sizeof *op) / sizeof *tensors), kernel[NPU_OP_KERNEL_WORDS];
    (void)npu_op_check(op, tensors, n);
    for (int i = 0; i < NPU_OP_SRCS; i++)
        if (op->src[i] != NPU_NO_TENSOR && op->src[i] >= n) return;
    for (int i = 0; i < NPU_OP_DSTS; i++)
        if (op->dst[i] != NPU_NO_TENSOR && op->dst[i] >= n) return;
    if (!npu_opplan_make(op, tensors, &hw, kernel)) check_head(kernel);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    npu_wire_fault fault;
    npu_wire_request request;
    /* A copy of just the size: aligned, and reading past it is seen. */
    uint8_t *copy = malloc(size - 1);
    if (!copy) return 0;
    memcpy(copy, data + 1, size - 1);
    if (size > sizeof request) {
        memcpy(&request, copy, sizeof request);
        (void)npu_wire_check_request(&request, (uint32_t)(size - 1), &fault);
    }
    if (data[0] % 2)
        try_op(copy, size - 1);
    else
        try_image(copy, size - 1);
    free(copy);
    return 0;
}
