/* Inside the device layer: the seam (system calls on an accel node as one small table), what differs between versions
 * of the driver, and the records behind npu_xdna and npu_xdna_context. */
#ifndef NPU_XDNA_SYS_H
#define NPU_XDNA_SYS_H

#include <sys/types.h>

#include "emu/xdna/include/amdxdna_ioctl.h"
#include "target/xdna/xdna_chip.h"
#include "target/xdna/xdna_device.h"

enum { NPU_XDNA_NODES = 16 }; /* of /dev/accel, that are looked at */
/* What an error that finds no device ends with. */
#define NPU_XDNA_EMULATED "an emulated one: `npu_target` xdna `driver` emu"

/* The calls, with their own results and errno: libc's for a real device, the emulator's for an emulated one. */
typedef struct npu_xdna_sys {
    int (*open)(const char *path, int flags);
    int (*close)(int fd);
    int (*ioctl)(int fd, unsigned long request, void *arg);
    void *(*mmap)(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
    int (*munmap)(void *address, size_t bytes);
} npu_xdna_sys;

/* A range of driver versions that behave alike. */
typedef struct npu_xdna_version {
    int32_t major, first_minor, last_minor;
    uint32_t from_device; /* direction that a sync before reading results asks for */
} npu_xdna_version;

typedef struct npu_xdna_driver {
    const char *name;
    npu_xdna_sys sys;
    bool emulated, shared; /* shared: other processes may hold the device, so there is a lock to take */
    double timeout_s;
} npu_xdna_driver;

struct npu_xdna {
    npu_xdna_driver driver;
    const npu_xdna_version *version;
    npu_logger logger;
    npu_xdna_info info;
    const npu_xdna_chip *chip;
    npu_xdna_counters counters;
    double timeout_s;
    int fd, lock_fd;
    bool lost;
    uint32_t heap_handle;
    uint8_t *heap;
    npu_xdna_buffer *buffers;
    npu_xdna_context *contexts;
};

/* A buffer in the heap, for what the device runs. */
typedef struct npu_xdna_code {
    uint32_t handle;
    uint64_t address;
} npu_xdna_code;

typedef struct npu_xdna_slot {
    npu_xdna_buffer *cmd;
    npu_xdna_ticket ticket;
    bool busy;
} npu_xdna_slot;

struct npu_xdna_context {
    npu_xdna *owner;
    npu_xdna_context *next;
    uint32_t handle, syncobj, n_kernels;
    struct npu_xdna_ready {
        npu_xdna_code pdi, insts;
        uint32_t n_words; /* of instructions */
    } kernels[NPU_XDNA_KERNELS];
    npu_xdna_slot slots[NPU_XDNA_QUEUE];
};

/* xdna_driver.c */
npu_status npu__xdna_driver(const npu_xdna_params *params, npu_xdna_driver *out, npu_error *err);
/* The row for a version; NULL when there is none. */
const npu_xdna_version *npu__xdna_version(int32_t major, int32_t minor);

/* xdna_find.c: what /sys says, below |root| ("" for the real one). */
npu_status npu__xdna_find(const char *root, const char *node, npu_xdna_info *info, npu_error *err);
/* Fills in what follows from the number of columns; REFUSED for one that no generation has. */
npu_status npu__xdna_generation(npu_xdna_info *info, npu_error *err);

/* xdna_lock.c: takes |folder|/npu-xdna-NAME.lock for this process, or the default folder's with NULL. */
npu_status npu__xdna_lock(const npu_logger *logger, const char *folder, const char *name, bool no_wait, int *fd,
                          npu_error *err);

/* xdna_device.c: an ioctl that is repeated when a signal interrupts it. A device that is gone is lost. */
npu_status npu__xdna_ioctl(npu_xdna *dev, unsigned long request, const char *name, void *arg, npu_error *err);
npu_status npu__xdna_fail(npu_xdna *dev, int error, const char *name, npu_error *err);
npu_status npu__xdna_usable(const npu_xdna *dev, npu_error *err);
int64_t npu__xdna_deadline_ns(double seconds);

/* xdna_buffer.c */
npu_status npu__xdna_buffer_new(npu_xdna *dev, uint32_t type, uint64_t bytes, npu_xdna_buffer **out, npu_error *err);
npu_status npu__xdna_code_new(npu_xdna *dev, const void *data, size_t bytes, npu_xdna_code *out, npu_error *err);
void npu__xdna_code_free(npu_xdna *dev, npu_xdna_code *code);
void npu__xdna_handle_close(npu_xdna *dev, uint32_t handle);
npu_status npu__xdna_sync(npu_xdna *dev, uint32_t handle, npu_xdna_dir dir, uint64_t offset, uint64_t bytes,
                          npu_error *err);

#endif
