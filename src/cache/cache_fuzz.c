/* libFuzzer target of the image reader: any file is taken or refused with a text that names it; what is taken gives
 * each of its entries by its key. The first byte says whether hashes of head and table are made to fit, so that the
 * checks behind them are reached. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cache/cache_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fit(uint8_t *bytes, size_t n) {
    npu_cache_head h;
    if (n < sizeof h) return;
    memcpy(&h, bytes, sizeof h);
    if (h.n_entries <= (n - sizeof h) / sizeof(npu_cache_entry))
        h.table_hash = npu_cache_hash64(bytes + sizeof h, h.n_entries * sizeof(npu_cache_entry));
    h.head_hash = npu_cache_hash64(&h, offsetof(npu_cache_head, head_hash));
    memcpy(bytes, &h, sizeof h);
}

static void use(npu_cache_image *image, npu_pool *pool) {
    for (uint64_t i = 0; i < image->head.n_entries; i++) {
        const npu_cache_entry *e = &image->entries[i];
        if (npu_cache_image_find(image, &e->key) != e) __builtin_trap();
        uint8_t *out = malloc(e->key.bytes);
        if (out) (void)npu_cache_image_read(image, "fuzz", e, pool, out, NULL);
        free(out);
    }
    npu_cache_image_close(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static npu_pool *pool;
    npu_cache_image image;
    npu_error err = {0};
    uint8_t *bytes = malloc(size + 1);
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if ((!pool && npu_pool_create(1, &pool, NULL) != NPU_OK) || !bytes || fd < 0 || !size) {
        free(bytes);
        if (fd >= 0) close(fd);
        return 0;
    }
    memcpy(bytes, data, size);
    if (bytes[0] & 1) fit(bytes + 1, size - 1);
    if (write(fd, bytes + 1, size - 1) != (ssize_t)(size - 1)) __builtin_trap();
    free(bytes);
    if (npu_cache_image_open_fd(fd, "fuzz", NULL, NULL, &image, &err) == NPU_OK)
        use(&image, pool);
    else if (!err.code[0] || strncmp(err.text, "fuzz: ", 6) != 0)
        __builtin_trap();
    return 0;
}
