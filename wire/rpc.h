/* The small RPC interface of the NPU program, spoken by the host's stub and the NPU program's skel.
 *
 * Method numbers follow the FastRPC convention (0 open, 1 close, own ones from 2). Every own method has at most one
 * structure in and one out, both fixed; the first words of |npu_rpc_start| carry magic and version, so that two sides
 * of different builds refuse each other by name. Result codes are AEE codes with the DSP's offset.
 */
#ifndef NPU_WIRE_RPC_H
#define NPU_WIRE_RPC_H

#include <stdint.h>

#define NPU_RPC_INTERFACE "npu_htp" /* the skel exports npu_htp_skel_handle_invoke */

enum {
    NPU_RPC_OPEN = 0,
    NPU_RPC_CLOSE = 1,
    NPU_RPC_HWINFO = 2, /* out npu_rpc_hwinfo */
    NPU_RPC_START = 3,  /* in npu_rpc_start */
    NPU_RPC_STOP = 4,
    NPU_RPC_MUNMAP = 5, /* in npu_rpc_munmap: the host is about to free a buffer */
    NPU_RPC_BATCH = 6,  /* in npu_wire_request, out npu_wire_response: where queues do not work */
};

typedef struct npu_rpc_hwinfo {
    uint32_t magic, version;
    uint32_t arch; /* of the build, decimal: 73 */
    uint32_t threads;
    uint32_t vtcm_bytes;
    uint32_t hmx;
    uint64_t window_bytes; /* address space for the host's buffers; 0 = the program can't know, see the host's table */
} npu_rpc_hwinfo;

typedef struct npu_rpc_start {
    uint32_t magic, version;
    uint64_t queue_id; /* 0: no queue, batches come by NPU_RPC_BATCH */
    uint64_t window_bytes;
    uint32_t threads; /* as op plans were made for; at most what hwinfo said */
    uint32_t vtcm_bytes;
    int32_t trace_fd; /* -1 = none */
    uint32_t trace_bytes;
    uint32_t arch; /* as op plans were made for */
    uint32_t hmx;
    uint64_t fence_timeout_us; /* how long a device waits for another one */
    uint64_t max_buffer_bytes;
} npu_rpc_start;

typedef struct npu_rpc_munmap {
    int32_t fd;
    uint32_t reserved;
} npu_rpc_munmap;

_Static_assert(sizeof(npu_rpc_hwinfo) == 32 && sizeof(npu_rpc_start) == 64 && sizeof(npu_rpc_munmap) == 8,
               "wire layout");

#endif
