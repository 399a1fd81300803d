/* Kernel files are untrusted: any bytes are an image, and the part after a marker its instruction stream. */
#include <string.h>

#include "target/xdna/xdna_kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t marker[8] = "\nINSTS:\n";
    const uint8_t *at = size ? memmem(data, size, marker, sizeof marker) : NULL;
    npu_xdna_kernel kernel = {"fuzz", data, at ? (size_t)(at - data) : size, NULL, 0};
    if (at) {
        kernel.insts = at + sizeof marker;
        kernel.insts_bytes = (size_t)(data + size - kernel.insts);
    }
    npu_xdna_image image;
    npu_error err;
    volatile uint8_t sum = 0;
    if (npu__xdna_image_read(&kernel, &image, &err) == NPU_OK)
        for (size_t i = 0; i < image.pdi_bytes; i++) sum = (uint8_t)(sum + image.pdi[i]);
    return 0;
}
