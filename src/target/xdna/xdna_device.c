/* Opening a device: node, lock, what it is, heap. And how ioctls fail. */
#include "target/xdna/xdna_device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "target/xdna/xdna_sys.h"

int64_t npu__xdna_deadline_ns(double seconds) {
    if (!(seconds < 1e9)) seconds = 1e9;
    return (int64_t)npu_clock_ns() + (int64_t)(seconds * 1e9);
}

npu_status npu__xdna_usable(const npu_xdna *dev, npu_error *err) {
    if (!dev->lost) return NPU_OK;
    return npu_fail(err, NPU_DEVICE_LOST, "xdna.lost", "%s was lost before; it must be closed and opened anew",
                    dev->info.node);
}

npu_status npu__xdna_fail(npu_xdna *dev, int error, const char *name, npu_error *err) {
    static const struct {
        int error;
        npu_status status;
        const char *code;
    } rows[] = {
        {ENODEV, NPU_DEVICE_LOST, "xdna.context_lost"},
        {EIO, NPU_DEVICE_LOST, "xdna.context_lost"},
        {ENOMEM, NPU_NO_MEMORY, "xdna.no_memory"},
        {ENOSPC, NPU_NO_MEMORY, "xdna.no_memory"},
        {EAGAIN, NPU_NO_MEMORY, "xdna.no_memory"},
        {EINTR, NPU_CANCELLED, "xdna.ioctl"},
        {EACCES, NPU_REFUSED, "xdna.ioctl"},
        {EPERM, NPU_REFUSED, "xdna.ioctl"},
        {EOPNOTSUPP, NPU_REFUSED, "xdna.ioctl"},
        {ENOTTY, NPU_REFUSED, "xdna.ioctl"},
        {EBUSY, NPU_REFUSED, "xdna.ioctl"},
        {ETIME, NPU_TIMEOUT, "xdna.timeout"},
    };
    npu_status status = NPU_INTERNAL;
    const char *code = "xdna.ioctl";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].error == error) status = rows[i].status, code = rows[i].code;
    if (status == NPU_DEVICE_LOST || status == NPU_TIMEOUT) dev->lost = true;
    return npu_fail(err, status, code, "%s: %s: %s", dev->info.node, name, strerror(error));
}

npu_status npu__xdna_ioctl(npu_xdna *dev, unsigned long request, const char *name, void *arg, npu_error *err) {
    int64_t deadline = npu__xdna_deadline_ns(dev->timeout_s);
    for (;;) {
        if (!dev->driver.sys.ioctl(dev->fd, request, arg)) return NPU_OK;
        int error = errno;
        if (error != EINTR || npu__xdna_deadline_ns(0) > deadline) return npu__xdna_fail(dev, error, name, err);
    }
}

static npu_status ask_version(npu_xdna *dev, bool *ours, npu_error *err) {
    char name[64] = {0};
    struct amdxdna_drm_version v = {.name_bytes = sizeof name - 1, .name = (uint64_t)(uintptr_t)name};
    *ours = false;
    NPU_TRY(npu__xdna_ioctl(dev, AMDXDNA_DRM_VERSION, "VERSION", &v, err));
    *ours = !strcmp(name, AMDXDNA_DRIVER_NAME);
    snprintf(dev->info.driver, sizeof dev->info.driver, "amdxdna %d.%d", v.major, v.minor);
    dev->version = npu__xdna_version(v.major, v.minor);
    return NPU_OK;
}

