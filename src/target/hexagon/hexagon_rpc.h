/* The stub: one call of the NPU program's own interface (wire/rpc.h), with at most one structure in and one out. */
#ifndef NPU_HEXAGON_RPC_H
#define NPU_HEXAGON_RPC_H

#include "target/hexagon/hexagon_driver.h"
#include "wire/rpc.h"

static inline int npu_hex_rpc(const npu_hex_driver *driver, remote_handle64 handle, uint32_t method, const void *in,
                              uint32_t in_bytes, void *out, uint32_t out_bytes) {
    remote_arg args[2];
    uint32_t n = 0;
    if (in) args[n++].buf = (remote_buf){(void *)(uintptr_t)in, in_bytes};
    if (out) args[n++].buf = (remote_buf){out, out_bytes};
    return driver->remote_handle64_invoke(handle, REMOTE_SCALARS_MAKE(method, in ? 1 : 0, out ? 1 : 0), args);
}

#endif
