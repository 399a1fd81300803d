/* What a kernel's files say, before a device sees them: xclbin containers, descriptions for the emulated device, and
 * instruction streams. All of it is untrusted input; every offset and count is checked. Called by xdna_context.c and by
 * the fuzz target. Reading real xclbin files is not confirmed on hardware. */
#ifndef NPU_XDNA_KERNEL_H
#define NPU_XDNA_KERNEL_H

#include "target/xdna/xdna_device.h"

/* What the device is given of a kernel; |pdi| points into the image. */
typedef struct npu_xdna_image {
    const uint8_t *pdi;
    size_t pdi_bytes;
    uint32_t columns, ops_per_cycle;
    uint8_t functional; /* goes with the PDI when a context is configured */
    bool emulated;
    uint32_t generation; /* 1, 2; 0: not said */
} npu_xdna_image;

/* |name| is for messages. */
npu_status npu__xdna_xclbin_read(const char *name, const uint8_t *data, size_t bytes, npu_xdna_image *out,
                                 npu_error *err);

/* Any kernel, with its instructions. */
npu_status npu__xdna_image_read(const npu_xdna_kernel *kernel, npu_xdna_image *out, npu_error *err);

/* The instruction stream that goes with a description: what patches the addresses of A, B and C in. */
enum { NPU_XDNA_STREAM_WORDS = 4 + 3 * 12 };
void npu__xdna_stream(uint32_t generation, uint32_t columns, uint32_t words[NPU_XDNA_STREAM_WORDS]);

#endif
