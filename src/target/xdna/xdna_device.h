/* An open XDNA device: hardware contexts, buffers with explicit sync, kernels, commands. It speaks to the amdxdna
 * driver's ioctls through one small function table (xdna_sys.h) and knows no plan, no model, no role and no layout of a
 * matrix. Called by the target above it (xdna_target.c) and by tests.
 *
 * Thread rules: a device and all that was made from it belong to one thread at a time.
 *
 * Losing a device: after TIMEOUT or DEVICE_LOST from submit, wait or sync the device is lost: every later call but the
 * ones that free and close answers DEVICE_LOST. The kernel may still run a command that writes to its buffers; only
 * npu_xdna_close ends that. Close, open a new device, make everything anew.
 *
 * Codes (npu_error.code) that a caller may want to tell apart:
 *   xdna.no_device        NO_DEVICE    nothing there; the text says what was looked for
 *   xdna.unknown_driver   REFUSED      --driver is none of auto, accel, emu
 *   xdna.emu_setting      REFUSED      --emu with a real device, or a key or value the emulator doesn't know
 *   xdna.busy             REFUSED      another process holds the device and |no_wait| is set
 *   xdna.driver_version   REFUSED      a driver of which no row of the table in xdna_driver.c speaks
 *   xdna.no_context       NO_DEVICE    no hardware context left, or no free columns
 *   xdna.no_memory        NO_MEMORY    a buffer, or the device heap that kernels lie in
 *   xdna.map              NO_MEMORY    a buffer that can't be mapped
 *   xdna.bad_xclbin       INVALID      a kernel file that is no usable xclbin
 *   xdna.kernel_emulated  REFUSED      a description for the emulated device, and this one is real
 *   xdna.kernel_device    REFUSED      a kernel with more columns than the device has, or for the other generation
 *   xdna.queue_full       REFUSED      NPU_XDNA_QUEUE commands of one context are not waited for yet
 *   xdna.timeout          TIMEOUT      no answer in time, or the driver's watchdog ended the command
 *   xdna.command          DEVICE_LOST  the command ended in another state than COMPLETED, though the wait succeeded
 *   xdna.context_lost     DEVICE_LOST  the context was reset under the command, or the device is gone
 *   xdna.lost             DEVICE_LOST  any call after one of the three above
 *   xdna.ioctl            by errno     any other refused call; the text has its name and errno
 */
#ifndef NPU_XDNA_DEVICE_H
#define NPU_XDNA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/status.h"

#define NPU_XDNA_QUEUE   4  /* commands of one context that may be submitted and not waited for */
#define NPU_XDNA_KERNELS 32 /* kernels in one context */
#define NPU_XDNA_ARGS    5  /* buffers that a kernel takes */

typedef struct npu_xdna npu_xdna;
typedef struct npu_xdna_context npu_xdna_context;

/* {0} is a sensible default. Strings stay the caller's and must outlive the device. */
typedef struct npu_xdna_params {
    npu_logger logger;
    const char *driver;     /* NULL = "auto" (like "accel": never an emulator), "accel", "emu" */
    const char *node;       /* "/dev/accel/accel1"; NULL = the first one that belongs to the driver amdxdna */
    const char *const *emu; /* "key=value" settings of the emulated device, NULL-terminated; NULL = none */
    double timeout_s;       /* for an answer; 0 = 5 seconds, 60 with the emulated device */
    bool no_wait;           /* another process holds the device: fail at once instead of waiting for it */
} npu_xdna_params;

/* What a device is and can. */
typedef struct npu_xdna_info {
    char device[64];     /* for people: "NPU Strix (xdna2, 8 columns)" */
    char generation[16]; /* "xdna1", "xdna2" */
    char firmware[32];   /* "1.1.0.0"; empty when nothing says it */
    char driver[48];     /* "amdxdna 0.16"; "" from a probe that opened nothing */
    char node[64];       /* "/dev/accel/accel0" */
    uint32_t columns;    /* of the array */
    uint32_t core_rows;  /* compute tiles in a column */
    uint32_t contexts;   /* hardware contexts in all, shared with every other process */
    uint64_t heap_bytes; /* for kernels and their instructions, per open device */
    bool emulated;
    bool caps_known; /* false: from a probe of a chip that is not in the table; the numbers above are 0 */
} npu_xdna_info;

/* What is there, for `npu devices` and planning. A real device is not opened, only looked for in /dev/accel and sysfs;
 * the emulated one is asked. NO_DEVICE says what was looked for, REFUSED as npu_xdna_open. */
npu_status npu_xdna_probe(const npu_xdna_params *params, npu_xdna_info *info, npu_error *err);

/* Whether params->driver and params->emu can be meant: REFUSED as npu_xdna_open. Opens nothing; the emulated device's
 * library is loaded and asked, and NO_DEVICE when it is not there. */
npu_status npu_xdna_check_params(const npu_xdna_params *params, npu_error *err);

