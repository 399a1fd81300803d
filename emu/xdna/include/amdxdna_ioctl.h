// Own declarations of the public kernel interface of the amdxdna driver: requests, structures, constants. Field order
// and numbers are the driver's; each size is asserted below. Used by programs and by the emulated device alike.
#ifndef AMDXDNA_IOCTL_H
#define AMDXDNA_IOCTL_H

#include <assert.h>
#include <stdint.h>

#define AMDXDNA_DRIVER_NAME "amdxdna_accel_driver"

// Requests of the driver.
#define AMDXDNA_CREATE_HWCTX  0xC0386440u
#define AMDXDNA_DESTROY_HWCTX 0xC0086441u
#define AMDXDNA_CONFIG_HWCTX  0xC0186442u
#define AMDXDNA_CREATE_BO     0xC0206443u
#define AMDXDNA_GET_BO_INFO   0xC0306444u
#define AMDXDNA_SYNC_BO       0xC0186445u
#define AMDXDNA_EXEC_CMD      0xC0386446u
#define AMDXDNA_GET_INFO      0xC0106447u
#define AMDXDNA_WAIT_CMD      0xC0106449u // where it is there at all
// Requests of the DRM core that are used with it.
#define AMDXDNA_DRM_VERSION         0xC0406400u
#define AMDXDNA_DRM_GEM_CLOSE       0x40086409u
#define AMDXDNA_DRM_SYNCOBJ_DESTROY 0xC00864C0u
#define AMDXDNA_DRM_TIMELINE_WAIT   0xC03064CAu

#define AMDXDNA_INVALID_ADDRESS UINT64_MAX
#define AMDXDNA_DEVICE_BASE     0x04000000u // of device addresses: where the heap begins
#define AMDXDNA_HEAP_CHUNK      (64u << 20)
#define AMDXDNA_DEV_STEP        0x8000u // DEV buffers start at multiples of it

struct amdxdna_drm_version {
    int32_t major, minor, patch, pad;
    uint64_t name_bytes, name, date_bytes, date, text_bytes, text; // lengths in and out; pointers
};

struct amdxdna_qos {
    uint32_t gops, fps, dma_bandwidth, latency, frame_exec_time, priority;
    uint32_t user_start_col, reserved; // read by driver 1.0 only; 0xFF: not requested
};

struct amdxdna_create_hwctx {
    uint64_t ext, ext_flags, qos;
    uint32_t umq_bo, log_buf_bo, max_opc, num_tiles, mem_size;
    uint32_t umq_doorbell, handle, syncobj; // out
};

struct amdxdna_destroy_hwctx {
    uint32_t handle, pad;
};

enum { AMDXDNA_CONFIG_CU = 0 };

struct amdxdna_config_hwctx {
    uint32_t handle, param;
    uint64_t value;
    uint32_t value_bytes, pad;
};

struct amdxdna_cu {
    uint32_t bo; // holds the PDI
    uint8_t func, pad[3];
};

struct amdxdna_config_cu {
    uint16_t count, pad[3];
    struct amdxdna_cu cus[32];
};

enum { AMDXDNA_BO_SHARE = 1, AMDXDNA_BO_DEV_HEAP = 2, AMDXDNA_BO_DEV = 3, AMDXDNA_BO_CMD = 4 };

struct amdxdna_create_bo {
    uint64_t flags, vaddr, size;
    uint32_t type, handle; // handle: out
};

struct amdxdna_get_bo_info {
    uint64_t ext, ext_flags;
    uint32_t handle, pad;
    uint64_t map_offset, vaddr, xdna_addr; // out
};

enum { AMDXDNA_TO_DEVICE = 0, AMDXDNA_FROM_DEVICE = 1 };

struct amdxdna_sync_bo {
    uint32_t handle, direction;
    uint64_t offset, size;
};

enum { AMDXDNA_EXEC_BUF = 0 };

