/* Buffers that both sides see, and pieces of the device's heap. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "target/xdna/xdna_sys.h"

enum { PAGE = 4096 };

void npu__xdna_handle_close(npu_xdna *dev, uint32_t handle) {
    struct amdxdna_gem_close close = {.handle = handle};
    if (handle) npu__xdna_ioctl(dev, AMDXDNA_DRM_GEM_CLOSE, "GEM_CLOSE", &close, NULL);
}

static npu_status create(npu_xdna *dev, uint32_t type, uint64_t bytes, struct amdxdna_get_bo_info *info,
                         npu_error *err) {
    struct amdxdna_create_bo c = {.size = bytes, .type = type};
    npu_status status = npu__xdna_ioctl(dev, AMDXDNA_CREATE_BO, "CREATE_BO", &c, err);
    if (status == NPU_NO_MEMORY)
        return npu_fail(err, status, "xdna.no_memory", "%s: no %llu bytes %s", dev->info.node,
                        (unsigned long long)bytes, type == AMDXDNA_BO_DEV ? "left in the heap" : "for a buffer");
    if (status != NPU_OK) return status;
    *info = (struct amdxdna_get_bo_info){.handle = c.handle};
    status = npu__xdna_ioctl(dev, AMDXDNA_GET_BO_INFO, "GET_BO_INFO", info, err);
    info->handle = c.handle;
    if (status != NPU_OK) npu__xdna_handle_close(dev, c.handle);
    return status;
}

static npu_status map(npu_xdna *dev, npu_xdna_buffer *b, uint64_t map_offset, npu_error *err) {
    uint64_t bytes = (b->bytes + PAGE - 1) / PAGE * PAGE;
    void *data =
        dev->driver.sys.mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, dev->fd, (off_t)(int64_t)map_offset);
    if (data == MAP_FAILED)
        return npu_fail(err, NPU_NO_MEMORY, "xdna.map", "%s: a buffer of %llu bytes can't be mapped: %s",
                        dev->info.node, (unsigned long long)b->bytes, strerror(errno));
    b->data = data;
    /* The device's address is there only now; drivers that never tell it use the mapped one. */
    struct amdxdna_get_bo_info info = {.handle = b->handle};
    NPU_TRY(npu__xdna_ioctl(dev, AMDXDNA_GET_BO_INFO, "GET_BO_INFO", &info, err));
    b->address = info.xdna_addr == AMDXDNA_INVALID_ADDRESS ? (uint64_t)(uintptr_t)data : info.xdna_addr;
    return NPU_OK;
}

npu_status npu__xdna_buffer_new(npu_xdna *dev, uint32_t type, uint64_t bytes, npu_xdna_buffer **out, npu_error *err) {
    *out = NULL;
    if (!bytes || bytes > SIZE_MAX / 2)
        return npu_fail(err, NPU_RANGE, "xdna.bytes", "no buffer can have %llu bytes", (unsigned long long)bytes);
    NPU_TRY(npu__xdna_usable(dev, err));
    struct amdxdna_get_bo_info info;
    NPU_TRY(create(dev, type, (bytes + PAGE - 1) / PAGE * PAGE, &info, err));
    npu_xdna_buffer *b = calloc(1, sizeof *b);
    if (!b) {
        npu__xdna_handle_close(dev, info.handle);
        return npu_fail(err, NPU_NO_MEMORY, "xdna.no_memory", "no memory for a buffer's record");
    }
    *b = (npu_xdna_buffer){.owner = dev, .bytes = bytes, .handle = info.handle, .next = dev->buffers};
    dev->buffers = b;
    npu_status status = map(dev, b, info.map_offset, err);
    if (status != NPU_OK) {
        npu_xdna_buffer_free(b);
        return status;
    }
    *out = b;
    return NPU_OK;
}

/* Zeros of a new buffer lie in the CPU's cache: written back now, or they might be later, over what the device wrote.
 */
