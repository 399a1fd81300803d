// Scalars word and arguments of a remote invocation. A remote_arg is 16 bytes where pointers have 64 bits and 8 bytes
// on Hexagon: each side compiles its own form, the transport converts.
#ifndef NPU_EMU_REMOTE_ARGS_H
#define NPU_EMU_REMOTE_ARGS_H

#include <stddef.h>
#include <stdint.h>

typedef uint32_t remote_handle;
// The host's handle has pointer size; the DSP side's has 32 bits on a device. Both are uint64_t as a C type.
typedef uint64_t remote_handle64;

typedef struct {
    void *pv;
    size_t nLen;
} remote_buf;

typedef struct {
    int32_t fd;
    uint32_t offset;
} remote_dma_handle;

typedef union {
    remote_buf buf;
    remote_handle h;
    remote_handle64 h64;
    remote_dma_handle dma;
} remote_arg;

#define REMOTE_SCALARS_METHOD_ATTR(sc) (((sc) >> 29) & 0x7u)
#define REMOTE_SCALARS_METHOD(sc)      (((sc) >> 24) & 0x1fu)
#define REMOTE_SCALARS_INBUFS(sc)      (((sc) >> 16) & 0xffu)
#define REMOTE_SCALARS_OUTBUFS(sc)     (((sc) >> 8) & 0xffu)
#define REMOTE_SCALARS_INHANDLES(sc)   (((sc) >> 4) & 0xfu)
#define REMOTE_SCALARS_OUTHANDLES(sc)  ((sc)&0xfu)
#define REMOTE_SCALARS_LENGTH(sc)                                                            \
    (REMOTE_SCALARS_INBUFS(sc) + REMOTE_SCALARS_OUTBUFS(sc) + REMOTE_SCALARS_INHANDLES(sc) + \
     REMOTE_SCALARS_OUTHANDLES(sc))
#define REMOTE_SCALARS_MAKEX(attr, method, in, out, in_handles, out_handles)                                 \
    ((((uint32_t)(attr)&0x7u) << 29) | (((uint32_t)(method)&0x1fu) << 24) | (((uint32_t)(in)&0xffu) << 16) | \
     (((uint32_t)(out)&0xffu) << 8) | (((uint32_t)(in_handles)&0xfu) << 4) | ((uint32_t)(out_handles)&0xfu))
#define REMOTE_SCALARS_MAKE(method, in, out) REMOTE_SCALARS_MAKEX(0, method, in, out, 0, 0)

// What a skel exports as <interface>_skel_handle_invoke.
typedef int npu_emu_skel_fn(remote_handle64 handle, uint32_t scalars, remote_arg *args);

#endif
