// The system calls: which open file, which request, and faults before anything is done.
#include "emu_xdna.h"
#include "npu_emu_xdna.h"
#include "numbers.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

static int fail(int error) {
    errno = error;
    return -1;
}

static struct emu_file *file_of(int fd) {
    for (int i = 0; i < EMU_FILES; i++)
        if (fd >= 0 && emu.files[i].fd == fd && !emu.files[i].closing) return &emu.files[i];
    return NULL;
}

static int start(struct emu_file *f, bool foreign) {
    memset(f, 0, sizeof *f);
    f->fd = f->host_fd = f->device_fd = f->socket = f->wake = -1;
    f->settings = emu.settings;
    f->foreign = foreign;
    int fd = eventfd(0, EFD_CLOEXEC); // a descriptor that nobody else has; what the program holds
    if (fd < 0) return errno;
    int error = foreign ? 0 : emu_memory_open(f);
    if (!error && !foreign) {
        error = emu_process_start(f);
        if (error) emu_memory_close(f);
    }
    if (error) {
        close(fd);
        return error;
    }
    f->fd = fd;
    return 0;
}

static int open_node(const char *path) {
    static const char folder[] = "/dev/accel/accel";
    uint32_t node;
    int error;
    if (strncmp(path, folder, sizeof folder - 1) != 0 || !emu_numbers(path + sizeof folder - 1, 0, &node, 1) ||
        node > emu.settings.node)
        return fail(ENOENT);
    if (emu_fault("open", &error)) return error ? fail(error) : fail(EIO);
    for (int i = 0; i < EMU_FILES; i++) {
        struct emu_file *f = &emu.files[i];
        if (f->fd >= 0) continue;
        error = start(f, node < emu.settings.node);
        return error ? fail(error) : f->fd;
    }
    return fail(EMFILE);
}

static int call_open(const char *path, int flags) {
    (void)flags;
    emu_lock();
    int fd = open_node(path);
    int error = errno;
    emu_unlock();
    errno = error;
    return fd;
}

static int call_close(int fd) {
    emu_lock();
    struct emu_file *f = file_of(fd);
    if (f) {
        if (!f->foreign) {
            emu_process_stop(f);
            emu_memory_close(f);
        }
        close(f->fd);
        f->fd = -1;
        f->closing = false;
    }
    emu_unlock();
    return f ? 0 : fail(EBADF);
}

static int run_version(struct emu_file *f, void *arg) {
    return emu_info_version(f, arg);
}
static int run_create_hwctx(struct emu_file *f, void *arg) {
    return emu_hwctx_create(f, arg);
}
static int run_destroy_hwctx(struct emu_file *f, void *arg) {
    return emu_hwctx_destroy(f, arg);
}
static int run_config_hwctx(struct emu_file *f, void *arg) {
    return emu_hwctx_config(f, arg);
}
static int run_create_bo(struct emu_file *f, void *arg) {
    return emu_bo_create(f, arg);
}
static int run_get_bo_info(struct emu_file *f, void *arg) {
    return emu_bo_info(f, arg);
}
static int run_sync_bo(struct emu_file *f, void *arg) {
    return emu_sync(f, arg);
}
static int run_exec_cmd(struct emu_file *f, void *arg) {
    return emu_exec(f, arg);
}
static int run_wait(struct emu_file *f, void *arg) {
    return emu_exec_wait(f, arg);
}
static int run_wait_cmd(struct emu_file *f, void *arg) {
    return emu_exec_wait_cmd(f, arg);
}
static int run_get_info(struct emu_file *f, void *arg) {
    return emu_info_get(f, arg);
}
static int run_gem_close(struct emu_file *f, void *arg) {
    return emu_bo_close(f, arg);
}
static int run_syncobj_destroy(struct emu_file *f, void *arg) {
    (void)f, (void)arg; // the context's own reference keeps it
    return 0;
}