npu_status npu_xdna_buffer_alloc(npu_xdna *dev, uint64_t bytes, npu_xdna_buffer **out, npu_error *err) {
    npu_xdna_buffer *b;
    *out = NULL;
    NPU_TRY(npu__xdna_buffer_new(dev, AMDXDNA_BO_SHARE, bytes, &b, err));
    npu_status status = npu__xdna_sync(dev, b->handle, NPU_XDNA_TO_DEVICE, 0, bytes, err);
    if (status != NPU_OK) {
        npu_xdna_buffer_free(b);
        return status;
    }
    dev->counters.buffers++;
    dev->counters.buffer_bytes += bytes;
    *out = b;
    return NPU_OK;
}

void npu_xdna_buffer_free(npu_xdna_buffer *buffer) {
    if (!buffer) return;
    npu_xdna *dev = buffer->owner;
    npu_xdna_buffer **at = &dev->buffers;
    while (*at != buffer) at = &(*at)->next;
    *at = buffer->next;
    if (buffer->data) dev->driver.sys.munmap(buffer->data, (buffer->bytes + PAGE - 1) / PAGE * PAGE);
    npu__xdna_handle_close(dev, buffer->handle);
    free(buffer);
}

npu_status npu__xdna_sync(npu_xdna *dev, uint32_t handle, npu_xdna_dir dir, uint64_t offset, uint64_t bytes,
                          npu_error *err) {
    uint32_t direction = dir == NPU_XDNA_FROM_DEVICE ? dev->version->from_device : AMDXDNA_TO_DEVICE;
    struct amdxdna_sync_bo sync = {handle, direction, offset, bytes};
    return npu__xdna_ioctl(dev, AMDXDNA_SYNC_BO, "SYNC_BO", &sync, err);
}

npu_status npu_xdna_buffer_sync(npu_xdna_buffer *b, npu_xdna_dir dir, uint64_t offset, uint64_t bytes, npu_error *err) {
    npu_xdna *dev = b->owner;
    if (offset > b->bytes || bytes > b->bytes - offset)
        return npu_fail(err, NPU_RANGE, "xdna.range", "sync of %llu bytes at %llu in a buffer of %llu",
                        (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)b->bytes);
    NPU_TRY(npu__xdna_usable(dev, err));
    if (!bytes) return NPU_OK;
    NPU_TRY(npu__xdna_sync(dev, b->handle, dir, offset, bytes, err));
    bool to = dir == NPU_XDNA_TO_DEVICE;
    dev->counters.syncs_to += to;
    dev->counters.syncs_from += !to;
    dev->counters.sync_bytes_to += to ? bytes : 0;
    dev->counters.sync_bytes_from += to ? 0 : bytes;
    return NPU_OK;
}

npu_status npu__xdna_code_new(npu_xdna *dev, const void *data, size_t bytes, npu_xdna_code *out, npu_error *err) {
    struct amdxdna_get_bo_info info;
    *out = (npu_xdna_code){0};
    NPU_TRY(create(dev, AMDXDNA_BO_DEV, bytes, &info, err));
    out->handle = info.handle;
    out->address = info.xdna_addr;
    uint64_t at = info.xdna_addr - AMDXDNA_DEVICE_BASE;
    if (info.xdna_addr < AMDXDNA_DEVICE_BASE || at > AMDXDNA_HEAP_CHUNK || bytes > AMDXDNA_HEAP_CHUNK - at) {
        npu__xdna_code_free(dev, out);
        return npu_fail(err, NPU_INTERNAL, "xdna.address", "%s: a heap buffer at 0x%llx is not in the heap",
                        dev->info.node, (unsigned long long)info.xdna_addr);
    }
    memcpy(dev->heap + at, data, bytes);
    npu_status status = npu__xdna_sync(dev, out->handle, NPU_XDNA_TO_DEVICE, 0, bytes, err);
    if (status != NPU_OK) npu__xdna_code_free(dev, out);
    return status;
}

void npu__xdna_code_free(npu_xdna *dev, npu_xdna_code *code) {
    npu__xdna_handle_close(dev, code->handle);
    *code = (npu_xdna_code){0};
}
