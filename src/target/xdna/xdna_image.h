/* Weight images in files ("sidecars"): what packing would make, kept beside the kernels so that it need not be made
 * again. A file is used only when everything in its header is what is asked for. docs/xdna.md, "Sidecar images", is
 * the format. Called by xdna_weights.c.
 */
#ifndef NPU_XDNA_IMAGE_H
#define NPU_XDNA_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "npu/status.h"

enum { NPU_XDNA_IMAGE_VERSION = 1 };

/* The head of a file, little endian, followed by N f32 column scales and K * N bytes as the kernel reads them. */
typedef struct npu_xdna_image_head {
    char magic[8]; /* "npuxdna" and a 0 */
    uint32_t version, head_bytes;
    char kind[24], layout[32];
    uint32_t layer, role;
    uint32_t K, N, real_k, real_n;
    uint32_t hadamard, reserved;
    uint64_t source_hash;  /* of the weights as the model file has them */
    uint64_t payload_hash; /* of scales and codes */
} npu_xdna_image_head;

_Static_assert(sizeof(npu_xdna_image_head) == 120, "file layout");

/* 64 bits of |bytes| bytes, for telling files apart, not against attackers. Chains: |seed| is the hash so far, 0 first.
 */
uint64_t npu_xdna_image_hash(uint64_t seed, const void *data, uint64_t bytes);

/* Fills scales and codes from the file when it is there and fits |want| (payload_hash aside). NOT_FOUND: no such file;
 * REFUSED (xdna.image): the text names the file and the first difference. */
npu_status npu_xdna_image_read(const char *path, const npu_xdna_image_head *want, float *scales, uint8_t *codes,
                               npu_error *err);

/* Writes a file whole or not at all. IO. */
npu_status npu_xdna_image_write(const char *path, const npu_xdna_image_head *head, const float *scales,
                                const uint8_t *codes, npu_error *err);

#endif