/* Opens one node; |*absent| when it is not there or not the driver's. */
static npu_status open_node(npu_xdna *dev, const char *node, bool *absent, npu_error *err) {
    bool ours;
    *absent = false;
    snprintf(dev->info.node, sizeof dev->info.node, "%s", node);
    dev->fd = dev->driver.sys.open(node, O_RDWR | O_CLOEXEC);
    if (dev->fd < 0) {
        int error = errno;
        *absent = error == ENOENT;
        return npu_fail(err, NPU_NO_DEVICE, "xdna.no_device", "driver %s: %s can't be opened: %s", dev->driver.name,
                        node, strerror(error));
    }
    npu_status status = ask_version(dev, &ours, err);
    *absent = status == NPU_OK && !ours;
    if (*absent)
        status = npu_fail(err, NPU_NO_DEVICE, "xdna.no_device", "driver %s: %s is not a device of the driver amdxdna",
                          dev->driver.name, node);
    if (status == NPU_OK && !dev->version)
        status = npu_fail(err, NPU_REFUSED, "xdna.driver_version", "%s: driver %s is of a version not known here", node,
                          dev->info.driver);
    if (status == NPU_OK) return NPU_OK;
    dev->driver.sys.close(dev->fd);
    dev->fd = -1;
    return status;
}

static npu_status open_some_node(npu_xdna *dev, const char *node, npu_error *err) {
    char path[64];
    bool absent;
    if (node) return open_node(dev, node, &absent, err);
    for (unsigned i = 0; i < NPU_XDNA_NODES; i++) {
        snprintf(path, sizeof path, "/dev/accel/accel%u", i);
        npu_status status = open_node(dev, path, &absent, err);
        if (!absent) return status;
    }
    return npu_fail(
        err, NPU_NO_DEVICE, "xdna.no_device",
        "driver %s: no XDNA device: looked for /dev/accel/accel0 to accel%d of the driver amdxdna; " NPU_XDNA_EMULATED,
        dev->driver.name, NPU_XDNA_NODES - 1);
}

static npu_status ask_info(npu_xdna *dev, npu_error *err) {
    struct amdxdna_aie_metadata metadata = {0};
    struct amdxdna_firmware fw = {0};
    struct amdxdna_get_info get = {AMDXDNA_INFO_AIE_METADATA, sizeof metadata, (uint64_t)(uintptr_t)&metadata};
    NPU_TRY(npu__xdna_ioctl(dev, AMDXDNA_GET_INFO, "GET_INFO metadata", &get, err));
    get = (struct amdxdna_get_info){AMDXDNA_INFO_FIRMWARE, sizeof fw, (uint64_t)(uintptr_t)&fw};
    NPU_TRY(npu__xdna_ioctl(dev, AMDXDNA_GET_INFO, "GET_INFO firmware", &get, err));
    npu_xdna_info *info = &dev->info;
    info->columns = metadata.cols;
    info->core_rows = metadata.core.row_count;
    info->emulated = dev->driver.emulated;
    snprintf(info->firmware, sizeof info->firmware, "%u.%u.%u.%u", fw.major, fw.minor, fw.patch, fw.build);
    NPU_TRY(npu__xdna_generation(info, err));
    dev->chip = npu_xdna_chip_named(info->generation);
    if (!info->core_rows || info->core_rows > 64)
        return npu_fail(err, NPU_REFUSED, "xdna.unknown_device", "%s says it has %u rows of compute tiles", info->node,
                        info->core_rows);
    snprintf(info->device, sizeof info->device, "%s (%s, %u columns)", info->emulated ? "emulated XDNA" : "AMD XDNA",
             info->generation, info->columns);
    return NPU_OK;
}

/* At a multiple of its size, as the vendor's library maps it: a reservation of twice the size is cut. */
static npu_status map_heap(npu_xdna *dev, uint64_t map_offset, npu_error *err) {
    const size_t size = AMDXDNA_HEAP_CHUNK;
    uint8_t *reserved = mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED)
        return npu_fail(err, NPU_NO_MEMORY, "xdna.map", "no %zu bytes of address space for the heap", 2 * size);
    size_t before = (size - (uintptr_t)reserved % size) % size;
    if (before) munmap(reserved, before);
    munmap(reserved + before + size, size - before);
    void *heap = dev->driver.sys.mmap(reserved + before, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, dev->fd,
                                      (off_t)(int64_t)map_offset);
    if (heap != MAP_FAILED) {
        dev->heap = heap;
        return NPU_OK;
    }
    int error = errno;
    munmap(reserved + before, size);
    return npu_fail(err, NPU_NO_MEMORY, "xdna.map", "%s: the heap can't be mapped: %s", dev->info.node,
                    strerror(error));
}

