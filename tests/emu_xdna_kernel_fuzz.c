// The emulated XDNA device's readers: any bytes are a kernel description, and an instruction stream.
#include "emu/xdna/npu/kernel.c"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct emu_kernel k;
    uint64_t bytes[3];
    if (emu_kernel_read(data, size, &k)) emu_kernel_bytes(&k, bytes);
    uint8_t *words = malloc(size + 1); // aligned, and of its own size
    if (!words) return 0;
    memcpy(words, data, size);
    for (uint32_t generation = 1; generation <= 2; generation++) emu_stream_check(words, size, generation, 3);
    free(words);
    return 0;
}