/* Warns of rules of the setting "fault" that nothing met: once no device is to be opened any more. */
void npu_xdna_tell_unmet(const npu_xdna_params *params);

/* The settings that params->emu may have, one line each (for --emu help); a static text. */
npu_status npu_xdna_describe_emu(const npu_xdna_params *params, const char **text, npu_error *err);

/* Takes the lock of the node (one process owns the device: a second one waits, says so in the log once, or fails with
 * xdna.busy), opens it, asks what it is and allocates the heap. After failure nothing is left open and |*out| is NULL.
 */
npu_status npu_xdna_open(const npu_xdna_params *params, npu_xdna **out, npu_error *err);

/* Ends everything made from the device, buffers and contexts that the caller still has included: their pointers are
 * dead. Never fails, and returns when no command can write any more. NULL is fine. */
void npu_xdna_close(npu_xdna *dev);

const npu_xdna_info *npu_xdna_get_info(const npu_xdna *dev);
bool npu_xdna_lost(const npu_xdna *dev);

/* Memory that both sides see, zeroed for both. The device has a view of its own: what the host wrote is seen by
 * commands that are submitted after a sync TO_DEVICE, what a command wrote is seen by the host after a sync FROM_DEVICE
 * that follows its wait. Host writes to bytes that a running command writes are lost or, worse, win later: sync them
 * before the submit. Whole lines of NPU_XDNA_LINE bytes move: two users must not share a line. */
#define NPU_XDNA_LINE 64

typedef struct npu_xdna_buffer {
    npu_xdna *owner;
    uint8_t *data;    /* host address, page-aligned */
    uint64_t bytes;   /* as asked for */
    uint64_t address; /* for commands; nobody but the device layer needs it */
    uint32_t handle;
    struct npu_xdna_buffer *next;
} npu_xdna_buffer;

typedef enum npu_xdna_dir { NPU_XDNA_TO_DEVICE, NPU_XDNA_FROM_DEVICE } npu_xdna_dir;

npu_status npu_xdna_buffer_alloc(npu_xdna *dev, uint64_t bytes, npu_xdna_buffer **out, npu_error *err);

/* |offset|, |bytes|: any range inside the buffer (RANGE otherwise); 0 bytes is nothing to do. */
npu_status npu_xdna_buffer_sync(npu_xdna_buffer *buffer, npu_xdna_dir dir, uint64_t offset, uint64_t bytes,
                                npu_error *err);

/* Not while a command that uses it is not waited for. NULL is fine. */
void npu_xdna_buffer_free(npu_xdna_buffer *buffer);

/* One kernel: a real artifact (xclbin and instruction file) or, with |insts| NULL, a text description for the emulated
 * device (docs/xdna.md). Both are told apart by their first bytes; the bytes are the caller's and may go after
 * npu_xdna_context_create. */
typedef struct npu_xdna_kernel {
    const char *name; /* for messages */
    const uint8_t *image;
    size_t image_bytes;
    const uint8_t *insts;
    size_t insts_bytes;
} npu_xdna_kernel;

/* What an image is, without a device: a check of its form, and how many columns it takes. INVALID: xdna.bad_xclbin,
 * xdna.bad_description. */
npu_status npu_xdna_kernel_check(const npu_xdna_kernel *kernel, uint32_t *columns, bool *emulated, npu_error *err);

/* A hardware context with |n| kernels (1 to NPU_XDNA_KERNELS) of one width, loaded and ready: a device has few contexts
 * (info->contexts, shared with others), so kernels that are not used at the same time should share one. Kernel i is
 * |kernels[i]| from here on. */
npu_status npu_xdna_context_create(npu_xdna *dev, const npu_xdna_kernel *kernels, uint32_t n, npu_xdna_context **out,
                                   npu_error *err);

/* NULL is fine. Commands that still run are ended. */
void npu_xdna_context_destroy(npu_xdna_context *context);

typedef struct npu_xdna_arg {
    npu_xdna_buffer *buffer;
    uint64_t offset;
} npu_xdna_arg;

typedef uint64_t npu_xdna_ticket;

/* Queues one run of kernel |kernel|. For matrix products the arguments are A, B, C. Returns at once. Commands of one
 * context run in order; those of two contexts may end in any order. */
npu_status npu_xdna_submit(npu_xdna_context *context, uint32_t kernel, const npu_xdna_arg *args, uint32_t n_args,
                           npu_xdna_ticket *ticket, npu_error *err);

/* Waits for one command, at most params->timeout_s. OK only when the command's own state says COMPLETED. Every ticket
 * is waited for once. */
npu_status npu_xdna_wait(npu_xdna_context *context, npu_xdna_ticket ticket, npu_error *err);

/* What happened since npu_xdna_open. */
typedef struct npu_xdna_counters {
    uint64_t commands, syncs_to, syncs_from, sync_bytes_to, sync_bytes_from, buffers, buffer_bytes, contexts;
} npu_xdna_counters;

void npu_xdna_count(const npu_xdna *dev, npu_xdna_counters *out);

#endif
