/* A libcdsprpc.so for tests that calls the NPU program in the same process: FastRPC and the few QuRT and HAP names it
 * needs, without packet queue. It makes the host's driver and the NPU program one program, which a sanitizer sees
 * whole; it emulates nothing else. The emulated device (emu/hexagon) is the one to run models on. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/hexagon/include/host/AEEStdErr.h"
#include "emu/hexagon/include/host/remote.h"
#include "emu/hexagon/include/host/rpcmem.h"
#include "emu/hexagon/include/npu_emu.h"

#define API __attribute__((visibility("default")))

int npu_htp_skel_handle_invoke(uint64_t handle, uint32_t scalars, remote_arg *args);

enum { BUFFERS = 4096 };

static struct {
    void *data;
    size_t bytes;
    int fd;
} buffers[BUFFERS];

/* For loopback_npu.c: the size of a buffer, 0 for a number that is not one's. */
size_t loopback_buffer_bytes(int fd);
size_t loopback_buffer_bytes(int fd) {
    for (int i = 0; i < BUFFERS; i++)
        if (buffers[i].data && buffers[i].fd == fd) return buffers[i].bytes;
    return 0;
}

API int npu_emu_configure(const char *key, const char *value) {
    (void)key, (void)value;
    return 0;
}

API const char *npu_emu_refusal(void) {
    return "";
}

API void *rpcmem_alloc(int heap, uint32_t flags, int size) {
    (void)heap, (void)flags;
    for (int i = 0; i < BUFFERS; i++) {
        if (buffers[i].data) continue;
        int fd = memfd_create("loopback", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, size)) return NULL;
        buffers[i].data = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        buffers[i].bytes = (size_t)size;
        buffers[i].fd = fd;
        return buffers[i].data;
    }
    return NULL;
}

static int find(const void *data) {
    for (int i = 0; i < BUFFERS; i++)
        if (buffers[i].data == data) return i;
    return -1;
}

API void rpcmem_free(void *data) {
    int i = find(data);
    munmap(data, buffers[i].bytes);
    close(buffers[i].fd);
    buffers[i].data = NULL;
}

API int rpcmem_to_fd(void *data) {
    int i = find(data);
    return i < 0 ? -1 : buffers[i].fd;
}

API int fastrpc_mmap(int domain, int fd, void *addr, int offset, size_t bytes, enum fastrpc_map_flags flags) {
    (void)domain, (void)fd, (void)addr, (void)offset, (void)bytes, (void)flags;
    return 0;
}

API int fastrpc_munmap(int domain, int fd, void *addr, size_t bytes) {
    (void)domain, (void)fd, (void)addr, (void)bytes;
    return 0;
}

API int remote_handle_control(uint32_t request, void *data, uint32_t bytes) {
    fastrpc_capability *ask = data;
    (void)request, (void)bytes;
    if (ask->attribute_ID != ARCH_VER) return AEE_EUNSUPPORTED;
    ask->capability = getenv("LOOPBACK_V79") ? 0x79 : 0x73;
    return 0;
}

API int remote_session_control(uint32_t request, void *data, uint32_t bytes) {
    (void)data, (void)bytes;
    return request == DSPRPC_CONTROL_UNSIGNED_MODULE ? 0 : AEE_EUNSUPPORTED;
}

API int remote_handle64_open(const char *uri, remote_handle64 *handle) {
    uint32_t bytes = (uint32_t)strlen(uri) + 1;
    remote_arg args[3] = {{.buf = {&bytes, sizeof bytes}}, {.buf = {(void *)(uintptr_t)uri, bytes}}};
    int result = npu_htp_skel_handle_invoke(0, REMOTE_SCALARS_MAKEX(0, 0, 2, 0, 0, 1), args);
    *handle = args[2].h64;
    return result;
}

API int remote_handle64_invoke(remote_handle64 handle, uint32_t scalars, remote_arg *args) {
    return npu_htp_skel_handle_invoke(handle, scalars, args);
}

API int remote_handle64_close(remote_handle64 handle) {
    remote_arg arg = {.h64 = handle};
    return npu_htp_skel_handle_invoke(handle, REMOTE_SCALARS_MAKEX(0, 1, 0, 0, 1, 0), &arg);
}