static npu_status make_heap(npu_xdna *dev, npu_error *err) {
    struct amdxdna_create_bo create = {.size = AMDXDNA_HEAP_CHUNK, .type = AMDXDNA_BO_DEV_HEAP};
    NPU_TRY(npu__xdna_ioctl(dev, AMDXDNA_CREATE_BO, "CREATE_BO heap", &create, err));
    dev->heap_handle = create.handle;
    struct amdxdna_get_bo_info info = {.handle = create.handle};
    NPU_TRY(npu__xdna_ioctl(dev, AMDXDNA_GET_BO_INFO, "GET_BO_INFO heap", &info, err));
    return map_heap(dev, info.map_offset, err);
}

static npu_status take_lock(npu_xdna *dev, const npu_xdna_params *params, npu_error *err) {
    if (!dev->driver.shared) return NPU_OK;
    const char *slash = strrchr(dev->info.node, '/');
    const char *name = dev->driver.emulated || !slash ? "emu" : slash + 1;
    return npu__xdna_lock(&dev->logger, NULL, name, params->no_wait, &dev->lock_fd, err);
}

npu_status npu_xdna_open(const npu_xdna_params *params, npu_xdna **out, npu_error *err) {
    *out = NULL;
    npu_xdna *dev = calloc(1, sizeof *dev);
    if (!dev) return npu_fail(err, NPU_NO_MEMORY, "xdna.no_memory", "no memory to open an XDNA device");
    dev->fd = dev->lock_fd = -1;
    dev->logger = params->logger;
    npu_status status = npu__xdna_driver(params, &dev->driver, err);
    dev->timeout_s = params->timeout_s > 0 ? params->timeout_s : dev->driver.timeout_s;
    if (status == NPU_OK) status = open_some_node(dev, params->node, err);
    if (status == NPU_OK) status = take_lock(dev, params, err);
    if (status == NPU_OK) status = ask_info(dev, err);
    if (status == NPU_OK) status = make_heap(dev, err);
    if (status != NPU_OK) {
        npu_xdna_close(dev);
        return status;
    }
    npu_log(&dev->logger, NPU_LOG_INFO, "%s: %s, firmware %s, %s", dev->info.node, dev->info.device, dev->info.firmware,
            dev->info.driver);
    *out = dev;
    return NPU_OK;
}

void npu_xdna_close(npu_xdna *dev) {
    if (!dev) return;
    while (dev->contexts) npu_xdna_context_destroy(dev->contexts);
    while (dev->buffers) npu_xdna_buffer_free(dev->buffers);
    if (dev->heap) dev->driver.sys.munmap(dev->heap, AMDXDNA_HEAP_CHUNK);
    if (dev->fd >= 0) dev->driver.sys.close(dev->fd); /* ends what still runs */
    if (dev->lock_fd >= 0) close(dev->lock_fd);
    free(dev);
}

const npu_xdna_info *npu_xdna_get_info(const npu_xdna *dev) {
    return &dev->info;
}

bool npu_xdna_lost(const npu_xdna *dev) {
    return dev->lost;
}

void npu_xdna_count(const npu_xdna *dev, npu_xdna_counters *out) {
    *out = dev->counters;
}

npu_status npu_xdna_probe(const npu_xdna_params *params, npu_xdna_info *info, npu_error *err) {
    npu_xdna dev = {.fd = -1};
    *info = (npu_xdna_info){0};
    NPU_TRY(npu__xdna_driver(params, &dev.driver, err));
    if (!dev.driver.emulated) return npu__xdna_find("", params->node, info, err);
    dev.timeout_s = dev.driver.timeout_s;
    npu_status status = open_some_node(&dev, params->node, err);
    if (status == NPU_OK) status = ask_info(&dev, err);
    if (dev.fd >= 0) dev.driver.sys.close(dev.fd);
    *info = dev.info;
    return status;
}