struct amdxdna_exec_cmd {
    uint64_t ext, ext_flags;
    uint32_t hwctx, type;
    uint64_t cmd_handles, args; // the one handle by value; pointer to u32 handles
    uint32_t cmd_count, arg_count;
    uint64_t seq; // out
};

struct amdxdna_wait_cmd {
    uint32_t hwctx, timeout_ms;
    uint64_t seq;
};

enum { AMDXDNA_INFO_AIE_METADATA = 1, AMDXDNA_INFO_FIRMWARE = 8 };

struct amdxdna_get_info {
    uint32_t param, bytes;
    uint64_t buffer;
};

struct amdxdna_tile_metadata {
    uint16_t row_count, row_start, dma_channels, locks, event_registers, pad[3];
};

struct amdxdna_aie_metadata {
    uint32_t col_size;
    uint16_t cols, rows;
    uint32_t major, minor;
    struct amdxdna_tile_metadata core, mem, shim;
};

struct amdxdna_firmware {
    uint32_t major, minor, patch, build;
};

struct amdxdna_gem_close {
    uint32_t handle, pad;
};

struct amdxdna_syncobj_destroy {
    uint32_t handle, pad;
};

enum { AMDXDNA_WAIT_FOR_SUBMIT = 2 };

struct amdxdna_timeline_wait {
    uint64_t handles, points;
    int64_t timeout_ns; // absolute, CLOCK_MONOTONIC
    uint32_t count, flags, first_signaled, pad;
    uint64_t deadline_ns;
};

// The command buffer: a header word, mask words, payload.
enum {
    AMDXDNA_STATE_NEW = 1,
    AMDXDNA_STATE_QUEUED,
    AMDXDNA_STATE_RUNNING,
    AMDXDNA_STATE_COMPLETED,
    AMDXDNA_STATE_ERROR,
    AMDXDNA_STATE_ABORT,
    AMDXDNA_STATE_SUBMITTED,
    AMDXDNA_STATE_TIMEOUT,
    AMDXDNA_STATE_NORESPONSE,
};

enum { AMDXDNA_START_CU = 0, AMDXDNA_TYPE_CU = 3 };

#define AMDXDNA_CMD_STATE(header)                ((header)&15u)
#define AMDXDNA_CMD_EXTRA_MASKS(header)          ((header) >> 10 & 3u)
#define AMDXDNA_CMD_COUNT(header)                ((header) >> 12 & 0x7FFu)
#define AMDXDNA_CMD_OPCODE(header)               ((header) >> 23 & 31u)
#define AMDXDNA_CMD_HEADER(state, count, opcode) ((state) | (count) << 12 | (opcode) << 23 | AMDXDNA_TYPE_CU << 28)
#define AMDXDNA_OPCODE_RUN                       3u // first argument of a kernel: run the instruction stream

static_assert(sizeof(struct amdxdna_drm_version) == 64, "drm_version");
static_assert(sizeof(struct amdxdna_qos) == 32, "qos");
static_assert(sizeof(struct amdxdna_create_hwctx) == 56, "create_hwctx");
static_assert(sizeof(struct amdxdna_destroy_hwctx) == 8, "destroy_hwctx");
static_assert(sizeof(struct amdxdna_config_hwctx) == 24, "config_hwctx");
static_assert(sizeof(struct amdxdna_config_cu) == 8 + 32 * 8, "config_cu");
static_assert(sizeof(struct amdxdna_create_bo) == 32, "create_bo");
static_assert(sizeof(struct amdxdna_get_bo_info) == 48, "get_bo_info");
static_assert(sizeof(struct amdxdna_sync_bo) == 24, "sync_bo");
static_assert(sizeof(struct amdxdna_exec_cmd) == 56, "exec_cmd");
static_assert(sizeof(struct amdxdna_wait_cmd) == 16, "wait_cmd");
static_assert(sizeof(struct amdxdna_get_info) == 16, "get_info");
static_assert(sizeof(struct amdxdna_aie_metadata) == 64, "aie_metadata");
static_assert(sizeof(struct amdxdna_timeline_wait) == 48, "timeline_wait");

#endif
