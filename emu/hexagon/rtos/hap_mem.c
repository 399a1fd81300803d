// HAP_mmap and its relatives, by window.c.
#include "HAP_mem.h"
#include "emu_dsp.h"

#include <sys/mman.h>

#define FAILED ((void *)-1)

static int host_prot(int prot) {
    return (prot & HAP_PROT_READ ? PROT_READ : 0) | (prot & HAP_PROT_WRITE ? PROT_READ | PROT_WRITE : 0);
}

static void *map(const char *name, const void *addr, size_t len, int prot, int flags, int fd, long offset) {
    void *at;
    int code;
    if (emu_dsp_meet(name, &code) || addr || !len || flags || offset || (prot & HAP_PROT_EXEC)) return FAILED;
    at = emu_window_map(fd, len, host_prot(prot));
    return at ? at : FAILED;
}

static int unmap(const char *name, uint64_t address, uint64_t len) {
    int code;
    return emu_dsp_meet(name, &code) ? code : emu_window_unmap(address, len);
}

EMU_API void *HAP_mmap(void *addr, int len, int prot, int flags, int fd, long offset) {
    return len <= 0 ? FAILED : map("HAP_mmap", addr, (size_t)len, prot, flags, fd, offset);
}

EMU_API void *HAP_mmap2(void *addr, size_t len, int prot, int flags, int fd, long offset) {
    return map("HAP_mmap2", addr, len, prot, flags, fd, offset);
}

EMU_API int HAP_munmap(void *addr, int len) {
    return len <= 0 ? AEE_EBADPARM : unmap("HAP_munmap", (uintptr_t)addr, (uint64_t)len);
}

EMU_API int HAP_munmap2(void *addr, size_t len) {
    return unmap("HAP_munmap2", (uintptr_t)addr, len);
}

EMU_API int HAP_mmap_get(int fd, void **vaddr, uint64_t *paddr) {
    void *address;
    int result, code;
    if (emu_dsp_meet("HAP_mmap_get", &code)) return code;
    result = emu_window_get(fd, &address);
    if (result) return result;
    if (vaddr) *vaddr = address;
    if (paddr) *paddr = (uintptr_t)address;
    return AEE_SUCCESS;
}

EMU_API int HAP_mmap_put(int fd) {
    return emu_window_put(fd);
}

// An extended mapping has an address above 4 GiB at which nothing is: only the DMA engine reaches it.
static int request_map(HAP_mem_map *request) {
    if (request->flags & HAP_MEM_FLAGS_EXTENDED_MAP) {
        if (emu_block->arch <= 79) return AEE_EUNSUPPORTED;
        request->dsp_va = emu_window_map_extended(request->fd, request->len, host_prot(request->prot));
    } else {
        void *at = map("HAP_mem_request_map", NULL, (size_t)request->len, request->prot, 0, request->fd, 0);
        request->dsp_va = at == FAILED ? 0 : (uintptr_t)at;
    }
    request->dsp_pa = request->dsp_va;
    return request->dsp_va ? AEE_SUCCESS : AEE_ENOMEMORY;
}

EMU_API int HAP_mem_request(HAP_mem_request_payload *payload) {
    int code;
    if (emu_dsp_meet("HAP_mem_request", &code)) return code;
    if (!payload) return AEE_EBADPARM;
    switch (payload->request_id) {
    case HAP_MEM_MAP:
        return request_map(&payload->mmap);
    case HAP_MEM_UNMAP:
        return unmap("HAP_mem_request_unmap", payload->munmap.dsp_va, payload->munmap.len);
    default:
        return AEE_EUNSUPPORTED;
    }
}