static const struct request {
    unsigned long number;
    const char *name; // in fault rules
    int (*run)(struct emu_file *f, void *arg);
    bool when_lost; // what the core answers by itself, also for a device that is gone
} requests[] = {
    {AMDXDNA_DRM_VERSION, "version", run_version, true},
    {AMDXDNA_CREATE_HWCTX, "create_hwctx", run_create_hwctx, false},
    {AMDXDNA_DESTROY_HWCTX, "destroy_hwctx", run_destroy_hwctx, false},
    {AMDXDNA_CONFIG_HWCTX, "config_hwctx", run_config_hwctx, false},
    {AMDXDNA_CREATE_BO, "create_bo", run_create_bo, false},
    {AMDXDNA_GET_BO_INFO, "get_bo_info", run_get_bo_info, false},
    {AMDXDNA_SYNC_BO, "sync_bo", run_sync_bo, false},
    {AMDXDNA_EXEC_CMD, "exec_cmd", run_exec_cmd, false},
    {AMDXDNA_DRM_TIMELINE_WAIT, "wait", run_wait, true},
    {AMDXDNA_WAIT_CMD, "wait_cmd", run_wait_cmd, false},
    {AMDXDNA_GET_INFO, "get_info", run_get_info, false},
    {AMDXDNA_DRM_GEM_CLOSE, "gem_close", run_gem_close, true},
    {AMDXDNA_DRM_SYNCOBJ_DESTROY, "syncobj_destroy", run_syncobj_destroy, true},
};

static int run_request(struct emu_file *f, unsigned long number, void *arg) {
    int error;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        const struct request *r = &requests[i];
        if (r->number != number) continue;
        if (f->foreign && r->run != run_version) return ENOTTY;
        if (f->lost && !r->when_lost) return ENODEV;
        if (emu_fault(r->name, &error)) return error;
        return arg ? r->run(f, arg) : EFAULT;
    }
    return ENOTTY;
}

static int call_ioctl(int fd, unsigned long request, void *arg) {
    emu_lock();
    struct emu_file *f = file_of(fd);
    int error = f ? run_request(f, request, arg) : EBADF;
    emu_unlock();
    return error ? fail(error) : 0;
}

static struct emu_bo *mapped_by_offset(struct emu_file *f, uint64_t offset) {
    for (struct emu_bo *bo = f->bos; bo; bo = bo->next)
        if (!bo->closed && bo->type != AMDXDNA_BO_DEV && offset == EMU_MAP_BASE + bo->offset) return bo;
    return NULL;
}

static void *map(struct emu_file *f, void *address, size_t bytes, int protection, int flags, uint64_t offset) {
    struct emu_bo *bo = mapped_by_offset(f, offset);
    int error;
    if (emu_fault("mmap", &error) && error) return errno = error, MAP_FAILED;
    if (!bo || bytes > bo->bytes || !(flags & MAP_SHARED)) return errno = EINVAL, MAP_FAILED;
    if (bo->user && f->settings.profile->map_once) return errno = EEXIST, MAP_FAILED;
    void *user = mmap(address, bytes, protection, flags & ~MAP_LOCKED, f->host_fd, (off_t)bo->offset);
    if (user != MAP_FAILED) bo->user = user;
    return user;
}

static void *call_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset) {
    emu_lock();
    struct emu_file *f = file_of(fd);
    void *result = MAP_FAILED;
    if (!f || f->foreign || f->lost)
        errno = f ? ENODEV : EBADF;
    else
        result = map(f, address, bytes, protection, flags, (uint64_t)offset);
    int error = errno;
    emu_unlock();
    errno = error;
    return result;
}

static int call_munmap(void *address, size_t bytes) {
    emu_lock();
    for (int i = 0; i < EMU_FILES; i++)
        for (struct emu_bo *bo = emu.files[i].fd >= 0 ? emu.files[i].bos : NULL; bo; bo = bo->next)
            if (bo->user == address) bo->user = NULL;
    emu_unlock();
    return munmap(address, bytes);
}

EMU_API const struct npu_emu_xdna_calls *npu_emu_xdna_calls(void) {
    static const struct npu_emu_xdna_calls calls = {call_open, call_close, call_ioctl, call_mmap, call_munmap};
    return &calls;
}
